"""Repair of a symmetric matrix of ones on the diagonal into a correlation matrix."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import linalg

from dcmaes._validation import FloatArray

# Measured by benchmarks/correlation_repair.py: tighter or longer costs time and gains nothing in the error.
_TOLERANCE = 1e-2
_MAX_SWEEPS = 30


class RepairedCorrelation(NamedTuple):
    """A correlation matrix, a factor of it, and how far it is from what was asked."""

    matrix: FloatArray  # (k, k), positive semidefinite, ones on the diagonal
    factor: FloatArray  # (k, rank), rows of length one, factor @ factor.T = matrix
    deviation: float  # largest absolute difference to the asked matrix


def repair_correlation(matrix: FloatArray) -> RepairedCorrelation:
    """Return a positive semidefinite matrix of unit diagonal near a symmetric one of unit diagonal.

    A positive definite matrix is returned as it is. Any other is moved by Higham's alternating projections
    (onto the positive semidefinite cone with Dykstra's correction, then onto the unit diagonal), stopped
    early, and the rows of its factor are scaled to length one, which makes both properties exact.

    Parameters
    ----------
    matrix : ndarray, shape (k, k)
        Symmetric, ones on the diagonal.

    Returns
    -------
    RepairedCorrelation
        `matrix`, `factor` and `deviation`.

    Examples
    --------
    >>> asked = np.array([[1.0, 0.9, -0.9], [0.9, 1.0, 0.9], [-0.9, 0.9, 1.0]])
    >>> repaired = repair_correlation(asked)
    >>> bool(np.linalg.eigvalsh(repaired.matrix).min() > -1e-12), round(repaired.deviation, 2)
    (True, 0.4)
    """
    try:
        factor = linalg.cholesky(matrix, lower=True)
    except linalg.LinAlgError:
        factor = _unit_factor(_alternate_projections(matrix))
    else:
        return RepairedCorrelation(matrix.copy(), factor, 0.0)
    repaired = np.clip(factor @ factor.T, -1.0, 1.0)
    np.fill_diagonal(repaired, 1.0)
    return RepairedCorrelation(repaired, factor, float(np.abs(repaired - matrix).max()))


def _alternate_projections(matrix: FloatArray) -> FloatArray:
    """Approach the nearest correlation matrix in the Frobenius norm by (N8)."""
    current = matrix
    correction = np.zeros_like(matrix)
    for _ in range(_MAX_SWEEPS):
        shifted = current - correction
        values, vectors = linalg.eigh(shifted)
        projected = (vectors * np.maximum(values, 0.0)) @ vectors.T
        correction = projected - shifted
        previous, current = current, projected
        np.fill_diagonal(current, 1.0)
        if np.linalg.norm(current - previous) <= _TOLERANCE * np.linalg.norm(current):
            break
    return current


def _unit_factor(matrix: FloatArray) -> FloatArray:
    """Return the factor of the positive part, its rows scaled to length one."""
    values, vectors = linalg.eigh(matrix)
    positive = values > 0
    factor = vectors[:, positive] * np.sqrt(values[positive])
    return np.asarray(factor / np.linalg.norm(factor, axis=1, keepdims=True))
