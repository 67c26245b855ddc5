"""What models of the values have in common: how they are compared, and factors of their covariances."""

from __future__ import annotations

from typing import Protocol, Self

import numpy as np
import scipy.linalg

from dcmaes._validation import FloatArray

# Added to the diagonal of every covariance: far below any noise that could matter to standardized values.
JITTER = 1e-9


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

    def log_densities(self) -> FloatArray:
        """Return the logarithm of the density of each target, given all the others, shape (n,)."""
        ...


def normal_log_density(value: FloatArray, mean: FloatArray, deviation: FloatArray) -> FloatArray:
    """Return the logarithm of the density of normal laws at values, all of shape (n,) (Q9).

    >>> normal_log_density(np.zeros(2), np.array([0.0, 2.0]), np.ones(2)).round(3)
    array([-0.919, -2.919])
    """
    z = (value - mean) / deviation
    densities: FloatArray = -(z**2) / 2 - np.log(deviation) - np.log(2 * np.pi) / 2
    return densities


def cholesky(covariance: FloatArray) -> FloatArray:
    """Return a lower factor of a covariance, with as much added to its diagonal as rounding asks for."""
    diagonal = np.einsum("ii->i", covariance)
    size = float(diagonal.max())
    for jitter in (JITTER, *(size * 10.0**exponent for exponent in range(-12, 1, 2))):
        diagonal += jitter
        lower, info = scipy.linalg.lapack.dpotrf(covariance, lower=1, clean=1)
        if info == 0:
            break
    else:
        lower = np.diag(np.sqrt(diagonal))
    factor: FloatArray = lower
    return factor


def inverse_of(factor: FloatArray) -> FloatArray:
    """Return the inverse of a covariance with this lower factor, shape (w, w)."""
    lower, _ = scipy.linalg.lapack.dpotri(factor, lower=1)
    inverse: FloatArray = np.tril(lower) + np.tril(lower, -1).T
    return inverse
