"""What the parts of a strategy are worth: each switched off in turn, over rows of all suites.

    python benchmarks/ablation.py [--suite NAME] [--seeds 1] [--rows 8] [--budget 1000] [--only PART]

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
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from dcmaes.strategies import IsingSearch, auto, make_strategy
from dcmaes.strategies.ising import IsingSettings
from dcmaes_bench import _measures as measures
from dcmaes_bench import _results, optimizer, optimizers, suite
from dcmaes_bench._domain import Domain
from dcmaes_bench._peers._dcmaes import search
from dcmaes_bench._recorder import Evaluate
from dcmaes_bench._runner import plan, run_all
from dcmaes_bench._suite_small import HELD_OUT

# The parts of the search by regression, each with the settings that switch it off.
SETTINGS: dict[str, dict[str, Any]] = {
    "shares of low values": {"low_shares": (0.3,), "first_low_share": 0, "largest_choice_share": 0},
    "fewer shares with choices": {"largest_choice_share": 3},
    "few at the centre": {"close": 0.0},
    "untried choices": {"smallest_choices": 0.0},
    "first points near the middle": {"middle": 1.0},
    "far values": {"near_enough": 2.0},
    "trend": {"trend_patience": np.inf},
    "plateaus": {"some_ties": 2.0},
    "barrier": {"largest_barrier_noise": -1.0},
    "cliffs": {"most_misjudged": 0.0},
    "restarts at the best": {"restart_shares": (0.1, 0.3, 1.0)},
    "widths below the spacing": {"width_in_gaps": 1.0},
    "radii": {"radii": (2.0,)},
    "limits of changes": {"change_limits": (1e6,)},
}
# The parts of the default strategy, each with what switches it off: (object, name, value).
PARTS_OF_AUTO: dict[str, list[tuple[Any, str, Any]]] = {
    "blocks": [(auto.Auto, "_may_have_blocks", lambda self, memory: False)],
    "sparse": [(auto.Auto, "_looked_for_pairs", lambda self, state, memory: state)],
    "neighbours": [(auto.Auto, "_looked_for_neighbours", lambda self, state, memory: state)],
    "hidden sets": [(auto.Auto, "_looked_for_hidden_sets", lambda self, state, memory: state)],
    "process": [(auto.GaussianProcess, "is_useful", lambda self, memory: False)],
    "population": [(auto, "FIRMLY", 0.0)],
}
PARTS = ("all", *SETTINGS, *PARTS_OF_AUTO)
SUITES = ("pbo", "integer", "mixint", "categorical", "combinatorial", "small")


def name_of(strategy: str, part: str) -> str:
    """Return the name of the strategy without a part, in the table of optimizers."""
    return f"dcmaes {strategy}" if part == "all" else f"dcmaes {strategy} without {part}"


def register(strategy: str, part: str) -> None:
    """Let the strategy without a part be an optimizer."""

    def run(domain: Domain, evaluate: Evaluate, budget: int, seed: int) -> None:
        with without(part):
            search(domain, evaluate, budget, seed, strategy=strategy_without(strategy, part))

    optimizer(name_of(strategy, part))(run)


def strategy_without(strategy: str, part: str) -> Any:
    """Return `ising`, or another strategy with it for a model, without one of its parts."""
    regression = IsingSearch(settings=replace(IsingSettings(), **SETTINGS.get(part, {})))
    if strategy == "ising":
        return regression
    whole = make_strategy(strategy)
    if isinstance(whole, auto.Auto):
        whole._model = regression
    return whole


@contextmanager
def without(part: str) -> Iterator[None]:
    """Switch a part of the default strategy off for a while."""
    with ExitStack() as stack:
        for owner, name, value in PARTS_OF_AUTO.get(part, []):
            stack.enter_context(mock.patch.object(owner, name, value))
        yield


def main() -> None:
    """Make the runs that are missing, and print the table."""
    options = _parser().parse_args()
    parts = [part for part in PARTS if options.only in part or part == "all"]
    names = options.suite or SUITES
    rows = [row for name in names for row in suite(name) if row.label not in HELD_OUT]
    if options.match is None:
        rows = [row for name in names for row in _spaced([r for r in rows if r.suite == name], options.rows)]
    else:
        rows = [row for row in rows if options.match in row.label]
    optimizers()  # the others have to be in the table first
    for part in parts:
        if part != "all":
            register(options.strategy, part)
        jobs = plan(rows, [name_of(options.strategy, part)], range(options.seeds), budget=options.budget)
        run_all(jobs, options.results, workers=1)
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
        runs = _results.read(results, name)
        scales = measures.scales(runs)
        found[name] = {
            (run.problem, run.instance): measures.area(
                run.trace, scales[run.problem, run.instance], run.budget
            )
            for run in runs
            if run.optimizer == name_of(strategy, part)
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
    parser.add_argument("--suite", action="append", choices=SUITES, help="only this one (repeatable)")
    parser.add_argument("--match", help="the rows with this in their name instead")
    parser.add_argument("--budget", type=int, default=1000)
    parser.add_argument("--only", default="", help="only parts whose name contains this")
    parser.add_argument("--results", type=Path, required=True, help="folder for the runs")
    return parser


if __name__ == "__main__":
    main()
