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

    With several objectives each has a mean by itself; there is no best point, but a front of the means.

    Examples
    --------
    >>> repeats = Repeats(2)
    >>> repeats.add(b"a", 0, (1.0, 5.0), 0.0)
    >>> repeats.add(b"a", 1, (3.0, 5.0), 0.0)
    >>> repeats.means(b"a"), repeats.count(b"a")
    ((2.0, 5.0), 2)
    """

    def __init__(self, n_objectives: int = 1) -> None:
        self._n_objectives = n_objectives
        self._numbers: dict[bytes, int] = {}
        self._first: list[int] = []
        # Of each point: count, total violation and when it was last told; mean and squares of each objective.
        self._points = np.zeros((3, 16))
        self._values = np.zeros((2, n_objectives, 16))
        self._n_told = 0
        self._n_repeats = 0

    def add(self, key: bytes, index: int, values: Sequence[float], violation: float) -> None:
        """Take in evaluation number `index` of the run, one of the point with this key."""
        number = self._numbers.setdefault(key, len(self._numbers))
        if number == len(self._first):
            self._first.append(index)
            if number == self._points.shape[1]:
                self._points = np.concatenate([self._points, np.zeros_like(self._points)], axis=1)
                self._values = np.concatenate([self._values, np.zeros_like(self._values)], axis=2)
        self._n_told += 1
        count, total_violation, _ = self._points[:, number].tolist()
        for i, value in enumerate(values):
            mean, squares = self._values[:, i, number].tolist()
            step = value - mean
            # The difference itself may be too large for a float.
            mean += value / (count + 1) - mean / (count + 1)
            self._values[:, i, number] = mean, squares + step * (value - mean)
        self._n_repeats += count > 0
        self._points[:, number] = count + 1, total_violation + violation, self._n_told

    def mean(self, key: bytes) -> Rank:
        """Return mean violation and value of a point; infinite and NaN if none of its evaluations counts.

        With several objectives there is no such value.
        """
        number = self._numbers.get(key)
        if number is None:
            return Rank(math.inf, math.nan)
        count, violation, _ = self._points[:, number].tolist()
        mean = float(self._values[0, 0, number]) if self._n_objectives == 1 else math.nan
        return Rank(violation / count, mean)

    def means(self, key: bytes) -> tuple[float, ...]:
        """Return the mean values of a point; NaN if none of its evaluations counts."""
        number = self._numbers.get(key)
        if number is None:
            return (math.nan,) * self._n_objectives
        return tuple(self._values[0, :, number].tolist())

    def count(self, key: bytes) -> int:
        """Return how many evaluations of a point count; at least one, for a point of which all failed."""
        number = self._numbers.get(key)
        return 1 if number is None else int(self._points[0, number])

    def noise(self, key: bytes | None) -> Noise:
        """Return the noise of the objective, or of each of several, and the error of the means of a point."""
        deviation = tuple(map(math.sqrt, self._variances()))
        number = None if key is None else self._numbers.get(key)
        count = 0 if number is None else int(self._points[0, number])
        error = tuple(one / math.sqrt(count) if count else math.nan for one in deviation)
        return (
            Noise(deviation[0], error[0], count)
            if self._n_objectives == 1
            else Noise(deviation, error, count)
        )

    def best(self) -> int | None:
        """Return the first evaluation of the point that is best by all that is known, or None.

        With several objectives, of the one with the smallest mean violation.
        """
        if not self._first:
            return None
        violation = self._violations()
        if self._n_objectives > 1:
            return self._first[int(violation.argmin())]
        estimate, _ = self._estimate()
        return self._first[int(np.lexsort((estimate, violation))[0])]

    def choose(
        self, n_asked: int, n_again: int, is_out: Callable[[int], bool], front: Evaluations | None = None
    ) -> int | None:
        """Return an evaluation of the point to evaluate again, or None for a new point instead.

        It is the one that would be best if it were better than expected by one standard deviation. Of several
        objectives, it is the point of the front that was evaluated least often: many are there by luck.

        Parameters
        ----------
        n_asked, n_again : int
            How many trials were handed out so far, and how many of them to make sure of points like this one.
        is_out : callable
            Whether the point of an evaluation is pending already.
        front : Evaluations or None
            With several objectives, the last evaluation of each point of the front.
        """
        if n_again >= AGAIN_SHARE * n_asked or len(self._first) < _FIRST_POINTS:
            return None
        if self._n_repeats >= _EQUAL_REPEATS and not any(self._variances()):
            return None  # repeats have always given the same values
        if front is not None:
            places = front.row[np.argsort(front.count, kind="stable")].tolist()
        else:
            estimate, deviation = self._estimate()
            order = np.lexsort((estimate - deviation, self._violations()))
            places = [self._first[i] for i in order.tolist()]
        return next((place for place in places if not is_out(place)), None)

    def _variances(self) -> list[float]:
        """Return the variance of values at one point, pooled over feasible ones; NaN if none was repeated."""
        n = len(self._first)
        count, violation, _ = self._points[:, :n]
        is_feasible = violation == 0.0
        degrees = float((count[is_feasible] - 1).sum())
        squares = [float(one[:n][is_feasible].sum()) for one in self._values[1]]
        return [one / degrees if degrees > 0 else math.nan for one in squares]

    def _violations(self) -> FloatArray:
        count, violation, _ = self._points[:, : len(self._first)]
        return np.asarray(violation / count)

    def _estimate(self) -> tuple[FloatArray, FloatArray]:
        """Return the expected worth of each point and its standard deviation, shape (n_points,)."""
        count, violation, told = self._points[:, : len(self._first)]
        mean, (variance,) = self._values[0, 0, : len(self._first)], self._variances()
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
