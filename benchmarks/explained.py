"""Where the regression of `ising` explains the values, and where the default strategy is behind a peer.

    python benchmarks/explained.py > benchmarks/results/explained.txt

For each row of the suites `pbo` (64 bits) and `categorical`: the share of the variance of near, low values
that the regression does not predict if each is left out in turn, after 100, 200 and 400 evaluations by
`ising`; medians of three instances, `-` where fewer than two runs took that long. 1 is as good as the mean,
more is worse than that. The last column is the area of `auto` at the budget beside the best peer's in the
committed results; rows in which it is smaller are in bold.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from dcmaes.strategies import IsingSearch
from dcmaes.strategies.ising._learning import model
from dcmaes_bench import _compare, _results, _rows, _runner
from dcmaes_bench._measures import table

RESULTS = Path(__file__).parent / "results"
SUITES = {"pbo": "n=64", "categorical": ""}
MOMENTS, N_INSTANCES = (100, 200, 400), 3


def unexplained(model):
    """Return the share of the weighted variance of the targets that is not predicted."""
    share = model.weights / model.weights.sum()
    missed = model.targets - model.left_out()[0]
    spread = model.targets - share @ model.targets
    return float(share @ missed**2) / float(share @ spread**2)


def watched(row, instance):
    """Return what is unexplained at each moment of a run that lasts so long."""
    found = {}
    update = IsingSearch.update

    def watching(self, state, told, memory):
        state = update(self, state, told, memory)
        for moment in MOMENTS:
            if memory.n_seen >= moment and moment not in found:
                found[moment] = unexplained(model(state, memory).values)
        return state

    IsingSearch.update = watching
    try:
        _runner.run_once(_runner.Job(row, "dcmaes ising", instance, max(MOMENTS) + 10, 600.0))
    finally:
        IsingSearch.update = update
    return found


def main():
    """Print the table."""
    known = json.loads((RESULTS / "references.json").read_text())
    references = {name: known[name]["value"] for name in known}
    print("| row | " + " | ".join(f"after {moment}" for moment in MOMENTS) + " | beside the best peer |")
    print("|---" * (len(MOMENTS) + 2) + "|")
    for suite, only in SUITES.items():
        rows = [row for row in _rows.suite(suite) if only in row.label]
        measured = table([r for r in _results.read(RESULTS, suite) if only in r.problem], references)
        beside = _compare.virtual_best(measured, "dcmaes auto", when="budget")
        for row in rows:
            runs = [watched(row, instance) for instance in range(N_INSTANCES)]
            cells = []
            for moment in MOMENTS:
                shares = [run[moment] for run in runs if moment in run]
                cells.append(f"{np.median(shares):.2f}" if len(shares) > 1 else "-")
            ratio = beside[row.label].own / beside[row.label].other
            name, last = (
                (row.label, f"{ratio:.2f}") if ratio >= 1 else (f"**{row.label}**", f"**{ratio:.2f}**")
            )
            print(f"| {name} | " + " | ".join(cells) + f" | {last} |", flush=True)


if __name__ == "__main__":
    main()
