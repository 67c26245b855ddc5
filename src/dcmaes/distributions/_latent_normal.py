"""Discrete variables as quantiles of normal ones: probabilities, the correlation behind them, its repair.

A margin is given by its survival probabilities P(X >= 1), P(X >= 2), ..., falling.
"""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg
from scipy.special import ndtr, ndtri, owens_t

from dcmaes._validation import FloatArray

_MAX_STEPS = 60  # bisection alone would reach the tolerance in 50 halvings of [-pi/2, pi/2]
_TOLERANCE = 4e-16  # of the larger marginal: the rounding error of the distribution function

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(48)
# The path t = sin(angle) from independence (t = 0) to the wanted correlation (t = 1) smooths the end of the
# integrand when the correlation matrix is singular there.
_ANGLES = (_NODES + 1) * (np.pi / 4)
_PATH = np.sin(_ANGLES)
_STEPS = _WEIGHTS * (np.pi / 4) * np.cos(_ANGLES)
_INFINITE = 40.0  # beyond any normal number: stands for an infinite threshold
_SMALLEST = 1e-300
# Of the direct sum over pairs of thresholds; beyond, margins are smooth enough for a series.
_MOST_CELLS = 10_000
_TERMS = 120
_FAR = 9.0  # thresholds beyond this many deviations change a covariance by less than rounding
# Measured by benchmarks/correlation_repair.py: tighter or longer costs time and gains nothing in the error.
_REPAIR_TOLERANCE = 1e-2
_REPAIR_SWEEPS = 30


def bivariate_normal_cdf(h: ArrayLike, k: ArrayLike, rho: ArrayLike) -> FloatArray:
    """Return P(X <= h, Y <= k), (N1), for standard normal X, Y of correlation `rho`, by Owen's T function.

    Parameters
    ----------
    h, k : array_like
        Thresholds, infinities allowed; broadcast together with `rho`.
    rho : array_like
        Correlation in [-1, 1].

    Returns
    -------
    ndarray
        Probabilities of the broadcast shape, with an absolute error of a few 1e-16.

    Examples
    --------
    >>> round(float(bivariate_normal_cdf(0.0, 0.0, 0.5)), 12)   # 1/4 + arcsin(1/2) / (2 pi)
    0.333333333333
    """
    h, k, rho = np.broadcast_arrays(*(np.asarray(a, dtype=np.float64) for a in (h, k, rho)))
    result = np.empty(h.shape)
    regular = np.isfinite(h) & np.isfinite(k) & (np.abs(rho) < 1)
    result[regular] = _regular_cdf(h[regular], k[regular], rho[regular])
    if not regular.all():
        edge = ~regular
        result[edge] = _edge_cdf(h[edge], k[edge], rho[edge])
    return result


def tetrachoric_correlation(first: ArrayLike, second: ArrayLike, both: ArrayLike) -> FloatArray:
    """Return the latent correlation whose thresholded normal pair has the given probabilities of ones.

    With h = Phi^-1(first) and k = Phi^-1(second), finds rho such that P(X <= h, Y <= k) = `both`.

    Parameters
    ----------
    first, second : array_like
        P(B1 = 1) and P(B2 = 1), in [0, 1].
    both : array_like
        P(B1 = 1, B2 = 1), within the Frechet bounds (N4); values on or beyond a bound give rho = -1 or 1.

    Returns
    -------
    ndarray
        Correlations in [-1, 1] of the broadcast shape; 0 where a marginal is constant.

    Examples
    --------
    >>> round(float(tetrachoric_correlation(0.5, 0.5, 1 / 3)), 12)
    0.5
    """
    first, second, both = np.broadcast_arrays(
        *(np.asarray(a, dtype=np.float64) for a in (first, second, both))
    )
    # Exchanging zeros and ones brings every pair to a negative correlation and a lower bound of zero, where
    # the logarithm of the probability is nearly straight and small probabilities keep their digits.
    positive = both > first * second
    second, both = np.where(positive, 1 - second, second), np.where(positive, first - both, both)
    heavy = first + second > 1
    both = np.where(heavy, 1 - first - second + both, both)
    first, second = np.where(heavy, 1 - first, first), np.where(heavy, 1 - second, second)
    rho = np.where((both > 0) | (first * second == 0), 0.0, -1.0)
    inner = (both > 0) & (both < first * second)
    rho[inner] = np.sin(_solve_angle(first[inner], second[inner], both[inner]))
    return np.where(positive, -rho, rho)


def _regular_cdf(h: FloatArray, k: FloatArray, rho: FloatArray) -> FloatArray:
    """Evaluate (N2) for finite thresholds and |rho| < 1."""
    root = np.sqrt((1 - rho) * (1 + rho))
    # k/h - rho is written so that nothing cancels when k is close to +-h and rho to +-1.
    side = np.where(rho < 0, -1.0, 1.0)
    rest = side - rho
    difference = k - side * h
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        slope_h = (difference / h + rest) / root
        slope_k = (rest - side * difference / k) / root
    # A zero threshold takes the sign of the other one; both zero is (N3).
    slope_h[h == 0] = np.inf
    slope_k[k == 0] = np.inf
    result = (ndtr(h) / 2 - owens_t(h, slope_h)) + (ndtr(k) / 2 - owens_t(k, slope_k))
    result -= np.where(np.sign(h) * np.sign(k) < 0, 0.5, 0.0)
    origin = (h == 0) & (k == 0)
    result[origin] = 0.25 + np.arcsin(rho[origin]) / (2 * np.pi)
    return np.asarray(np.clip(result, 0.0, 1.0))


def _edge_cdf(h: FloatArray, k: FloatArray, rho: FloatArray) -> FloatArray:
    """Evaluate the limits: infinite thresholds leave the other marginal, |rho| = 1 gives a Frechet bound."""
    same = ndtr(np.minimum(h, k))
    mirrored = np.maximum(0.0, ndtr(h) - ndtr(-k))
    finite = np.isfinite(h) & np.isfinite(k)
    return np.where(finite & (rho < 0), mirrored, same)


def _solve_angle(first: FloatArray, second: FloatArray, both: FloatArray) -> FloatArray:
    """Solve Phi2(h, k, sin angle) = both < first * second by Halley steps kept inside a shrinking bracket.

    Pairs that have converged leave the working set, so the cost is the sum of the steps each pair needs.
    """
    h, k = ndtri(first), ndtri(second)
    angle = _approximate_angle(first, second, both)
    low, high = np.full(angle.shape, -np.pi / 2), np.zeros(angle.shape)
    solution, active = angle.copy(), np.arange(angle.size)
    tolerance = _TOLERANCE * np.maximum(first, second)
    for _ in range(_MAX_STEPS):
        reached = _regular_cdf(h, k, np.sin(angle))
        low, high = np.where(reached < both, angle, low), np.where(reached > both, angle, high)
        moved = _halley_step(h, k, angle, reached, both)
        moved = np.where((moved > low) & (moved < high), moved, (low + high) / 2)
        going = (np.abs(reached - both) > tolerance) & (moved != angle)
        if not going.any():
            break
        active, angle, low, high = active[going], moved[going], low[going], high[going]
        h, k, both, tolerance = h[going], k[going], both[going], tolerance[going]
        solution[active] = angle
    return solution


def _approximate_angle(first: FloatArray, second: FloatArray, both: FloatArray) -> FloatArray:
    """Return the approximation (N7) of Bonett and Price from the odds ratio; exact at h = k = 0."""
    ratio = both / (first - both) * (1 - first - second + both) / (second - both)
    power = (1 - np.abs(first - second) / 5 - (0.5 - np.minimum(first, second)) ** 2) / 2
    return np.asarray(np.pi / 2 - np.pi / (1 + ratio**power))


def _halley_step(
    h: FloatArray, k: FloatArray, angle: FloatArray, reached: FloatArray, both: FloatArray
) -> FloatArray:
    """Return the angle after one third-order step on log Phi2 = log both."""
    sine, cosine = np.sin(angle), np.cos(angle)
    form = h * h + k * k - 2 * h * k * sine
    with np.errstate(all="ignore"):
        slope = np.exp(-form / (2 * cosine**2)) / (2 * np.pi) / reached  # (N5)
        bend = (h * k * cosine**2 - form * sine) / cosine**3 - slope  # (N6)
        newton = np.log(reached / both) / slope
        return np.asarray(angle - newton / np.clip(1 - newton * bend / 2, 0.5, 1.5))


def orthant_probability(thresholds: FloatArray, correlation: FloatArray) -> FloatArray:
    """Return P(z_1 <= h_1, ..., z_k <= h_k) for normal vectors z of unit variances.

    Up to k = 2 in closed form; each two further coordinates cost one integral over the path (N9).

    Parameters
    ----------
    thresholds : ndarray, shape (..., k)
    correlation : ndarray, shape (..., k, k)

    Returns
    -------
    ndarray, shape (...)

    Examples
    --------
    >>> half = np.full((3, 3), 0.5) + 0.5 * np.eye(3)
    >>> round(float(orthant_probability(np.zeros(3), half)), 12)     # 1/4 for three equicorrelated signs
    0.25
    """
    h = np.clip(thresholds, -_INFINITE, _INFINITE)
    k = h.shape[-1]
    if k <= 1:
        return np.asarray(ndtr(h).prod(axis=-1))
    if k == 2:
        return bivariate_normal_cdf(h[..., 0], h[..., 1], correlation[..., 0, 1])
    result = ndtr(h).prod(axis=-1)
    # One axis for the path, in front of the coordinates: correlations shrink by t, variances stay one.
    along = correlation[..., np.newaxis, :, :] * _PATH[:, np.newaxis, np.newaxis]
    along[..., np.arange(k), np.arange(k)] = 1.0
    for i, j in itertools.combinations(range(k), 2):
        density = _pair_density(h[..., i, np.newaxis], h[..., j, np.newaxis], along[..., i, j])
        rest = orthant_probability(*_condition(h[..., np.newaxis, :], along, i, j))
        result = result + correlation[..., i, j] * ((density * rest) @ _STEPS)  # (N9)
    return np.asarray(np.clip(result, 0.0, 1.0))


def _pair_density(h: FloatArray, k: FloatArray, rho: FloatArray) -> FloatArray:
    """Return the density of a standard normal pair at (h, k)."""
    rest = np.maximum((1 - rho) * (1 + rho), _SMALLEST)
    return np.asarray(np.exp(-(h * h + k * k - 2 * rho * h * k) / (2 * rest)) / (2 * math.pi * np.sqrt(rest)))


def _condition(h: FloatArray, correlation: FloatArray, i: int, j: int) -> tuple[FloatArray, FloatArray]:
    """Return standardised thresholds and correlation of the other coordinates given z_i = h_i, z_j = h_j."""
    others = [a for a in range(h.shape[-1]) if a not in (i, j)]
    rho = correlation[..., i, j, np.newaxis]
    determinant = np.maximum((1 - rho) * (1 + rho), _SMALLEST)
    with_i, with_j = correlation[..., others, i], correlation[..., others, j]
    on_i, on_j = (with_i - rho * with_j) / determinant, (with_j - rho * with_i) / determinant
    mean = on_i * h[..., i, np.newaxis] + on_j * h[..., j, np.newaxis]
    inner = correlation[..., others, :][..., others]
    covariance = inner - on_i[..., np.newaxis] * with_i[..., np.newaxis, :]
    covariance -= on_j[..., np.newaxis] * with_j[..., np.newaxis, :]
    size = len(others)
    deviation = np.sqrt(np.maximum(covariance[..., np.arange(size), np.arange(size)], _SMALLEST))
    scaled = covariance / (deviation[..., np.newaxis] * deviation[..., np.newaxis, :])
    return (h[..., others] - mean) / deviation, np.clip(scaled, -1.0, 1.0)


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
    for _ in range(_REPAIR_SWEEPS):
        shifted = current - correction
        values, vectors = linalg.eigh(shifted)
        projected = (vectors * np.maximum(values, 0.0)) @ vectors.T
        correction = projected - shifted
        previous, current = current, projected
        np.fill_diagonal(current, 1.0)
        if np.linalg.norm(current - previous) <= _REPAIR_TOLERANCE * np.linalg.norm(current):
            break
    return current


def _unit_factor(matrix: FloatArray) -> FloatArray:
    """Return the factor of the positive part, its rows scaled to length one."""
    values, vectors = linalg.eigh(matrix)
    positive = values > 0
    factor = vectors[:, positive] * np.sqrt(values[positive])
    return np.asarray(factor / np.linalg.norm(factor, axis=1, keepdims=True))
