"""What is computed from the runs of one optimizer on one row: pure functions of records, no files."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dcmaes_bench._domain import FloatArray
from dcmaes_bench._results import RunRecord

N_TARGETS = 51
CHECKPOINTS = (50, 100, 200, 1_000, 10_000)
# Where the area is taken: at 50 evaluations per variable, and at the budget of the row.
EARLY, FULL = "50 d", "budget"
EARLY_PER_VARIABLE = 50
# Up to this budget areas are also taken at the checkpoints before it; their names are those numbers.
SMALL = 200
Trace = Sequence[tuple[int, float]]


@dataclass(frozen=True)
class Scale:
    """How the values of one instance are judged: its reference value, and the gaps that serve as targets."""

    reference: float
    targets: FloatArray


@dataclass(frozen=True)
class Score:
    """One optimizer on one row: means and medians over instances.

    `areas` holds the area under the curve of hit targets (0 to 1) up to `FULL` and up to `EARLY`, each by
    instance; `EARLY` is missing where the budget is below twice that. Small budgets also have "50" and "100".
    `median` is the median number of evaluations to the optimum (infinite if half of the runs fail), `ert` the
    expected running time, `success` the share of runs that hit it, `distinct` the share of evaluations spent
    on new points, `timed_out` and `failed` the shares of runs that the cap on wall time or an error ended,
    `gap_at` the median gap after so many evaluations, `per_variable` the budget over the number of variables.
    """

    areas: Mapping[str, Mapping[int, float]]
    median: float
    ert: float
    success: float
    own_time: float
    distinct: float
    timed_out: float
    failed: float
    gap_at: Mapping[int, float]
    per_variable: float

    @property
    def n_runs(self) -> int:
        """Number of instances that were run."""
        return len(self.areas[FULL])

    def area(self, when: str = FULL) -> float:
        """Mean area over instances, not a number where there is none."""
        values = self.areas.get(when)
        return float(np.mean(list(values.values()))) if values else math.nan


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
    _check(group)
    optimum, tolerance = group[0].optimum, group[0].tolerance
    reference = optimum if optimum is not None else min(known, *(record.best for record in group))
    first = max(
        float(np.median([r.trace[0][1] for r in group if r.trace] or [reference])) - reference, tolerance
    )
    gaps = [value - reference for record in group for _, value in record.trace]
    floor = min((gap for gap in gaps if gap > tolerance), default=tolerance) / 2
    floor = max(floor, tolerance, 1e-8 * first)
    return Scale(reference, np.geomspace(first, min(floor, first), N_TARGETS))


def _check(group: Sequence[RunRecord]) -> None:
    """Refuse runs of one instance that disagree about its optimum, or are better than it."""
    optimum, name = group[0].optimum, f"{group[0].problem} #{group[0].instance}"
    for record in group:
        if record.optimum != optimum:
            raise ValueError(
                f"{name}: {group[0].optimizer} ran it with the optimum {optimum}, {record.optimizer} with "
                f"{record.optimum}; the problem has changed in between, so make the older runs again"
            )
        slack = max(record.tolerance, 1e-8 * abs(record.best))
        if optimum is not None and record.best < optimum - slack:
            raise ValueError(
                f"{name}: {record.optimizer} found {record.best}, better than the optimum {optimum} that is "
                "stated; correct the optimum and make the runs again, which ended there"
            )


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
    gap_at = {
        when: float(
            np.median([value_at(r.trace, when) - scale_of[r.problem, r.instance].reference for r in records])
        )
        for when in CHECKPOINTS
        if when <= records[0].budget
    }
    return Score(
        areas=_areas(records, scale_of),
        median=median_evaluations(records),
        ert=expected_running_time(records),
        success=float(np.mean([r.solved_at is not None for r in records])),
        own_time=float(np.median([r.own_time for r in records])),
        distinct=float(np.mean([r.n_distinct / max(r.n_evaluations, 1) for r in records])),
        timed_out=float(np.mean([r.stop == "time" for r in records])),
        failed=float(np.mean([r.stop.startswith("error") for r in records])),
        gap_at=gap_at,
        per_variable=records[0].budget / records[0].dimension,
    )


def _areas(
    records: Sequence[RunRecord], scale_of: Mapping[tuple[str, int], Scale]
) -> dict[str, dict[int, float]]:
    """Areas by instance; the targets are the same at all ends, only the axis is shorter."""
    early, budget = EARLY_PER_VARIABLE * records[0].dimension, records[0].budget
    ends = {FULL: budget} | ({EARLY: early} if 2 * early <= budget else {})
    if budget <= SMALL:
        ends |= {str(when): when for when in CHECKPOINTS if when < budget}
    return {
        when: {r.instance: area(r.trace, scale_of[r.problem, r.instance], end) for r in records}
        for when, end in ends.items()
    }


Table = dict[str, dict[str, Score]]


def table(records: Sequence[RunRecord], references: Mapping[str, float] | None = None) -> Table:
    """Scores by problem, then by optimizer; problems in alphabetical order, numbers in theirs by size.

    Runs count if they have the problem's most common budget. Every optimizer keeps all of its instances, also
    those that others lack: what compares two of them (`dcmaes_bench._compare`) pairs the instances both ran.
    """
    scale_of = scales(records, references)
    groups: dict[str, dict[str, list[RunRecord]]] = defaultdict(lambda: defaultdict(list))
    for record in comparable(records):
        groups[record.problem][record.optimizer].append(record)
    return {
        problem: {name: score(runs, scale_of) for name, runs in sorted(groups[problem].items())}
        for problem in sorted(groups, key=_natural)
    }


def _natural(label: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", label)]


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


def ecdf(
    records: Sequence[RunRecord], scale_of: Mapping[tuple[str, int], Scale], grid: FloatArray
) -> FloatArray:
    """Share of (run, target) pairs hit within so many evaluations per variable, for each entry of `grid`."""
    if not records:
        return np.zeros(len(grid))
    reached = np.concatenate([hits(r.trace, scale_of[r.problem, r.instance]) / r.dimension for r in records])
    return np.asarray((reached[:, None] <= grid).mean(axis=0))
