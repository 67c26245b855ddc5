"""Correlated binary, ordinal and count variables with given margins: quantiles of one normal vector."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from dcmaes._validation import FloatArray, IntArray, check_array, check_generator, readonly
from dcmaes.distributions._feasibility import check_symmetric
from dcmaes.distributions._latent_normal import (
    LatentCovariance,
    bivariate_normal_cdf,
    covariance_range,
    orthant_probability,
    repair_correlation,
    tetrachoric_correlation,
)
from dcmaes.distributions._lattice_law import LatticeLaw
from dcmaes.distributions._table import check_pmf, check_size, in_deviations, survival_function

_SLACK = 1e-9  # correlations computed in floating point may miss the end of their range by this much
_LOST = 1e-17  # probability beyond which the tail of an unbounded count is cut off
_MAX_STATES = 2**20  # of one variable
_TABLE_DIMENSION = 6
# Evaluations of the bivariate normal law behind one probability of that many variables, and how many are
# allowed.
_COST = (0, 1, 1, 144, 288, 69_120, 207_360)
_MAX_COST = 4_000_000


class CorrelationRange(NamedTuple):
    """The least and the greatest correlation that two margins can have."""

    low: float
    high: float


class GaussianCopula(LatticeLaw):
    """Variables with given discrete margins and correlations, as quantiles of one correlated normal vector.

    A simulator of correlated binary, ordinal and count data. The correlation of each pair of normals is
    solved for, so that the variables themselves have the correlation asked for, anywhere in the range that
    their margins allow.

    Parameters
    ----------
    margins : sequence of k margins
        Each a number p in [0, 1] (a {0,1} variable that is 1 with probability p), an array of the
        probabilities of the states 0, 1, ..., or a law of counts with `pmf`, `cdf`, `sf` and `ppf`: of this
        package, or frozen from scipy.stats.
    correlation : array_like, shape (k, k)
        Correlations of the variables, ones on the diagonal; each within `correlation_range` of its margins.

    Notes
    -----
    Pair by pair the correlations are exact. Together they may fail to be those of any normal vector; the
    nearest one is then used, and `correlation_error` says how far the delivered correlations are from those
    asked for. The margins are always exact.

    Examples
    --------
    >>> from scipy import stats
    >>> correlation = [[1, 0.4, 0.3], [0.4, 1, 0.5], [0.3, 0.5, 1]]
    >>> law = GaussianCopula([0.3, [0.2, 0.5, 0.3], stats.poisson(4.0)], correlation)
    >>> law.mean.round(6), law.correlation.round(6).tolist()[0]
    (array([0.3, 1.1, 4. ]), [1.0, 0.4, 0.3])
    >>> law.sample(3, np.random.default_rng(0)).shape
    (3, 3)
    """

    def __init__(self, margins: Sequence[Any], correlation: ArrayLike) -> None:
        survival = [_survival(f"margins[{i}]", margin) for i, margin in enumerate(margins)]
        if not survival:
            raise ValueError("margins must hold at least one margin, got none")
        asked = _check_correlation(correlation, len(survival))
        deviation = np.array([math.sqrt(_variance(s)) for s in survival])
        for i, j in itertools.combinations(range(len(survival)), 2):
            low, high = _range(survival[i], survival[j])
            if not low - _SLACK <= asked[i, j] <= high + _SLACK:
                raise ValueError(
                    f"correlation[{i}, {j}] must lie between {low:.10g} and {high:.10g}, the range of "
                    f"these two margins, got {asked[i, j]}"
                )
        self._build(survival, asked * np.outer(deviation, deviation))

    @classmethod
    def _of_covariance(cls, survival: list[FloatArray], covariance: FloatArray) -> Self:
        """Build the law of margins with these survival probabilities, and feasible covariances."""
        law = object.__new__(cls)
        law._build(survival, covariance)
        return law

    def _build(self, survival: list[FloatArray], covariance: FloatArray) -> None:
        self._survival = survival
        self._thresholds = [ndtri(s) for s in survival]
        self._latent = repair_correlation(self._solve(covariance))
        self._covariance = self._delivered()
        self._error = correlation_error(self._covariance, covariance)

    @cached_property
    def _pairs(self) -> tuple[IntArray, IntArray, Any]:
        """All pairs of variables, and which have two states each: those are solved all at once."""
        i, j = np.triu_indices(self.dimension, 1)
        binary = np.array([s.size == 1 for s in self._survival])
        return i, j, binary[i] & binary[j]

    def _solve(self, covariance: FloatArray) -> FloatArray:
        """Return the correlation of each pair of normals."""
        result = np.eye(self.dimension)
        i, j, simple = self._pairs
        p = np.array([s[0] for s in self._survival])
        solved = np.empty(i.size)
        a, b = i[simple], j[simple]
        solved[simple] = tetrachoric_correlation(p[a], p[b], covariance[a, b] + p[a] * p[b])  # (M5)
        for n in np.flatnonzero(~simple):
            pair = LatentCovariance(self._survival[i[n]], self._survival[j[n]])
            solved[n] = pair.solve(float(covariance[i[n], j[n]]))
        result[i, j] = result[j, i] = solved
        return result

    def _delivered(self) -> FloatArray:
        """Return the covariance that the latent correlation gives, pair by pair."""
        result = np.diag([_variance(s) for s in self._survival])
        i, j, simple = self._pairs
        p, h = (np.array([part[0] for part in parts]) for parts in (self._survival, self._thresholds))
        delivered = np.empty(i.size)
        a, b = i[simple], j[simple]
        delivered[simple] = bivariate_normal_cdf(h[a], h[b], self._latent.matrix[a, b]) - p[a] * p[b]  # (M5)
        for n in np.flatnonzero(~simple):
            pair = LatentCovariance(self._survival[i[n]], self._survival[j[n]])
            delivered[n] = pair(float(self._latent.matrix[i[n], j[n]]))
        result[i, j] = result[j, i] = delivered
        return result

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of states of each variable."""
        return tuple(s.size + 1 for s in self._survival)

    @property
    def mean(self) -> FloatArray:
        """Expectation of each variable, shape (k,)."""
        return readonly(np.array([float(s.sum()) for s in self._survival]))

    @property
    def covariance(self) -> FloatArray:
        """Covariance of the variables, shape (k, k), exact for the latent correlation in use."""
        return readonly(self._covariance)

    @property
    def correlation_error(self) -> float:
        """Largest difference between an asked and a delivered correlation; 0 unless repair was needed."""
        return self._error

    @property
    def latent_correlation(self) -> FloatArray:
        """Correlation of the normal vector, shape (k, k), after repair."""
        return readonly(self._latent.matrix)

    @property
    def latent_deviation(self) -> float:
        """Largest absolute change the repair made to the latent correlation; 0 if none was needed."""
        return self._latent.deviation

    @cached_property
    def log_probabilities(self) -> FloatArray:
        """Table of log P(x), for up to six variables with few states.

        Probabilities are accurate to about 1e-14, or less with latent correlations beyond 0.999 and k >= 3.
        """
        if self.dimension > _TABLE_DIMENSION:
            raise ValueError(
                f"the table of a Gaussian copula is computed for at most {_TABLE_DIMENSION} "
                f"variables, this law has {self.dimension}: use sample, or an Ising law"
            )
        table = self._survival_table()
        for axis in range(self.dimension):
            halves = np.moveaxis(table, axis, 0)
            halves[:-1] -= halves[1:]  # P(x_i = a, ...) is P(x_i >= a, ...) less P(x_i >= a + 1, ...)
        table = np.maximum(table, 0.0)
        with np.errstate(divide="ignore"):
            return readonly(np.log(table / table.sum()))

    def _survival_table(self) -> FloatArray:
        """Return P(x_i >= a_i for all i) for every point a."""
        k, sizes = self.dimension, [s.size for s in self._survival]
        subsets = [s for size in range(1, k + 1) for s in itertools.combinations(range(k), size)]
        cost = sum(_COST[len(s)] * math.prod(sizes[i] for i in s) for s in subsets)
        if cost > _MAX_COST:
            raise ValueError(
                f"the table of this law needs {cost:.2g} evaluations of the bivariate normal law, more "
                f"than the {_MAX_COST:.0e} allowed: use fewer variables or states, or sample"
            )
        result = np.ones(self.shape)
        for subset in subsets:
            grid = np.meshgrid(*(self._thresholds[i] for i in subset), indexing="ij")
            cells = tuple(slice(1, None) if i in subset else 0 for i in range(k))
            latent = self._latent.matrix[np.ix_(subset, subset)]
            points = np.stack(grid, axis=-1)
            result[cells] = orthant_probability(
                points, np.broadcast_to(latent, (*points.shape[:-1], *latent.shape))
            )  # (M7)
        return result

    def sample(self, size: int | tuple[int, ...] | None, rng: np.random.Generator) -> IntArray:
        """Draw independent points, int64 of shape ``(*size, k)``."""
        shape = check_size(size)
        factor = self._latent.factor
        normals = check_generator("rng", rng).standard_normal((math.prod(shape), factor.shape[1])) @ factor.T
        # The first thresholds of all variables at once; the others, where there are more, by search.
        points = (normals <= np.array([h[0] for h in self._thresholds])).astype(np.int64)  # (M3)
        for i, thresholds in enumerate(self._thresholds):
            if thresholds.size > 1:
                points[:, i] = np.searchsorted(-thresholds, -normals[:, i], side="right")
        return points.reshape(*shape, self.dimension)

    def _key(self) -> tuple[Any, ...]:
        return (*self._survival, self._latent.matrix)

    def __repr__(self) -> str:
        return f"<GaussianCopula of {self.dimension} variables>"


def correlation_range(first: Any, second: Any) -> CorrelationRange:
    """Return the least and the greatest correlation that two margins can have, whatever joins them.

    Parameters
    ----------
    first, second
        Margins as in `GaussianCopula`: a probability, an array of probabilities, or a law of counts.

    Examples
    --------
    >>> [round(end, 6) for end in correlation_range(0.1, 0.5)]
    [-0.333333, 0.333333]
    >>> from scipy import stats
    >>> round(correlation_range(stats.binom(10, 0.5), stats.binom(100, 0.5)).high, 2)
    0.98
    """
    return _range(_survival("first", first), _survival("second", second))


def correlation_error(delivered: FloatArray, asked: FloatArray) -> float:
    """Return the largest difference between correlations, from covariances (k, k) with the same diagonal."""
    difference = np.abs(delivered - asked)
    np.fill_diagonal(difference, 0.0)
    return float(in_deviations(difference, delivered.diagonal()).max())  # (M6)


def binary_copula(mean: FloatArray, covariance: FloatArray) -> GaussianCopula:
    """Return {0,1} variables with these means, and these covariances as nearly as can be.

    `mean` and `covariance` are feasible pair by pair, as `check_binomial_moments` returns them.
    """
    return GaussianCopula._of_covariance([np.array([p]) for p in mean], covariance)


def _range(first: FloatArray, second: FloatArray) -> CorrelationRange:
    scale = math.sqrt(_variance(first) * _variance(second))
    low, high = covariance_range(first, second)
    return CorrelationRange(low / scale, high / scale) if scale > 0 else CorrelationRange(0.0, 0.0)


def _variance(survival: FloatArray) -> float:
    """Return the variance of a margin: E x(x+1)/2 is the sum of a P(x >= a)."""
    mean = float(survival.sum())
    centre = round(mean)
    steps = np.arange(1, survival.size + 1) - centre
    above, below = survival[steps > 0], 1.0 - survival[steps <= 0]
    square = float(above @ (2 * steps[steps > 0] - 1)) + float(below @ (1 - 2 * steps[steps <= 0]))
    offset = float(above.sum()) - float(below.sum())
    return max(0.0, square - offset**2)


def _survival(name: str, margin: Any) -> FloatArray:
    """Return P(X >= 1), P(X >= 2), ... of a margin."""
    if all(hasattr(margin, name) for name in ("pmf", "cdf", "sf", "ppf")):
        return _survival_of_law(name, margin)
    if np.ndim(margin) == 0:
        margin = check_array(name, margin)
        if not 0.0 <= margin <= 1.0:
            raise ValueError(f"{name} must be a probability between 0 and 1, got {margin}")
        return np.array([float(margin)])
    table = check_pmf(name, margin, shape=(None,))
    if table.size < 2:
        raise ValueError(f"{name} must give the probabilities of two or more states, got {table.size}")
    return survival_function(table)


def _survival_of_law(name: str, law: Any) -> FloatArray:
    if float(law.cdf(-1)) > 0:
        raise ValueError(f"{name} must be a law of counts 0, 1, ..., got {law!r}, which has negative values")
    last = float(law.ppf(1.0))
    if not math.isfinite(last):
        last = 1.0
        while float(law.sf(last)) > _LOST and last < _MAX_STATES:
            last *= 2.0
    if not math.isfinite(last) or last >= _MAX_STATES:
        raise ValueError(
            f"{name} must have fewer than {_MAX_STATES} states, got {law!r} with values up to {last:g}"
        )
    table = np.asarray(law.pmf(np.arange(max(1, int(last)) + 1)), dtype=np.float64)
    return survival_function(table / table.sum())


def _check_correlation(correlation: ArrayLike, dimension: int) -> FloatArray:
    result = check_symmetric("correlation", correlation, dimension, 1e-9)
    for i in np.flatnonzero(np.abs(result.diagonal() - 1.0) > 1e-9)[:1]:
        raise ValueError(f"correlation[{i}, {i}] must be 1, got {result[i, i]}")
    return result
