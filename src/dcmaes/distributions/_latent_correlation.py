"""Discrete variables that are quantiles of normal ones: the correlation behind a covariance, and its repair.

A margin is given by its survival probabilities P(X >= 1), P(X >= 2), ..., falling.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import linalg
from scipy.special import ndtr, ndtri

from dcmaes._validation import FloatArray
from dcmaes.distributions._normal_cdf import bivariate_normal_cdf

# Of the direct sum over pairs of thresholds; beyond, margins are smooth enough for a series.
_MOST_CELLS = 10_000
_TERMS = 120
_FAR = 9.0  # thresholds beyond this many deviations change a covariance by less than rounding
# Measured by benchmarks/correlation_repair.py: tighter or longer costs time and gains nothing in the error.
_TOLERANCE = 1e-2
_MAX_SWEEPS = 30


class LatentCovariance:
    """The covariance of two margins as a function of the correlation of the normal pair behind them.

    Parameters
    ----------
    first, second : ndarray, shapes (n_1,) and (n_2,)
        Survival probabilities.

    Examples
    --------
    >>> pair = LatentCovariance(np.array([0.5]), np.array([0.5]))
    >>> round(pair(0.5), 12), round(pair.solve(1 / 12), 12)
    (0.083333333333, 0.5)
    """

    def __init__(self, first: FloatArray, second: FloatArray) -> None:
        self.low, self.high = covariance_range(first, second)
        h, k = (_thresholds(margin) for margin in (first, second))
        self._grid = (h[:, np.newaxis], k) if h.size * k.size <= _MOST_CELLS else None
        if self._grid is None:
            self._set_series(_hermite(h) * _hermite(k))
        else:
            self._independent = float(np.outer(ndtr(h), ndtr(k)).sum())

    def _set_series(self, terms: FloatArray) -> None:
        """Keep the series, and give what it misses at the correlations -1 and 1 to two more terms."""
        signs = (-1.0) ** np.arange(1, _TERMS + 1)
        missing, alternating = self.high - terms.sum(), self.low - (signs * terms).sum()
        even, odd = (missing + alternating) / 2.0, (missing - alternating) / 2.0
        self._series = np.concatenate([[0.0], terms, [odd, even] if _TERMS % 2 == 0 else [even, odd]])

    def __call__(self, correlation: float) -> float:
        """Return the covariance."""
        if abs(correlation) >= 1.0:
            return self.high if correlation > 0 else self.low
        if self._grid is None:
            return float(np.polynomial.polynomial.polyval(correlation, self._series))  # (M9)
        return float(bivariate_normal_cdf(*self._grid, correlation).sum()) - self._independent  # (M8)

    def solve(self, covariance: float) -> float:
        """Return the correlation that gives the covariance; -1 or 1 at or beyond the ends of its range."""
        if self.low == self.high or covariance == 0.0:
            return 0.0
        if covariance >= self.high or covariance <= self.low:
            return 1.0 if covariance >= self.high else -1.0
        from scipy import optimize

        low, high = (0.0, 1.0) if covariance > 0 else (-1.0, 0.0)
        return float(optimize.brentq(lambda at: self(at) - covariance, low, high, xtol=1e-15))  # increasing


def covariance_range(first: FloatArray, second: FloatArray) -> tuple[float, float]:
    """Return the least and the greatest covariance of two margins, whatever joins them (Hoeffding, Frechet).

    >>> covariance_range(np.array([0.5]), np.array([0.5]))
    (-0.25, 0.25)
    """
    product = float(first.sum()) * float(second.sum())
    return _sum_of_overlaps(first, 1.0 - second[::-1]) - product, _sum_of_minima(first, second) - product


def _sum_of_minima(first: FloatArray, second: FloatArray) -> float:
    """Return the sum of min(s, t) over all s and t of two falling sequences."""
    rising = second[::-1]
    sums = np.concatenate([[0.0], np.cumsum(rising)])
    place = np.searchsorted(rising, first)
    return float((sums[place] + first * (second.size - place)).sum())  # (M10)


def _sum_of_overlaps(first: FloatArray, complements: FloatArray) -> float:
    """Return the sum of max(0, s - c) over all s of a sequence and c of another."""
    rising = np.sort(complements)
    sums = np.concatenate([[0.0], np.cumsum(rising)])
    place = np.searchsorted(rising, first)
    return float((first * place - sums[place]).sum())  # (M10)


def _thresholds(survival: FloatArray) -> FloatArray:
    thresholds = ndtri(survival)
    return np.asarray(thresholds[np.abs(thresholds) < _FAR])


def _hermite(thresholds: FloatArray) -> FloatArray:
    """Return the coefficients of the quantile function in orthonormal Hermite polynomials."""
    density = np.exp(-0.5 * thresholds**2) / np.sqrt(2.0 * np.pi)
    before, now = np.zeros_like(thresholds), np.ones_like(thresholds)
    result = np.empty(_TERMS)
    for order in range(1, _TERMS + 1):
        result[order - 1] = density @ now / np.sqrt(order)
        before, now = now, (thresholds * now - np.sqrt(order - 1.0) * before) / np.sqrt(order)
    return result


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
