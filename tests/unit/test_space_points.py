"""Points of spaces: what is one, and what is said of those that are not."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mixed_space import MIXED, POINT

from dcmaes import Categorical, Float, Integer, Ordinal, Space


class TestPoints:
    def test_positional_points_are_read_only(self):
        space = Space.integers(3, 0, 9)
        x = np.zeros((2, 3))
        for point in (*space.decode_many(x), *space.sample(np.random.default_rng(0), 2)):
            with pytest.raises(ValueError, match="read-only"):
                point[0] = 1

    def test_dicts_are_new_each_time(self):
        first, second = MIXED.decode(MIXED.encode(POINT)), MIXED.decode(MIXED.encode(POINT))
        first["layers"] = 100
        assert second["layers"] == 3

    def test_no_points(self):
        assert MIXED.sample(np.random.default_rng(0), 0) == []
        assert MIXED.encode_many([]).shape == (0, 7)
        assert MIXED.decode_many(np.empty((0, 7))) == []
        assert Space.binary(2).encode_many([]).shape == (0, 2)
        assert Space.binary(2).decode_many(np.empty((0, 2))) == []

    def test_samples_cover_every_value(self):
        # A value of probability 1/24 missing among 1,000 has probability 3e-19.
        points = MIXED.sample(np.random.default_rng(0), 1000)
        for name, n in (("layers", 8), ("act", 3), ("norm", 2), ("batch", 4), ("hour", 24)):
            assert len({p[name] for p in points}) == n

    def test_same_seed_same_samples(self):
        assert MIXED.sample(np.random.default_rng(5), 4) == MIXED.sample(np.random.default_rng(5), 4)

    def test_integral_floats_are_integers(self):
        assert MIXED.encode({**POINT, "layers": 3.0}).tolist() == MIXED.encode(POINT).tolist()
        assert Space.integers(2, 0, 9).encode(np.array([3.0, 4.0])).tolist() == [3, 4]

    def test_flags_may_be_numbers(self):
        assert MIXED.encode({**POINT, "norm": 1}).tolist() == MIXED.encode(POINT).tolist()
        assert Space.binary(2).encode(np.array([True, False])).tolist() == [1, 0]


class TestRefusedPoints:
    @pytest.mark.parametrize(
        ("change", "error", "message"),
        [
            ({"layers": 9}, ValueError, "layers must be an integer from 1 to 8, got 9"),
            ({"layers": 2.5}, ValueError, "layers must be an integer from 1 to 8, got 2.5"),
            ({"layers": math.nan}, ValueError, "layers must be an integer from 1 to 8, got nan"),
            ({"layers": True}, TypeError, "layers must be an integer from 1 to 8, got True"),
            ({"layers": "3"}, TypeError, "layers must be an integer from 1 to 8, got '3'"),
            ({"norm": 2}, ValueError, "norm must be False or True (0 or 1), got 2"),
            ({"norm": "yes"}, TypeError, "norm must be False or True (0 or 1), got 'yes'"),
            ({"act": "rel"}, ValueError, "act must be one of 'relu', 'gelu', 'tanh'; got 'rel'"),
            ({"batch": 48}, ValueError, "batch must be one of 16, 32, 64, 128; got 48"),
            ({"lr": 0.2}, ValueError, "lr must be between 1e-05 and 0.1, got 0.2"),
            ({"lr": math.nan}, ValueError, "lr must be finite, got nan"),
            ({"lr": "0.01"}, TypeError, "lr must be a number, got '0.01'"),
            ({"lr": np.array([0.01])}, TypeError, "lr must be a number, got array([0.01])"),
            ({"lr": 10**400}, ValueError, "lr must be within the range of floating point"),
            (
                {"Layers": 3},
                ValueError,
                "point has 'Layers', which is not a name of the space; did you mean 'layers'?",
            ),
            ({3: 3}, ValueError, "point has 3, which is not a name of the space"),
        ],
    )
    def test_named(self, change, error, message):
        point = {**POINT, **change}
        with pytest.raises(error) as caught:
            MIXED.encode(point)
        assert message in str(caught.value)
        assert not MIXED.contains(point)

    def test_missing_names(self):
        with pytest.raises(ValueError, match="value for every variable, 'width', 'norm' missing"):
            MIXED.encode({k: v for k, v in POINT.items() if k not in ("width", "norm")})

    @pytest.mark.parametrize("point", [None, 3, "relu", [1, 2], np.zeros(7)])
    def test_not_a_dict(self, point):
        with pytest.raises(TypeError, match="point must be a dict"):
            MIXED.encode(point)

    @pytest.mark.parametrize(
        ("point", "error", "message"),
        [
            ([0, 3], ValueError, r"point must be an array of shape \(3,\), got shape \(2,\)"),
            (np.zeros((3, 1)), ValueError, r"got shape \(3, 1\)"),
            ([[0], [1], [2]], TypeError, r"point\[0\] must be an integer from 0 to 9, got \[0\]"),
            ([[0, 1, 2]] * 3, TypeError, r"point\[0\] must be an integer from 0 to 9, got \[0, 1, 2\]"),
            (b"abc", TypeError, r"point must be an array of shape \(3,\), got b'abc'"),
            ([0, 10**5000, 1], ValueError, r"point\[1\] must be .*, got an integer of 16610 bits"),
            ({"a": 1}, TypeError, r"point must be an array of shape \(3,\), got {'a': 1}"),
            (None, TypeError, r"got None"),
            ([0, 3, 10], ValueError, r"point\[2\] must be an integer from 0 to 9, got 10"),
            ([0, -1, 1], ValueError, r"point\[1\] must be an integer from 0 to 9, got -1"),
            (
                [0, 2**70, 1],
                ValueError,
                r"point\[1\] must be an integer from 0 to 9, got 1180591620717411303424",
            ),
            (np.array([0, 2**63, 1], dtype=np.uint64), ValueError, r"point\[1\] must be an integer"),
            ([0.5, 3, 1], ValueError, r"point\[0\] must be an integer from 0 to 9, got 0.5"),
            ([0, math.nan, 1], ValueError, r"point\[1\] must be an integer from 0 to 9, got nan"),
            ([0, math.inf, 1], ValueError, r"point\[1\] must be an integer from 0 to 9, got inf"),
            (["0", "1", "2"], TypeError, r"point\[0\] must be an integer from 0 to 9, got '0'"),
            ([0, [1], 2], TypeError, r"point\[1\] must be an integer from 0 to 9, got \[1\]"),
            ([0, None, 2], TypeError, r"point\[1\] must be an integer from 0 to 9, got None"),
            (
                np.array([True, False, True]),
                TypeError,
                r"point\[0\] must be an integer from 0 to 9, got .*True",
            ),
        ],
    )
    def test_positional(self, point, error, message):
        space = Space.integers(3, 0, 9)
        with pytest.raises(error, match=message):
            space.encode(point)
        assert not space.contains(point)

    @pytest.mark.parametrize(
        ("point", "message"),
        [
            ([1, 2.5, 10], r"point\[0\] must be an integer from 2 to 5, got 1"),
            ([2.5, 2.5, 10], r"point\[0\] must be an integer from 2 to 5, got 2.5"),
            ([2, math.nan, 10], r"point\[1\] must be finite"),
            ([2, 5.5, 10], r"point\[1\] must be between -5.0 and 5.0, got 5.5"),
            ([2, 2.5, 15], r"point\[2\] must be one of 10, 0.5, 20; got 15"),
        ],
    )
    def test_positional_mixed(self, point, message):
        space = Space.array([Integer(2, 5), Float(-5, 5), Ordinal([10, 0.5, 20])])
        assert space.contains([2, 2.5, 20])
        with pytest.raises(ValueError, match=message):
            space.encode(point)

    @pytest.mark.parametrize("state", [-1.0, 3.0, 0.5, math.nan, math.inf])
    def test_bad_states_are_not_decoded(self, state):
        space = Space({"act": Categorical(["a", "b", "c"]), "lr": Float(0, 1)})
        with pytest.raises(
            ValueError, match=r"x must be a whole number from 0.0 to 2.0 for variable 'act', got"
        ):
            space.decode([state, 0.5])
        with pytest.raises(ValueError, match=r"x must have shape \(n, 2\), got \(1, 1\)"):
            space.decode([0.0])
