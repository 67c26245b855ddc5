"""What every law of this package can do, written once: a family supplies a few primitives.

A law supplies its points, `log_pmf` and `sample`; a family with parameters supplies these and its `score`,
and an exponential family only its sufficient statistics and their mean.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dcmaes._validation import FloatArray, IntArray, check_array, readonly


class Law(ABC):
    """A law on points with whole-numbered coordinates."""

    @abstractmethod
    def log_pmf(self, x: ArrayLike) -> FloatArray | np.float64:
        """Return the log probability of points; -inf for points that are not states of the law."""

    @abstractmethod
    def pmf(self, x: ArrayLike) -> FloatArray | np.float64:
        """Return the probability of points; 0 for points that are not states of the law."""

    @abstractmethod
    def sample(self, size: int | tuple[int, ...] | None, rng: np.random.Generator) -> IntArray:
        """Draw points."""

    @abstractmethod
    def _check_data(self, data: ArrayLike) -> FloatArray:
        """Return observations, shape (n,) or (n, k), or raise naming the one that is not a state."""

    @abstractmethod
    def _key(self) -> tuple[Any, ...]:
        """Return what tells this law from others of its class, as arrays and numbers."""

    def logpmf(self, x: ArrayLike) -> FloatArray | np.float64:
        """Return `log_pmf(x)`, under the name it has in scipy.stats."""
        return self.log_pmf(x)

    def rvs(
        self,
        size: int | tuple[int, ...] | None = None,
        random_state: int | np.random.Generator | None = None,
    ) -> IntArray:
        """Return `sample(size, default_rng(random_state))`, under the name it has in scipy.stats."""
        return self.sample(size, np.random.default_rng(random_state))

    def log_likelihood(self, data: ArrayLike, weights: ArrayLike | None = None) -> float:
        """Return the sum of the log probabilities of observations, each counted `weights` times.

        Parameters
        ----------
        data : array_like, shape (n, k), or (n,) for a law of one variable
        weights : array_like, shape (n,), optional
            Non-negative counts of the observations; 1 each by default.
        """
        points = self._check_data(data)
        counts = check_weights(weights, len(points))
        seen = counts > 0
        return float(counts[seen] @ np.asarray(self.log_pmf(points))[seen])  # (E7)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Law) or type(other) is not type(self):
            return NotImplemented
        mine, theirs = self._key(), other._key()
        return len(mine) == len(theirs) and all(map(np.array_equal, mine, theirs))

    def __hash__(self) -> int:
        return hash((type(self), *(np.asarray(part).tobytes() for part in self._key())))


class ParametricLaw(Law):
    """A law with real parameters in which its log probabilities can be differentiated."""

    @property
    @abstractmethod
    def parameters(self) -> FloatArray:
        """The parameters, shape (m,), in the order of `score` and `fisher_information`."""

    @abstractmethod
    def score(self, x: ArrayLike) -> FloatArray:
        """Return the gradient of the log probability of points in `parameters`, one more axis of length m."""

    @abstractmethod
    def _check_states(self, x: ArrayLike) -> FloatArray:
        """Return points as numbers, or raise naming the first that is not a state of the law."""

    @abstractmethod
    def _support(self) -> tuple[FloatArray, FloatArray]:
        """Return all states, as `score` takes them, and their probabilities, shape (N,)."""

    @cached_property
    def fisher_information(self) -> FloatArray:
        """The covariance of the score, shape (m, m): the information one observation has on `parameters`."""
        states, probabilities = self._support()
        possible = probabilities > 0
        scores, p = self.score(states[possible]), probabilities[possible]
        return readonly((scores.T * p) @ scores)  # (E9)


class ExponentialLaw(ParametricLaw):
    """A law p(x) = exp(<theta, T(x)> - A), whose parameters are theta."""

    @abstractmethod
    def statistics(self, x: ArrayLike) -> FloatArray:
        """Return the sufficient statistics T(x) of points, one more axis of length m."""

    @property
    @abstractmethod
    def mean_statistics(self) -> FloatArray:
        """Expectations of the sufficient statistics, shape (m,): the gradient of the log partition."""

    def score(self, x: ArrayLike) -> FloatArray:
        """Return T(x) less its expectation: the gradient of the log probability of points in `parameters`."""
        return self.statistics(self._check_states(x)) - self.mean_statistics  # (E8)


def check_weights(weights: ArrayLike | None, n: int) -> FloatArray:
    """Return non-negative weights of n observations, not all zero, or raise; ones by default.

    >>> check_weights(None, 2)
    array([1., 1.])
    """
    if n == 0:
        raise ValueError("data must hold at least one observation, got none")
    if weights is None:
        return np.ones(n)
    result = check_array("weights", weights, shape=(n,))
    for i in np.flatnonzero(result < 0)[:1]:
        raise ValueError(f"weights must not be negative, got {result[i]} at index {i}")
    if not result.any():
        raise ValueError("weights must not all be zero")
    return result
