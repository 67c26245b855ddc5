"""Every optimizer of the benchmark evaluates only points of the space, typed right, and uses its budget."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dcmaes import problems
from dcmaes.problems import Problem
from dcmaes_bench import Domain, Row, optimizers
from dcmaes_bench._runner import Job, run_once


def mixed(*, instance: int = 0) -> Problem:
    """All kinds of variables at once, of unlike sizes, one of them with a single state."""
    variables = (
        {"type": "integer", "low": -3, "high": 900},
        {"type": "categorical", "choices": ["a", "b", "c"]},
        {"type": "binary"},
        {"type": "float", "low": 1e-4, "high": 10.0, "log": True},
        {"type": "float", "low": -2.0, "high": 1.0},
        {"type": "integer", "low": 5, "high": 6},
        {"type": "categorical", "choices": ["u", "v"]},
        {"type": "ordinal", "values": [1, 10, 100]},
    )

    def function(x):
        assert x.dtype == np.float64
        return abs(x[0] - 17) / 50 + (x[1] != 2) + x[2] + abs(math.log(x[3])) + x[4] ** 2 + x[5] + x[6] + x[7]

    return Problem("mixed", variables, function, instance=instance)


DOMAINS = {
    "mixed": mixed,
    "binary": lambda *, instance=0: problems.onemax(40, instance=instance),
    "integer": lambda *, instance=0: problems.sphere(5, -500, 500, instance=instance),
    "categorical": lambda *, instance=0: problems.categorical_onemax(12, 4, instance=instance),
    "continuous": lambda *, instance=0: Problem(
        "floats", ({"type": "float", "low": -1.0, "high": 3.0},) * 3, lambda x: float(x @ x)
    ),
}
BUDGET = 100
SLOW = {"optuna GP": 16, "SMAC3": 40, "HEBO": 16, "BoTorch mixed": 24}  # they take seconds per evaluation


def accepts(name, domain):
    return optimizers()[name].accepts(Domain.of(DOMAINS[domain](instance=0)))


@pytest.mark.parametrize(
    ("name", "domain"),
    [(name, domain) for name in optimizers() for domain in DOMAINS if accepts(name, domain)],
)
def test_peer_evaluates_points_of_the_space_until_the_budget_is_used(name, domain):
    optimizer = optimizers()[name]
    if not optimizer.is_installed:
        pytest.skip(f"{name} needs the package {optimizer.package!r}: make bench-setup")
    budget = SLOW.get(name, BUDGET)
    job = Job(Row("test", domain, DOMAINS[domain], budget), name, 0, budget, 600.0)
    record = run_once(job)  # the recorder raises on any point outside, which ends up in `stop`
    assert record.stop in ("budget", "target")
    assert record.n_evaluations == (record.solved_at or budget)
    assert record.n_distinct > 5


@pytest.mark.parametrize("name", [name for name in optimizers() if accepts(name, "binary")])
def test_peer_repeats_itself_with_the_same_seed(name):
    optimizer = optimizers()[name]
    if not optimizer.is_installed:
        pytest.skip(f"{name} needs the package {optimizer.package!r}: make bench-setup")
    is_slow, budget = name in SLOW, SLOW.get(name, 60)
    row = Row("test", "repeats", mixed if is_slow else DOMAINS["binary"], budget)
    first, again = (run_once(Job(row, name, 3, budget, 600.0)) for _ in range(2))
    assert first.trace == again.trace
    assert first.n_evaluations == again.n_evaluations
