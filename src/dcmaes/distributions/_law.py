"""What every law of this package can do, written once: a family supplies a few primitives.

A law supplies its points, `log_pmf` and `sample`; a family with parameters supplies these and its `score`,
an exponential family only its sufficient statistics and their mean, and a law of one whole number its table.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dcmaes._validation import (
    FloatArray,
    IntArray,
    check_array,
    check_generator,
    check_integer,
    check_probabilities,
    readonly,
)
from dcmaes.distributions._table import check_size, check_whole, cumulate, entropy, locate, sample_table

_LOG_SMALLEST = 746.0  # exp(-746) is zero in double precision
_IMPOSSIBLE = 800.0  # stands for minus the log of a probability that underflows
LARGEST_TRIALS = 2**53  # beyond it not every whole number is a float


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


class UnivariateLaw(ParametricLaw):
    """A law of one whole number, by the table of its probabilities from a first value on."""

    @property
    @abstractmethod
    def _table(self) -> tuple[int, FloatArray]:
        """The first value and the probabilities of it and the following ones."""

    @property
    @abstractmethod
    def mean(self) -> float:
        """Expectation."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """Variance."""

    @property
    def support(self) -> IntArray:
        """The values from the least to the greatest."""
        first, table = self._table
        return readonly(np.arange(first, first + table.size))

    @property
    def probabilities(self) -> FloatArray:
        """Probabilities of `support`."""
        return readonly(self._table[1])

    @cached_property
    def _cumulative(self) -> FloatArray:
        return cumulate(self.probabilities)

    @cached_property
    def _tails(self) -> FloatArray:
        """P(X > x) for x in `support`, summed from the far end so that small ones keep their digits."""
        table = self.probabilities
        return np.asarray(np.append(np.cumsum(table[:0:-1])[::-1], 0.0) / table.sum())

    def pmf(self, x: ArrayLike) -> FloatArray | np.float64:
        """Return the probability of each entry of `x`; 0 for what is not a value of the law."""
        first, table = self._table
        index, inside = locate((check_array("x", x) - first)[..., np.newaxis], (table.size,))
        return np.where(inside, table[index], 0.0)[()]

    def log_pmf(self, x: ArrayLike) -> FloatArray | np.float64:
        """Return the log probability of each entry of `x`; -inf for what is not a value of the law."""
        with np.errstate(divide="ignore"):
            return np.log(self.pmf(x))

    def cdf(self, x: ArrayLike) -> FloatArray | np.float64:
        """Return P(X <= x) for each entry of `x`, any real numbers."""
        return self._look_up(x, self._cumulative, 0.0)

    def sf(self, x: ArrayLike) -> FloatArray | np.float64:
        """Return P(X > x) for each entry of `x`, with the digits of small probabilities."""
        return self._look_up(x, self._tails, 1.0)

    def _look_up(self, x: ArrayLike, sums: FloatArray, before: float) -> FloatArray | np.float64:
        first, _ = self._table
        place = np.clip(np.floor(check_array("x", x)) - first, -1, sums.size - 1).astype(np.int64)
        return np.where(place < 0, before, sums[place])[()]

    def ppf(self, q: ArrayLike) -> IntArray | np.int64:
        """Return the least value whose distribution function is at least each entry of `q`, in [0, 1]."""
        wanted = check_probabilities("q", q)
        first, _ = self._table
        place = np.searchsorted(self._cumulative, wanted, side="left")
        return np.asarray(first + np.minimum(place, self._cumulative.size - 1), dtype=np.int64)[()]

    def entropy(self) -> float:
        """Return the Shannon entropy in nats."""
        return entropy(self._table[1])

    def sample(self, size: int | tuple[int, ...] | None, rng: np.random.Generator) -> IntArray:
        """Draw an int64 array of shape `size` (None: one value) by inverting the distribution function."""
        uniforms = np.asarray(check_generator("rng", rng).random(check_size(size)))
        return self._table[0] + sample_table(self._cumulative, uniforms)

    def _support(self) -> tuple[FloatArray, FloatArray]:
        return self.support.astype(np.float64), self.probabilities

    @property
    def _ends(self) -> tuple[int, int]:
        """The least and the greatest value."""
        first, table = self._table
        return first, first + table.size - 1

    def _check_states(self, x: ArrayLike) -> FloatArray:
        return check_whole("x", check_array("x", x), *self._ends)

    def _check_data(self, data: ArrayLike) -> FloatArray:
        return check_whole("data", check_array("data", data, shape=(None,)))


def check_counts(
    data: ArrayLike, weights: ArrayLike | None, largest: int | None
) -> tuple[FloatArray, FloatArray, int]:
    """Return observed whole numbers (n,), their weights, and the largest value n of the law to be fitted.

    It is the largest seen, at least 1, unless it is given.

    >>> check_counts([0, 2, 1], None, None)
    (array([0., 2., 1.]), array([1., 1., 1.]), 2)
    """
    values = check_whole("data", check_array("data", data, shape=(None,)))
    counts = check_weights(weights, len(values))
    if largest is None:
        n = max(1, int(values.max()))
    else:
        n = check_integer("n", largest, low=1, high=LARGEST_TRIALS)
    return check_whole("data", values, 0, n), counts, n


def maximise_likelihood(
    build: Callable[[FloatArray], ParametricLaw],
    start: FloatArray,
    data: FloatArray,
    counts: FloatArray,
    *,
    bounds: Sequence[tuple[float, float]],
) -> FloatArray:
    """Return parameters within `bounds` at which the likelihood of the data has a maximum.

    First without derivatives, which gets past places where the likelihood is not smooth or impossible, then
    by the gradient.
    """
    share = counts / counts.sum()
    seen = share > 0
    points, share = data[seen], share[seen]

    def value(theta: FloatArray) -> float:
        log_p = np.asarray(build(theta).log_pmf(points))
        return -float(share @ np.maximum(log_p, -_IMPOSSIBLE))

    def gradient(theta: FloatArray) -> FloatArray:
        law = build(theta)
        possible = np.isfinite(np.asarray(law.log_pmf(points)))
        return np.asarray(-share[possible] @ law.score(points[possible]))

    rough = start
    if start.size <= 3:
        simplex = {"maxiter": 2000, "xatol": 1e-9, "fatol": 1e-14}
        rough = _minimize(value, start, method="Nelder-Mead", bounds=bounds, options=simplex)
    exact = {"maxiter": 2000, "ftol": 1e-16, "gtol": 1e-11}
    fine = _minimize(value, rough, jac=gradient, method="L-BFGS-B", bounds=bounds, options=exact)
    return np.asarray(min((start, rough, fine), key=value))


def _minimize(value: Callable[[FloatArray], float], start: FloatArray, **options: Any) -> FloatArray:
    from scipy import optimize

    return np.asarray(optimize.minimize(value, start, **options).x)


def binomial_table(trials: int, p: float) -> tuple[int, FloatArray]:
    """Return the first value and the probabilities of the binomial, without values that underflow to zero.

    Products of the ratios of neighbours, outwards from the mode: every entry keeps its relative accuracy.

    >>> binomial_table(2, 0.5)
    (0, array([0.25, 0.5 , 0.25]))
    """
    if p in (0.0, 1.0):
        return (trials if p else 0), np.ones(1)
    mode = min(math.floor((trials + 1) * p), trials)
    # Bernstein's inequality: beyond this distance the probability is below exp(-746).
    reach = _LOG_SMALLEST / 3 + math.sqrt((_LOG_SMALLEST / 3) ** 2 + 2 * _LOG_SMALLEST * trials * p * (1 - p))
    first = max(0, mode - math.ceil(reach) - 1)
    last = min(trials, mode + math.ceil(reach) + 1)
    above = np.arange(mode + 1, last + 1)
    below = np.arange(mode, first, -1)
    up = np.cumprod((trials - above + 1) * p / (above * (1 - p))) if above.size else np.ones(0)
    down = np.cumprod(below * (1 - p) / ((trials - below + 1) * p)) if below.size else np.ones(0)
    table = np.concatenate([down[::-1], [1.0], up])
    return first, table / table.sum()
