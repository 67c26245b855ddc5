"""The memory of a run: every evaluation, once, and all that is known of points."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dcmaes._validation import FloatArray, IntArray
from dcmaes.space import Sites
from dcmaes.strategies._evaluations import WORST, Evaluation, Evaluations, Rank, Records
from dcmaes.strategies._several import Several

# What a model learns from, at most: evaluations, and points that constraints exclude, the last ones drawn.
MOST_RECALLED = 4000
# Differences of values at one point that are not told apart from larger ones, whose squares would overflow.
_LARGEST_STEP = 1e140


class _Excluded(NamedTuple):
    """A point that a strategy drew and a constraint excludes, after so many evaluations."""

    n_before: int
    row: bytes
    violation: float


class Memory(Records):
    """Every evaluation of a run in the order told, and which points are known, pending or excluded.

    The run owns it and adds to it; strategies read it. It only ever grows, so that what was said of its first
    rows stays true.

    Parameters
    ----------
    sites : Sites
        The space.
    n_objectives : int
        How many values an evaluation gives. If there are several, they are in `values_at`, and the one value
        of an evaluation is NaN: points are ranked by their violation alone, feasible ones by `front`.
    reference : array of shape (m,), or None
        The worst values of several objectives that are of interest, to be minimized.
    is_averaged : bool
        With several objectives: whether the means over all evaluations of a point count.

    Attributes
    ----------
    starts : Evaluations
        The user's starting points, value NaN where not known yet.
    best : int or None
        The first evaluation with the lowest violation and value; None while all have failed.
    n_failures : int
        How many evaluations that were paid for have failed.
    has_violations : bool
        Whether some point told was infeasible: beyond a constraint, but not without limit.
    several : Several
        The values of several objectives.
    excluded : dict of bytes to float
        Violation by key of each point that a cheap constraint excludes, in finite spaces.

    Examples
    --------
    >>> from dcmaes.space import Space
    >>> memory = Memory(Space.binary(3).sites)
    >>> told = memory.tell(Evaluations(np.eye(3), np.array([2.0, 1.0, 4.0]), np.zeros(3)))
    >>> len(memory), memory.best, memory.find(np.array([0.0, 0.0, 1.0])), memory.find(np.zeros(3))
    (3, 1, 2, None)
    >>> memory.evaluations(memory.leaders(2)).value
    array([1., 2.])
    """

    def __init__(
        self,
        sites: Sites,
        n_objectives: int = 1,
        reference: FloatArray | None = None,
        *,
        is_averaged: bool = False,
    ) -> None:
        super().__init__(sites)
        self.sites = sites
        self.n_objectives = n_objectives
        self.several = Several(n_objectives, reference, is_averaged=is_averaged)
        self.starts = Evaluations.empty(sites.dimension)
        self.best: int | None = None
        self.n_failures = 0
        self.has_violations = False
        self.excluded: dict[bytes, float] = {}
        self._is_finite = sites.is_finite
        self._reasons: dict[int, str] = {}
        self._first: dict[bytes, int] = {}
        self._latest: dict[int, int] = {}
        self._out: dict[int, bytes] = {}
        self._n_out: dict[bytes, int] = {}
        self._draws: list[_Excluded] = []
        self._n_draws = 0
        self._best_rank = WORST
        self._squares, self._degrees = 0.0, 0
        self._leaders: tuple[int, IntArray] = (0, np.zeros(0, dtype=np.int64))
        self._recalled: tuple[tuple[int, int, int], Evaluations] | None = None

    # What is added.

    def append(
        self,
        row: bytes,
        evaluation: Evaluation,
        reason: str | None = None,
        values: Sequence[float] | None = None,
        means: Sequence[float] | None = None,
    ) -> int:
        """Add one evaluation of the point that `row` stands for, and return its place.

        `values` are those of several objectives, to be minimized, None for a failure; `means` are the means
        over all evaluations of the point, if these count.
        """
        place = self._n
        first = self._first.setdefault(self.codec.key(row), place)
        previous = -1 if first == place else self._latest.get(first, first)
        if previous >= 0:
            self._latest[first] = place
            if self.n_objectives == 1:
                self._compare(evaluation, self.evaluation(previous))
        self._add(row, evaluation, previous)
        if reason is not None:
            self._reasons[place] = reason
        rank = Rank(evaluation.violation, evaluation.value)
        if rank.violation == math.inf:
            self.n_failures += not evaluation.is_given
        elif self.best is None or rank < self._best_rank:
            self.best, self._best_rank = place, rank
        self.has_violations |= 0.0 < evaluation.mean.violation < math.inf
        if self.n_objectives > 1:
            self.several.append(values, evaluation.mean.violation <= 0.0, means, first, previous)
        return place

    def tell(self, told: Evaluations, values: FloatArray | None = None) -> Evaluations:
        """Add evaluations that are no repeats, and return what was told with its places in the memory.

        Inactive sites are at rest in what is returned, as in all that strategies are told. So a strategy can
        be used without an optimizer. `values` are those of several objectives, shape (n, m).

        >>> from dcmaes.space import Space
        >>> memory = Memory(Space.binary(2).sites)
        >>> memory.tell(Evaluations(np.eye(2), np.array([2.0, 1.0]), np.zeros(2))).row
        array([0, 1])
        """
        places = []
        for i, row in enumerate(self.codec.rows(told.x)):
            if told.is_repeat[i]:
                places.append(self._first.get(self.codec.key(row), -1))
                continue
            value, violation, count = float(told.value[i]), float(told.violation[i]), int(told.count[i])
            mean = Rank(violation, value)
            one = Evaluation(self._n, value, violation, 0, math.nan, 0.0, False, False, mean, count)
            several = None if values is None else values[i].tolist()
            places.append(self.append(row, one, values=several))
        return replace(told, x=self.sites.canonical(told.x), row=np.array(places, dtype=np.int64))

    def exclude(self, row: bytes, violation: float) -> None:
        """Remember that constraints exclude a point; in an infinite space it will not come again."""
        if self._is_finite:
            self.excluded[self.codec.key(row)] = violation

    def add_excluded(self, row: bytes, violation: float) -> None:
        """Remember an excluded point that a strategy drew, which is told of it for nothing."""
        if len(self._draws) >= 2 * MOST_RECALLED:
            self._draws = self._draws[-MOST_RECALLED:]
        self._draws.append(_Excluded(self._n, row, violation))
        self._n_draws += 1
        self.has_violations |= violation < math.inf

    def hand_out(self, trial_id: int, row: bytes) -> None:
        """Remember that the point of a trial is pending."""
        self._out[trial_id] = row
        self._n_out[row] = self._n_out.get(row, 0) + 1

    def take_back(self, trial_id: int) -> None:
        """Forget that the point of a trial is pending."""
        row = self._out.pop(trial_id)
        n_left = self._n_out.pop(row) - 1
        if n_left:
            self._n_out[row] = n_left

    def _compare(self, one: Evaluation, before: Evaluation) -> None:
        """Learn from another value at the same point how noisy values are."""
        n, n_before = one.n_averaged, before.n_averaged
        if not (n > n_before and one.mean.violation <= 0.0 and before.mean.violation <= 0.0):
            return
        step = one.mean.value / 2 - before.mean.value / 2
        step = min(max(step, -_LARGEST_STEP), _LARGEST_STEP)
        # The square of what the values since then add to those around the mean.
        self._squares += 4 * step**2 * n * n_before / (n - n_before)
        self._degrees += 1

    # What is known of points.

    @property
    def n_known(self) -> int:
        """How many different points are evaluated, excluded or pending."""
        n_new = sum(self.codec.key(row) not in self._first for row in self._n_out)
        return len(self._first) + len(self.excluded) + n_new

    @property
    def pending(self) -> FloatArray:
        """Coded points out for evaluation, shape (k, d)."""
        return self.codec.coded(self._out.values())

    @property
    def n_seen(self) -> int:
        """How many points a strategy was told of: evaluations, and excluded points that it drew."""
        return self._n + self._n_draws

    @property
    def n_trials(self) -> int:
        """How many trials there were: numbers below this are evaluated or pending."""
        return self._n + len(self._out)

    @property
    def oldest_pending(self) -> int:
        """The lowest number of a pending trial; if there is none, that of the next trial."""
        return min(self._out, default=self.n_trials)

    def contains(self, x: FloatArray) -> NDArray[np.bool_]:
        """Tell for each row of `x` whether it was evaluated, is pending, or is excluded."""
        first, n, out, excluded = self._first, self._n, self._n_out, self.excluded
        pairs = [(row, self.codec.key(row)) for row in self.codec.rows(np.atleast_2d(x))]
        known = [row in out or first.get(key, n) < n or key in excluded for row, key in pairs]
        return np.array(known, dtype=np.bool_)

    def is_out(self, row: bytes) -> bool:
        """Tell whether the point of a row is pending."""
        return row in self._n_out

    def find(self, x: FloatArray) -> int | None:
        """Return the place of the first evaluation of a coded point, shape (d,), or None."""
        return self.find_row(self.codec.rows(x[np.newaxis])[0])

    def find_row(self, row: bytes) -> int | None:
        """Return the same for the point of a row."""
        place = self._first.get(self.codec.key(row))
        return None if place is None or place >= self._n else place

    def exclusion(self, row: bytes) -> float | None:
        """Return by how much a point violates the constraints that exclude it; None if that is not known."""
        return self.excluded.get(self.codec.key(row)) if self.excluded else None

    def rank(self, x: FloatArray) -> Rank | None:
        """Return violation and value of a point, shape (d,), when it was first evaluated; None if unknown.

        A point that constraints exclude has a violation and no value.
        """
        (row,) = self.codec.rows(x[np.newaxis])
        place = self.find_row(row)
        if place is not None:
            mean = self.evaluation(place).mean
            return Rank.of(mean.value, mean.violation)
        violation = self.exclusion(row)
        return None if violation is None else Rank(violation, math.inf)

    # What was evaluated.

    @property
    def deviation(self) -> float:
        """Standard deviation of one value, pooled over repeated points; 0 while no noise was seen.

        With several objectives it is not known here.
        """
        return math.sqrt(self._squares / max(self._degrees, 1))

    @property
    def is_noisy(self) -> bool:
        """Whether some point was seen to have different values."""
        return self._squares > 0.0

    def reason(self, place: int) -> str | None:
        """Return why an evaluation failed, or None."""
        return self._reasons.get(place)

    def values_at(self, places: IntArray) -> FloatArray:
        """Return the values of all objectives at some places, shape (n, m); NaN where there are none.

        If repeats are averaged, these are the means of the point as far as they were known then.

        >>> from dcmaes.space import Space
        >>> memory = Memory(Space.binary(2).sites, n_objectives=2)
        >>> several = np.array([[2.0, 1.0], [1.0, 3.0], [2.0, 2.0]])
        >>> x = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
        >>> told = memory.tell(Evaluations(x, np.full(3, np.nan), np.zeros(3)), several)
        >>> memory.front, memory.values_at(memory.front)
        (array([0, 1]), array([[2., 1.],
               [1., 3.]]))
        """
        return self.evaluations(places).value[:, None] if self.n_objectives == 1 else self.several.at(places)

    def told(self, places: IntArray) -> FloatArray:
        """Return what was told of all objectives at some places, to be minimized, shape (n, m)."""
        if self.n_objectives > 1:
            return self.several.told(places)
        return np.asarray(self.records_at(places)["value"][:, None])

    @property
    def front(self) -> IntArray:
        """Places of the feasible evaluations of several objectives that no other one dominates, (k,).

        Of a point whose evaluations are averaged, that of the last one.
        """
        return self.several.front

    @property
    def reference(self) -> FloatArray | None:
        """The worst values of several objectives that are of interest, shape (m,), or None."""
        return self.several.reference

    @property
    def grown_at(self) -> int | None:
        """The last evaluation that enlarged the hypervolume of the front, else the best; None if none did."""
        grown_at = self.several.grown_at
        return self.best if grown_at is None else grown_at

    def leaders(self, n: int) -> IntArray:
        """Return the places of the best evaluations, at most `n`, best first; ties as told.

        Of points that were evaluated again, the last mean counts if values are noisy, otherwise the first.
        """
        if self.is_noisy:
            return self._ranked(self._counting())[:n]
        n_before, leaders = self._leaders
        if n_before == 0 or len(leaders) < min(n, n_before):
            n_before, leaders = 0, leaders[:0]
        new = np.arange(n_before, self._n)
        if len(self._latest):
            new = new[~self.records_at(new)["is_again"]]
        # What was not among the best before is not now.
        most = max(n, len(leaders))
        leaders = self._ranked(np.concatenate([leaders, new]))[:most]
        self._leaders = self._n, leaders
        return leaders[:n]

    def recall(self, most: int = MOST_RECALLED) -> Evaluations:
        """Return what a model learns from, in the order told: evaluations, and excluded points drawn.

        All of them if they are at most `most`; else the best quarter of `most` and the recent half.
        """
        state = (self._n, self._n_draws, most)
        if self._recalled is None or self._recalled[0] != state:
            self._recalled = state, self._recall(most)
        return self._recalled[1]

    def excluded_to_dict(self) -> dict[str, Any]:
        """Return what is known of excluded points as plain data and arrays: nothing else tells it again."""
        draws = self._draws[-MOST_RECALLED:]
        return {
            "keys": np.frombuffer(b"".join(self.excluded), np.uint8),
            "violations": np.array(list(self.excluded.values()), dtype=np.float64),
            "has_violations": self.has_violations,
            "n_draws": self._n_draws,
            "draws": np.frombuffer(b"".join(draw.row for draw in draws), np.uint8),
            "draws_after": np.array([draw.n_before for draw in draws], dtype=np.int64),
            "draws_violations": np.array([draw.violation for draw in draws], dtype=np.float64),
        }

    def restore_excluded(self, data: Mapping[str, Any]) -> None:
        """Know of excluded points what `excluded_to_dict` returned."""
        violations, keys = data["violations"].tolist(), data["keys"].tobytes()
        size = len(keys) // max(1, len(violations))
        self.excluded = {keys[i * size : (i + 1) * size]: v for i, v in enumerate(violations)}
        after, rows = data["draws_after"].tolist(), data["draws"].tobytes()
        size, violations = self.codec.row_size, data["draws_violations"].tolist()
        pairs = enumerate(zip(after, violations, strict=True))
        self._draws = [_Excluded(n, rows[i * size : (i + 1) * size], v) for i, (n, v) in pairs]
        self._n_draws = data["n_draws"]
        self.has_violations = data["has_violations"]

    def snapshot(self) -> Memory:
        """Return the evaluations as they are now; this memory may grow, the snapshot does not."""
        now = copy.copy(self)
        now._out, now._n_out = dict(self._out), dict(self._n_out)
        now._draws = self._draws[-MOST_RECALLED:]
        now.several = self.several.snapshot()
        return now

    def copy(self) -> Memory:
        """Return a memory of the same, which grows by itself.

        >>> from dcmaes.space import Space
        >>> memory = Memory(Space.binary(2).sites)
        >>> other = memory.copy()
        >>> told = other.tell(Evaluations(np.eye(2), np.zeros(2), np.zeros(2)))
        >>> len(memory), len(other)
        (0, 2)
        """
        other = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, (bytearray, dict, list)):
                setattr(other, name, value.copy())
        other.several = self.several.copy()
        return other

    def _recall(self, most: int) -> Evaluations:
        draws, half = self._draws[-MOST_RECALLED:], most // 2
        is_all = len(self._latest) > 0 or self._n + self._n_draws <= most
        places = self._counting(0 if is_all else max(0, self._n - half))
        if is_all and len(places) + self._n_draws <= most:
            return self._with_draws(places, draws)
        told = self._with_draws(np.union1d(self.leaders(most // 4), places[-half:]), draws)
        is_kept = np.arange(len(told)) >= len(told) - half
        is_kept[told.order()[: most // 4]] = True
        return told.take(np.flatnonzero(is_kept))

    def _counting(self, start: int = 0) -> IntArray:
        """Return the places, from `start` on, of what counts: the first or, under noise, last of a point."""
        places = np.arange(start, self._n)
        if not self._latest:
            return places
        records = self.records_at(places)
        if not self.is_noisy:
            counting: IntArray = places[~records["is_again"]]
            return counting
        latest: IntArray = np.setdiff1d(places, records["previous"])
        return latest

    def _ranked(self, places: IntArray) -> IntArray:
        """Return places ordered by rank."""
        records = self.records_at(places)
        return places[np.lexsort((records["mean_value"], records["mean_violation"]))]

    def _with_draws(self, places: IntArray, draws: list[_Excluded]) -> Evaluations:
        """Return evaluations and excluded points in the order in which they were told."""
        told = self.evaluations(places)
        if not draws:
            return told
        violation = np.array([draw.violation for draw in draws])
        x = self.codec.coded(draw.row for draw in draws)
        joined = Evaluations.join(told, Evaluations(x, np.full(len(draws), np.nan), violation))
        # A point excluded after n evaluations comes before evaluation n.
        moment = np.concatenate([places, [draw.n_before - 0.5 for draw in draws]])
        return joined.take(np.argsort(moment, kind="stable"))
