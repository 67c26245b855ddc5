"""The section of the suite `multi` on the page of benchmarks, from its runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from dcmaes_bench._multi_peers import multi_optimizers
from dcmaes_bench._multi_runs import PER_VARIABLE, SHOWN, MultiRun, mean
from dcmaes_bench._text import markdown, number, span

OWN = "dcmaes"
Measure = Callable[[MultiRun], float | None]
# Rows that were not looked at while the search was tuned.
HELD_OUT = ("UBQP n=64", "biobj f47 d=10")

INTRODUCTION = """Two objectives, both minimized: random quadratic functions of bits (UBQP), NK landscapes
(MNK), a knapsack with two profits, deceptive traps against their inverse, DSIntLFTL of the README of cmaes,
four pairs of functions of COCO's bbob-biobj-mixint in two dimensions, and two estimators on the wine data,
error against size. The measure is the hypervolume as a share of that of the best known front (1 is that
front), after 100 evaluations, after 500, and after 50 for each variable (*50 d*). It counts from COCO's
nadir or, elsewhere, from what random points have on average. *area* is its mean from 10 to 100 or to 500
evaluations, on a logarithmic scale of evaluations. Each optimizer has its defaults, except that pymoo's
NSGA-II has a population of 20 and its MOEA/D, which needs to be told, 50 weights. Seeds are those of the
optimizer: the instance of a problem is always the same."""


class Difference(NamedTuple):
    """A peer on a problem: its mean measure and that of the library, over the seeds that both ran."""

    problem: str
    peer: str
    other: float
    own: float
    n_seeds: int


def at(n: int) -> Measure:
    """Return the measure of the hypervolume after `n` evaluations."""
    return lambda run: run.at(n)


def at_end(run: MultiRun) -> float | None:
    """Return the hypervolume after 50 evaluations per variable."""
    return run.at(PER_VARIABLE * run.dimension)


def area_to(n: int) -> Measure:
    """Return the measure of the mean from 10 to `n` evaluations."""
    return lambda run: run.area(n)


MEASURES: dict[str, Measure] = {
    **{f"at {n}": at(n) for n in SHOWN},
    f"at {PER_VARIABLE} d": at_end,
    **{f"area to {n}": area_to(n) for n in SHOWN},
}


def multi_section(runs: Sequence[MultiRun]) -> str:
    """Return the Markdown section of the suite."""
    seeds: dict[tuple[str, str], int] = {}
    for run in runs:
        seeds[run.optimizer, run.problem] = seeds.get((run.optimizer, run.problem), 0) + 1
    own = span([n for (name, _), n in seeds.items() if name == OWN] or [0])
    peers = span([n for (name, _), n in seeds.items() if name != OWN] or [0])
    extent = (
        f"{len(_unique(run.problem for run in runs))} rows, {len(_unique(run.optimizer for run in runs))} "
        f"optimizers; seeds per row: {own}, those of peers {peers}. Not looked at while the search was "
        f"tuned: {' and '.join(HELD_OUT)}."
    )
    missing = [name for name in multi_optimizers() if name not in _unique(run.optimizer for run in runs)]
    if missing:
        extent += f" No runs yet: {', '.join(missing)}."
    parts = ["## Suite `multi`", extent, INTRODUCTION, summary_table(runs), family_table(runs), losses(runs)]
    return "\n\n".join([*parts, ROW_NOTE, row_table(runs)]) + "\n"


def summary_table(runs: Sequence[MultiRun]) -> str:
    """Return the means of all measures by optimizer, over the rows that it ran, and its time."""
    lines = []
    n_rows = len(_unique(run.problem for run in runs))
    for name in _by_area(runs):
        mine = [run for run in runs if run.optimizer == name]
        problems = _unique(run.problem for run in mine)
        cells = [f"**{name}**" if name == OWN else name]
        cells += [number(_row_mean(mine, measure), "{:.3f}") for measure in MEASURES.values()]
        time = mean([1000 * run.seconds / run.budget for run in mine])
        ran = str(n_rows) if len(problems) == n_rows else f"{len(problems)} of {n_rows}"
        lines.append([*cells, f"{time:.0f}", ran, str(len(mine))])
    head = ["optimizer", *MEASURES, "time (ms)", "rows", "runs"]
    note = (
        "Means over the rows that the optimizer ran. *time*: per evaluation, the objective included, on the "
        "machine of the runs, which did other work at the same time. Runs that ended earlier have no figure "
        "at 50 d."
    )
    return f"{note}\n\n{markdown(head, lines)}"


def family_table(runs: Sequence[MultiRun]) -> str:
    """Return the mean area of every optimizer by family."""
    families = _unique(run.family for run in runs)
    parts = []
    for n in SHOWN:
        lines = []
        for name in _by_area(runs):
            cells = []
            for family in families:
                mine = [run for run in runs if (run.optimizer, run.family) == (name, family)]
                cells.append(number(_row_mean(mine, area_to(n)), "{:.3f}"))
            if set(cells) != {"-"}:
                lines.append([f"**{name}**" if name == OWN else name, *cells])
        parts.append(f"Area to {n} evaluations by family:\n\n{markdown(['optimizer', *families], lines)}")
    return "\n\n".join(parts)


def losses(runs: Sequence[MultiRun]) -> str:
    """Say plainly where some peer is ahead, by each measure."""
    lines = []
    for label, measure in MEASURES.items():
        found = [
            difference
            for problem in _unique(r.problem for r in runs)
            if (difference := best_peer(runs, problem, measure))
        ]
        lost = sorted(
            (one for one in found if one.other > one.own + 5e-4), key=lambda one: one.own - one.other
        )
        named = "; ".join(f"{one.problem} ({one.peer} {one.other:.3f}, dcmaes {one.own:.3f})" for one in lost)
        lines.append(f"- {label}: {len(lost)} of {len(found)} rows{': ' + named if named else ''}")
    text = (
        "**Where dcmaes loses**: rows on which some peer is ahead by more than 0.0005, on the seeds that "
        "both ran."
    )
    return text + "\n\n" + "\n".join(lines)


def best_peer(runs: Sequence[MultiRun], problem: str, measure: Measure) -> Difference | None:
    """Return the peer with the largest lead on a problem; None if none ran the same seeds."""
    there = [run for run in runs if run.problem == problem]
    own = {run.seed: value for run in there if run.optimizer == OWN and (value := measure(run)) is not None}
    found = []
    for peer in _unique(run.optimizer for run in there if run.optimizer != OWN):
        pairs = [
            (value, own[run.seed])
            for run in there
            if run.optimizer == peer and run.seed in own and (value := measure(run)) is not None
        ]
        if pairs:
            other, mine = mean([a for a, _ in pairs]), mean([b for _, b in pairs])
            found.append(Difference(problem, peer, other, mine, len(pairs)))
    return max(found, key=lambda one: one.other - one.own, default=None)


ROW_NOTE = """Row by row, means over seeds, optimizers in the order of their area to 100 evaluations:"""


def row_table(runs: Sequence[MultiRun]) -> str:
    """Return one line for each problem and optimizer."""
    lines = []
    for problem in _unique(run.problem for run in runs):
        there = [run for run in runs if run.problem == problem]
        names = _unique(run.optimizer for run in there)
        areas = {n: _row_mean([r for r in there if r.optimizer == n], area_to(SHOWN[0])) for n in names}
        for name in sorted(names, key=lambda n: -areas[n]):
            mine = [run for run in there if run.optimizer == name]
            cells = [number(_row_mean(mine, measure), "{:.3f}") for measure in MEASURES.values()]
            lines.append([problem, f"**{name}**" if name == OWN else name, str(len(mine)), *cells])
    return markdown(["problem", "optimizer", "seeds", *MEASURES], lines)


def _row_mean(runs: Sequence[MultiRun], measure: Measure) -> float:
    """Return the mean over problems of the means over seeds; NaN unless every problem has the measure."""
    means = [
        mean([measure(run) for run in runs if run.problem == problem])
        for problem in _unique(run.problem for run in runs)
    ]
    return mean(means) if means else math.nan


def _by_area(runs: Sequence[MultiRun]) -> list[str]:
    names = _unique(run.optimizer for run in runs)
    areas = {n: _row_mean([r for r in runs if r.optimizer == n], area_to(SHOWN[0])) for n in names}
    return sorted(names, key=lambda name: (name != OWN, -areas[name]))


def _unique(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
