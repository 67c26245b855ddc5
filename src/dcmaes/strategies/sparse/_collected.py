"""Evaluations kept in little space: single changes among them tell which sites interact."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dcmaes._validation import FloatArray
from dcmaes.strategies._protocol import Evaluations

# States are numbers below this.
STATE = np.uint16


@dataclass(frozen=True, eq=False)
class Collected:
    """Points of choices that violate nothing, with their values, as they came.

    Attributes
    ----------
    x : tuple of arrays of shape (k, d)
    value : tuple of arrays of shape (k,)

    Examples
    --------
    >>> told = Evaluations(np.eye(3), np.arange(3.0), np.zeros(3))
    >>> collected = Collected().with_evaluations(told).with_evaluations(told)
    >>> len(collected), collected.evaluations(3).value
    (6, array([0., 1., 2., 0., 1., 2.]))
    """

    x: tuple[NDArray[np.uint16], ...] = ()
    value: tuple[FloatArray, ...] = ()

    def __len__(self) -> int:
        return sum(len(value) for value in self.value)

    def with_evaluations(self, told: Evaluations) -> Collected:
        """Return the same with the feasible ones of some evaluations."""
        told = told.take(np.flatnonzero(told.violation == 0))
        return Collected((*self.x, told.x.astype(STATE)), (*self.value, told.value))

    def joined(self, dimension: int) -> Collected:
        """Return the same as one array of each kind."""
        x = np.concatenate([np.empty((0, dimension), STATE), *self.x])
        return Collected((x,), (np.concatenate([np.empty(0), *self.value]),))

    def evaluations(self, dimension: int) -> Evaluations:
        """Return all of them."""
        joined = self.joined(dimension)
        return Evaluations(joined.x[0].astype(np.float64), joined.value[0], np.zeros(len(self)))
