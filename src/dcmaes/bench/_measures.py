"""What is computed from the runs: pure functions of records, no files, no drawing."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dcmaes._validation import FloatArray
from dcmaes.bench._results import RunRecord

N_TARGETS = 51
CHECKPOINTS = (100, 1_000, 10_000)
Trace = Sequence[tuple[int, float]]


@dataclass(frozen=True)
class Scale:
    """How the values of one instance are judged: its reference value, and the gaps that serve as targets."""

    reference: float
    targets: FloatArray


@dataclass(frozen=True)
class Score:
    """One optimizer on one row: means and medians over instances.

    `area` is the area under the curve of hit targets (0 to 1), `median` the median evaluations to the optimum
    (infinite if half of the runs fail), `ert` the expected running time, `success` the share of runs that hit
    it, `distinct` the share of evaluations spent on new points, `gap_at` the median gap after so many
    evaluations.
    """

    n_runs: int
    area: float
    median: float
    ert: float
    success: float
    own_time: float
    distinct: float
    gap_at: Mapping[int, float]


def scales(
    records: Iterable[RunRecord], references: Mapping[str, float] | None = None
) -> dict[tuple[str, int], Scale]:
    """Return the scale of every (problem, instance) among the records.

    The reference is the known optimum, or else the best value of all runs and of `references` (by problem, or
    by "problem #instance"). Targets are 51 gaps, evenly spaced on a log axis from the median first value down
    to half of the smallest gap that any run was left with on its way (never below the problem's tolerance),
    which makes the last few targets the optimum itself.
    """
    groups: dict[tuple[str, int], list[RunRecord]] = defaultdict(list)
    for record in records:
        groups[record.problem, record.instance].append(record)
    known = references or {}
    return {
        key: _scale(group, known.get(f"{key[0]} #{key[1]}", known.get(key[0], math.inf)))
        for key, group in groups.items()
    }


def _scale(group: Sequence[RunRecord], known: float) -> Scale:
    optimum, tolerance = group[0].optimum, group[0].tolerance
    reference = optimum if optimum is not None else min(known, *(record.best for record in group))
    first = max(
        float(np.median([r.trace[0][1] for r in group if r.trace] or [reference])) - reference, tolerance
    )
    gaps = [value - reference for record in group for _, value in record.trace]
    floor = min((gap for gap in gaps if gap > tolerance), default=tolerance) / 2
    floor = max(floor, tolerance, 1e-8 * first)
    return Scale(reference, np.geomspace(first, min(floor, first), N_TARGETS))


def hits(trace: Trace, scale: Scale) -> FloatArray:
    """Evaluations at which each target was first reached (infinite if never), shape (51,).

    >>> scale = Scale(0.0, np.array([8.0, 2.0, 0.5]))
    >>> hits([(1, 9.0), (4, 2.0), (10, 1.0)], scale).tolist()
    [4.0, 4.0, inf]
    """
    result = np.full(len(scale.targets), math.inf)
    for n_evaluations, value in reversed(trace):
        result[value - scale.reference <= scale.targets] = n_evaluations
    return result


def area(trace: Trace, scale: Scale, budget: int) -> float:
    """Area under the share of targets hit, over the log of evaluations from 1 to the budget: 0 (none) to 1.

    >>> area([(1, 9.0), (10, 2.0)], Scale(0.0, np.array([8.0, 2.0])), budget=100)
    0.5
    """
    reached = np.minimum(hits(trace, scale), budget)
    return float(np.mean(1 - np.log(reached) / math.log(budget)))


def value_at(trace: Trace, n_evaluations: int) -> float:
    """Best value after that many evaluations.

    >>> value_at([(1, 9.0), (10, 2.0)], 9)
    9.0
    """
    return min((value for when, value in trace if when <= n_evaluations), default=math.inf)


def expected_running_time(records: Sequence[RunRecord]) -> float:
    """All evaluations of all runs, per success."""
    n_solved = sum(record.solved_at is not None for record in records)
    return sum(record.n_evaluations for record in records) / n_solved if n_solved else math.inf


def median_evaluations(records: Sequence[RunRecord]) -> float:
    """Median evaluations to the optimum, an unsolved run counting as infinite."""
    values = sorted(math.inf if record.solved_at is None else record.solved_at for record in records)
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2


def score(records: Sequence[RunRecord], scale_of: Mapping[tuple[str, int], Scale]) -> Score:
    """Sum up one optimizer's runs on one row."""
    areas = [area(r.trace, scale_of[r.problem, r.instance], r.budget) for r in records]
    gap_at = {
        when: float(
            np.median([value_at(r.trace, when) - scale_of[r.problem, r.instance].reference for r in records])
        )
        for when in CHECKPOINTS
        if when <= records[0].budget
    }
    return Score(
        n_runs=len(records),
        area=float(np.mean(areas)),
        median=median_evaluations(records),
        ert=expected_running_time(records),
        success=float(np.mean([r.solved_at is not None for r in records])),
        own_time=float(np.median([r.own_time for r in records])),
        distinct=float(np.mean([r.n_distinct / max(r.n_evaluations, 1) for r in records])),
        gap_at=gap_at,
    )


Table = dict[str, dict[str, Score]]


def table(records: Sequence[RunRecord], references: Mapping[str, float] | None = None) -> Table:
    """Scores by problem, then by optimizer, in the order of the records.

    Compared are only runs with the problem's most common budget, on the instances that all its optimizers
    ran.
    """
    scale_of = scales(records, references)
    groups: dict[str, dict[str, list[RunRecord]]] = defaultdict(lambda: defaultdict(list))
    for record in comparable(records):
        groups[record.problem][record.optimizer].append(record)
    return {
        problem: {name: score(runs, scale_of) for name, runs in by_name.items()}
        for problem, by_name in groups.items()
    }


def comparable(records: Iterable[RunRecord]) -> list[RunRecord]:
    """Those runs that can be compared: the most common budget of each problem."""
    by_problem: dict[str, list[RunRecord]] = defaultdict(list)
    for record in records:
        by_problem[record.problem].append(record)
    kept: list[RunRecord] = []
    for runs in by_problem.values():
        budget = Counter(run.budget for run in runs).most_common(1)[0][0]
        kept += [run for run in runs if run.budget == budget]
    return kept


def mean_ranks(scores: Table) -> dict[str, float]:
    """Mean rank by area of the optimizers that ran all rows, among themselves; ties share their mean rank."""
    names = sorted(set.intersection(*(set(row) for row in scores.values()))) if scores else []
    if not names:
        return {}
    areas = np.array([[row[name].area for name in names] for row in scores.values()])
    better = (areas[:, None, :] > areas[:, :, None]).sum(axis=2)
    equal = (areas[:, None, :] == areas[:, :, None]).sum(axis=2)
    ranks = (better + (equal + 1) / 2).mean(axis=0)
    return dict(zip(names, ranks.tolist(), strict=True))


def virtual_best_ratio(scores: Table, name: str, peers: Sequence[str]) -> float:
    """Area of an optimizer summed over rows, relative to the best peer of each row (virtual best peer)."""
    rows = [row for row in scores.values() if name in row and any(peer in row for peer in peers)]
    best = sum(max(row[peer].area for peer in peers if peer in row) for row in rows)
    return sum(row[name].area for row in rows) / best if best else math.nan


def ecdf(
    records: Sequence[RunRecord], scale_of: Mapping[tuple[str, int], Scale], grid: FloatArray
) -> FloatArray:
    """Share of (run, target) pairs hit within each number of evaluations of `grid`."""
    if not records:
        return np.zeros(len(grid))
    reached = np.concatenate([hits(r.trace, scale_of[r.problem, r.instance]) for r in records])
    return np.asarray((reached[:, None] <= grid).mean(axis=0))
