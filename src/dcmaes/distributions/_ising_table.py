"""The exact Ising model: the table of its log weights, and its inversion from moments by Newton's method."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import linalg

from dcmaes._validation import FloatArray, IntArray
from dcmaes.distributions._exponential_family import log_partition
from dcmaes.distributions._subsets import sum_supersets

# Moments are matched to this; they are computed to about 1e-15.
MOMENT_TOLERANCE = 1e-12
_MAX_STEPS = 100
_SUFFICIENT_DECREASE = 1e-4  # Armijo's constant, Nocedal & Wright, Numerical Optimization, section 3.1


class NotConvergedError(ArithmeticError):
    """Newton's method could not match the moments; carries the last parameters and the mismatch left."""

    def __init__(self, field: FloatArray, coupling: FloatArray, mismatch: FloatArray) -> None:
        super().__init__(f"moments still off by {np.abs(mismatch).max():.3g}")
        self.field, self.coupling, self.mismatch = field, coupling, mismatch


def log_weights(field: FloatArray, coupling: FloatArray) -> FloatArray:
    """Return field.x + sum over i<j of coupling_ij x_i x_j for all x in {0,1}^k, shape (2,)*k, in O(2^k).

    >>> log_weights(np.array([1.0, 2.0]), np.array([[0.0, 5.0], [5.0, 0.0]])).tolist()
    [[0.0, 2.0], [1.0, 8.0]]
    """
    dimension = field.size
    table = np.zeros(1)
    for i in reversed(range(dimension)):  # each turn puts variable i in front of the variables after it
        added = np.array([field[i]])
        for j in reversed(range(i + 1, dimension)):
            added = np.concatenate([added, added + coupling[i, j]])
        table = np.concatenate([table, table + added])  # (I1)
    return table.reshape((2,) * dimension)


class _Statistics(NamedTuple):
    """Where the sufficient statistics x_i and x_i x_j (i < j) sit in tables over {0,1}^k."""

    first: IntArray
    second: IntArray
    masks: IntArray

    @classmethod
    def of_dimension(cls, dimension: int) -> _Statistics:
        bits = 2 ** np.arange(dimension - 1, -1, -1)
        first, second = np.triu_indices(dimension, 1)
        return cls(first, second, np.concatenate([bits, bits[first] | bits[second]]))

    def unpack(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return field and symmetric coupling of a parameter vector."""
        dimension = theta.size - self.first.size
        coupling = np.zeros((dimension, dimension))
        coupling[self.first, self.second] = theta[dimension:]
        return theta[:dimension], coupling + coupling.T


class _Dual(NamedTuple):
    """The convex dual A(theta) - <theta, target>, its gradient and its Hessian."""

    value: float
    gradient: FloatArray
    hessian: FloatArray


def _evaluate(theta: FloatArray, target: FloatArray, statistics: _Statistics) -> _Dual:
    weights = log_weights(*statistics.unpack(theta))
    partition = log_partition(weights)
    mixed = sum_supersets(np.exp(weights - partition)).reshape(-1)  # every E[prod x_i over A]  (B7)
    masks = statistics.masks
    mean = mixed[masks]  # (E3)
    hessian = mixed[masks[:, np.newaxis] | masks] - np.outer(mean, mean)  # (E4)
    return _Dual(partition - float(theta @ target), mean - target, hessian)  # (I8)


def fit_moments(mean: FloatArray, second: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return field and coupling, for states in {0,1}, of the Ising model with these first and second moments.

    Newton's method with backtracking on the dual of the maximum-entropy problem, from the independent law.

    Parameters
    ----------
    mean : ndarray, shape (k,), strictly between 0 and 1
    second : ndarray, shape (k, k), E[x_i x_j]

    Raises
    ------
    NotConvergedError
        If no finite parameters give the moments to `MOMENT_TOLERANCE`.

    Examples
    --------
    >>> field, coupling = fit_moments(np.array([0.5, 0.5]), np.array([[0.5, 0.3], [0.3, 0.5]]))
    >>> round(float(coupling[0, 1]), 6), round(float(np.log(0.3 * 0.3 / (0.2 * 0.2))), 6)
    (0.81093, 0.81093)
    """
    statistics = _Statistics.of_dimension(mean.size)
    pairs = second[statistics.first, statistics.second]
    target = np.concatenate([mean, pairs])
    theta = np.concatenate([np.log(mean) - np.log1p(-mean), np.zeros(pairs.size)])
    now = _evaluate(theta, target, statistics)
    for _ in range(_MAX_STEPS):
        if np.abs(now.gradient).max() <= MOMENT_TOLERANCE:
            return statistics.unpack(theta)
        found = _search(theta, now, target, statistics)
        if found is None:
            break
        theta, now = found
    raise NotConvergedError(*statistics.unpack(theta), now.gradient)


def _search(
    theta: FloatArray, now: _Dual, target: FloatArray, statistics: _Statistics
) -> tuple[FloatArray, _Dual] | None:
    """Return the first of the Newton step and its halves that lowers the dual or halves the gradient."""
    step = _newton_step(now)
    slope = float(now.gradient @ step)
    for halvings in range(40):
        rate = 0.5**halvings
        there = theta + rate * step
        then = _evaluate(there, target, statistics)
        lower = then.value <= now.value + _SUFFICIENT_DECREASE * rate * slope
        if lower or np.abs(then.gradient).max() < 0.5 * np.abs(now.gradient).max():
            return there, then
    return None


def _newton_step(now: _Dual) -> FloatArray:
    """Solve for the Newton step in statistics of unit variance, with a ridge where rounding asks for it."""
    scale = np.sqrt(np.maximum(now.hessian.diagonal(), np.finfo(float).tiny))
    scaled = now.hessian / np.outer(scale, scale)
    identity = np.eye(scale.size)
    for ridge in (0.0, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6):
        try:
            factor = linalg.cho_factor(scaled + ridge * identity, lower=True)
        except linalg.LinAlgError:
            continue
        return np.asarray(-linalg.cho_solve(factor, now.gradient / scale) / scale)
    return np.asarray(-now.gradient / scale**2)
