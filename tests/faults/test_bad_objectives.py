"""Objectives that fail: a failure costs one evaluation and is recorded with its reason; nothing is lost."""

from __future__ import annotations

import math
import sys
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

import dcmaes as dc

SPACE = dc.Space.integers(2, 0, 30)


def _raise(x):
    raise KeyError("missing")


FAULTS = {
    "raise": (_raise, "KeyError: 'missing'"),
    "exit": (lambda x: sys.exit(3), "SystemExit: 3"),
    "nan": (lambda x: math.nan, "not finite: nan"),
    "inf": (lambda x: math.inf, "not finite: inf"),
    "minus_inf": (lambda x: -math.inf, "not finite: -inf"),
    "none": (lambda x: None, "no number: None (is a return missing?)"),
    "array": (lambda x: np.zeros(2), "no number: an array of shape (2,)"),
    "string": (lambda x: "0.5", "no number: the string '0.5'"),
    "complex": (lambda x: 1j, "no real number: 1j"),
}
FAULT = pytest.mark.parametrize(("fault", "reason"), FAULTS.values(), ids=FAULTS)


def sometimes(fault):
    """Return an objective that fails at every point with an even first entry, at the optimum (0, 0) too."""
    return lambda x: fault(x) if x[0] % 2 == 0 else float(x.sum())


@FAULT
@pytest.mark.parametrize("optimize", [dc.minimize, dc.maximize])
def test_failures_cost_one_evaluation_and_rank_last(fault, reason, optimize):
    result = optimize(sometimes(fault), SPACE, budget=80, seed=1, strategy="random")
    assert result.stop_reason is dc.StopReason.BUDGET
    assert result.nfev == len(result.history) == 80
    failed = [record for record in result.history if record.point[0] % 2 == 0]
    sound = [record for record in result.history if record.point[0] % 2 == 1]
    assert 10 < len(failed) == result.n_failures < 70
    assert all((r.status, r.reason, r.violation) == ("failed", reason, math.inf) for r in failed)
    assert all(math.isnan(record.value) for record in failed)
    assert all((r.status, r.reason, r.value) == ("ok", None, r.point.sum()) for r in sound)
    best = min if optimize is dc.minimize else max
    assert result.fun == best(record.value for record in sound)
    assert result.success


@FAULT
def test_only_failures(fault, reason):
    result = dc.minimize(fault, SPACE, budget=15, seed=0, on_error="continue")
    assert (result.x, result.success, result.nfev, result.n_failures) == (None, False, 15, 15)
    assert math.isnan(result.fun)
    assert result.stop_reason is dc.StopReason.BUDGET
    assert (
        result.message
        == f"budget of 15 evaluations used; every evaluation failed, the first one with: {reason}"
    )
    assert result.history.reasons == [reason] * 15


@FAULT
def test_raise_stops_at_the_first_failure_with_the_history(fault, reason):
    with pytest.raises(dc.EvaluationError) as caught:
        dc.minimize(sometimes(fault), SPACE, budget=80, seed=3, strategy="random", on_error="raise")
    result = caught.value.result
    assert str(caught.value) == f"the evaluation of trial {result.nfev - 1} failed: {reason}"
    assert result.stop_reason is dc.StopReason.ERROR
    assert not result.success
    assert [record.status for record in result.history] == ["ok"] * (result.nfev - 1) + ["failed"]
    if fault is _raise:
        assert isinstance(caught.value.__cause__, KeyError)


def test_told_exceptions_are_failures_and_on_error_raise_stops_asking():
    opt = dc.Optimizer(SPACE, budget=20, seed=0, on_error="raise", strategy="random")
    trials = opt.ask(3)
    opt.tell(trials, [1.0, ValueError("bad mesh"), 2.0])
    assert opt.should_stop() is dc.StopReason.ERROR
    assert opt.result().message == "the evaluation of trial 1 failed: ValueError: bad mesh"
    assert opt.history.statuses.tolist() == ["ok", "failed", "ok"]
    assert opt.ask() == []


def test_a_failed_point_is_not_evaluated_again():
    seen = []

    def objective(x):
        seen.append(tuple(x))
        raise ValueError

    result = dc.minimize(
        objective, dc.Space.binary(4), budget=100, seed=0, strategy="random", on_error="continue"
    )
    assert len(seen) == len(set(seen)) == result.nfev == 16
    assert result.stop_reason is dc.StopReason.SPACE_EXHAUSTED


def _interrupt_at(n):
    count = iter(range(n + 1))

    def objective(x):
        if next(count) == n:
            raise KeyboardInterrupt
        return float(x.sum())

    return objective


@pytest.mark.parametrize("use_threads", [False, True])
def test_keyboard_interrupt_returns_what_is_known(use_threads):
    with ThreadPoolExecutor(1) as pool:
        executor = pool if use_threads else None
        result = dc.minimize(
            _interrupt_at(12), SPACE, budget=80, seed=0, executor=executor, workers=1, strategy="random"
        )
    assert result.stop_reason is dc.StopReason.INTERRUPTED
    assert result.message == "interrupted after 12 evaluations"
    assert result.nfev == len(result.history) == 12
    assert result.fun == result.history.values.min()


def test_keyboard_interrupt_between_evaluations_returns_what_is_known():
    def callback(optimizer):
        if optimizer.n_evaluations == 5:
            raise KeyboardInterrupt

    result = dc.minimize(lambda x: 1.0, SPACE, budget=80, seed=0, callbacks=callback, strategy="random")
    assert result.message == "interrupted after 5 evaluations"


def test_a_callback_that_raises_loses_nothing():
    def callback(optimizer):
        if optimizer.n_evaluations == 5:
            raise RuntimeError("disk full")

    with pytest.raises(dc.EvaluationError, match="the run broke off with RuntimeError: disk full") as caught:
        dc.minimize(lambda x: 1.0, SPACE, budget=80, seed=0, callbacks=callback, strategy="random")
    assert caught.value.result.nfev == 5
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_an_objective_that_cannot_be_sent_is_an_error_before_anything_is_spent():
    with (
        ProcessPoolExecutor(1) as pool,
        pytest.raises(dc.EvaluationError, match=r"not carry out a single evaluation: .*pickle") as caught,
    ):
        dc.minimize(lambda x: 1.0, SPACE, budget=4, seed=0, executor=pool, workers=2, strategy="random")
    assert caught.value.result.nfev == 0
    with pytest.raises(TypeError, match=r"cannot be sent to worker processes .*pickle"):
        dc.minimize(lambda x: 1.0, SPACE, budget=4, seed=0, workers=2, strategy="random")


class Breaking(Executor):
    """Works nine times, then refuses."""

    n_left = 9

    def submit(self, function, /, *args):
        if self.n_left == 0:
            raise RuntimeError("cannot schedule new futures after shutdown")
        self.n_left -= 1
        future = Future()
        future.set_result(function(*args))
        return future


def test_an_executor_that_breaks_loses_nothing():
    with pytest.raises(dc.EvaluationError, match="broke off with RuntimeError: cannot schedule") as caught:
        dc.minimize(
            lambda x: 1.0, SPACE, budget=30, seed=0, executor=Breaking(), workers=1, strategy="random"
        )
    assert caught.value.result.nfev == 9
