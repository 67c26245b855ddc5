"""The values of several objectives: one row for each evaluation, and which of them are on the front."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence

import numpy as np

from dcmaes._validation import FloatArray, IntArray
from dcmaes.strategies._evaluations import gathered


class Several:
    """The values of all evaluations of a run with several objectives, in the order told.

    Parameters
    ----------
    n_objectives : int
        How many values an evaluation gives.
    reference : array of shape (m,), or None
        The worst values that are of interest, to be minimized.

    Attributes
    ----------
    front : int array of shape (k,)
        Places of the feasible evaluations that no other one dominates, in the order told.
    grown_at : int or None
        The last evaluation that enlarged the hypervolume of the front; None if there is none.

    Examples
    --------
    >>> several = Several(2, None)
    >>> for values in ((2.0, 1.0), (1.0, 3.0), (2.0, 2.0)):
    ...     several.append(values, is_feasible=True)
    >>> several.front, several.grown_at
    (array([0, 1]), 1)
    """

    def __init__(self, n_objectives: int, reference: FloatArray | None) -> None:
        self.n_objectives = n_objectives
        self.reference = reference
        self.front: IntArray = np.zeros(0, dtype=np.int64)
        self.grown_at: int | None = None
        self._values = bytearray()

    def append(self, values: Sequence[float] | None, is_feasible: bool) -> None:
        """Add the values of one evaluation, None for a failure, and what they change of the front."""
        place = len(self._values) // self._size
        new = np.full(self.n_objectives, math.nan) if values is None else np.array(values, dtype=np.float64)
        self._values += new.tobytes()
        if not is_feasible:
            return
        front = self.at(self.front)
        if (front <= new).all(axis=1).any():
            return
        self.front = np.append(self.front[~(new <= front).all(axis=1)], place)
        if self.reference is None or (new < self.reference).all():
            self.grown_at = place

    def at(self, places: IntArray) -> FloatArray:
        """Return the values at some places, shape (n, m); NaN where there are none."""
        values: FloatArray = np.frombuffer(gathered(self._values, self._size, places), np.float64)
        return values.reshape(-1, self.n_objectives)

    def snapshot(self) -> Several:
        """Return the values as they are now; these may grow, the snapshot does not."""
        return copy.copy(self)

    def copy(self) -> Several:
        """Return the same values, which grow by themselves."""
        other = copy.copy(self)
        other._values = self._values.copy()
        return other

    @property
    def _size(self) -> int:
        """Bytes for each evaluation."""
        return 8 * self.n_objectives
