"""The default strategy now beside the runs that are committed of an earlier version of it, run by run.

    python benchmarks run --suite integer --optimizers "dcmaes auto" --seeds 1 --budget 2500 --results NEW
    python benchmarks/before_and_after.py NEW > benchmarks/results/before_and_after.txt

For each suite in the folder NEW: mean area under the curve of targets hit, over the rows and instances that
both have, at 50 evaluations per variable and at the (capped) budget of the new runs, and their ratio.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np

from dcmaes_bench import _measures as measures
from dcmaes_bench._results import RunRecord

COMMITTED = Path(__file__).parent / "results"


def records(folder):
    """Return the runs in a folder."""
    runs = []
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text().splitlines():
            data = json.loads(line)
            data["trace"] = list(zip(*data["trace"], strict=True)) if data["trace"] else []
            runs.append(RunRecord(**data))
    return runs


def areas(new, old, scale):
    """Return the areas before and after, early and at the budget, shape (2, 2)."""
    early = min(measures.EARLY_PER_VARIABLE * new.dimension, new.budget)
    budgets = (early, new.budget)
    return [[measures.area(run.trace, scale, budget) for run in (old, new)] for budget in budgets]


def compare(suite, new, committed):
    """Print one line of the table for a suite."""
    shared = {(run.problem, run.instance) for run in new}
    peers = [run for run in committed if (run.problem, run.instance) in shared]
    before = {(run.problem, run.instance): run for run in peers if run.optimizer == "dcmaes auto"}
    # Optima that were computed anew differ in the last digit.
    scales = {}
    for key in shared & before.keys():
        group = [run for run in (*peers, *new) if (run.problem, run.instance) == key]
        scales |= measures.scales([replace(run, optimum=before[key].optimum) for run in group])
    rows = defaultdict(list)
    for run in new:
        key = run.problem, run.instance
        if key in scales:
            rows[run.problem].append(areas(run, before[key], scales[key]))
    if rows:
        mean = np.mean([np.mean(found, axis=0) for found in rows.values()], axis=0)
        n_runs = sum(len(found) for found in rows.values())
        cells = [f"{old:.3f} | {now:.3f} | {now / old:.3f}" for old, now in mean]
        print(f"| {suite} | {len(rows)} | {n_runs} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    print("| suite | rows | runs | 50 d: before | now | ratio | budget: before | now | ratio |")
    print("|---|---|---|---|---|---|---|---|---|")
    for suite in sorted(path.name for path in folder.iterdir() if path.is_dir()):
        compare(suite, records(folder / suite), records(COMMITTED / suite))
