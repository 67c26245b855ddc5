"""Every stop has a reason and a message that quotes its number."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest

import dcmaes as dc
from dcmaes.optimizer._stopping import PASSING, Stop
from dcmaes.strategies import RandomSearch

SPACE = dc.Space.integers(3, 0, 20)


def quadratic(x):
    return float((x**2).sum())


class Converging(RandomSearch):
    """Random search that says it has converged after so many points, and has no restarts."""

    def convergence(self, state):
        return f"{state.n_told} points told, limit 30" if state.n_told >= 30 else None

    def restart(self, state, rng):
        return None


def test_budget():
    result = dc.minimize(quadratic, SPACE, budget=37, seed=0, strategy="random")
    assert result.stop_reason is dc.StopReason.BUDGET
    assert result.message == "budget of 37 evaluations used"
    assert result.nfev == len(result.history) == 37


@pytest.mark.parametrize(("optimize", "sign"), [(dc.minimize, 1), (dc.maximize, -1)])
def test_target_in_the_users_sign(optimize, sign):
    result = optimize(
        lambda x: sign * quadratic(x), SPACE, budget=5000, seed=0, target=sign * 20.0, strategy="random"
    )
    assert result.stop_reason is dc.StopReason.TARGET
    assert sign * result.fun <= 20.0
    assert result.message == f"target {sign * 20} reached with {result.fun:g} at evaluation {result.nfev}"
    assert (sign * result.history.values[:-1] > 20.0).all()


def test_target_is_not_reached_by_an_infeasible_point():
    def objective(x):
        return dc.Outcome(0.0, violation=1.0)

    result = dc.minimize(objective, SPACE, budget=5, seed=0, target=1.0, strategy="random")
    assert result.stop_reason is dc.StopReason.BUDGET
    assert not result.success
    assert "no feasible point was found, the smallest violation is 1" in result.message
    assert result.x is not None


def test_time_limit():
    begun = time.perf_counter()
    result = dc.minimize(
        lambda x: time.sleep(0.01) or 1.0, SPACE, budget=5000, seed=0, time_limit=0.1, strategy="random"
    )
    assert result.stop_reason is dc.StopReason.TIME_LIMIT
    assert result.message.startswith("time limit of 0.1 s reached after 0.1")
    assert time.perf_counter() - begun < 5.0
    assert 1 <= result.nfev <= 10


def test_time_limit_zero_evaluates_nothing():
    result = dc.minimize(quadratic, SPACE, budget=50, time_limit=0, strategy="random")
    assert (result.nfev, result.x, result.stop_reason) == (0, None, dc.StopReason.TIME_LIMIT)
    assert np.isnan(result.fun)
    assert not result.success


@pytest.mark.parametrize("wanted", [True, np.True_])
def test_callback(wanted):
    calls = []

    def enough(optimizer):
        calls.append(optimizer.n_evaluations)
        return wanted if optimizer.n_evaluations == 12 else None

    result = dc.minimize(quadratic, SPACE, budget=50, seed=0, callbacks=enough, strategy="random")
    assert result.stop_reason is dc.StopReason.CALLBACK
    assert result.message == "stopped by enough after 12 evaluations"
    assert calls == list(range(1, 13))


def test_a_callback_that_returns_something_else_does_not_stop():
    result = dc.minimize(
        quadratic, SPACE, budget=20, seed=0, callbacks=[lambda o: 1, lambda o: "yes"], strategy="random"
    )
    assert result.stop_reason is dc.StopReason.BUDGET


def test_convergence_quotes_the_strategy():
    result = dc.minimize(quadratic, SPACE, budget=500, seed=0, strategy=Converging())
    assert result.stop_reason is dc.StopReason.CONVERGED
    assert result.message == "search converged: 30 points told, limit 30"
    assert result.nfev == 30


@pytest.mark.parametrize("strategy", ["auto", "random", RandomSearch(population_size=4)])
def test_a_space_of_six_points_stops_after_six_evaluations_at_the_optimum(strategy):
    space = dc.Space({"a": dc.Categorical(["x", "y", "z"]), "b": dc.Binary()})
    seen = []

    def objective(point):
        seen.append(tuple(point.values()))
        return {"x": 3.0, "y": 1.0, "z": 2.0}[point["a"]] - point["b"]

    result = dc.minimize(objective, space, budget=1000, seed=0, strategy=strategy)
    assert sorted(seen) == sorted(itertools.product("xyz", [False, True]))
    assert result.stop_reason is dc.StopReason.SPACE_EXHAUSTED
    assert result.message == "all 6 points of the space are known"
    assert (result.x, result.fun) == ({"a": "y", "b": True}, 0.0)


def test_a_space_of_1024_points_is_never_paid_for_twice():
    seen = []
    result = dc.minimize(lambda x: seen.append(tuple(x)) or sum(x), dc.Space.binary(10), budget=3000, seed=0)
    assert len(seen) == len(set(seen)) == result.nfev == 1024
    assert result.stop_reason is dc.StopReason.SPACE_EXHAUSTED
    assert result.fun == 0.0


def test_exhaustion_with_trials_out_waits_for_them():
    opt = dc.Optimizer(dc.Space.binary(2), budget=100, seed=0, strategy="random")
    trials = opt.ask(10)
    assert len(trials) == 4
    assert opt.ask() == []
    opt.tell(trials[:3], [1.0, 2.0, 3.0])
    assert opt.should_stop() is None
    assert opt.ask() == []
    opt.tell(trials[3], 0.0)
    assert opt.should_stop() is dc.StopReason.SPACE_EXHAUSTED


def test_the_first_reason_stays_and_late_tells_are_recorded():
    opt = dc.Optimizer(SPACE, budget=10, seed=0, target=5.0, strategy="random")
    trials = opt.ask(4)
    opt.tell(trials[0], 1.0)
    assert opt.should_stop() is dc.StopReason.TARGET
    assert opt.ask() == []
    opt.tell(trials[1:], [0.5, 9.0, 9.0])
    result = opt.result()
    assert (result.nfev, result.fun) == (4, 0.5)
    assert result.message == "target 5 reached with 1 at evaluation 1"


def test_reasons_carry_words_and_messages():
    assert [reason.value for reason in dc.StopReason] == [
        *(
            "budget",
            "time_limit",
            "target",
            "space_exhausted",
            "converged",
            "callback",
            "interrupted",
            "error",
        )
    ]
    assert dc.StopReason.INTERRUPTED.stop(n_evaluations=3) == Stop(
        dc.StopReason.INTERRUPTED, "interrupted after 3 evaluations"
    )
    assert dc.StopReason.BUDGET not in PASSING
