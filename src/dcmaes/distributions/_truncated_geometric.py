"""The truncated geometric law: the maximum-entropy law on 0..n of a given mean."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from dcmaes._validation import (
    FloatArray,
    IntArray,
    check_array,
    check_generator,
    check_integer,
    check_number,
    check_probabilities,
    readonly,
)
from dcmaes.distributions._law import LARGEST_TRIALS, ExponentialLaw, UnivariateLaw, check_counts
from dcmaes.distributions._table import check_size

_MAX_STEPS = 200
# B_2k / (2k)! for k = 1..12, the coefficients of x^(2k-1) in 1/(e^x - 1) - 1/x + 1/2; the rest is below 1e-19
# for |x| <= 1.
_ORDERS = np.arange(1, 13)
_SERIES = -2.0 * (-1.0) ** _ORDERS * special.zeta(2 * _ORDERS) / (2 * np.pi) ** (2 * _ORDERS)


class TruncatedGeometric(UnivariateLaw, ExponentialLaw):
    """Probabilities proportional to ``rho**i`` on the integers i = 0..n.

    Of all laws on 0..n with its mean, this one has the largest entropy.

    Parameters
    ----------
    n : int
        Largest value, at least 1.
    rho : float
        Ratio of neighbouring probabilities, positive; 1 gives the uniform law.

    Examples
    --------
    >>> law = TruncatedGeometric(2, 0.5)
    >>> law.pmf([0, 1, 2, 3]).round(6)
    array([0.571429, 0.285714, 0.142857, 0.      ])
    >>> round(law.mean, 6), round(law.variance, 6), round(law.entropy(), 6)
    (0.571429, 0.530612, 0.9557)
    """

    def __init__(self, n: int, rho: float) -> None:
        self._n = check_integer("n", n, low=1, high=LARGEST_TRIALS)
        ratio = check_number("rho", rho)
        if ratio <= 0:
            raise ValueError(f"rho must be positive, got {ratio}")
        self._log_rho = math.log(ratio)

    @classmethod
    def from_mean(cls, n: int, mean: float) -> Self:
        """Return the law on 0..n of the given mean, strictly between 0 and n.

        Parameters
        ----------
        n : int
            Largest value, at least 1.
        mean : float
            Expectation; n/2 gives the uniform law.

        Examples
        --------
        >>> TruncatedGeometric.from_mean(10, 5.0).rho
        1.0
        >>> round(TruncatedGeometric.from_mean(1_000_000, 3.0).mean, 9)
        3.0
        """
        n = check_integer("n", n, low=1, high=LARGEST_TRIALS)
        mean = check_number("mean", mean)
        if not 0 < mean < n:
            raise ValueError(f"mean must lie strictly between 0 and n = {n}, got {mean}")
        law = object.__new__(cls)
        law._n = n
        # (G6): the law of n - i has the inverse ratio, so only means up to n/2 are solved for.
        law._log_rho = -_solve_decay(n, mean) if mean <= n / 2 else _solve_decay(n, n - mean)
        return law

    @classmethod
    def fit(cls, data: ArrayLike, weights: ArrayLike | None = None, *, n: int | None = None) -> Self:
        """Return the law of maximum likelihood, which is that of the mean of the data.

        Parameters
        ----------
        data : array_like of whole numbers, shape (N,)
        weights : array_like, shape (N,), optional
            How often each counts; 1 by default.
        n : int, optional
            Largest value of the law; by default the largest seen.

        Raises
        ------
        ValueError
            If all of the data are 0 or all are n: then rho would be 0 or infinite.

        Examples
        --------
        >>> round(TruncatedGeometric.fit([0, 1, 0, 3], n=5).mean, 12)
        1.0
        """
        values, counts, largest = check_counts(data, weights, n)
        return cls.from_mean(largest, float(counts @ values / counts.sum()))

    def __repr__(self) -> str:
        return f"TruncatedGeometric(n={self._n}, rho={self.rho!r})"

    @property
    def n(self) -> int:
        """Largest value."""
        return self._n

    @property
    def rho(self) -> float:
        """Ratio of neighbouring probabilities."""
        return math.exp(self._log_rho)

    @property
    def log_rho(self) -> float:
        """Logarithm of the ratio of neighbouring probabilities, in which the law is kept."""
        return self._log_rho

    @property
    def mean(self) -> float:
        """Expectation."""
        low_side = _mean(self._n, abs(self._log_rho))
        return low_side if self._log_rho <= 0 else self._n - low_side  # (G6)

    @property
    def variance(self) -> float:
        """Variance."""
        return _variance(self._n, abs(self._log_rho))

    @property
    def support(self) -> IntArray:
        """The values 0..n."""
        return readonly(np.arange(self._n + 1))

    @property
    def _ends(self) -> tuple[int, int]:
        return 0, self._n

    @cached_property
    def _table(self) -> tuple[int, FloatArray]:
        return 0, np.asarray(self.pmf(np.arange(self._n + 1)))

    @property
    def parameters(self) -> FloatArray:
        """The logarithm of rho, shape (1,)."""
        return readonly(np.array([self._log_rho]))

    def statistics(self, x: ArrayLike) -> FloatArray:
        """Return the entries of `x` with one more axis of length 1: the statistic is the value itself."""
        return check_array("x", x)[..., np.newaxis]

    @property
    def mean_statistics(self) -> FloatArray:
        """The mean, shape (1,)."""
        return readonly(np.array([self.mean]))

    @property
    def log_partition(self) -> float:
        """Logarithm of the sum of rho**i over 0..n."""
        decay = abs(self._log_rho)
        return _log_partition(self._n, decay) + max(self._log_rho, 0.0) * self._n

    def _key(self) -> tuple[Any, ...]:
        return self._n, self._log_rho

    def log_pmf(self, x: ArrayLike) -> FloatArray | np.float64:
        """Return the log probability of each entry of `x`; -inf off the integers 0..n."""
        points = check_array("x", x)
        inside = (points >= 0) & (points <= self._n) & (points == np.floor(points))
        steps = np.where(inside, points if self._log_rho <= 0 else self._n - points, 0.0)
        decay = abs(self._log_rho)
        return np.where(inside, -decay * steps - _log_partition(self._n, decay), -np.inf)[()]  # (G1)

    def pmf(self, x: ArrayLike) -> FloatArray | np.float64:
        """Return the probability of each entry of `x`; 0 off the integers 0..n.

        >>> round(float(TruncatedGeometric(4, 1.0).pmf(3)), 12)
        0.2
        """
        return np.exp(self.log_pmf(x))

    def cdf(self, x: ArrayLike) -> FloatArray | np.float64:
        """Return P(X <= x) for each entry of `x`, any real numbers."""
        below = np.clip(np.floor(check_array("x", x)) + 1.0, 0.0, self._n + 1.0)
        return self._head(below) if self._log_rho <= 0 else self._tail(self._n + 1.0 - below)

    def sf(self, x: ArrayLike) -> FloatArray | np.float64:
        """Return P(X > x) for each entry of `x`, with the digits of small probabilities."""
        below = np.clip(np.floor(check_array("x", x)) + 1.0, 0.0, self._n + 1.0)
        return self._tail(below) if self._log_rho <= 0 else self._head(self._n + 1.0 - below)

    def _head(self, count: FloatArray) -> FloatArray | np.float64:
        """Return the probability of the `count` likelier values at one end."""
        decay, states = abs(self._log_rho), self._n + 1.0
        if decay == 0:
            return (count / states)[()]
        return (np.expm1(-decay * count) / math.expm1(-decay * states))[()]

    def _tail(self, count: FloatArray) -> FloatArray | np.float64:
        """Return the probability of all values but the `count` likelier ones at one end."""
        return np.exp(-abs(self._log_rho) * count)[()] * self._head(self._n + 1.0 - count)

    def _invert_head(self, probability: FloatArray) -> FloatArray:
        """Return at which `count`, a real number, `_head` reaches each probability."""
        decay, states = abs(self._log_rho), self._n + 1.0
        if decay == 0:
            return probability * states
        with np.errstate(divide="ignore"):  # all of the mass, where the other end has none
            return np.asarray(-np.log1p(probability * math.expm1(-decay * states)) / decay)  # (G7)

    def ppf(self, q: ArrayLike) -> IntArray | np.int64:
        """Return the least value whose distribution function is at least each entry of `q`, in [0, 1]."""
        wanted = check_probabilities("q", q)
        if self._log_rho <= 0:
            guess = np.ceil(self._invert_head(wanted)) - 1.0
        else:
            guess = np.ceil(self._n + 1 - self._invert_head(1.0 - wanted)) - 1.0
        guess = np.clip(guess, 0.0, self._n)
        # The formula may be off by one from rounding: cdf decides.
        guess = np.where(np.asarray(self.cdf(guess - 1.0)) >= wanted, np.maximum(guess - 1.0, 0.0), guess)
        guess = np.where(np.asarray(self.cdf(guess)) < wanted, np.minimum(guess + 1.0, self._n), guess)
        return guess.astype(np.int64)[()]

    def entropy(self) -> float:
        """Return the Shannon entropy in nats.

        >>> round(TruncatedGeometric(1, 1.0).entropy(), 6)
        0.693147
        """
        decay = abs(self._log_rho)
        return _log_partition(self._n, decay) + decay * _mean(self._n, decay)  # (G5)

    def sample(self, size: int | tuple[int, ...] | None, rng: np.random.Generator) -> IntArray:
        """Draw an int64 array of shape `size` (None: a single value) by inverting the distribution function.

        >>> TruncatedGeometric(10, 1e-9).sample(3, np.random.default_rng(0))
        array([0, 0, 0])
        """
        uniforms = np.asarray(check_generator("rng", rng).random(check_size(size)))
        steps = np.floor(self._invert_head(uniforms))
        steps = np.minimum(steps, self._n).astype(np.int64)
        return steps if self._log_rho <= 0 else self._n - steps


def _log_partition(n: int, decay: float) -> float:
    """Return the log of the sum of exp(-decay i) over 0..n, decay >= 0."""
    if decay == 0:
        return math.log(n + 1)
    if decay > 1:  # the first state has nearly all the mass: what the others add keeps its digits
        return math.log1p(-math.exp(-decay * (n + 1))) - math.log1p(-math.exp(-decay))  # (G2)
    return math.log(math.expm1(-decay * (n + 1)) / math.expm1(-decay))  # (G2)


def _mean(n: int, decay: float) -> float:
    """Return the mean for ratio exp(-decay), decay >= 0."""
    states = n + 1
    if decay * states <= 1:
        return n / 2 + _odd_part(decay) - states * _odd_part(decay * states)  # (G3), nothing cancels near 0
    return _reciprocal_expm1(decay) - states * _reciprocal_expm1(decay * states)  # (G3)


def _variance(n: int, decay: float) -> float:
    """Return the variance for ratio exp(-decay), decay >= 0."""
    states = n + 1
    if decay * states <= 1:
        return states**2 * _odd_slope(decay * states) - _odd_slope(decay)  # (G4), nothing cancels near 0
    return _squared_cosecant(decay) - states**2 * _squared_cosecant(decay * states)  # (G4)


def _reciprocal_expm1(x: float) -> float:
    """Return 1 / (e^x - 1) for x > 0, without overflow."""
    return math.exp(-x) / -math.expm1(-x)


def _squared_cosecant(x: float) -> float:
    """Return 1 / (4 sinh(x/2)^2) = e^x / (e^x - 1)^2 for x > 0, without overflow."""
    return math.exp(-x) / math.expm1(-x) ** 2


def _odd_part(x: float) -> float:
    """Return 1/(e^x - 1) - 1/x + 1/2 for 0 <= x <= 1 by its series."""
    return float(_SERIES @ x ** (2.0 * _ORDERS - 1))


def _odd_slope(x: float) -> float:
    """Return the derivative of `_odd_part`."""
    return float((_SERIES * (2.0 * _ORDERS - 1)) @ x ** (2.0 * _ORDERS - 2))


def _solve_decay(n: int, mean: float) -> float:
    """Return the decay >= 0 at which the mean is `mean` <= n/2, inside a bracket.

    The mean is convex and decreasing in the decay, so its tangent at 0 crosses too early (lower end); without
    truncation the mean would be larger, so the root of the plain geometric law lies too late (upper end).
    """
    from scipy import optimize

    low = (n / 2 - mean) / _variance(n, 0.0)
    high = math.log1p(1 / mean) if mean > 1e-300 else -math.log(mean)
    if low == 0:
        return 0.0
    low, high = low * (1 - 1e-9), high * (1 + 1e-9)  # rounding may move either end
    found = optimize.brentq(lambda decay: _mean(n, decay) - mean, low, high, xtol=1e-300, maxiter=_MAX_STEPS)
    return float(found)
