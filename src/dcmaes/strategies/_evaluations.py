"""Evaluations as strategies see them: coded points with value and violation, and the order among them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dcmaes._validation import FloatArray, IntArray


class Rank(NamedTuple):
    """What points are compared by, the smaller the better: the violation first, then the value.

    >>> Rank(0.0, 9.0) < Rank(0.5, 1.0) < WORST
    True
    """

    violation: float
    value: float

    @staticmethod
    def of(value: float, violation: float) -> Rank:
        """Return the rank of an evaluation; no value (NaN) counts as infinite.

        >>> Rank.of(float("nan"), 0.5)
        Rank(violation=0.5, value=inf)
        """
        return Rank(violation, np.inf if np.isnan(value) else value)


WORST = Rank(np.inf, np.inf)
_COLUMNS = ("x", "value", "violation", "is_repeat", "count", "row")


@dataclass(frozen=True)
class Evaluations:
    """Coded points with what is known of them, in the order in which they were told.

    Attributes
    ----------
    x : array of shape (n, d)
        Coded points.
    value : array of shape (n,)
        Values to be minimized; NaN where there is none (a failure, or a point that a constraint excludes).
    violation : array of shape (n,)
        Total constraint violation: 0 where feasible, infinite where the evaluation failed.
    is_repeat : bool array of shape (n,)
        Whether the point had been evaluated before, so that telling it again cost nothing; none by default.
    count : int array of shape (n,)
        Of how many evaluations of the point the value is the mean; one by default.
    row : int array of shape (n,)
        The place of each in the memory; -1, the default, for points that were not evaluated.

    >>> told = Evaluations(np.zeros((3, 1)), np.array([2.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0]))
    >>> told.order()
    array([1, 0, 2])
    """

    x: FloatArray
    value: FloatArray
    violation: FloatArray
    is_repeat: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))
    count: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    row: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def __post_init__(self) -> None:
        n = len(self.value)
        if len(self.is_repeat) == 0:
            object.__setattr__(self, "is_repeat", np.zeros(n, dtype=bool))
        if len(self.count) == 0:
            object.__setattr__(self, "count", np.ones(n, dtype=np.int64))
        if len(self.row) == 0:
            object.__setattr__(self, "row", np.full(n, -1, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.value)

    def order(self) -> IntArray:
        """Return positions, best first: feasible by value, others by violation, failures; ties as told."""
        return np.lexsort((self.value, self.violation))

    def take(self, rows: slice | IntArray) -> Evaluations:
        """Return some of the evaluations.

        >>> len(Evaluations(np.zeros((3, 1)), np.zeros(3), np.zeros(3)).take(slice(2)))
        2
        """
        return Evaluations(*(getattr(self, name)[rows] for name in _COLUMNS))

    def fresh(self) -> Evaluations:
        """Return those that are no repeats.

        >>> told = Evaluations(np.eye(2), np.zeros(2), np.zeros(2), is_repeat=np.array([True, False]))
        >>> told.fresh().x
        array([[0., 1.]])
        """
        return self.take(np.flatnonzero(~self.is_repeat))

    def rank(self, position: int) -> Rank:
        """Return violation and value of one of the evaluations, the value infinite where there is none."""
        return Rank.of(float(self.value[position]), float(self.violation[position]))

    @staticmethod
    def empty(dimension: int) -> Evaluations:
        """Return no evaluations at all.

        >>> len(Evaluations.empty(3))
        0
        """
        return Evaluations(np.empty((0, dimension)), np.empty(0), np.empty(0))

    @staticmethod
    def join(*parts: Evaluations) -> Evaluations:
        """Return the evaluations of all parts, one after the other; at least one part.

        >>> len(Evaluations.join(Evaluations.empty(3), Evaluations.empty(3)))
        0
        """
        return Evaluations(*(np.concatenate([getattr(part, name) for part in parts]) for name in _COLUMNS))
