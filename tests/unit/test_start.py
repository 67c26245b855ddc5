"""Starting points: all forms, asked first or told first."""

from __future__ import annotations

import numpy as np
import pytest

import dcmaes as dc
from dcmaes.run._start import read_start

ARRAYS = dc.Space.integers(2, 0, 9)
NAMED = dc.Space({"a": dc.Integer(0, 9), "c": dc.Categorical(["x", "y"])})
POINT = {"a": 3, "c": "y"}


@pytest.mark.parametrize(
    ("space", "x0", "expected"),
    [
        (ARRAYS, None, []),
        (ARRAYS, [1, 2], [([1, 2], None)]),
        (ARRAYS, (1, 2), [([1, 2], None)]),
        (ARRAYS, np.array([1, 2]), [([1, 2], None)]),
        (ARRAYS, ([1, 2], 3.5), [([1, 2], 3.5)]),
        (ARRAYS, ([1, 2], [3, 4]), [([1, 2], None), ([3, 4], None)]),
        (ARRAYS, np.array([[1, 2], [3, 4]]), [([1, 2], None), ([3, 4], None)]),
        (
            ARRAYS,
            [([1, 2], 3.5), [3, 4], ((5, 6), np.float64(1))],
            [([1, 2], 3.5), ([3, 4], None), ([5, 6], 1.0)],
        ),
        (NAMED, POINT, [([3, 1], None)]),
        (NAMED, (POINT, 2), [([3, 1], 2.0)]),
        (NAMED, [POINT, (POINT, 2)], [([3, 1], None), ([3, 1], 2.0)]),
        (NAMED, iter([POINT]), [([3, 1], None)]),
        (NAMED, [], []),
    ],
)
def test_forms(space, x0, expected):
    starts = read_start(x0, space)
    assert [(x.tolist(), reading and reading.value) for x, reading in starts] == expected


@pytest.mark.parametrize(
    ("space", "x0", "error", "message"),
    [
        (ARRAYS, 3, TypeError, "x0 must be a point"),
        (ARRAYS, b"ab", TypeError, "x0 must be a point"),
        (ARRAYS, "ab", ValueError, "x0: the file 'ab' cannot be read"),
        (ARRAYS, [1, 99], ValueError, "x0: .*99"),
        (ARRAYS, [[1, 2], [1, 99]], ValueError, r"x0\[1\]: .*99"),
        (ARRAYS, [([1, 2], float("nan"))], ValueError, r"x0\[0\]: the known value must be a finite number"),
        (ARRAYS, [([1, 2], None)], ValueError, r"x0\[0\]: the known value"),
        (NAMED, {"a": 3}, ValueError, "x0: .*'c' missing"),
        (NAMED, [POINT, {"a": 3, "c": "z"}], ValueError, r"x0\[1\]: c must be one of"),
        (NAMED, [POINT, None], TypeError, r"x0\[1\] must be a point"),
    ],
)
def test_errors_name_the_point(space, x0, error, message):
    with pytest.raises(error, match=message):
        dc.Optimizer(space, budget=5, x0=x0)


def test_points_without_a_value_are_asked_first_once_each():
    opt = dc.Optimizer(ARRAYS, budget=20, seed=0, x0=[[1, 2], [3, 4], [1, 2]], strategy="random")
    assert opt.ask(1)[0].point.tolist() == [1, 2]
    asked = [trial.point.tolist() for trial in opt.ask(5)]
    assert asked[0] == [3, 4]
    assert [1, 2] not in asked
    assert len(asked) == 5


def test_known_values_are_recorded_for_nothing_and_used():
    opt = dc.Optimizer(
        ARRAYS, budget=5, seed=0, x0=[([1, 2], 7.0), ([3, 4], dc.Outcome(1.0, 2.0))], strategy="random"
    )
    assert opt.n_evaluations == 0
    assert opt.best.value == 7.0
    assert opt.history.is_given.tolist() == [True, True]
    assert opt.history.statuses.tolist() == ["ok", "infeasible"]
    while opt.should_stop() is None:
        opt.tell(opt.ask(), [9.0] * len(opt.pending))
    result = opt.result()
    assert (result.nfev, result.fun, result.x.tolist()) == (5, 7.0, [1, 2])
    assert len(result.history) == 7
    assert not {(1, 2), (3, 4)} & {tuple(record.point) for record in result.history[2:]}


def test_a_known_value_may_reach_the_target():
    result = dc.minimize(lambda x: 1.0, ARRAYS, budget=5, x0=([1, 2], -1.0), target=0.0)
    assert (result.nfev, result.fun) == (0, -1.0)
    assert result.message == "target 0 reached with -1 by a starting point"


def test_known_values_of_the_whole_space_leave_nothing_to_do():
    space = dc.Space.binary(1)
    result = dc.minimize(lambda x: 1.0, space, budget=5, x0=[([0], 3.0), ([1], 2.0)])
    assert (result.nfev, result.fun) == (0, 2.0)
    assert result.stop_reason is dc.StopReason.SPACE_EXHAUSTED


def test_an_excluded_starting_point_is_not_evaluated():
    opt = dc.Optimizer(
        ARRAYS, budget=5, seed=0, x0=[[1, 2], [9, 9]], constraints=lambda x: x[0] - 5, strategy="random"
    )
    assert opt.ask(1)[0].point.tolist() == [1, 2]
    assert (9, 9) not in {tuple(trial.point) for trial in opt.ask(4)}
