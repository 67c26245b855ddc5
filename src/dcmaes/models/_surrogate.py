"""What models of the values have in common, by which they are compared."""

from __future__ import annotations

from typing import Protocol, Self

import numpy as np

from dcmaes._validation import FloatArray


class Surrogate(Protocol):
    """A model of values: it can be fitted, and predicts each value from all others.

    Which points are proposed is up to the proposer that uses it.
    """

    @property
    def targets(self) -> FloatArray:
        """The values that it explains, in any unit, shape (n,)."""
        ...

    def fitted(self, n_steps: int) -> Self:
        """Return the model with likelier hyper-parameters, after at most so many steps."""
        ...

    def left_out(self) -> tuple[FloatArray, FloatArray]:
        """Return mean and standard deviation of each target, given all the others, shape (n,) each."""
        ...


def log_densities(surrogate: Surrogate) -> FloatArray:
    """Return the logarithm of the density of each target, given all the others, shape (n,) (Q9)."""
    mean, deviation = surrogate.left_out()
    z = (surrogate.targets - mean) / deviation
    densities: FloatArray = -(z**2) / 2 - np.log(deviation) - np.log(2 * np.pi) / 2
    return densities
