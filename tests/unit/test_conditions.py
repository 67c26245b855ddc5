"""Conditions: what they mean for points, how points are counted and listed, and which ones are refused."""

from __future__ import annotations

import copy
import json
import math
import pickle

import numpy as np
import pytest
from conditional_spaces import all_coded, conditional_spaces, estimators, nested
from hypothesis import given
from hypothesis import strategies as st

import dcmaes as dc
from dcmaes.space._choices import When


def random_coded(space, seed, n=40):
    return space.sites.uniform(np.random.default_rng(seed).random((n, space.dimension)))


class TestPoints:
    def test_points_have_active_variables_only(self):
        space = estimators()
        point = {"model": "svm", "kernel": "rbf", "gamma": 0.1, "penalty": 0.3, "scale": True}
        assert space.decode(space.encode(point)) == point
        assert space.contains(point)
        assert list(space.decode(space.encode(point))) == ["model", "kernel", "gamma", "penalty", "scale"]

    def test_a_condition_on_an_inactive_parent_does_not_hold(self):
        space = estimators()
        x = space.encode({"model": "forest", "trees": 10, "depth": 2, "scale": False})
        active = dict(zip(space.names, space.sites.active(x), strict=True))
        assert not active["kernel"]
        assert not active["gamma"]
        assert not active["bootstrap"]

    def test_what_is_missing_and_what_is_too_much_is_named(self):
        space = estimators()
        good = {"model": "svm", "kernel": "linear", "penalty": 0.0, "scale": True}
        with pytest.raises(ValueError, match="every active variable, 'gamma' missing"):
            space.encode({**good, "kernel": "rbf"})
        with pytest.raises(ValueError, match=r"'gamma', which is inactive .* kernel is 'rbf' or 'poly'"):
            space.encode({**good, "gamma": 0.1})
        assert not space.contains({**good, "gamma": 0.1})
        with pytest.raises(ValueError, match="did you mean 'gamma'"):
            space.encode({**good, "gama": 0.1})

    def test_samples_are_points(self):
        space = estimators()
        points = space.sample(np.random.default_rng(0), 200)
        assert all(map(space.contains, points))
        assert {p["model"] for p in points} == {"svm", "forest", "linear"}
        assert min(p["gamma"] for p in points if "gamma" in p) < 1e-3

    @given(conditional_spaces(), st.integers(0, 2**32 - 1))
    def test_coding(self, space, seed):
        x = random_coded(space, seed)
        points = space.decode_many(x)
        assert all(map(space.contains, points))
        canonical = space.sites.canonical(x)
        np.testing.assert_array_equal(space.encode_many(points), canonical)
        assert space.decode_many(canonical) == points
        np.testing.assert_array_equal(space.sites.canonical(canonical), canonical)
        is_active = space.sites.active(x)
        np.testing.assert_array_equal(space.sites.active(canonical), is_active)
        for point, row in zip(points, is_active, strict=True):
            assert set(point) == {name for name, here in zip(space.names, row, strict=True) if here}

    @given(conditional_spaces(), st.integers(0, 2**32 - 1))
    def test_active_says_what_the_conditions_say(self, space, seed):
        variables = dict(zip(space.names, space.variables, strict=True))
        for point in space.decode_many(random_coded(space, seed)):
            for name, variable in variables.items():
                assert (name in point) == all(
                    parent in point and holds(variables[parent], allowed, point[parent])
                    for parent, allowed in (variable.when or {}).items()
                )

    def test_rest_is_the_middle_and_inside(self):
        space = estimators()
        rest = dict(zip(space.names, space.sites.rest, strict=True))
        assert rest["gamma"] == pytest.approx(math.sqrt(1e-5))
        assert (rest["offset"], rest["depth"], rest["model"], rest["penalty"]) == (0.0, 1.0, 0.0, 5.0)
        assert 10 + rest["trees"] == 100  # the geometric mean
        space.decode(space.sites.rest)

    def test_awake_draws_what_nobody_chose(self):
        sites = nested().sites
        before = sites.canonical(np.zeros(8))
        changed = before.copy()
        changed[0] = 1.0  # wakes "how", and with it "n"
        drawn = sites.awake(np.tile(changed, (300, 1)), before, np.random.default_rng(0).random((300, 8)))
        assert (drawn[:, 0] == 1.0).all()
        assert len(np.unique(drawn[:, 1])) == 3
        assert len(np.unique(drawn[:, 2])) == 4
        np.testing.assert_array_equal(drawn[:, [4, 5, 7]], np.tile(before[[4, 5, 7]], (300, 1)))

    def test_spaces_without_conditions_pay_nothing(self):
        sites, x = dc.Space.binary(3).sites, np.ones((2, 3))
        assert not sites.has_conditions
        assert sites.canonical(x) is x
        assert sites.awake(x, x, x) is x
        assert sites.active(x).all()


def holds(parent, allowed, value):
    if isinstance(allowed, dict):
        return allowed.get("low", -math.inf) <= value <= allowed.get("high", math.inf)
    listed = allowed if isinstance(allowed, list) else [allowed]
    return parent.encode("", value) in [parent.encode("", one) for one in listed]


class TestSize:
    def test_by_hand(self):
        # on=False: 5 values of off. on=True: "c" alone, or "a", "b" with n; m only for n in (2, 3) and side.
        # side=False: 5 + (1 + 2 * 4) = 14; side=True: 5 + (1 + 2 * (2 + 2 * 3)) = 22; free doubles it.
        assert nested().size == 2 * (14 + 22)

    @given(conditional_spaces(finite=True))
    def test_all_points_are_counted_and_listed_once(self, space):
        coded = {tuple(x) for x in space.sites.canonical(all_coded(space)).tolist()}
        assert space.size == len(coded)
        listed = space.sites.listing.points(np.arange(space.size))
        assert {tuple(x) for x in listed.tolist()} == coded

    def test_huge_spaces_are_counted(self):
        branches = [f"b{i}" for i in range(50)]
        inside = {
            f"{branch}.{k}": dc.Integer(0, 9, when={"which": branch})
            for branch in branches
            for k in range(40)
        }
        space = dc.Space({"which": dc.Categorical(branches), **inside})
        assert space.size == 50 * 10**40
        flags = {f"f{i}": dc.Binary() for i in range(100)}
        values = {f"v{i}": dc.Integer(1, 3, when={f"f{i}": True}) for i in range(100)}
        assert dc.Space({**flags, **values}).size == 4**100

    def test_chains(self):
        chain = {"v0": dc.Binary()}
        for i in range(1, 60):
            chain[f"v{i}"] = dc.Binary(when={f"v{i - 1}": True})
        assert dc.Space(chain).size == 61

    def test_a_long_row_of_variables_with_two_parents_each(self):
        n = 120
        flags = {f"f{i}": dc.Binary() for i in range(n)}
        pairs = {f"c{i}": dc.Integer(1, 3, when={f"f{i}": True, f"f{i + 1}": True}) for i in range(n - 1)}
        off, on = 1, 1  # points of the first flags, by the last of them
        for _ in range(n - 1):
            off, on = off + on, off + 3 * on
        assert dc.Space({**flags, **pairs}).size == off + on

    def test_many_parents_of_one_variable(self):
        flags = {f"f{i}": dc.Binary() for i in range(90)}
        last = dc.Integer(1, 3, when=dict.fromkeys(flags, True))
        assert dc.Space({**flags, "last": last}).size == 2**90 + 2

    def test_intervals_are_infinite(self):
        assert estimators().size == math.inf
        assert dc.Space({"on": dc.Binary(), "x": dc.Float(0, 1, when={"on": True})}).size == math.inf

    def test_numbers_without_conditions_are_digits(self):
        listing = dc.Space.array([dc.Integer(0, 2), dc.Integer(5, 5), dc.Binary()]).sites.listing
        np.testing.assert_array_equal(listing.points(np.array([0, 1, 3])), [[0, 0, 0], [1, 0, 0], [0, 0, 1]])


class TestRefused:
    @pytest.mark.parametrize(
        ("variables", "message"),
        [
            ({"a": {"b": 1}}, "'a' depends on 'b', which is not a variable of the space"),
            ({"alpha": {"beta": 1}, "betas": None}, "did you mean 'betas'"),
            ({"a": {"a": 1}}, "in a circle: 'a' depends on 'a'"),
            (
                {"a": {"c": 1}, "b": {"a": 1}, "c": {"b": 1}},
                "'a' depends on 'c', which depends on 'b', which depends on 'a'",
            ),
            (
                {"a": None, "b": {"a": 12}},
                "'b' can never be active by its condition on 'a': a must be an int",
            ),
            ({"a": None, "b": {"a": [1, "x"]}}, "got 'x'"),
            ({"a": None, "b": {"a": {"low": 10}}}, "no value of Integer(0, 9) is in the range {'low': 10}"),
            (
                {"a": None, "b": {"a": {"low": 5}}, "c": {"b": 1, "a": 4}},
                "'c' can never be active: what it needs of 'a' and what 'b', on which it depends",
            ),
        ],
    )
    def test_conditions_that_cannot_hold(self, variables, message):
        with pytest.raises(ValueError, match=r"depends|never") as caught:
            dc.Space({name: dc.Integer(0, 9, when=when) for name, when in variables.items()})
        assert message in str(caught.value)

    @pytest.mark.parametrize(
        ("parent", "allowed", "message"),
        [
            (dc.Float(0, 1), 0.5, "a single value of 'p', which is continuous"),
            (dc.Float(0, 1), {"low": 1.0}, "a single value of 'p', which is continuous"),
            (dc.Categorical([1, 2]), {"low": 1}, "a range needs a variable with numbers in order"),
            (dc.Binary(), {"low": 1}, "a range needs a variable with numbers in order"),
            (dc.Ordinal(["s", "m"]), {"low": 1}, "a range needs a variable with numbers in order"),
            (dc.Categorical(["a", "b"]), ("a", "b"), "p must be one of 'a', 'b'; got ('a', 'b')"),
        ],
    )
    def test_conditions_that_do_not_fit_the_parent(self, parent, allowed, message):
        with pytest.raises(ValueError, match=r"depends|never") as caught:
            dc.Space({"p": parent, "child": dc.Binary(when={"p": allowed})})
        assert "'child'" in str(caught.value)
        assert message in str(caught.value)

    @pytest.mark.parametrize(
        ("when", "error", "message"),
        [
            ("kernel", TypeError, "when must be a dict"),
            ({1: 2}, TypeError, "names of variables as keys, got 1"),
            ({"k": []}, ValueError, "at least one entry"),
            ({f"k{i}": 1 for i in range(101)}, ValueError, "at most 100 variables, got 101"),
            ({"k": {}}, ValueError, "must have 'low' or 'high'"),
            ({"k": {"min": 1}}, ValueError, "must have 'low' or 'high' or both, got {'min': 1}"),
            ({"k": {"low": "x"}}, TypeError, "'k': low must be a number, got 'x'"),
            ({"k": {"low": math.nan}}, ValueError, "low must be finite"),
            ({"k": {"low": 2, "high": 1}}, ValueError, "low must be at most high"),
        ],
    )
    @pytest.mark.parametrize("kind", [dc.Binary, lambda when: dc.Float(0, 1, when=when)])
    def test_conditions_that_make_no_sense(self, kind, when, error, message):
        with pytest.raises(error) as caught:
            kind(when=when)
        assert message in str(caught.value)

    def test_arrays_have_no_conditions(self):
        with pytest.raises(ValueError, match="variable 1 cannot have a condition, since arrays"):
            dc.Space.array([dc.Binary(), dc.Integer(0, 2, when={"x": 1})])

    def test_long_chains(self):
        chain = {f"v{i}": dc.Binary(when={f"v{i + 1}": True}) for i in range(150)}
        with pytest.raises(ValueError, match="at most 100 variables may depend on each other in a chain"):
            dc.Space({**chain, "v150": dc.Binary()})


class TestForm:
    def test_repr_can_be_read_back(self):
        space = estimators()
        assert "when={'kernel': ['rbf', 'poly']}" in repr(space)
        assert eval(repr(space), vars(dc)) == space  # noqa: S307

    @given(conditional_spaces())
    def test_plain_data(self, space):
        again = dc.Space.from_dict(json.loads(json.dumps(space.to_dict())))
        assert again == space
        assert hash(again) == hash(space)
        assert again.sites == space.sites
        assert again.to_dict() == space.to_dict()

    def test_plain_data_of_awkward_values(self):
        choices = [(1, 2), [3], math.inf, None, np.int64(7)]
        space = dc.Space(
            {
                "c": dc.Categorical(choices),
                **{f"v{i}": dc.Binary(when={"c": [choice]}) for i, choice in enumerate(choices)},
                "w": dc.Binary(when={"c": choices[:3]}),
            }
        )
        again = dc.Space.from_dict(json.loads(json.dumps(space.to_dict())))
        assert again == space
        assert again.sites == space.sites

    def test_copies(self):
        space = estimators()
        assert pickle.loads(pickle.dumps(space)) == space  # noqa: S301
        assert copy.deepcopy(space) == space

    def test_equality(self):
        space = dc.Space({"k": dc.Categorical(["a", "b", "c"]), "v": dc.Binary(when={"k": ["a", "b"]})})
        same = dc.Space({"k": dc.Categorical(["a", "b", "c"]), "v": dc.Binary(when={"k": ["b", "a"]})})
        other = dc.Space({"k": dc.Categorical(["a", "b", "c"]), "v": dc.Binary(when={"k": "a"})})
        assert space == same
        assert hash(space) == hash(same)
        assert space != other
        assert space.sites != other.sites
        assert "'v' is Binary(when={'k': ['a', 'b']}) here and Binary(when={'k': 'a'}) there" in (
            space.differences(other)
        )
        assert dc.Binary(when={"k": ["a"]}) == dc.Binary(when={"k": "a"}) != dc.Binary()
        assert dc.Binary(when={}) == dc.Binary()
        assert When("", {"k": [1]}) != When("", {"k": [True]})
        assert When("", {"k": 1}) != {"k": []}

    def test_words(self):
        when = {"k": ["a", "b"], "n": {"low": 1}, "m": {"high": 2}, "r": {"low": 1, "high": 2}}
        words = str(dc.Binary(when=when).when)
        assert words == "k is 'a' or 'b', n is at least 1, m is at most 2, r is from 1 to 2"

    def test_notebooks_show_conditions(self):
        assert "<td>kernel is &#x27;rbf&#x27; or &#x27;poly&#x27;</td>" in estimators()._repr_html_()
        assert "when" not in dc.Space.binary(3)._repr_html_()

    def test_arguments_are_copied(self):
        values = ["a"]
        variable = dc.Binary(when={"k": values})
        values.append("b")
        assert variable.when == {"k": "a"}
