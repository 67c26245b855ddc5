"""Evaluations that the default strategy needs to the optimum, beside what it was built to reach.

Run `python benchmarks/targets.py [n_seeds [first words of rows ...]]`; results/targets.txt has what it
printed, and docs/guides/the-ising-strategy.md shows it. The second column says what the row is compared with:
a goal set beforehand (for the median, if nothing else is said), what a first sketch of the strategy needed
(its mean of three or four seeds), or the median that Goldman & Punch (2014) published for P3.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import dcmaes as dc
from dcmaes import problems
from dcmaes._validation import FloatArray
from dcmaes.models import SparseQuadratic, annealed
from dcmaes.problems import Problem


@dataclass(frozen=True)
class Goal:
    """A row: how to make instance i, the budget, the goal; how many of ten seeds may miss it, if not half."""

    label: str
    make: Callable[..., Problem]
    budget: int
    goal: int
    misses: int | None = None
    source: str = "goal"


WHO = {None: "", 0: " (all seeds)", 1: " (9 of 10 seeds)"}
GOALS = (
    Goal("OneMax, 64 bits", partial(problems.onemax, 64), 1_000, 80),
    Goal("linear, 64 bits", partial(problems.linear, 64), 1_000, 160),
    Goal("LeadingOnes, 64 bits", partial(problems.leadingones, 64), 5_000, 1_200),
    Goal("dense random QUBO, 64 bits", partial(problems.qubo, 64), 2_000, 2_000, misses=1),
    Goal("planted 3-SAT, 50 variables", partial(problems.max_sat, 50), 5_000, 500),
    Goal(
        "rotated ellipsoid 1e3, d = 10, 0..10",
        partial(problems.rotated_ellipsoid, 10, 0, 10),
        3_000,
        400,
        misses=0,
    ),
    Goal(
        "rotated ellipsoid 1e3, d = 20, -50..50",
        partial(problems.rotated_ellipsoid, 20, -50, 50),
        3_000,
        1_500,
        misses=0,
    ),
    Goal("Rastrigin, d = 10, -50..50", partial(problems.rastrigin, 10, -50, 50), 3_000, 1_000),
    Goal("sphere, d = 10, 0..10", partial(problems.sphere, 10, 0, 10), 1_000, 83, source="sketch"),
    Goal(
        "ellipsoid 1e3, d = 20, -50..50",
        partial(problems.ellipsoid, 20, -50, 50),
        3_000,
        1_028,
        source="sketch",
    ),
    Goal("OneMax, 20 x 5 choices", partial(problems.categorical_onemax, 20, 5), 1_000, 76, source="sketch"),
    Goal(
        "OneMax, 30 x 10 choices", partial(problems.categorical_onemax, 30, 10), 2_000, 208, source="sketch"
    ),
    Goal(
        "LeadingOnes, 15 x 4 choices",
        partial(problems.categorical_leadingones, 15, 4),
        2_000,
        289,
        source="sketch",
    ),
    Goal("3-colouring, 40 vertices", partial(problems.graph_colouring, 40, 3), 5_000, 601, source="sketch"),
    Goal("deceptive trap of size 7, 301 bits", partial(problems.trap, 301, 7), 20_000, 180_000, source="P3"),
    Goal("planted 3-SAT, 40 variables", partial(problems.max_sat, 40, 4.27), 5_000, 4_644, source="P3"),
    Goal(
        "spin glass on a torus, 256 bits",
        partial(problems.ising_torus, 256, disorder=True),
        75_360,
        75_360,
        source="P3",
    ),
)


def evaluations(goal: Goal, seed: int) -> float:
    """Return how many evaluations a run needs to the optimum, infinite if the budget is too small."""
    problem = goal.make(instance=seed)
    optimum = problem.optimum if problem.optimum is not None else best_known(problem)
    result = dc.minimize(
        lambda point: problem.function(vector(point)),
        space_of(problem),
        budget=goal.budget,
        seed=seed,
        target=optimum + max(problem.tolerance, 1e-9),
    )
    return result.nfev if result.fun <= optimum + max(problem.tolerance, 1e-9) else math.inf


def vector(point: Any) -> FloatArray:
    """Return a point as the vector that problems take."""
    return np.asarray(list(point.values()) if isinstance(point, Mapping) else point, dtype=np.float64)


def space_of(problem: Problem) -> dc.Space:
    """Return the space of a problem: points as arrays where they can be."""
    has_choices = any(spec["type"] == "categorical" for spec in problem.variables)
    specs = list(problem.variables)
    return dc.Space.from_dict({f"x{i}": s for i, s in enumerate(specs)} if has_choices else {"array": specs})


def best_known(problem: Problem) -> float:
    """Return the lowest value that long annealing finds which knows all coefficients of a quadratic."""
    n, value = problem.dimension, problem.function
    zero, single = value(np.zeros(n)), np.array([value(row) for row in np.eye(n)])
    coupling = np.zeros((n, n))
    pairs = np.stack(np.triu_indices(n, 1), axis=1)
    for i, j in pairs:
        x = np.zeros(n)
        x[[i, j]] = 1.0
        coupling[i, j] = coupling[j, i] = (value(x) - single[i] - single[j] + zero) / 4
    field = (zero - single) / 2 - coupling.sum(axis=1)
    constant = zero - field.sum() - coupling.sum() / 2
    function = SparseQuadratic(np.full(n, 2), pairs, constant, field, coupling)
    x = annealed(function, n_chains=32, n_sweeps=3000, rng=np.random.default_rng(0))
    return float(function.predict(x).min())


def line(goal: Goal, n_seeds: int) -> str:
    """Return the row of the table."""
    needed = sorted(evaluations(goal, seed) for seed in range(n_seeds))
    middle = float(np.median(needed))
    judged = middle if goal.misses is None else needed[-1 - goal.misses * n_seeds // 10]
    found = sum(math.isfinite(n) for n in needed)
    cells: list[Any] = [
        goal.label,
        f"{goal.source} {goal.goal:,}" + WHO[goal.misses],
        _number(needed[0]),
        _number(middle),
        _number(needed[-1]),
        f"{found} of {n_seeds}",
        "yes" if judged <= goal.goal else "**no**",
    ]
    return "| " + " | ".join(cells) + " |"


def _number(value: float) -> str:
    return f"{value:,.0f}" if math.isfinite(value) else "-"


def main(n_seeds: int, wanted: list[str]) -> None:
    """Print the table."""
    print("| problem | compared with | least | median | most | solved | reached |")
    print("|---|---|---|---|---|---|---|")
    for goal in GOALS:
        if not wanted or any(goal.label.startswith(word) for word in wanted):
            print(line(goal, n_seeds), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10, sys.argv[2:])
