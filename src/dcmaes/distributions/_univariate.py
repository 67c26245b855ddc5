"""What the laws of one whole number share: quantiles, likelihood, entropy; and the binomial table."""

from __future__ import annotations

import math
from abc import abstractmethod
from functools import cached_property

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
from dcmaes.distributions._law import ParametricLaw
from dcmaes.distributions._states import check_size, locate
from dcmaes.distributions._table import cumulate, entropy, sample_table

_LOG_SMALLEST = 746.0  # exp(-746) is zero in double precision
LARGEST_TRIALS = 2**53  # beyond it not every whole number is a float


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
        levels = check_probabilities("q", q)
        first, _ = self._table
        place = np.searchsorted(self._cumulative, levels, side="left")
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
        values = check_array("x", x)
        first, last = self._ends
        for where in np.argwhere((values < first) | (values > last) | (values != np.floor(values)))[:1]:
            raise ValueError(
                f"x must hold whole numbers from {first} to {last}, got {values[tuple(where)]:g} at index "
                f"{tuple(where.tolist())}"
            )
        return values

    def _check_data(self, data: ArrayLike) -> FloatArray:
        return check_counts(data)


def check_counts(data: ArrayLike, largest: int | None = None) -> FloatArray:
    """Return whole numbers (n,), within 0..largest if that is given, or raise naming the offender.

    >>> check_counts([0, 2, 1])
    array([0., 2., 1.])
    """
    values = check_array("data", data, shape=(None,))
    bad = values != np.floor(values)
    if largest is not None:
        bad |= (values < 0) | (values > largest)
    for i in np.flatnonzero(bad)[:1]:
        allowed = "whole numbers" if largest is None else f"whole numbers from 0 to {largest}"
        raise ValueError(f"data must hold {allowed}, got {values[i]:g} at index {i}")
    return values


def check_largest(n: int | None, data: FloatArray) -> int:
    """Return the largest value of a law fitted to data: as given, or the largest seen, at least 1.

    >>> check_largest(None, np.array([0.0, 3.0])), check_largest(5, np.array([0.0, 3.0]))
    (3, 5)
    """
    if n is None:
        return max(1, int(data.max()))
    return check_integer("n", n, low=1, high=LARGEST_TRIALS)


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
