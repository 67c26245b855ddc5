"""Runs with hardly any room: constraints that exclude everything, tiny budgets, asking without telling."""

from __future__ import annotations

import math

import pytest

import dcmaes as dc
from dcmaes.run import _search
from dcmaes.strategies import RandomSearch

STRATEGIES = pytest.mark.parametrize("strategy", ["auto", "random"])


def forbidden(x):
    pytest.fail("the objective was called")


@STRATEGIES
def test_a_constraint_that_excludes_every_point_of_a_small_space(strategy):
    calls = []
    result = dc.minimize(
        forbidden,
        dc.Space.integers(2, 0, 9),
        budget=50,
        seed=0,
        constraints=lambda x: calls.append(tuple(x)) or 1.0 + x[0],
        strategy=strategy,
    )
    assert result.stop_reason is dc.StopReason.SPACE_EXHAUSTED
    assert result.message == "all 100 points of the space are known: none satisfies the constraints"
    assert (result.nfev, result.x, result.success) == (0, None, False)
    assert len(calls) == len(set(calls)) == 100


@STRATEGIES
@pytest.mark.parametrize(
    "space", [dc.Space.binary(50), dc.Space.array([dc.Float(0, 1)] * 3)], ids=["binary", "float"]
)
def test_a_constraint_that_excludes_every_point_of_a_large_space(space, strategy, monkeypatch):
    monkeypatch.setattr(_search, "EXCLUDED_DRAWS", 2_000)
    monkeypatch.setattr(_search, "OTHER_DRAWS", 2_000)
    calls = []
    result = dc.minimize(
        forbidden,
        space,
        budget=50,
        seed=0,
        constraints=lambda x: calls.append(x) or 0.5 + x[0],
        strategy=strategy,
    )
    assert result.stop_reason is dc.StopReason.ERROR
    smallest = min(0.5 + x[0] for x in calls)
    assert result.message.startswith("no new point satisfied the constraints in ")
    assert result.message.endswith(f"the smallest violation was {smallest:.6g}")
    assert (result.nfev, result.success) == (0, False)


@STRATEGIES
@pytest.mark.parametrize("duplicates", ["cache", "allow", "reevaluate"])
def test_points_that_violate_a_constraint_are_never_evaluated(strategy, duplicates):
    def objective(x):
        assert x[0] + x[1] <= 20
        assert x[2] >= 3
        return float(x.sum())

    result = dc.minimize(
        objective,
        dc.Space.integers(3, 0, 30),
        budget=100,
        seed=0,
        constraints=[lambda x: x[0] + x[1] - 20, lambda x: x[2] < 3],
        strategy=strategy,
        duplicates=duplicates,
    )
    assert result.nfev == 100
    assert result.n_failures == 0


def test_a_needle_is_found_by_listing():
    space = dc.Space.integers(3, 0, 39)
    result = dc.minimize(
        lambda x: 1.0, space, budget=5, seed=0, constraints=lambda x: tuple(x) != (7, 8, 9), strategy="random"
    )
    assert (result.nfev, result.x.tolist()) == (1, [7, 8, 9])
    assert result.message == "all 64000 points of the space are known, 63999 of them excluded by constraints"


def test_excluded_draws_are_told_with_their_violation_and_no_value():
    told = []

    class Watching(RandomSearch):
        def update(self, state, new, memory):
            told.extend(zip(new.x[:, 0].tolist(), new.value.tolist(), new.violation.tolist(), strict=True))
            return super().update(state, new, memory)

    dc.minimize(
        lambda x: 1.0,
        dc.Space.integers(1, 0, 99),
        budget=30,
        seed=0,
        constraints=lambda x: x[0] - 50,
        strategy=Watching(),
    )
    excluded = [entry for entry in told if entry[0] > 50]
    assert len(excluded) > 5
    assert all(math.isnan(value) and violation == x - 50 for x, value, violation in excluded)
    assert all(value == 1.0 and violation == 0.0 for x, value, violation in told if x <= 50)


def test_a_constraint_that_fails_excludes_the_point_with_one_warning():
    def constraint(x):
        return 0 / (int(x[0]) - 3)

    message = "constraint constraint failed .*division by zero; such points count as excluded"
    with pytest.warns(RuntimeWarning, match=message) as caught:
        result = dc.minimize(
            lambda x: 1.0,
            dc.Space.integers(2, 0, 5),
            budget=100,
            seed=0,
            constraints=constraint,
            strategy="random",
        )
    assert len(caught) == 1
    assert result.nfev == 30
    assert 3 not in {record.point[0] for record in result.history}


@pytest.mark.parametrize(
    ("constraint", "reason"),
    [
        (lambda x: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda x: math.nan, "not finite: nan"),
        (lambda x: None, "no number"),
    ],
)
def test_a_constraint_that_fails_raises_on_request(constraint, reason):
    with pytest.raises(dc.EvaluationError, match=f"constraint <lambda> failed at .*: {reason}") as caught:
        dc.minimize(forbidden, dc.Space.binary(3), budget=9, constraints=constraint, on_error="raise")
    assert caught.value.result.stop_reason is dc.StopReason.ERROR
    assert caught.value.result.nfev == 0


@STRATEGIES
@pytest.mark.parametrize("budget", [1, 2, 3])
def test_a_budget_smaller_than_one_batch(budget, strategy):
    result = dc.minimize(
        lambda x: float(x.sum()), dc.Space.binary(20), budget=budget, seed=0, strategy=strategy
    )
    assert result.nfev == len(result.history) == budget
    assert result.message == f"budget of {budget} evaluations used"
    assert result.fun == result.history.values.min()
    opt = dc.Optimizer(dc.Space.binary(20), budget=budget, seed=0, strategy=strategy)
    assert len(opt.ask(50)) == budget


@STRATEGIES
@pytest.mark.parametrize("n", [None, 1, 7])
def test_asking_a_thousand_times_without_telling(strategy, n):
    opt = dc.Optimizer(dc.Space.integers(5, 0, 9), budget=600, seed=0, strategy=strategy)
    trials = [trial for _ in range(1000) for trial in opt.ask(n)]
    assert [trial.id for trial in trials] == list(range(600))
    assert len({tuple(trial.point) for trial in trials}) == 600
    assert opt.ask(n) == []
    assert opt.should_stop() is None
    assert opt.result().nfev == 0
    opt.tell(trials, [float(trial.point.sum()) for trial in trials])
    assert opt.result().fun == min(trial.point.sum() for trial in trials)
    assert opt.should_stop() is dc.StopReason.BUDGET


@STRATEGIES
def test_asking_a_thousand_times_in_a_small_space(strategy):
    opt = dc.Optimizer(dc.Space.binary(8), budget=600, seed=0, strategy=strategy)
    trials = [trial for _ in range(1000) for trial in opt.ask(1)]
    assert len({tuple(trial.point) for trial in trials}) == len(trials) == 256
    assert opt.should_stop() is None
    opt.tell(trials, [0.0] * 256)
    assert opt.should_stop() is dc.StopReason.SPACE_EXHAUSTED
