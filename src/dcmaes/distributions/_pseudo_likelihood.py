"""Fitting exp(a.x + x'Bx/2) to data by pseudo-likelihood: each variable given all others."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dcmaes._validation import FloatArray, IntArray
from dcmaes.distributions._quadratic import Exponent, Statistics

# In variables of variance 1: data that some variables separate perfectly would ask for infinite parameters.
_LARGEST_PARAMETER = 50.0


class _Data(NamedTuple):
    """Observations in variables of mean 0 and variance 1, and the states of each variable in them."""

    y: FloatArray  # (n, k)
    weights: FloatArray  # (n,), summing to one
    states: list[FloatArray]
    centre: FloatArray
    scale: FloatArray


def fit_pseudo_likelihood(
    trials: IntArray, data: FloatArray, weights: FloatArray, *, l1: float, l2: float
) -> Exponent:
    """Return the exponent that maximises the mean log probability of each variable given the others.

    Less l1 times the sum of the sizes, and l2 / 2 times the sum of the squares, of the couplings of variables
    scaled to variance 1. The problem is convex, and solved by L-BFGS-B with couplings split by sign for l1.

    Parameters
    ----------
    trials : ndarray of int64, shape (k,)
    data : ndarray, shape (n, k)
    weights : ndarray, shape (n,)
    l1, l2 : float

    Examples
    --------
    >>> x = np.array([[0.0, 0.0], [1.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    >>> fit = fit_pseudo_likelihood(np.array([1, 1]), x, np.array([3.0, 3.0, 1.0, 1.0]), l1=0.0, l2=0.0)
    >>> round(float(fit.quadratic[0, 1]), 3), round(float(np.log(9.0)), 3)
    (2.197, 2.197)
    """
    from scipy import optimize

    statistics = Statistics.of(trials)
    scaled = _standardise(trials, data, weights / weights.sum())
    n_own = trials.size + statistics.squared.size
    n_pairs = statistics.first.size

    def objective(split: FloatArray) -> tuple[float, FloatArray]:
        up, down = split[n_own : n_own + n_pairs], split[n_own + n_pairs :]
        theta = np.concatenate([split[:n_own], up - down])
        value, gradient = _negative_log(statistics, scaled, theta)
        pairs = theta[n_own:]
        value += l1 * float(split[n_own:].sum()) + 0.5 * l2 * float(pairs @ pairs)
        slope = gradient[n_own:] + l2 * pairs
        return value, np.concatenate([gradient[:n_own], l1 + slope, l1 - slope])

    bound = _LARGEST_PARAMETER
    found = optimize.minimize(
        objective,
        np.zeros(n_own + 2 * n_pairs),
        jac=True,
        method="L-BFGS-B",
        bounds=[(-bound, bound)] * n_own + [(0.0, bound)] * (2 * n_pairs),
        options={"maxiter": 5000, "maxfun": 20000, "ftol": 1e-15, "gtol": 1e-10, "maxcor": 30},
    ).x
    pairs = found[n_own : n_own + n_pairs] - found[n_own + n_pairs :]
    slope, curvature = statistics.unpack(np.concatenate([found[:n_own], pairs]))
    quadratic = curvature / np.outer(scaled.scale, scaled.scale)  # (Y4)
    return Exponent.of(trials, slope / scaled.scale - quadratic @ scaled.centre, quadratic)


def _standardise(trials: IntArray, data: FloatArray, weights: FloatArray) -> _Data:
    centre = weights @ data
    deviation = np.sqrt(weights @ (data - centre) ** 2)
    scale = np.where(deviation > 1e-9 * trials, deviation, 1.0)  # rounding may leave a constant some
    states = [(np.arange(n + 1) - c) / s for n, c, s in zip(trials, centre, scale, strict=True)]
    return _Data((data - centre) / scale, weights, states, centre, scale)


def _negative_log(statistics: Statistics, data: _Data, theta: FloatArray) -> tuple[float, FloatArray]:
    """Return minus the mean log pseudo-likelihood and its gradient in the parameters."""
    slope, curvature = statistics.unpack(theta)
    own = curvature.diagonal().copy()
    couplings = curvature - np.diag(own)
    local = slope + data.y @ couplings
    value = 0.0
    off = np.empty_like(data.y)  # expectation given the others, less what was seen
    off_square = np.zeros(own.size)
    for i, states in enumerate(data.states):
        exponents = local[:, i, np.newaxis] * states + 0.5 * own[i] * states**2
        top = exponents.max(axis=1, keepdims=True)
        p = np.exp(exponents - top)
        total = p.sum(axis=1, keepdims=True)
        p /= total
        seen = data.y[:, i]
        log_p = local[:, i] * seen + 0.5 * own[i] * seen**2 - top[:, 0] - np.log(total[:, 0])
        value -= float(data.weights @ log_p)  # (Y10)
        off[:, i] = p @ states - seen
        off_square[i] = data.weights @ (p @ states**2 - seen**2) / 2.0
    weighted = off * data.weights[:, np.newaxis]
    products = weighted.T @ data.y
    pairs = (products + products.T)[statistics.first, statistics.second]
    return value, np.concatenate([weighted.sum(axis=0), off_square[statistics.squared], pairs])
