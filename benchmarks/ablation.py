"""What the parts of a strategy are worth: each switched off in turn, over rows of all suites.

    python benchmarks/ablation.py [--strategy auto] [--seeds 1] [--rows 8] [--budget 1000] [--only PART]

For each part and suite: the area under the curve of targets hit without the part, over that with all parts;
below 1, the part helps. Two standard errors of the difference over the rows are beside it. Eight rows of each
suite, evenly spaced, are run with budgets cut to 1,000 evaluations, so that a part takes minutes; `--match`
takes all rows with some text in their name instead. Runs are kept in the folder `--results` and not made
again; results/ablation.txt has what it printed.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from dcmaes.strategies import auto
from dcmaes.strategies.ising import _model, _neighbourhood, _proposals, _strategy, _update
from dcmaes_bench import _measures as measures
from dcmaes_bench import _results, suite
from dcmaes_bench._runner import plan, run_all
from dcmaes_bench._suite_small import HELD_OUT

# The parts, each with what switches it off: (module, name, value).
PARTS: dict[str, list[tuple[Any, str, Any]]] = {
    "all": [],
    "shares of low values": [(_update, "_judged_share", lambda state, near: state)],
    "fewer shares with choices": [(_update, "LARGEST_CHOICE_SHARE", 3)],
    "few at the centre": [(_neighbourhood, "CLOSE", 0.0)],
    "untried choices": [(_model, "SMALLEST_CHOICES", 0.0)],
    "first points near the middle": [(_proposals, "MIDDLE", 1.0)],
    "far values": [(_neighbourhood, "NEAR_ENOUGH", 2.0)],
    "trend": [(_proposals, "TREND_PATIENCE", np.inf)],
    "plateaus": [(_proposals, "SOME_TIES", 2.0)],
    "barrier": [(_model, "LARGEST_BARRIER_NOISE", -1.0)],
    "cliffs": [(_update, "_judged_cliff", lambda state, near: state)],
    "restarts at the best": [(_strategy, "RESTART_SHARES", (0.1, 0.3, 1.0))],
    "widths below the spacing": [(_model, "WIDTH_IN_GAPS", 1.0)],
    "radii": [(_proposals, "RADII", (2.0,))],
    "limits of changes": [(_proposals, "CHANGE_LIMITS", (1e6,))],
    "blocks": [(auto.Auto, "_may_have_blocks", lambda self, memory: False)],
    "sparse": [(auto.Auto, "_looked_for_pairs", lambda self, state, memory: state)],
    "neighbours": [(auto.Auto, "_looked_for_neighbours", lambda self, state, memory: state)],
    "process": [(auto.GaussianProcess, "is_useful", lambda self, memory: False)],
    "population": [(auto, "FIRMLY", 0.0)],
}
SUITES = ("pbo", "integer", "mixint", "categorical", "combinatorial", "small")


@contextmanager
def without(part: str) -> Iterator[None]:
    """Switch a part off for a while."""
    before = [(module, name, getattr(module, name)) for module, name, _ in PARTS[part]]
    for module, name, value in PARTS[part]:
        setattr(module, name, value)
    try:
        yield
    finally:
        for module, name, value in before:
            setattr(module, name, value)


def main() -> None:
    """Make the runs that are missing, and print the table."""
    options = _parser().parse_args()
    parts = [part for part in PARTS if options.only in part or part == "all"]
    rows = [row for name in SUITES for row in suite(name) if row.label not in HELD_OUT]
    if options.match is None:
        rows = [row for name in SUITES for row in _spaced([r for r in rows if r.suite == name], options.rows)]
    else:
        rows = [row for row in rows if options.match in row.label]
    for part in parts:
        folder = options.results / part.replace(" ", "_")
        with without(part):
            jobs = plan(rows, [f"dcmaes {options.strategy}"], range(options.seeds), budget=options.budget)
            run_all(jobs, folder, workers=1)
    print("| part switched off | runs |" + "".join(f" {name} |" for name in (*SUITES, "all")))
    print("|---|---|" + "---|" * (len(SUITES) + 1))
    found = {part: _areas(options.results, part, options.strategy) for part in parts}
    for part in parts[1:]:
        ratios = [_ratio(found["all"][name], found[part][name]) for name in SUITES]
        every = np.concatenate(ratios, axis=1)
        n_runs = sum(len(found["all"][name].keys() & found[part][name].keys()) for name in SUITES)
        cells = "".join(f" {_cell(ratio)} |" for ratio in (*ratios, every))
        print(f"| {part} | {n_runs} |{cells}", flush=True)


def _spaced(rows: list[Any], n: int) -> list[Any]:
    """Return at most `n` rows, evenly spaced."""
    return [rows[i] for i in np.unique(np.linspace(0, len(rows) - 1, n).astype(int))]


def _areas(results: Path, part: str, strategy: str) -> dict[str, dict[tuple[str, int], float]]:
    """Return the area of each run by suite, row and seed; targets are those of all parts together."""
    found: dict[str, dict[tuple[str, int], float]] = {}
    for name in SUITES:
        runs = {p: _results.read(results / p.replace(" ", "_"), name) for p in PARTS}
        scales = measures.scales([run for of_part in runs.values() for run in of_part])
        found[name] = {
            (run.problem, run.instance): measures.area(
                run.trace, scales[run.problem, run.instance], run.budget
            )
            for run in runs[part]
            if run.optimizer == f"dcmaes {strategy}"
        }
    return found


def _ratio(before: dict[tuple[str, int], float], after: dict[tuple[str, int], float]) -> Any:
    """Return mean areas of the rows over the seeds that both have, shape (2, n)."""
    rows = defaultdict(list)
    for row, seed in before.keys() & after.keys():
        rows[row].append((before[row, seed], after[row, seed]))
    return np.array([np.mean(pairs, axis=0) for _, pairs in sorted(rows.items())]).reshape(-1, 2).T


def _cell(areas: Any) -> str:
    """Return the ratio of the mean areas, and two standard errors of their difference in the same unit."""
    before, after = areas
    if len(before) < 2:
        return f"{after.mean() / before.mean():.3f}" if len(before) else ""
    error = 2 * (after - before).std(ddof=1) / np.sqrt(len(before))
    return f"{after.mean() / before.mean():.3f} ± {error / before.mean():.3f}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--strategy", default="auto")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--rows", type=int, default=8, help="how many of each suite")
    parser.add_argument("--match", help="the rows with this in their name instead")
    parser.add_argument("--budget", type=int, default=1000)
    parser.add_argument("--only", default="", help="only parts whose name contains this")
    parser.add_argument("--results", type=Path, required=True, help="folder for the runs")
    return parser


if __name__ == "__main__":
    main()
