"""Where Algorithm 1 of the paper fails: `paper`, in both readings of its mean, beside `cma`.

Each row gives, over 20 seeds and up to 3,000 evaluations: how many runs found the optimum and after how many
evaluations (median of those that did); how many stopped by themselves without it and when (median); how many
used up the budget; and the Euclidean distance in states from the best point of a run to the optimum (median
over all runs). `paper` leaves the mean between points, `paper, rounded` keeps it on them. `cma` is used as it
comes, with restarts; the paper has none.

Run: python benchmarks/paper_failures.py        (writes benchmarks/results/paper_failures.txt)
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

import dcmaes as dc
from dcmaes.strategies import Paper, Strategy
from dcmaes.strategies.cma import Cma

SEEDS, BUDGET = range(20), 3_000
RESULT = Path(__file__).parent / "results" / "paper_failures.txt"
STRATEGIES: dict[str, Callable[[], Strategy]] = {
    "paper": Paper,
    "paper, rounded": lambda: Paper(round_mean=True),
    "cma": Cma,
}
HEADER = "| problem | strategy | solved | evaluations | stopped early | at | out of budget | distance |"


class Case(NamedTuple):
    """A function of the difference between a point and the optimum, on a space."""

    name: str
    space: dc.Space
    optimum: np.ndarray
    function: Callable[[np.ndarray], float]


def square(y: np.ndarray) -> float:
    return float((y * y).sum())


def ellipsoid(y: np.ndarray) -> float:
    return square(y * 1e3 ** (np.arange(y.size) / (2 * (y.size - 1))))


def rastrigin(y: np.ndarray) -> float:
    return square(y) + 10 * float((1 - np.cos(np.pi * y / 2)).sum())


def rotated(y: np.ndarray) -> float:
    rotation = np.linalg.qr(np.random.default_rng(1).normal(size=(y.size, y.size)))[0]
    return square(rotation @ y * 1e2 ** (np.arange(y.size) / (2 * (y.size - 1))))


def somewhere(dimension: int, low: int, high: int) -> np.ndarray:
    return np.random.default_rng(0).integers(low + 1, high, dimension)


def integers(
    name: str, dimension: int, low: int, high: int, function: Callable[[np.ndarray], float] = square
) -> Case:
    space = dc.Space.integers(dimension, low, high)
    return Case(f"{name} d={dimension}, {low}..{high}", space, somewhere(dimension, low, high), function)


def cases() -> list[Case]:
    small = dc.Space.integers(10, 0, 10)
    mixed = dc.Space.array([dc.Binary()] * 5 + [dc.Integer(0, 1000)] * 5)
    inside = np.concatenate([[1, 0, 1, 1, 0], somewhere(5, 0, 1000)])
    return [
        integers("sphere", 5, 0, 10),
        integers("sphere", 10, 0, 10),
        Case("sphere d=10, 0..10, optimum in the corner 0", small, np.zeros(10), square),
        Case("sphere d=10, 0..10, optimum in the corner 10", small, np.full(10, 10), square),
        integers("sphere", 5, -50, 50),
        integers("sphere", 10, -50, 50),
        integers("sphere", 10, 0, 1000),
        integers("ellipsoid (1e3)", 10, -50, 50, ellipsoid),
        integers("rotated ellipsoid (1e2)", 10, -50, 50, rotated),
        integers("Rastrigin", 10, 0, 10, rastrigin),
        Case("sphere, 5 bits and 5 integers 0..1000", mixed, inside, square),
        Case("64 bits, optimum all zeros", dc.Space.binary(64), np.zeros(64), square),
        Case("64 bits, optimum all ones (OneMax)", dc.Space.binary(64), np.ones(64), square),
    ]


def measure(case: Case, make: Callable[[], Strategy]) -> str:
    results = [
        dc.minimize(
            lambda x: case.function(np.asarray(x, dtype=float) - case.optimum),
            case.space,
            budget=BUDGET,
            seed=seed,
            strategy=make(),
            target=0.0,
        )
        for seed in SEEDS
    ]
    solved = [r.nfev for r in results if r.stop_reason is dc.StopReason.TARGET]
    early = [r.nfev for r in results if r.stop_reason is dc.StopReason.CONVERGED]
    distance = float(
        np.median([np.linalg.norm(np.asarray(r.x, dtype=float) - case.optimum) for r in results])
    )
    n_late = len(results) - len(solved) - len(early)
    columns = [len(solved), _median(solved), len(early), _median(early), n_late, f"{distance:.1f}"]
    return " | ".join(map(str, columns))


def _median(numbers: list[int]) -> str:
    return f"{np.median(numbers):.0f}" if numbers else "-"


def main() -> None:
    lines = [HEADER, "|" + "---|" * (HEADER.count("|") - 1)]
    for case in cases():
        for name, make in STRATEGIES.items():
            lines.append(f"| {case.name} | {name} | {measure(case, make)} |")
            print(lines[-1], flush=True)
    RESULT.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
