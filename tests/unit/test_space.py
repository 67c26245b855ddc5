"""Spaces: points, their coding, and what points are refused."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mixed_space import MIXED, POINT

from dcmaes import Binary, Categorical, Float, Integer, Ordinal, Space
from dcmaes.space import CATEGORY, CONTINUOUS, LATTICE

plain_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.lists(inner, max_size=3).map(tuple),
    max_leaves=4,
)


def try_listed(kind, values):
    """The variable, without the values that repeat an earlier one."""
    kept = []
    for value in values:
        try:
            kind([*kept, value])
        except ValueError:
            continue
        kept.append(value)
    return kind(kept)


@st.composite
def integers(draw):
    low = draw(st.integers(-(2**62), 2**62) | st.integers(-1000, 1000) | st.integers(1, 1000))
    span = draw(st.just(0) | st.integers(0, 10) | st.integers(0, 10**9) | st.integers(0, 2**53 - 1))
    step = draw(st.just(1) | st.integers(1, min(span, 1000) or 1) | st.integers(1, span or 1))
    flags = draw(st.sampled_from([{}, {"periodic": True}] + ([{"log": True}] if low >= step else [])))
    return Integer(low, low + span, step=step, **flags)


@st.composite
def floats(draw):
    bounds = st.floats(-1e300, 1e300) | st.floats(-10, 10)
    low, high = sorted([draw(bounds), draw(bounds)])
    if draw(st.booleans()):
        return Float(low, high, periodic=draw(st.booleans()))
    return Float(abs(low) + 1e-3, abs(low) + 1e-3 + abs(high), log=True)


@st.composite
def grids(draw):
    """Floats with a step: as people write them, in decimals, and of any size."""
    digits = draw(st.integers(0, 6))
    step = draw(st.integers(1, 10**4)) / 10**digits
    low = draw(st.integers(-(10**6), 10**6)) / 10**digits
    n_steps = draw(st.integers(1, 10) | st.integers(1, 10**9))
    if draw(st.booleans()):
        return Float(low, low + n_steps * step, step=step)
    kind = draw(st.sampled_from(["periodic", "log"]))
    if kind == "log":
        low = step * draw(st.integers(1, 100))
    return Float(low, low + n_steps * step, step=step, **{kind: True})


def listed(kind):
    return st.lists(plain_values, min_size=1, max_size=6).map(lambda values: try_listed(kind, values))


variables = st.one_of(
    st.just(Binary()),
    integers(),
    floats(),
    grids(),
    listed(Ordinal),
    listed(Categorical),
    st.just(Categorical([f"choice {i}" for i in range(200)])),
)
numeric_variables = st.one_of(
    st.just(Binary()),
    floats(),
    grids(),
    st.integers(-(2**52), 2**52).flatmap(lambda a: st.integers(0, 10**9).map(lambda n: Integer(a, a + n))),
    st.lists(
        st.integers(-(10**6), 10**6) | st.floats(-1e6, 1e6), min_size=1, max_size=6, unique_by=float
    ).map(Ordinal),
)
named_spaces = st.lists(variables, min_size=1, max_size=6).map(
    lambda vs: Space({f"v{i}": v for i, v in enumerate(vs)})
)
positional_spaces = st.one_of(
    st.lists(st.just(Binary()) | integers(), min_size=1, max_size=6).map(Space.array),
    st.lists(numeric_variables, min_size=1, max_size=6).map(Space.array),
)
seeds = st.integers(0, 2**32 - 1)


def edges(space):
    """Coded points with all sites at their first, and at their last state."""
    sites = space.sites
    is_continuous = sites.kind == CONTINUOUS
    first = np.where(is_continuous, sites.low, 0.0)
    last = np.where(is_continuous, sites.high, sites.n_states - 1.0)
    return np.array([first, last])


class TestRoundTrip:
    @settings(max_examples=200)
    @given(named_spaces, seeds)
    def test_named(self, space, seed):
        points = [*space.sample(np.random.default_rng(seed), 3), *space.decode_many(edges(space))]
        x = space.encode_many(points)
        again = space.decode_many(x)
        assert np.array_equal(space.encode_many(again), x)
        for point, copied in zip(points, again, strict=True):
            assert list(point) == list(space.names)
            for variable, value, back in zip(space.variables, point.values(), copied.values(), strict=True):
                assert type(back) is type(value)
                if isinstance(variable, (Ordinal, Categorical)):
                    assert back is value
                else:
                    assert back == value
                if isinstance(variable, (Integer, Float)):
                    assert variable.low <= value <= variable.high

    @settings(max_examples=200)
    @given(positional_spaces, seeds)
    def test_positional(self, space, seed):
        points = [*space.sample(np.random.default_rng(seed), 3), *space.decode_many(edges(space))]
        is_integer = all(isinstance(v, (Binary, Integer)) for v in space.variables)
        for point in points:
            assert point.dtype == (np.int64 if is_integer else np.float64)
            assert np.array_equal(space.decode(space.encode(point)), point)
            assert np.array_equal(space.decode(space.encode(point.tolist())), point)
        assert np.array_equal(space.encode_many(np.array(points)), space.encode_many(points))

    def test_coded_by_hand(self):
        expected = [2, 112, 2, 1, 2, 23, 1e-3]
        assert MIXED.encode(POINT).tolist() == expected
        assert MIXED.decode(expected) == POINT

    def test_types_in_dicts(self):
        point = MIXED.sample(np.random.default_rng(0), 1)[0]
        assert [type(v) for v in point.values()] == [int, int, str, bool, int, int, float]

    def test_huge_bounds_are_exact(self):
        space = Space.array(
            [Integer(2**62 - 5, 2**62 + 3), Integer(-(2**63), -(2**63) + 1), Integer(0, 2**53 - 1)]
        )
        for point in ([2**62 + 3, -(2**63), 2**53 - 1], [2**62 - 5, -(2**63) + 1, 2**53 - 2]):
            assert space.decode(space.encode(point)).tolist() == point

    def test_integers_and_floats_in_one_list_lose_nothing(self):
        space = Space.array([Integer(2**60, 2**60 + 9), Integer(0, 9)])
        assert space.encode([2**60 + 1, 3.0]).tolist() == [1, 3]
        space = Space.array([Integer(2**53 - 5, 2**53 + 5), Integer(0, 9)])
        assert space.encode([2**53 + 1, 3.0]).tolist() == [6, 3]
        assert not Space.array([Integer(1, 2**53), Float(0, 9)]).contains([2**53 + 1, 3.0])

    def test_choices_are_the_very_objects(self):
        class Thing:
            __hash__ = None

        objects = [
            [1, 2],
            {"a": 1},
            Thing(),
            Thing(),
            1,
            True,
            1.0,
            "1",
            np.float32(0.1),
            None,
            math.nan,
            print,
        ]
        space = Space({"c": Categorical(objects), "o": Ordinal(objects)})
        for i, value in enumerate(objects):
            x = space.encode({"c": value, "o": value})
            assert x.tolist() == [i, i]
            point = space.decode(x)
            assert point["c"] is value
            assert point["o"] is value

    def test_equal_choices_are_found(self):
        space = Space({"c": Categorical([[1, 2], {"a": (1,)}, "x", 16, 0.5, np.arange(3)])})
        values = [[1, 2], {"a": (1,)}, np.str_("x"), np.int64(16), np.float64(0.5), np.arange(3)]
        assert [space.encode({"c": v})[0] for v in values] == [0, 1, 2, 3, 4, 5]
        for wrong in ([1, True], (1, 2), "16", np.arange(4), 16.5):
            assert not space.contains({"c": wrong})

    def test_a_number_that_fits_two_choices_is_refused(self):
        space = Space({"c": Categorical([1, 1.0])})
        assert space.encode({"c": 1.0})[0] == 1
        with pytest.raises(ValueError, match=r"c must be one of 1, 1\.0; got np\.int64\(1\)"):
            space.encode({"c": np.int64(1)})

    def test_negative_zero_is_zero(self):
        space = Space.array([Float(-1.0, 1.0), Integer(0, 3)])
        x = space.encode([-0.0, -0.0])
        assert not np.signbit(x).any()


class TestProperties:
    def test_size(self):
        assert Space.binary(64).size == 2**64
        assert Space.integers(100, -50, 50).size == 101**100
        assert Space({"a": Float(2, 2), "b": Ordinal([1, 2])}).size == 2
        assert MIXED.size == math.inf
        assert type(Space({"a": Float(2, 2), "b": Integer(3, 3)}).size) is int

    def test_names_and_dimension(self):
        assert MIXED.names == tuple(POINT)
        assert MIXED.is_named
        assert Space.binary(3).names == (0, 1, 2)
        assert not Space.binary(3).is_named
        assert MIXED.dimension == 7

    def test_sites_by_hand(self):
        sites = MIXED.sites
        assert sites.kind.tolist() == [LATTICE, LATTICE, CATEGORY, LATTICE, LATTICE, LATTICE, CONTINUOUS]
        assert sites.n_states.tolist() == [8, 4081, 3, 2, 4, 24, 0]
        assert sites.periodic.tolist() == [False] * 5 + [True, False]
        assert sites.log.tolist() == [False, True, False, False, False, False, True]
        assert sites.low.tolist() == [0, 16, 0, 0, 0, 0, 1e-5]
        assert sites.high.tolist() == [7, 4096, 2, 1, 3, 23, 1e-1]

    @pytest.mark.parametrize(
        "space",
        [
            MIXED,
            Space.binary(64),
            Space.integers(10, -50, 50),
            Space.integers(3, 1, 1000, log=True),
            Space.array([Integer(0, 9), Float(-5, 5, periodic=True), Ordinal([1, 2.5])]),
        ],
    )
    def test_repr_is_the_code(self, space):
        names = {"Space": Space, "Binary": Binary, "Integer": Integer, "Ordinal": Ordinal}
        names |= {"Categorical": Categorical, "Float": Float}
        assert eval(repr(space), names) == space  # noqa: S307 - what repr shows must be what a user can type

    def test_short_repr(self):
        assert repr(Space.binary(64)) == "Space.binary(64)"
        assert repr(Space.integers(3, 0, 23, periodic=True)) == "Space.integers(3, 0, 23, periodic=True)"
        assert repr(Space.array([Binary(), Integer(0, 1)])) == "Space.array([Binary(), Integer(0, 1)])"

    def test_equality(self):
        one = Space({"a": Integer(0, 3), "b": Categorical([1, "x"])})
        assert one == Space({"a": Integer(0, 3), "b": Categorical([1, "x"])})
        assert hash(one) == hash(Space({"a": Integer(0, 3), "b": Categorical([1, "x"])}))
        assert one != Space({"b": Categorical([1, "x"]), "a": Integer(0, 3)})
        assert one != Space({"a": Integer(0, 3), "b": Categorical([True, "x"])})
        assert one != Space({"a": Integer(0, 3), "b": Ordinal([1, "x"])})
        assert Space.binary(2) != Space.integers(2, 0, 1)
        assert Space.integers(2, 0, 1) != Space({"a": Integer(0, 1), "b": Integer(0, 1)})
        assert one != "a space"

    def test_copies_are_equal(self):
        space = Space({"c": Categorical([[1], {"a": 2}, "x"]), "n": Integer(0, 5)})
        for twin in (copy.deepcopy(space), pickle.loads(pickle.dumps(space))):  # noqa: S301
            assert twin == space
            assert twin.encode({"c": [1], "n": 3}).tolist() == [0, 3]

    def test_differences(self):
        assert MIXED.differences(MIXED) == []
        one = Space({"a": Binary(), "b": Integer(0, 3), "c": Binary()})
        two = Space({"a": Binary(), "b": Integer(0, 4), "d": Binary()})
        assert one.differences(two) == [
            "'c' is missing there",
            "'d' is missing here",
            "'b' is Integer(0, 3) here and Integer(0, 4) there",
        ]
        turned = Space({"b": Integer(0, 3), "a": Binary(), "c": Binary()})
        assert one.differences(turned) == [
            "the order of names is ['a', 'b', 'c'] here and ['b', 'a', 'c'] there"
        ]
        assert one.differences(Space.binary(3)) == ["points are dicts here and arrays there"]
        assert Space.binary(3).differences(Space.binary(2)) == ["2 is missing there"]
        with pytest.raises(TypeError, match="other must be a Space"):
            one.differences({})


class TestSteps:
    @pytest.mark.parametrize(
        ("variable", "values"),
        [
            (Integer(0, 20, step=5), [0, 5, 10, 15, 20]),
            (Integer(-7, 5, step=4), [-7, -3, 1, 5]),
            (Integer(64, 256, step=64, log=True), [64, 128, 192, 256]),
            (Integer(0, 21, step=6, periodic=True), [0, 6, 12, 18]),
            (Integer(3, 3, step=5), [3]),
            (Float(0, 0.5, step=0.1), [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]),
            (Float(-0.3, 0.3, step=0.15), [-0.3, -0.15, 0.0, 0.15, 0.3]),
            (Float(0.1, 0.3, step=0.2), [0.1, 0.3]),
            (Float(0, 1, step=1 / 3), [0.0, 1 / 3, 2 / 3, 1.0]),
            (Float(0, 1, step=np.float32(0.2)), [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]),
            (Float(0, 1, step=0.3), [0.0, 0.3, 0.6, 0.9]),
            (Float(1e-6, 5e-6, step=2e-6, log=False), [1e-6, 3e-6, 5e-6]),
            (Float(0.5, 2, step=0.5, log=True), [0.5, 1.0, 1.5, 2.0]),
            (Float(0, 360, step=90, periodic=True), [0.0, 90.0, 180.0, 270.0]),
            (Float(1e9, 1e9 + 1, step=0.25), [1e9, 1e9 + 0.25, 1e9 + 0.5, 1e9 + 0.75, 1e9 + 1]),
            (Float(2.5, 2.5, step=1), [2.5]),
        ],
    )
    def test_values_are_exact_in_every_form(self, variable, values):
        assert variable.n_values == len(values)
        assert variable.decode(range(len(values))) == values
        named, array = Space({"v": variable}), Space.array([variable, Float(0, 1)])
        assert named.size == len(values)
        for state, value in enumerate(values):
            assert named.encode({"v": value}).tolist() == [state]
            assert named.decode([state]) == {"v": value}
            assert type(named.decode([state])["v"]) is type(value)
            assert array.encode([value, 0.5]).tolist() == [state, 0.5]
            assert array.decode([state, 0.5]).tolist() == [value, 0.5]
        assert {point["v"] for point in named.sample(np.random.default_rng(0), 200)} == set(values)

    @pytest.mark.parametrize("value", [0.1 * 3, 0.3 + 1e-9, np.float32(0.3)])
    def test_rounding_errors_do_not_matter(self, value):
        assert Space({"v": Float(0, 0.3, step=0.1)}).encode({"v": value}).tolist() == [3]

    @pytest.mark.parametrize("value", [0.15, 0.301, -0.1, 0.4, -1e300, 1e300])
    def test_what_is_between_or_outside_is_refused(self, value):
        message = r"must be a number from 0.0 to 0.3 in steps of 0.1, got"
        with pytest.raises(ValueError, match=f"v {message}"):
            Space({"v": Float(0, 0.3, step=0.1)}).encode({"v": value})
        with pytest.raises(ValueError, match=rf"point\[0\] {message}"):
            Space.array([Float(0, 0.3, step=0.1)]).encode([value])

    @pytest.mark.parametrize("value", [3, 12, 25, -5])
    def test_integers_between_or_outside_are_refused(self, value):
        with pytest.raises(ValueError, match=f"v must be an integer from 0 to 20 in steps of 5, got {value}"):
            Space({"v": Integer(0, 20, step=5)}).encode({"v": value})
        for space in (Space.integers(1, 0, 20, step=5), Space.array([Integer(0, 20, step=5), Float(0, 9)])):
            with pytest.raises(ValueError, match=r"point\[0\] must be an integer from 0 to 20 in steps of 5"):
                space.encode([value, 1][: space.dimension])

    def test_the_ends_of_a_circle_are_one_point(self):
        space = Space({"angle": Float(-180, 180, step=45, periodic=True)})
        assert space.size == 8
        assert space.encode({"angle": 180}).tolist() == space.encode({"angle": -180.0}).tolist() == [0]
        assert space.sites.coordinate(np.array([6.0])).tolist() == [0.75]

    def test_a_step_is_part_of_the_variable(self):
        assert Integer(0, 10, step=3) == Integer(0, 9, step=3) != Integer(0, 9)
        assert Integer(0, 9, step=1) == Integer(0, 9)
        assert repr(Integer(0, 10, step=3)) == "Integer(0, 9, step=3)"
        assert repr(Float(0, 1, step=0.3, log=False)) == "Float(0.0, 0.9, step=0.3)"
        assert repr(Space.integers(3, 0, 8, step=4)) == "Space.integers(3, 0, 8, step=4)"

    @pytest.mark.parametrize("seed", range(20))
    def test_equal_variables_have_equal_values(self, seed):
        rng = np.random.default_rng(seed)
        low, step = rng.normal(), rng.exponential()
        variable = Float(low, low + step * rng.uniform(1, 50), step=step)
        again = Float(variable.low, variable.high, step=variable.step)
        assert variable == again
        states = range(int(variable.n_values))
        assert variable.decode(states) == again.decode(states)

    def test_distances_of_a_logarithmic_lattice_are_those_of_its_values(self):
        sites = Space({"width": Integer(64, 1024, step=64, log=True)}).sites
        u = sites.coordinate(np.array([[0.0], [1.0], [3.0], [15.0]]))
        np.testing.assert_allclose(u[:, 0], np.log([1, 2, 4, 16]) / np.log(16), rtol=1e-14)

    def test_spans_beyond_64_bits(self):
        wide = Integer(-(2**63), 2**63 - 1, step=2**12)
        space = Space({"v": wide})
        assert space.decode(space.encode({"v": 2**63 - 2**12})) == {"v": 2**63 - 2**12}
        with pytest.raises(ValueError, match="less than 2\\*\\*63 apart"):
            Space.array([wide])
        arrays = Space.array([Integer(0, 2**62, step=2**12)])
        assert arrays.decode(arrays.encode([2**62 - 2**12])).tolist() == [2**62 - 2**12]
