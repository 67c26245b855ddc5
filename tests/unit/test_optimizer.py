"""Asking and telling: in any order, in parts, late; wrong tells change nothing."""

from __future__ import annotations

import itertools
import math
import threading

import numpy as np
import pytest

import dcmaes as dc
from dcmaes.optimizer import Trial
from dcmaes.strategies import Evaluations, RandomSearch

SPACE = dc.Space.integers(4, 0, 50)


def quadratic(x):
    return float(((x - 7) ** 2).sum())


class Recording(RandomSearch):
    """Random search that keeps what it was started with and told, to look at."""

    def __init__(self, population_size=10):
        super().__init__(population_size)
        object.__setattr__(self, "told", [])
        object.__setattr__(self, "start", None)

    def init(self, sites, memory, budget, rng):
        object.__setattr__(self, "start", memory.starts)
        return super().init(sites, memory, budget, rng)

    def update(self, state, told, memory):
        self.told.append(told)
        return super().update(state, told, memory)

    def all_told(self):
        joined = Evaluations.empty(self.told[0].x.shape[1])
        for told in self.told:
            joined = Evaluations.join(joined, told)
        return joined


def opened(**arguments):
    return dc.Optimizer(SPACE, **{"budget": 40, "seed": 0, "strategy": RandomSearch(4), **arguments})


def test_ask_without_a_number_gives_what_the_strategy_waits_for():
    opt = opened()
    assert [trial.id for trial in opt.ask()] == [0, 1, 2, 3]
    assert len(opt.ask()) == 1
    opt.tell(opt.pending[:3], [1.0, 2.0, 3.0])
    assert len(opt.ask()) == 2
    assert len(opt.pending) == 4


def test_ask_never_exceeds_the_budget():
    opt = opened(budget=10)
    first = opt.ask(7)
    assert len(opt.ask(7)) == 3
    assert opt.ask(7) == []
    assert opt.should_stop() is None
    opt.tell(first, [1.0] * 7)
    assert opt.ask() == []
    opt.tell(opt.pending, [1.0] * 3)
    assert opt.should_stop() is dc.StopReason.BUDGET


@pytest.mark.parametrize("n", [0, -1, 1.5, True, "3"])
def test_ask_refuses_a_bad_number(n):
    with pytest.raises((TypeError, ValueError), match="n must be"):
        opened().ask(n)


def test_points_arrive_as_the_types_of_the_space():
    point = opened().ask(1)[0].point
    assert point.dtype == np.int64
    space = dc.Space(
        {"n": dc.Integer(0, 3), "b": dc.Binary(), "f": dc.Float(0, 1), "c": dc.Categorical([None, 1j])}
    )
    point = dc.Optimizer(space, budget=3, strategy="random").ask(1)[0].point
    assert [type(point[name]) for name in "nbf"] == [int, bool, float]
    assert point["c"] in (None, 1j)


def test_telling_in_any_order_records_in_the_order_told():
    opt = opened()
    trials = opt.ask(6)
    opt.tell(trials[4], 4.0)
    opt.tell([trials[1], trials[0]], np.array([1.0, 0.0]))
    assert opt.history.ids.tolist() == [4, 1, 0]
    assert opt.history.values.tolist() == [4.0, 1.0, 0.0]
    assert [trial.id for trial in opt.pending] == [2, 3, 5]
    for record, trial in zip(opt.history, (trials[4], trials[1], trials[0]), strict=True):
        np.testing.assert_array_equal(record.point, trial.point)


def test_how_tells_are_grouped_makes_no_difference():
    def run(sizes):
        opt, asked = opened(strategy=RandomSearch(5)), []
        for _ in range(4):
            trials = opt.ask(10)
            asked += [trial.point.tolist() for trial in trials]
            left = trials
            for size in itertools.cycle(sizes):
                part, left = left[:size], left[size:]
                opt.tell(part, [quadratic(trial.point) for trial in part])
                if not left:
                    break
        return asked

    assert run([1]) == run([3, 1, 2]) == run([10])


def test_the_strategy_is_told_everything_once_in_order_in_the_portions_it_waits_for():
    strategy = Recording(population_size=4)
    opt = opened(strategy=strategy)
    trials = opt.ask(10)
    opt.tell(trials, [float(i) for i in range(10)])
    assert [len(told) for told in strategy.told] == [4, 4]
    opt.ask(1)
    assert [len(told) for told in strategy.told] == [4, 4, 2]
    told = strategy.all_told()
    np.testing.assert_array_equal(told.value, np.arange(10.0))
    np.testing.assert_array_equal(told.x, [SPACE.encode(trial.point) for trial in trials])


def _state_of(opt):
    return len(opt.history), [trial.id for trial in opt.pending], opt.n_evaluations, opt.should_stop()


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda o, t: o.tell(Trial(99, t[0].point), 1.0), ValueError, "trial 99 is unknown"),
        (lambda o, t: o.tell(Trial(-1, t[0].point), 1.0), ValueError, "trial -1 is unknown"),
        (lambda o, t: o.tell([t[1], t[0]], [1.0, 2.0]), ValueError, "trial 0 was told already"),
        (lambda o, t: o.tell([t[1], t[1]], [1.0, 2.0]), ValueError, "twice"),
        (lambda o, t: o.tell(t[1:3], [1.0]), ValueError, "values must be a sequence of 2, .* got 1"),
        (lambda o, t: o.tell(t[1:3], 1.0), TypeError, "values must be a sequence of 2"),
        (lambda o, t: o.tell(t[1:3], "ab"), TypeError, "values must be a sequence of 2"),
        (lambda o, t: o.tell(t[1:3], {1: 1.0, 2: 2.0}), TypeError, "values must be .* got {1: 1.0, 2: 2.0}"),
        (lambda o, t: o.tell(t[1:3], {1.0, 2.0}), TypeError, "values must be a sequence of 2"),
        (lambda o, t: o.tell(t[1], 1.0, seconds="x"), TypeError, "seconds must be a number"),
        (
            lambda o, t: o.tell(t[1], 1.0, seconds=-5.0),
            ValueError,
            "seconds must be .* got -5.0",
        ),
        (lambda o, t: o.tell(t[1], 1.0, seconds=math.inf), ValueError, "seconds must be finite, got inf"),
        (lambda o, t: o.tell(t[1:3], [1.0, 2.0], seconds={1: 1.0, 2: 1.0}), TypeError, "seconds must be a"),
        (
            lambda o, t: o.tell(t[1:3], [1.0, 2.0], seconds=[1.0]),
            ValueError,
            "seconds must be a sequence of 2",
        ),
        (lambda o, t: o.tell([t[1].point], [1.0]), TypeError, "trials must be a Trial"),
        (lambda o, t: o.tell(5, 1.0), TypeError, "trials must be a Trial .* got 5$"),
        (lambda o, t: o.tell(None, 1.0), TypeError, "trials must be a Trial .* got None"),
        (lambda o, t: o.tell({"lr": 1}, 1.0), TypeError, "trials must be a Trial .* got {'lr': 1}"),
        (lambda o, t: o.tell("trial", 1.0), TypeError, "trials must be a Trial .* got 'trial'"),
        (lambda o, t: o.tell([t[1], 2], [1.0, 2.0]), TypeError, "trials must be a Trial"),
        (
            lambda o, t: o.tell(opened(seed=5).ask(3)[2], 1.0),
            ValueError,
            "trial 2 comes from another optimizer",
        ),
        (lambda o, t: o.tell(Trial(1, {"a": 1}), 1.0), ValueError, "trial 1 comes from another optimizer"),
    ],
)
def test_a_wrong_tell_raises_and_changes_nothing(wrong, error, message):
    opt = opened()
    trials = opt.ask(5)
    opt.tell(trials[0], 1.0)
    before = _state_of(opt)
    with pytest.raises(error, match=message):
        wrong(opt, trials)
    assert _state_of(opt) == before
    opt.tell(trials[1:], [1.0] * 4)


def test_a_trial_that_was_copied_is_recognised_by_its_point():
    opt = opened()
    trial = opt.ask(1)[0]
    opt.tell(Trial(trial.id, trial.point.copy()), 2.0)
    assert opt.history.values.tolist() == [2.0]


def test_an_empty_tell_is_nothing():
    opt = opened()
    opt.tell([], [])
    assert opt.n_evaluations == 0


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"budget": 0}, ValueError, "budget must be at least 1, got 0"),
        ({"budget": 2.5}, TypeError, "budget must be an integer, got 2.5"),
        ({"seed": -1}, ValueError, "seed must be at least 0"),
        ({"seed": "a"}, TypeError, "seed must be an integer"),
        ({"strategy": "best"}, ValueError, "strategy must be one of 'auto'"),
        ({"strategy": RandomSearch}, TypeError, "make an object of it"),
        ({"strategy": object()}, TypeError, "strategy protocol"),
        ({"direction": "up"}, ValueError, "direction must be one of"),
        ({"time_limit": -1}, ValueError, "time_limit must be between"),
        ({"target": float("nan")}, ValueError, "target must be finite"),
        ({"duplicates": "no"}, ValueError, "duplicates must be one of"),
        ({"on_error": "ignore"}, ValueError, "on_error must be one of"),
        ({"constraints": [1]}, TypeError, "constraints must be functions of a point or text"),
        ({"callbacks": ["x"]}, TypeError, "callbacks must be callables"),
    ],
)
def test_bad_arguments_are_named(arguments, error, message):
    with pytest.raises(error, match=message):
        opened(**arguments)


def test_space_must_be_a_space():
    with pytest.raises(TypeError, match="space must be a Space"):
        dc.Optimizer({"a": dc.Binary()}, budget=3)


def test_same_seed_same_points_and_a_drawn_seed_is_reported():
    def points(seed):
        result = dc.minimize(quadratic, SPACE, budget=30, seed=seed, strategy="random")
        return result.seed, [record.point.tolist() for record in result.history]

    assert points(3) == points(3) != points(4)
    seed, drawn = points(None)
    assert points(seed)[1] == drawn
    assert points(None)[1] != drawn


def test_times_are_recorded():
    opt = opened()
    trials = opt.ask(3)
    opt.tell(trials, [1.0, 2.0, 3.0], seconds=[0.5, 0.25, 1])
    opt.tell(opt.ask(1), [1.0])
    assert opt.history.objective_times.tolist()[:3] == [0.5, 0.25, 1.0]
    assert np.isnan(opt.history.objective_times[3])
    result = opt.result()
    assert result.objective_time == 1.75
    assert result.optimizer_time > 0.0
    assert (np.diff(opt.history.told_at) >= 0.0).all()


def test_maximize_turns_the_sign_at_the_door_only():
    strategy = Recording()
    opt = opened(direction="maximize", strategy=strategy, x0=[([1, 2, 3, 4], 100.0)])
    trials = opt.ask(4)
    opt.tell(trials, [1.0, 5.0, 3.0, -2.0])
    opt.ask(1)
    assert strategy.start.value.tolist() == [-100.0]
    assert strategy.all_told().value.tolist() == [-1.0, -5.0, -3.0, 2.0]
    assert opt.best.value == opt.result().fun == 100.0
    assert opt.history.values.tolist() == [100.0, 1.0, 5.0, 3.0, -2.0]
    assert opt.history.best_so_far.tolist() == [100.0] * 5


def test_many_threads_may_ask_and_tell():
    opt = dc.Optimizer(dc.Space.integers(3, 0, 1000), budget=400, seed=0, strategy="random")

    def work():
        while trials := opt.ask(1):
            opt.tell(trials, [float(trials[0].id)])

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(opt.history.ids.tolist()) == list(range(400))
    assert opt.history.values.tolist() == opt.history.ids.tolist()
    assert opt.should_stop() is dc.StopReason.BUDGET
