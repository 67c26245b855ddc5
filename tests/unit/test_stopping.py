"""Every stop has a reason and a message that quotes its number."""

from __future__ import annotations

import itertools
import re
import time

import numpy as np
import pytest

import dcmaes as dc
from dcmaes.run._settings import PASSING, Stop
from dcmaes.strategies import RandomSearch

SPACE = dc.Space.integers(3, 0, 20)


def quadratic(x):
    return float((x**2).sum())


class Converging(RandomSearch):
    """Random search that says it has converged after so many points, and has no restarts."""

    def convergence(self, state, memory):
        return f"{state.n_told} points told, limit 30" if state.n_told >= 30 else None

    def restart(self, state, rng, memory):
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
    after = re.fullmatch(r"time limit of 0.1 s reached after (.*) s", result.message.split(";")[0])[1]
    assert 0.1 <= float(after) <= time.perf_counter() - begun + 0.05  # rounded to three digits
    assert result.nfev <= 10


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
            "patience",
            "space_exhausted",
            "converged",
            "callback",
            "interrupted",
            "failures",
            "error",
        )
    ]
    assert dc.StopReason.INTERRUPTED.stop(n_evaluations=3) == Stop(
        dc.StopReason.INTERRUPTED, "interrupted after 3 evaluations"
    )
    assert dc.StopReason.BUDGET not in PASSING


def flat(x):
    return 7.0


@pytest.mark.parametrize(("optimize", "sign"), [(dc.minimize, 1), (dc.maximize, -1)])
def test_patience_counts_evaluations_since_the_best_was_found(optimize, sign):
    result = optimize(
        lambda x: sign * quadratic(x), SPACE, budget=5000, seed=0, patience=40, strategy="random"
    )
    assert result.stop_reason is dc.StopReason.PATIENCE
    best_at = result.nfev - 40
    expected = (
        f"patience of 40 evaluations used up: nothing better than {result.fun:g} at evaluation {best_at}"
    )
    assert result.message == expected
    assert result.history.values[best_at - 1] == result.fun
    assert (sign * result.history.values[best_at:] >= sign * result.fun).all()
    assert result.success


def test_patience_is_off_by_default_and_must_be_a_number_of_evaluations():
    assert dc.minimize(flat, SPACE, budget=300, seed=0, strategy="random").nfev == 300
    with pytest.raises(ValueError, match="patience must be at least 1, got 0"):
        dc.Optimizer(SPACE, budget=10, patience=0)
    with pytest.raises(TypeError, match=r"patience must be an integer, got 2\.5"):
        dc.Optimizer(SPACE, budget=10, patience=2.5)


def test_patience_counts_from_a_known_starting_point_and_from_nothing():
    known = dc.minimize(flat, SPACE, budget=99, x0=[([0, 0, 0], 1.0)], patience=5, strategy="random")
    assert known.nfev == 5
    assert known.message == "patience of 5 evaluations used up: nothing better than 1 by a starting point"
    nothing = dc.minimize(lambda x: np.nan, SPACE, budget=99, patience=5, strategy="random")
    assert nothing.message.startswith("patience of 5 evaluations used up: none of them gave a value")


def test_a_smaller_violation_is_an_improvement():
    violations = iter([5.0, 4.0, 3.0, 3.0, 3.0, 3.0])
    result = dc.minimize(
        lambda x: dc.Outcome(1.0, next(violations)), SPACE, budget=99, patience=3, strategy="random"
    )
    assert result.nfev == 6
    assert "nothing closer to feasible than 1 at evaluation 3" in result.message


def test_patience_goes_on_from_a_store_when_it_is_larger(tmp_path):
    path = tmp_path / "run.db"
    first = dc.minimize(flat, SPACE, budget=99, seed=0, patience=5, store=path, strategy="random")
    again = dc.resume(path, flat)
    assert (first.nfev, again.nfev, again.message) == (6, 6, first.message)
    longer = dc.resume(path, flat, patience=8)
    assert (longer.nfev, longer.stop_reason) == (9, dc.StopReason.PATIENCE)
    assert dc.resume(path, flat).nfev == 9
    without = dc.minimize(flat, SPACE, budget=20, seed=0, store=path, strategy="random")
    assert (without.nfev, without.stop_reason) == (20, dc.StopReason.BUDGET)


def misspelt(x):
    return qadratic(x)  # noqa: F821


MISSPELT = "NameError: name 'qadratic' is not defined"


@pytest.mark.parametrize("workers", [1, 2])
def test_ten_evaluations_that_fail_alike_end_a_run(workers):
    with pytest.raises(dc.EvaluationError) as caught:
        dc.minimize(misspelt, SPACE, budget=60, seed=0, strategy="random", workers=workers)
    result = caught.value.result
    assert result.stop_reason is dc.StopReason.FAILURES
    assert 10 <= result.nfev < 10 + workers
    assert f"none of 10 evaluations gave a value, and the last 10 failed for the same reason: {MISSPELT}" in (
        result.message
    )
    assert 'on_error = "continue"' in str(caught.value)
    assert "return qadratic(x)" in caught.value.traceback
    assert isinstance(caught.value.__cause__, NameError)
    # Where the exception has come from another process without its traceback, a note shows it.
    is_noted = caught.value.__cause__.__traceback__ is None
    assert [caught.value.traceback] * is_noted == getattr(caught.value, "__notes__", [])


def test_ten_failures_told_stop_an_optimizer():
    opt = dc.Optimizer(SPACE, budget=60, seed=0, strategy="random")
    while opt.should_stop() is None:
        opt.tell(opt.ask(1), [ValueError("no")])
    assert opt.should_stop() is dc.StopReason.FAILURES
    assert opt.result().nfev == 10


def test_on_error_continue_goes_on_in_spite_of_failures():
    result = dc.minimize(misspelt, SPACE, budget=60, seed=0, strategy="random", on_error="continue")
    assert (result.nfev, result.n_failures, result.stop_reason) == (60, 60, dc.StopReason.BUDGET)


def test_numbers_in_a_reason_do_not_make_it_another_one():
    def objective(x):
        raise ValueError(f"cannot read {x.sum() / 7}")

    with pytest.raises(dc.EvaluationError, match="none of 10 evaluations"):
        dc.minimize(objective, SPACE, budget=60, seed=0, strategy="random")


def test_failures_for_different_reasons_or_after_a_value_do_not_end_a_run():
    words = itertools.cycle(["too hot", "too cold"])

    def never_alike(x):
        raise ValueError(next(words))

    assert dc.minimize(never_alike, SPACE, budget=40, seed=0, strategy="random").nfev == 40
    values = itertools.chain([1.0], itertools.repeat(np.nan))
    assert dc.minimize(lambda x: next(values), SPACE, budget=40, seed=0, strategy="random").nfev == 40


def test_a_run_ended_by_failures_goes_on_when_the_objective_is_mended(tmp_path):
    path = tmp_path / "run.db"
    with pytest.raises(dc.EvaluationError):
        dc.minimize(misspelt, SPACE, budget=30, seed=0, store=path, strategy="random")
    with pytest.raises(dc.EvaluationError, match="none of 11 evaluations gave a value, and the last 10"):
        dc.resume(path, misspelt)
    result = dc.resume(path, quadratic)
    assert (result.nfev, result.n_failures, result.stop_reason) == (30, 11, dc.StopReason.BUDGET)


def sleepy(x):
    time.sleep(60)


def test_times_are_seconds_or_text(tmp_path):
    result = dc.minimize(
        quadratic, SPACE, budget=5, time_limit="1h30m", strategy="random", store=tmp_path / "a"
    )
    assert dc.store.read(tmp_path / "a").settings["time_limit"] == 5400.0
    assert result.nfev == 5
    with pytest.raises(ValueError, match='time_limit must be a number of seconds, or text such as "90s"'):
        dc.Optimizer(SPACE, budget=5, time_limit="soon")
    slow = dc.minimize(sleepy, SPACE, budget=1, evaluation_timeout="0.2s", strategy="random")
    assert slow.history[0].reason == "timed out: stopped after 0.2 s"


def test_a_warm_start_does_not_hide_that_the_objective_is_broken():
    known = [([i, 0, 0], float(i)) for i in range(5)]
    with pytest.raises(dc.EvaluationError, match="none of 10 evaluations gave a value"):
        dc.minimize(misspelt, SPACE, budget=60, seed=0, strategy="random", x0=known)
