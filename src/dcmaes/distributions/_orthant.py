"""Probability that all coordinates of a normal vector lie below thresholds, for a few coordinates."""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy.special import ndtr

from dcmaes._validation import FloatArray
from dcmaes.distributions._bivariate_normal import bivariate_normal_cdf

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(48)
# The path t = sin(angle) from independence (t = 0) to the wanted correlation (t = 1) smooths the end of the
# integrand when the correlation matrix is singular there.
_ANGLES = (_NODES + 1) * (np.pi / 4)
_PATH = np.sin(_ANGLES)
_STEPS = _WEIGHTS * (np.pi / 4) * np.cos(_ANGLES)
_FAR = 40.0  # beyond any normal number: stands for an infinite threshold
_SMALLEST = 1e-300


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
    h = np.clip(thresholds, -_FAR, _FAR)
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
