"""The update as maximum likelihood: `Paper(update="likelihood")` beside the printed one, `cma` and `auto`.

Each row gives, over 5 seeds and up to 2,000 evaluations: how many runs found the optimum, after how many
evaluations (median of those that did), and the Euclidean distance in states from the best point of a run to
the optimum (median over all runs). The problems are those of `paper_failures.py`.

Run: python benchmarks/paper_update.py        (writes benchmarks/results/paper_update.txt; some minutes)
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

import dcmaes as dc
from dcmaes.strategies import Auto, Cma, Paper, Strategy
from paper_failures import Case, cases

SEEDS, BUDGET = range(5), 2_000
RESULT = Path(__file__).parent / "results" / "paper_update.txt"
STRATEGIES: dict[str, Callable[[], Strategy]] = {
    "printed": Paper,
    "likelihood": lambda: Paper(update="likelihood"),
    "cma": Cma,
    "auto": Auto,
}
PROBLEMS = (
    "sphere d=10, 0..10",
    "sphere d=10, 0..10, optimum in the corner 10",
    "sphere d=5, -50..50",
    "rotated ellipsoid (1e2) d=10, -50..50",
    "Rastrigin d=10, 0..10",
    "64 bits, optimum all ones (OneMax)",
)


def measure(case: Case, strategy: Callable[[], Strategy]) -> str:
    """Return the entries of one row."""
    found, distances = [], []
    for seed in SEEDS:
        result = dc.minimize(
            lambda x: case.function(x - case.optimum),
            case.space,
            budget=BUDGET,
            seed=seed,
            strategy=strategy(),
            target=0.0,
        )
        distances.append(float(np.linalg.norm(result.x - case.optimum)))
        if distances[-1] == 0:
            found.append(result.nfev)
    evaluations = f"{np.median(found):.0f}" if found else "-"
    return f"{len(found)} | {evaluations} | {np.median(distances):.1f}"


def main() -> None:
    rows = ["| problem | strategy | solved | evaluations | distance |", "|---|---|---|---|---|"]
    chosen = {case.name: case for case in cases() if case.name in PROBLEMS}
    for name in PROBLEMS:
        for label, strategy in STRATEGIES.items():
            rows.append(f"| {name} | {label} | {measure(chosen[name], strategy)} |")
            print(rows[-1], flush=True)
    RESULT.write_text("\n".join(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
