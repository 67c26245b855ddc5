"""The values of several objectives: one row for each evaluation, and which of them are on the front."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence

import numpy as np

from dcmaes._validation import FloatArray, IntArray
from dcmaes.pareto import hypervolume, is_nondominated
from dcmaes.strategies._evaluations import gathered

# Points compared with the front at a time.
_BLOCK = 4096


class Several:
    """The values of all evaluations of a run with several objectives, in the order told.

    Parameters
    ----------
    n_objectives : int
        How many values an evaluation gives.
    reference : array of shape (m,), or None
        The worst values that are of interest, to be minimized.
    is_averaged : bool
        Whether the mean over all evaluations of a point counts, and of these evaluations the last one alone.

    Attributes
    ----------
    front : int array of shape (k,)
        Places of the feasible evaluations that no other one dominates, in the order told.

    Examples
    --------
    >>> several = Several(2, None)
    >>> for values in ((2.0, 1.0), (1.0, 3.0), (2.0, 2.0)):
    ...     several.append(values, is_feasible=True)
    >>> several.front, several.grown_at
    (array([0, 1]), 1)
    """

    def __init__(self, n_objectives: int, reference: FloatArray | None, *, is_averaged: bool = False) -> None:
        self.n_objectives = n_objectives
        self.reference = reference
        self.is_averaged = is_averaged
        self.front: IntArray = np.zeros(0, dtype=np.int64)
        self._grown_at: int | None = None
        self._measured: tuple[IntArray | None, float] = (None, math.nan)
        self._values = bytearray()
        self._means = bytearray() if is_averaged else self._values
        # The last evaluation of each feasible point and its first one, if means count.
        self._first: dict[int, int] = {}

    def append(
        self,
        values: Sequence[float] | None,
        is_feasible: bool,
        means: Sequence[float] | None = None,
        first: int = -1,
        previous: int = -1,
    ) -> None:
        """Add the values of one evaluation, None for a failure, and what they change of the front.

        If means count, these are the `means` over all evaluations of the point so far, `first` is the place
        of the first of them, and `previous` that of the one before; -1 for both if there is none.
        """
        place = len(self._values) // self._size
        self._values += self._row(values).tobytes()
        if not self.is_averaged:
            if is_feasible:
                self._add(place)
            return
        self._means += self._row(means).tobytes()
        self._first.pop(previous, None)
        if is_feasible:
            self._first[place] = place if first < 0 else first
        if previous >= 0:
            self._renew(self.front[self.front != previous])
        elif is_feasible:
            self._add(place)

    def at(self, places: IntArray) -> FloatArray:
        """Return the values that count at some places, shape (n, m): the means then, if means count."""
        return self._read(self._means, places)

    def told(self, places: IntArray) -> FloatArray:
        """Return the values that were told at some places, shape (n, m); NaN where there are none."""
        return self._read(self._values, places)

    @property
    def volume(self) -> float:
        """The hypervolume of the front up to the reference, found when it has changed; NaN without one."""
        if self.reference is not None and self._measured[0] is not self.front:
            self._measured = self.front, hypervolume(self.at(self.front), self.reference)
        return self._measured[1]

    @property
    def grown_at(self) -> int | None:
        """The last evaluation that enlarged the hypervolume of the front; None if there is none.

        If means count, the first evaluation of the newest point on the front.
        """
        if not self.is_averaged:
            return self._grown_at
        return max((self._first[place] for place in self._of_interest(self.front).tolist()), default=None)

    def snapshot(self) -> Several:
        """Return the values as they are now; these may grow, the snapshot does not."""
        now = copy.copy(self)
        now._first = dict(self._first)
        return now

    def copy(self) -> Several:
        """Return the same values, which grow by themselves."""
        other = self.snapshot()
        other._values = self._values.copy()
        other._means = self._means.copy() if self.is_averaged else other._values
        return other

    def _add(self, place: int) -> None:
        """Add an evaluation to the front, unless another one there dominates it."""
        (new,), front = self.at(np.array([place])), self.at(self.front)
        if (front <= new).all(axis=1).any():
            return
        self.front = np.append(self.front[~(new <= front).all(axis=1)], place)
        if self.reference is None or (new < self.reference).all():
            self._grown_at = place

    def _renew(self, rest: IntArray) -> None:
        """Find the front anew after the mean of a point has changed; `rest` are others that were on it.

        Of points with the same means the one evaluated first is on the front, however often it is repeated.
        """
        places = np.fromiter(self._first, np.int64, len(self._first))
        values, others = self.at(places), self.at(rest)
        # Only what none of the others dominates can be new on the front.
        is_free = np.ones(len(places), dtype=bool)
        for start in range(0, len(places), _BLOCK):
            some = values[start : start + _BLOCK, None, :]
            is_behind = (others <= some).all(axis=2) & (others < some).any(axis=2)
            is_free[start : start + _BLOCK] = ~np.any(is_behind, axis=1)
        candidates = places[is_free]
        candidates = candidates[np.argsort([self._first[place] for place in candidates.tolist()])]
        self.front = np.sort(candidates[is_nondominated(self.at(candidates))])

    def _of_interest(self, places: IntArray) -> IntArray:
        """Return the places of values that are better than the reference in all objectives."""
        if self.reference is None:
            return places
        return places[(self.at(places) < self.reference).all(axis=1)]

    def _row(self, values: Sequence[float] | None) -> FloatArray:
        return np.full(self.n_objectives, math.nan) if values is None else np.array(values, dtype=np.float64)

    def _read(self, buffer: bytearray, places: IntArray) -> FloatArray:
        values: FloatArray = np.frombuffer(gathered(buffer, self._size, places), np.float64)
        return values.reshape(-1, self.n_objectives)

    @property
    def _size(self) -> int:
        """Bytes for each evaluation."""
        return 8 * self.n_objectives
