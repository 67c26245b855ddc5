"""Known points cost nothing, are never handed out twice, or are averaged: as the user wants."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

import dcmaes as dc
from dcmaes.run import _search
from dcmaes.strategies import Evaluations, RandomSearch


class Stubborn(RandomSearch):
    """Draws the same few points for ever, and keeps what it is told."""

    def __init__(self, points):
        super().__init__(len(points))
        object.__setattr__(self, "points", np.array(points, dtype=float))
        object.__setattr__(self, "told", [])

    def sample(self, state, n, rng, memory):
        return self.points[rng.integers(len(self.points), size=n)]

    def update(self, state, told, memory):
        self.told.extend(zip(told.x.tolist(), told.value.tolist(), told.is_repeat.tolist(), strict=True))
        return super().update(state, told, memory)


def test_a_known_draw_is_told_for_nothing_with_its_value():
    strategy = Stubborn([[3, 3]])
    opt = dc.Optimizer(dc.Space.integers(2, 0, 9), budget=20, seed=0, strategy=strategy)
    (first,) = opt.ask(1)
    opt.tell(first, 5.5)
    (second,) = opt.ask(1)
    assert second.point.tolist() != [3, 3]
    assert opt.n_evaluations == 1
    assert strategy.told[0] == ([3.0, 3.0], 5.5, False)
    assert strategy.told[1:] == [([3.0, 3.0], 5.5, True)] * (len(strategy.told) - 1)
    assert len(strategy.told) == 1 + _search.KNOWN_BATCHES


def test_a_point_found_excluded_before_counts_as_known():
    strategy = Stubborn([[3, 3]])
    opt = dc.Optimizer(
        dc.Space.integers(2, 0, 9), budget=20, seed=0, strategy=strategy, constraints=lambda x: x[0] == 3
    )
    (trial,) = opt.ask(1)
    assert trial.point[0] != 3
    assert len(strategy.told) == 1 + _search.KNOWN_BATCHES


def test_a_draw_that_is_out_is_dropped():
    strategy = Stubborn([[3, 3]])
    opt = dc.Optimizer(dc.Space.integers(2, 0, 9), budget=20, seed=0, strategy=strategy)
    points = [tuple(opt.ask(1)[0].point) for _ in range(5)]
    assert len(set(points)) == 5
    assert strategy.told == []


def test_a_draw_twice_in_a_batch_is_handed_out_once():
    opt = dc.Optimizer(dc.Space.binary(40), budget=50, seed=0, strategy=Stubborn([[0] * 40, [1] * 40]))
    assert sorted(sum(trial.point) for trial in opt.ask(2)) == [0, 40]


@pytest.mark.parametrize("space", [dc.Space.binary(60), dc.Space.array([dc.Binary(), dc.Float(0, 1)])])
def test_a_stubborn_strategy_is_overcome_near_the_best_point(space):
    at = np.zeros(space.dimension)
    opt = dc.Optimizer(space, budget=30, seed=0, strategy=Stubborn([at]))
    while opt.should_stop() is None:
        opt.tell(opt.ask(), [1.0])
    assert opt.result().stop_reason is dc.StopReason.BUDGET
    keys = {space.encode(record.point).tobytes() for record in opt.history}
    assert len(keys) == 30
    changes = [np.count_nonzero(space.encode(record.point) != at) for record in opt.history]
    assert np.median(changes) <= 2


def test_known_tells_strategies_what_is_known():
    opt = dc.Optimizer(
        dc.Space.integers(1, 0, 9), budget=10, x0=[([4], 1.0), [5]], constraints=lambda x: x[0] == 6, seed=0
    )
    opt._run.memory.exclude(opt._run.memory.codec.rows(np.array([[6.0]]))[0], 1.0)
    opt.ask(1)
    known = opt._run.memory
    assert known.contains(np.array([[4.0], [5.0], [6.0], [7.0]])).tolist() == [True, True, True, False]
    np.testing.assert_array_equal(known.pending, [[5.0]])


def test_reevaluated_points_are_averaged_and_the_mean_is_told():
    strategy = Stubborn([[0]])
    opt = dc.Optimizer(
        dc.Space.integers(1, 0, 3), budget=4, seed=0, strategy=strategy, duplicates="reevaluate"
    )
    for value in (4.0, 2.0, 0.0, 6.0):
        opt.tell(opt.ask(1), [value])
    assert [value for _, value, _ in strategy.told] == [4.0, 3.0, 2.0, 3.0]
    result = opt.result()
    assert (result.fun, result.nfev, result.x.tolist()) == (3.0, 4, [0])
    assert result.history.values.tolist() == [4.0, 2.0, 0.0, 6.0]


def test_the_best_mean_is_reported_not_the_luckiest_value():
    strategy = Stubborn([[0], [1]])
    opt = dc.Optimizer(
        dc.Space.integers(1, 0, 1), budget=60, seed=0, strategy=strategy, duplicates="reevaluate"
    )
    noise = np.random.default_rng(0)
    while opt.should_stop() is None:
        (trial,) = opt.ask(1)
        lucky = trial.point[0] == 1
        opt.tell(trial, 1.0 + lucky + (3.0 if lucky else 0.1) * noise.normal())
    result = opt.result()
    assert result.history.values.min() < 0.0
    assert result.x.tolist() == [0]
    assert abs(result.fun - 1.0) < 0.2


def test_allowed_duplicates_are_evaluated_again_and_the_space_is_never_exhausted():
    seen = Counter()
    result = dc.minimize(
        lambda x: seen.update([tuple(x)]) or 1.0,
        dc.Space.binary(2),
        budget=40,
        seed=0,
        duplicates="allow",
        strategy="random",
    )
    assert result.nfev == 40
    assert sum(seen.values()) == 40
    assert max(seen.values()) > 1


def test_a_large_space_is_listed_when_most_of_it_is_known(monkeypatch):
    monkeypatch.setattr(_search, "LISTED_POINTS", 10)
    result = dc.minimize(
        lambda x: float(x[0]), dc.Space.integers(2, 1, 15), budget=1000, seed=0, strategy="random"
    )
    assert result.nfev == 225
    assert result.stop_reason is dc.StopReason.SPACE_EXHAUSTED


def test_variables_with_one_value_do_not_hide_exhaustion():
    space = dc.Space.array([dc.Float(2.5, 2.5), dc.Integer(7, 7), dc.Binary()])
    result = dc.minimize(lambda x: float(x.sum()), space, budget=10, seed=0, strategy="random")
    assert (result.nfev, result.fun) == (2, 9.5)
    assert math.isfinite(space.size)


def test_evaluations_order_failures_last():
    told = Evaluations(
        np.zeros((4, 1)), np.array([np.nan, 2.0, np.nan, 1.0]), np.array([np.inf, 0.0, 0.5, 0.7])
    )
    assert told.order().tolist() == [1, 2, 3, 0]
