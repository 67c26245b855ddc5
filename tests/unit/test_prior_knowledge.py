"""What users know beforehand: defaults, which are tried first, and weights, by which choices are drawn."""

from __future__ import annotations

import copy
import json
import pickle
import tomllib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dcmaes as dc
from dcmaes.space._choices import read_prior
from dcmaes.store._run_store import OtherRunError
from dcmaes.strategies import strategy_names

SINGLE = [name for name in strategy_names() if name not in ("paper", "front")]
KNOWN = dc.Space(
    {
        "layers": dc.Integer(1, 8, default=3),
        "rate": dc.Float(1e-4, 1.0, log=True, default=0.1),
        "act": dc.Categorical(["relu", "gelu", "tanh"], default="gelu", prior=[1, 2, 1]),
        "batch": dc.Ordinal([16, 32, 64], default=64),
        "norm": dc.Binary(default=True),
    }
)
DEFAULT = {"layers": 3, "rate": 0.1, "act": "gelu", "batch": 64, "norm": True}


def cost(point):
    return abs(point["layers"] - 5) + point["rate"] + (point["act"] != "tanh") + point["norm"]


class TestDefinitions:
    def test_a_default_has_the_type_of_the_values(self):
        assert type(dc.Integer(1, 8, default=3.0).default) is int
        assert dc.Binary(default=1).default is True
        assert type(dc.Ordinal([16, 32], default=np.int64(16)).default) is int
        assert dc.Float(0, 1, step=0.1, default=0.1 + 0.2).default == 0.3

    @pytest.mark.parametrize(
        ("make", "error", "message"),
        [
            (
                lambda: dc.Integer(1, 8, default=9),
                ValueError,
                "Integer: default must be an integer from 1 to 8",
            ),
            (
                lambda: dc.Integer(0, 8, step=2, default=3),
                ValueError,
                "Integer: default .* in steps of 2, got 3",
            ),
            (lambda: dc.Integer(1, 8, default="3"), TypeError, "Integer: default must be an integer"),
            (
                lambda: dc.Float(0, 1, default=2),
                ValueError,
                "Float: default must be between 0.0 and 1.0, got 2",
            ),
            (lambda: dc.Float(0, 1, step=0.5, default=0.2), ValueError, "Float: default .* in steps of 0.5"),
            (
                lambda: dc.Binary(default=2),
                ValueError,
                r"Binary: default must be False or True \(0 or 1\), got 2",
            ),
            (
                lambda: dc.Ordinal([1, 2], default=3),
                ValueError,
                "Ordinal: default must be one of 1, 2; got 3",
            ),
            (
                lambda: dc.Categorical(["a", "b"], default="c"),
                ValueError,
                "default must be one of 'a', 'b'; got 'c'",
            ),
            (
                lambda: dc.Categorical(["a", "b"], prior=[1]),
                ValueError,
                "prior must have 2 weights, one for each",
            ),
            (
                lambda: dc.Categorical(["a", "b"], prior=[1, 0]),
                ValueError,
                r"positive weights only .*got \[1, 0\]",
            ),
            (lambda: dc.Categorical(["a", "b"], prior=[1, -1]), ValueError, "positive weights only"),
            (lambda: dc.Categorical(["a", "b"], prior=[1, np.nan]), ValueError, r"prior\[1\] must be finite"),
            (
                lambda: dc.Categorical(["a", "b"], prior=[1, "x"]),
                TypeError,
                r"prior\[1\] must be a number, got 'x'",
            ),
            (lambda: dc.Categorical(["a", "b"], prior=[1, 1e-12]), ValueError, "a factor of at most 1e"),
            (
                lambda: dc.Categorical(["a", "b"], prior={"a": 1, "b": 2}),
                TypeError,
                "prior must be a list of positive",
            ),
            (lambda: dc.Categorical(["a", "b"], prior=0.5), TypeError, "prior must be a list of positive"),
            (lambda: dc.Binary(prior=[0.2, 0.3, 0.5]), ValueError, "Binary: prior must have 2 weights"),
        ],
    )
    def test_mistakes_are_named(self, make, error, message):
        with pytest.raises(error, match=message):
            make()

    def test_none_is_a_default_only_where_it_is_a_choice(self):
        assert dc.Categorical(["a"], default=None).default_state is None
        assert dc.Categorical(["a", None]).default_state is None
        assert dc.Categorical(["a", None], default=None).default_state == 1.0
        assert dc.Categorical(["a", None], default=None) != dc.Categorical(["a", None])

    def test_weights_are_normalised_and_probabilities_kept(self):
        assert dc.Categorical(["a", "b", "c"], prior=np.array([6, 1, 1])).prior == (0.75, 0.125, 0.125)
        assert dc.Categorical(["a", "b", "c"], prior=(0.7, 0.2, 0.1)).prior == (0.7, 0.2, 0.1)
        assert dc.Binary(prior=[1e308, 1e308]).prior == (0.5, 0.5)
        assert dc.Ordinal([1, 2], prior=[3, 1]) == dc.Ordinal([1, 2], prior=[30, 10])

    @given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=50))
    def test_normalising_twice_changes_nothing(self, weights):
        once = read_prior("Categorical", weights, len(weights))
        assert sum(once) == pytest.approx(1.0)
        assert read_prior("Categorical", once, len(weights)) == once

    def test_equal_only_with_the_same_knowledge(self):
        plain, known = dc.Integer(1, 8), dc.Integer(1, 8, default=3)
        assert plain != known
        assert known == dc.Integer(1, 8, default=3)
        choices = ["a", "b"]
        made = {
            dc.Categorical(choices),
            dc.Categorical(choices, default="a"),
            dc.Categorical(choices, prior=[1, 2]),
            dc.Categorical(choices, default="a", prior=[1, 2]),
        }
        assert len(made) == 4
        assert dc.Categorical(choices, default="a", prior=[1, 2]) in made

    def test_shown_as_they_are_written(self):
        variables = [
            dc.Integer(1, 8, default=3),
            dc.Float(0.0, 1.0, step=0.25, default=0.5),
            dc.Binary(default=True, prior=[0.25, 0.75]),
            dc.Ordinal([16, 32], default=32),
            dc.Categorical(["a", None], default=None, prior=[0.25, 0.75]),
        ]
        for variable in variables:
            assert eval(repr(variable), vars(dc)) == variable  # noqa: S307
        assert repr(variables[-1]) == "Categorical(['a', None], default=None, prior=[0.25, 0.75])"
        arrays = dc.Space.array([dc.Integer(0, 9, default=3)] * 2)
        assert eval(repr(arrays), vars(dc)) == arrays  # noqa: S307
        html = dc.Space({"a": dc.Binary(), "b": variables[2]})._repr_html_()
        assert "<th>default</th>" in html
        assert "0.25, 0.75" in html

    def test_copies_find_their_default(self):
        unhashable = [object(), {}]  # compared by identity
        variable = dc.Categorical(unhashable, default=unhashable[0], prior=[1, 2])
        assert copy.deepcopy(variable).default_state == 0.0
        for each in KNOWN.variables:
            assert pickle.loads(pickle.dumps(each)) == each == copy.deepcopy(each)  # noqa: S301
            assert each.with_when({"k": 1}).default_state == each.default_state


class TestDefaultPoint:
    def test_it_is_made_of_all_defaults(self):
        assert KNOWN.default == DEFAULT

    def test_spaces_without_a_default_have_none(self):
        assert (
            dc.Space({"a": dc.Integer(0, 9), "c": dc.Categorical(["x", "y"], prior=[1, 9])}).default is None
        )

    def test_other_variables_are_in_the_middle_and_choices_likely(self):
        space = dc.Space(
            {
                "known": dc.Integer(0, 9, default=7),
                "count": dc.Integer(0, 10),
                "size": dc.Integer(1, 100, log=True),
                "rate": dc.Float(1e-4, 1.0, log=True),
                "share": dc.Float(0.0, 1.0),
                "batch": dc.Ordinal([1, 2, 3]),
                "likely": dc.Ordinal([1, 2, 3], prior=[1, 1, 2]),
                "first": dc.Categorical(["a", "b"]),
                "likeliest": dc.Categorical(["a", "b", "c"], prior=[1, 2, 2]),
            }
        )
        assert space.default == {
            **{"known": 7, "count": 5, "size": 10, "rate": pytest.approx(0.01), "share": 0.5, "batch": 2},
            **{"likely": 3, "first": "a", "likeliest": "b"},
        }

    def test_inactive_variables_are_left_out(self):
        def space(kernel):
            return dc.Space(
                {
                    "kernel": dc.Categorical(["rbf", "poly"], default=kernel),
                    "degree": dc.Integer(2, 5, default=3, when={"kernel": "poly"}),
                    "gamma": dc.Float(0, 1, default=0.1, when={"kernel": "rbf"}),
                }
            )

        assert space("rbf").default == {"kernel": "rbf", "gamma": 0.1}
        assert space("poly").default == {"kernel": "poly", "degree": 3}
        for kernel in ("rbf", "poly"):
            trial = dc.Optimizer(space(kernel), budget=5, seed=0).ask(1)[0]
            assert trial.point == space(kernel).default

    def test_arrays(self):
        space = dc.Space.array([dc.Binary(default=True), dc.Integer(0, 9), dc.Integer(0, 9, default=8)])
        assert space.default.tolist() == [1, 4, 8]
        assert space.default.dtype == np.int64


class TestRunsStartThere:
    @pytest.mark.parametrize("strategy", SINGLE)
    def test_it_is_evaluated_first_and_once(self, strategy):
        result = dc.minimize(cost, KNOWN, budget=30, seed=0, strategy=strategy)
        points = [record.point for record in result.history]
        assert points[0] == DEFAULT
        assert DEFAULT not in points[1:]

    def test_paper(self):
        space = dc.Space.array([dc.Integer(0, 9, default=3)] * 3)
        result = dc.minimize(lambda x: int(x.sum()), space, budget=10, seed=0, strategy="paper")
        assert result.history[0].point.tolist() == [3, 3, 3]

    def test_several_objectives(self):
        two = {"a": "minimize", "b": "minimize"}
        result = dc.minimize(lambda p: (cost(p), p["batch"]), KNOWN, budget=10, seed=0, objectives=two)
        assert result.history[0].point == DEFAULT

    def test_after_the_points_of_x0(self):
        mine = {**DEFAULT, "layers": 8}
        trials = dc.Optimizer(KNOWN, budget=9, seed=0, x0=[mine]).ask(3)
        assert [trial.point for trial in trials[:2]] == [mine, DEFAULT]

    @pytest.mark.parametrize(
        "x0", [[DEFAULT], [(DEFAULT, 1.0)], [({**DEFAULT}, 1.0), {**DEFAULT, "layers": 1}]]
    )
    def test_not_again_if_it_is_in_x0(self, x0):
        result = dc.minimize(cost, KNOWN, budget=10, seed=0, x0=x0, duplicates="allow")
        assert sum(record.point == DEFAULT for record in result.history[: len(x0) + 3]) == 1

    def test_not_if_a_constraint_excludes_it(self):
        result = dc.minimize(cost, KNOWN, budget=10, seed=0, constraints=["layers >= 4"])
        assert result.nfev == 10
        assert all(record.point["layers"] >= 4 for record in result.history)

    def test_one_evaluation_is_the_default(self):
        assert dc.minimize(cost, KNOWN, budget=1, seed=0).x == DEFAULT


class TestStores:
    def test_a_run_goes_on_as_if_it_had_not_stopped(self, tmp_path):
        arguments = {"budget": 30, "seed": 4}
        whole = dc.minimize(cost, KNOWN, **arguments)
        path = tmp_path / "run.db"
        dc.minimize(cost, KNOWN, **arguments, store=path, callbacks=lambda opt: opt.n_evaluations == 7)
        resumed = dc.resume(path, cost)
        assert [r.point for r in resumed.history] == [r.point for r in whole.history]
        assert dc.store.read(path).result().x == whole.x

    def test_a_saved_optimizer_still_starts_there(self, tmp_path):
        dc.Optimizer(KNOWN, budget=9, seed=0).save(tmp_path / "run")
        assert dc.Optimizer.load(tmp_path / "run").ask(1)[0].point == DEFAULT

    def test_another_default_or_prior_is_another_run(self, tmp_path):
        first = dc.Space({"a": dc.Categorical(["x", "y", "z"], default="x", prior=[1, 2, 1])})
        dc.minimize(lambda p: 0.0, first, budget=2, seed=0, store=tmp_path / "run.db")
        for options in ({"default": "y", "prior": [1, 2, 1]}, {"default": "x", "prior": [2, 1, 1]}, {}):
            other = dc.Space({"a": dc.Categorical(["x", "y", "z"], **options)})
            with pytest.raises(OtherRunError, match=r"space: 'a' is .* in the arguments and .*default='x'"):
                dc.minimize(lambda p: 0.0, other, budget=2, seed=0, store=tmp_path / "run.db")


class TestPlainData:
    def test_nothing_is_lost_through_json(self):
        names = {
            **{
                "none": dc.Categorical(["a", None], default=None),
                "pair": dc.Ordinal([(1, 2), 3], default=(1, 2)),
            },
            **dict(zip(KNOWN.names, KNOWN.variables, strict=True)),
            "flag": dc.Binary(default=False, prior=[0.1, 0.9], when={"norm": True}),
        }
        space = dc.Space(names)
        back = dc.Space.from_dict(json.loads(json.dumps(space.to_dict())))
        assert back == space
        assert back.default == space.default
        arrays = dc.Space.array([dc.Integer(0, 9, default=3)] * 4 + [dc.Binary(prior=[1, 3])])
        assert dc.Space.from_dict(json.loads(json.dumps(arrays.to_dict()))) == arrays

    def test_unused_they_leave_no_trace(self):
        space = dc.Space({"a": dc.Integer(0, 9), "b": dc.Binary(), "c": dc.Categorical(["x"])})
        keys = {key for entry in space.to_dict().values() for key in entry}
        assert keys == {"type", "low", "high", "choices"}

    def test_as_a_specification_writes_them(self):
        data = tomllib.loads(
            """
            layers = { type = "integer", low = 1, high = 8, default = 3 }
            act = { type = "categorical", choices = ["relu", "gelu"], default = "gelu", prior = [1, 3] }
            norm = { type = "binary", default = true, prior = [0.2, 0.8] }
            """
        )
        space = dc.Space.from_dict(data)
        assert space.default == {"layers": 3, "act": "gelu", "norm": True}
        assert space.variables[1].prior == (0.25, 0.75)

    @pytest.mark.parametrize(
        ("entry", "message"),
        [
            (
                {"type": "integer", "low": 1, "high": 8, "default": 9},
                "'v': Integer: default must be an integer",
            ),
            (
                {"type": "integer", "low": 1, "high": 8, "prior": [1]},
                "'v': 'prior' is not a key of type 'integer'",
            ),
            (
                {"type": "categorical", "choices": ["a"], "prior": [0]},
                "'v': Categorical: prior must have positive",
            ),
        ],
    )
    def test_mistakes_are_named(self, entry, message):
        with pytest.raises(ValueError, match=message):
            dc.Space.from_dict({"v": entry})
