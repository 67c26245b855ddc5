"""The bivariate normal distribution function, and its inverse in the correlation: the tetrachoric one."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri, owens_t

from dcmaes._validation import FloatArray

_MAX_STEPS = 60  # bisection alone would reach the tolerance in 50 halvings of [-pi/2, pi/2]
_TOLERANCE = 4e-16  # of the larger marginal: the rounding error of the distribution function


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


def joint_bounds(first: ArrayLike, second: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return the Frechet bounds of P(B1 = 1, B2 = 1) given P(B1 = 1) and P(B2 = 1).

    >>> [float(b) for b in joint_bounds(0.75, 0.5)]
    [0.25, 0.5]
    """
    first, second = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    return np.maximum(0.0, first + second - 1.0), np.minimum(first, second)  # (N4)


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
