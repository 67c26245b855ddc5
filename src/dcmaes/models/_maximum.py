"""The larger of two Gaussian processes, for functions with a kink; see docs/maths.md, section R."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, logsumexp, ndtr

from dcmaes._validation import FloatArray
from dcmaes.models._process import Process, Scales
from dcmaes.models._surrogate import normal_log_density
from dcmaes.space import Sites

# Each of the two functions is seen at so many points at least.
FEWEST_ON_A_SIDE = 6
# How often scales are fitted at most, and how often values are sorted after each time.
N_FITS, N_SORTS = 5, 5
# Mean and standard deviation at some points.
Prediction = tuple[FloatArray, FloatArray]
# Where the product of two tails is integrated: so many points, up to so many lengths of its decay.
_N_NODES, _N_LENGTHS = 24, 6.0


@dataclass(frozen=True, eq=False)
class Maximum:
    """Values of points explained as the larger of two random functions (R8).

    A cost plus a penalty beyond some limit is of this kind: the larger of the cost and of a function that
    rises from the limit on. One process would take the kink between them, where such functions have their
    minimum, for noise, or for a function that varies fast everywhere.

    Attributes
    ----------
    whole : Process
        All values under a single process.
    is_high : bool array of shape (n,)
        At which points the value is that of the second function.
    low_scales, high_scales : Scales
        Hyper-parameters of the two functions.

    Examples
    --------
    >>> from dcmaes.space import Float, Space
    >>> sites = Space({"a": Float(0, 1), "b": Float(0, 1)}).sites
    >>> x = np.random.default_rng(0).random((40, 2))
    >>> missing = 1 - x[:, 1] * (1 + 2 * x[:, 0])
    >>> targets = x.sum(axis=1) + 5 * np.maximum(missing, 0)
    >>> targets = (targets - targets.mean()) / targets.std()
    >>> scales = Scales.expected(sites)
    >>> process = Process(sites, x, targets, np.ones(40), scales)
    >>> model = Maximum(process, targets > np.median(targets), scales, scales).fitted(8)
    >>> (model.is_high == (missing > 0)).all()
    np.True_
    """

    whole: Process
    is_high: NDArray[np.bool_]
    low_scales: Scales
    high_scales: Scales

    @staticmethod
    def extended(whole: Process, is_high: NDArray[np.bool_], low: Scales, high: Scales) -> Maximum:
        """Return the model of all values of a process, of which only the first are sorted, shape (k,)."""
        k = len(is_high)
        if k == len(whole.targets):
            return Maximum(whole, is_high, low, high)
        first = replace(whole, x=whole.x[:k], targets=whole.targets[:k], count=whole.count[:k])
        known = Maximum(first, is_high, low, high)
        later = [_noisy(part, whole.x[k:], whole.count[k:]) for part in (known.low, known.high)]
        below, above = _densities(whole.targets[k:], *later)
        return Maximum(whole, np.concatenate([is_high, above > below]), low, high)

    @property
    def sites(self) -> Sites:
        """The sites of the points."""
        return self.whole.sites

    @property
    def targets(self) -> FloatArray:
        """The values that are explained, shape (n,)."""
        return self.whole.targets

    @cached_property
    def low(self) -> Process:
        """The first function."""
        return _part(self.whole, ~self.is_high, self.low_scales)

    @cached_property
    def high(self) -> Process:
        """The second function."""
        return _part(self.whole, self.is_high, self.high_scales)

    def predict(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return mean and standard deviation of the larger at coded points, (n, d) to (n,) each."""
        return _larger(self.low.predict(x), self.high.predict(x))

    def at_data(self) -> FloatArray:
        """Return the mean of the function at the points that it is of, shape (n,)."""
        mean: FloatArray = np.empty(len(self.is_high))
        mean[~self.is_high], mean[self.is_high] = self.low.at_data(), self.high.at_data()
        return mean

    def log_improvement(self, x: FloatArray, lowest: float) -> FloatArray:
        """Return the logarithm of the improvement on `lowest` expected at coded points, (n, d) to (n,) (R10).

        The integral, over all values below, of the probability that both functions are below that value.
        """
        predicted = self.low.predict(x), self.high.predict(x)
        length = np.minimum(*(_reach(mean - lowest, s) for mean, s in predicted))
        nodes, weights = np.polynomial.legendre.leggauss(_N_NODES)
        value = lowest - length[:, None] * (nodes + 1) / 2
        tails = [log_ndtr((value - mean[:, None]) / s[:, None]) for mean, s in predicted]
        logs: FloatArray = np.log(length / 2) + logsumexp(tails[0] + tails[1], axis=1, b=weights)
        return logs

    def log_densities(self) -> FloatArray:
        """Return the logarithm of the density of each target, given all the others, shape (n,)."""
        return np.logaddexp(*self._by_side())

    def with_beliefs(self, x: FloatArray) -> Maximum:
        """Return the model after values as expected at more coded points, shape (k, d)."""
        if len(x) == 0:
            return self
        low, high = self.low.predict(x), self.high.predict(x)
        is_high, whole = low[0] < high[0], self.whole.with_values(x, _larger(low, high)[0])
        return replace(self, whole=whole, is_high=np.concatenate([self.is_high, is_high]))

    def fitted(self, n_steps: int) -> Maximum:
        """Return the model with likelier sides and scales, fitted in turns by at most so many steps each."""
        now = self
        for _ in range(N_FITS):
            low, high = now.low.fitted(n_steps).scales, now.high.fitted(n_steps).scales
            before = replace(now, low_scales=low, high_scales=high)
            now = before.sorted()
            if now is before:
                break
        return now

    def sorted(self) -> Maximum:
        """Return the model with values on their likelier sides; the same if they are already.

        This moves both functions, so it is repeated. Too few are never on one side.
        """
        now, n = self, len(self.is_high)
        for _ in range(N_SORTS):
            below, above = now._by_side()
            is_high = above > below
            n_high = int(is_high.sum())
            if (is_high == now.is_high).all() or min(n_high, n - n_high) < FEWEST_ON_A_SIDE:
                break
            now = replace(now, is_high=is_high)
        return now

    def _by_side(self) -> tuple[FloatArray, FloatArray]:
        """Return the log densities of the targets, given the others, as values of either, shape (n,) each."""
        predicted = (self._left_out(self.low, ~self.is_high), self._left_out(self.high, self.is_high))
        return _densities(self.targets, *predicted)

    def _left_out(self, part: Process, is_own: NDArray[np.bool_]) -> Prediction:
        """Return what a function predicts of a value at each point, from the other points, (n,) each."""
        mean, deviation = np.empty((2, len(is_own)))
        mean[is_own], deviation[is_own] = part.left_out()
        mean[~is_own], deviation[~is_own] = _noisy(part, self.whole.x[~is_own], self.whole.count[~is_own])
        return mean, deviation


def _part(whole: Process, is_own: NDArray[np.bool_], scales: Scales) -> Process:
    """Return the process of some of the values."""
    x, targets, count = whole.x[is_own], whole.targets[is_own], whole.count[is_own]
    return Process(whole.sites, x, targets, count, scales)


def _noisy(part: Process, x: FloatArray, count: FloatArray) -> Prediction:
    """Return mean and standard deviation of a value of a function at coded points, (n, d) to (n,) each."""
    mean, deviation = part.predict(x)
    return mean, np.sqrt(deviation**2 + part.variance * np.exp(part.scales.noise) / count)


def _densities(values: FloatArray, first: Prediction, second: Prediction) -> tuple[FloatArray, FloatArray]:
    """Return the log densities of values if either function is the larger there, shape (n,) each (R8).

    The other one is below the value then.
    """
    low, high = (log_ndtr((values - mean) / s) for mean, s in (first, second))
    return normal_log_density(values, *first) + high, normal_log_density(values, *second) + low


def _larger(first: Prediction, second: Prediction) -> Prediction:
    """Return mean and standard deviation of the larger of two independent normal variables (R9)."""
    (m1, s1), (m2, s2) = first, second
    spread = np.hypot(s1, s2)
    z = (m1 - m2) / spread
    above, below = ndtr(z), ndtr(-z)
    both = spread * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    mean = m1 * above + m2 * below + both
    square = (m1**2 + s1**2) * above + (m2**2 + s2**2) * below + (m1 + m2) * both
    return mean, np.sqrt(np.maximum(square - mean**2, 1e-12))


def _reach(above: FloatArray, s: FloatArray) -> FloatArray:
    """Return how far below a value a normal law matters whose mean is `above` the value, shape (n,)."""
    return np.maximum(-above, 0.0) + _N_LENGTHS * s**2 / np.maximum(above, s)
