"""Noisy objectives: repeated evaluations, how noisy they are, and which point is best in spite of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dcmaes._validation import FloatArray
from dcmaes.strategies import Evaluations, Rank

# One evaluation in five goes to a point that may be the best one, to make sure (benchmarks/noise.py).
AGAIN_SHARE = 0.2
# So many points must be known before one of them is evaluated again.
_FIRST_POINTS = 10
# After this many repeats that all gave the same value to the last bit, the objective counts as noiseless.
_EQUAL_REPEATS = 5
# What is typical of good points is taken from those told last: this share of all, and at least so many.
_RECENT_SHARE = 0.25
_RECENT_POINTS = 20
_LEAST_SPREAD = 1e-9


class Noise(NamedTuple):
    """How noisy an objective is.

    Attributes
    ----------
    deviation : float, or tuple of floats
        Standard deviation of one evaluation, from all points that were evaluated more than once; NaN if there
        is none. With several objectives, of the values of each.
    error : float, or tuple of floats
        Standard error of `Result.fun`, the mean over the evaluations of the best point; NaN if not known.
    n_evaluations : int
        How many evaluations of the best point that is.
    """

    deviation: Any
    error: Any
    n_evaluations: int


class Repeats:
    """Mean and spread of the values at each point, and what they say about the points.

    Failures are left out. A point is worth the mean of its values; but the lowest of many noisy means is low
    by luck, so points are compared by an estimate that takes that into account: values are taken to be normal
    around the worth of their point, and worths normal around what is typical of the points told last. Then
    the expected worth of a point lies between its mean and what is typical, nearer to its mean the more often
    it was evaluated (the empirical Bayes estimate of James and Stein, variances taken from the data).
    """

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}
        self._first: list[int] = []
        self._columns = np.zeros((5, 16))
        self._n_told = 0
        self._n_repeats = 0

    def add(self, key: bytes, index: int, value: float, violation: float) -> None:
        """Take in evaluation number `index` of the run, one of the point with this key."""
        number = self._numbers.setdefault(key, len(self._numbers))
        if number == len(self._first):
            self._first.append(index)
            if number == self._columns.shape[1]:
                self._columns = np.concatenate([self._columns, np.zeros_like(self._columns)], axis=1)
        self._n_told += 1
        count, mean, squares, total_violation, _ = self._columns[:, number].tolist()
        step = value - mean
        mean += value / (count + 1) - mean / (count + 1)  # the difference itself may be too large for a float
        squares += step * (value - mean)
        self._n_repeats += count > 0
        self._columns[:, number] = count + 1, mean, squares, total_violation + violation, self._n_told

    def mean(self, key: bytes) -> Rank:
        """Return mean violation and value of a point; infinite and NaN if none of its evaluations counts."""
        number = self._numbers.get(key)
        if number is None:
            return Rank(math.inf, math.nan)
        count, mean, _, violation, _ = self._columns[:, number].tolist()
        return Rank(violation / count, mean)

    def count(self, key: bytes) -> int:
        """Return how many evaluations of a point count; at least one, for a point of which all failed."""
        number = self._numbers.get(key)
        return 1 if number is None else int(self._columns[0, number])

    def noise(self, key: bytes | None) -> Noise:
        """Return the noise of the objective, and the error of the mean value of a point."""
        deviation = math.sqrt(self._variance())
        number = None if key is None else self._numbers.get(key)
        if number is None:
            return Noise(deviation, math.nan, 0)
        count = int(self._columns[0, number])
        return Noise(deviation, deviation / math.sqrt(count), count)

    def best(self) -> int | None:
        """Return the first evaluation of the point that is best by all that is known, or None."""
        if not self._first:
            return None
        estimate, _ = self._estimate()
        violation = self._violations()
        return self._first[int(np.lexsort((estimate, violation))[0])]

    def choose(self, n_asked: int, n_again: int, is_out: Callable[[int], bool]) -> int | None:
        """Return the first evaluation of the point to evaluate again, or None for a new point instead.

        It is the one that would be best if it were better than expected by one standard deviation.

        Parameters
        ----------
        n_asked, n_again : int
            How many trials were handed out so far, and how many of them to make sure of points like this one.
        is_out : callable
            Whether the point of an evaluation is pending already.
        """
        if self._is_enough(n_asked, n_again) or self._is_exact():
            return None
        estimate, deviation = self._estimate()
        order = np.lexsort((estimate - deviation, self._violations()))
        return next((self._first[i] for i in order.tolist() if not is_out(self._first[i])), None)

    def _is_enough(self, n_asked: int, n_again: int) -> bool:
        """Tell whether no point is to be evaluated again for the time being."""
        return n_again >= AGAIN_SHARE * n_asked or len(self._first) < _FIRST_POINTS

    def _is_exact(self) -> bool:
        """Tell whether repeats have always given the same value."""
        return self._n_repeats >= _EQUAL_REPEATS and self._variance() == 0.0

    def _variance(self) -> float:
        """Return the variance of values at one point, pooled over feasible ones; NaN if none was repeated."""
        count, _, squares, violation, _ = self._columns[:, : len(self._first)]
        degrees = float((count[violation == 0.0] - 1).sum())
        return float(squares[violation == 0.0].sum()) / degrees if degrees > 0 else math.nan

    def _violations(self) -> FloatArray:
        count, _, _, violation, _ = self._columns[:, : len(self._first)]
        return np.asarray(violation / count)

    def _estimate(self) -> tuple[FloatArray, FloatArray]:
        """Return the expected worth of each point and its standard deviation, shape (n_points,)."""
        count, mean, _, violation, told = self._columns[:, : len(self._first)]
        variance = self._variance()
        if not 0.0 < variance < math.inf:
            return mean, np.zeros_like(mean)
        feasible = np.flatnonzero(violation == 0.0)
        n_recent = max(_RECENT_POINTS, int(_RECENT_SHARE * len(feasible)))
        recent = feasible[np.argsort(told[feasible])[-n_recent:]]
        noise = variance / count
        # Where no difference between points can be made out, the order of the estimates still can.
        with np.errstate(over="ignore"):
            spread = max(float(mean[recent].var() - noise[recent].mean()), _LEAST_SPREAD * variance)
        if spread == math.inf:
            return mean, np.sqrt(noise)
        weight = spread / (spread + noise)
        typical = float(mean[recent].mean())
        return typical + weight * (mean - typical), np.sqrt(weight * noise)


class SeveralRepeats:
    """The same for several objectives: what repeats say about each of them, and about the front.

    Every objective has a mean by itself; there is no best point, but a front of the means.

    Examples
    --------
    >>> repeats = SeveralRepeats(2)
    >>> repeats.add(b"a", 0, (1.0, 5.0), 0.0)
    >>> repeats.add(b"a", 1, (3.0, 5.0), 0.0)
    >>> repeats.means(b"a"), repeats.count(b"a")
    ((2.0, 5.0), 2)
    """

    def __init__(self, n_objectives: int) -> None:
        self._each = [Repeats() for _ in range(n_objectives)]

    def add(self, key: bytes, index: int, values: Sequence[float], violation: float) -> None:
        """Take in evaluation number `index` of the run, one of the point with this key."""
        for one, value in zip(self._each, values, strict=True):
            one.add(key, index, value, violation)

    def mean(self, key: bytes) -> Rank:
        """Return the mean violation of a point and no value; infinite if none of its evaluations counts."""
        return Rank(self._each[0].mean(key).violation, math.nan)

    def means(self, key: bytes) -> tuple[float, ...]:
        """Return the mean values of a point; NaN if none of its evaluations counts."""
        return tuple(one.mean(key).value for one in self._each)

    def count(self, key: bytes) -> int:
        """Return how many evaluations of a point count; at least one, for a point of which all failed."""
        return self._each[0].count(key)

    def noise(self, key: bytes | None) -> Noise:
        """Return the noise of all objectives, and the errors of the mean values of a point."""
        deviation, error, counts = zip(*(one.noise(key) for one in self._each), strict=True)
        return Noise(deviation, error, counts[0])

    def best(self) -> int | None:
        """Return the first evaluation of the point with the smallest mean violation, or None."""
        violation = self._each[0]._violations()
        return self._each[0]._first[int(violation.argmin())] if len(violation) else None

    def choose(
        self, n_asked: int, n_again: int, is_out: Callable[[int], bool], front: Evaluations
    ) -> int | None:
        """Return the place of the point to evaluate again, or None for a new point instead.

        It is the point of the front that was evaluated least often: many are there by luck.

        Parameters
        ----------
        n_asked, n_again, is_out
            See `Repeats.choose`.
        front : Evaluations
            The last evaluation of each point of the front.
        """
        if self._each[0]._is_enough(n_asked, n_again) or all(one._is_exact() for one in self._each):
            return None
        order = front.row[np.argsort(front.count, kind="stable")]
        return next((place for place in order.tolist() if not is_out(place)), None)
