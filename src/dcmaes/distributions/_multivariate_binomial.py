"""Correlated binomial variables: sums of independent Bernoulli vectors."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dcmaes._validation import FloatArray, IntArray, check_array, check_generator, check_integer, readonly
from dcmaes.distributions._bernoulli import BernoulliLaw
from dcmaes.distributions._binomial_moments import check_binomial_moments
from dcmaes.distributions._states import check_points, check_size, enumerate_states, locate
from dcmaes.distributions._thresholded_gaussian import ThresholdedGaussian

_CHUNK = 2**19  # numbers drawn at a time: 4 MiB, which stays in cache
_COUNTED_DIMENSION = 12  # up to here all states of one draw may be counted instead of drawn
_MAX_CELLS = 4_000_000  # of the table behind pmf: 32 MB
_MAX_WORK = 2_000_000_000  # additions to fill it: some seconds


class MultivariateBinomial:
    """Sum of independent draws of one Bernoulli vector, whose coordinates may be correlated.

    Parameters
    ----------
    trials : int or array_like of int, shape (k,)
        Number of draws; when it differs between coordinates, coordinate i takes part in the first n_i draws,
        so that coordinates i and j share min(n_i, n_j) of them.
    bernoulli : MultivariateBernoulli, BivariateBernoulli or Ising
        Law of one draw on {0,1}^k.

    Examples
    --------
    >>> from dcmaes.distributions import MultivariateBernoulli
    >>> pair = MultivariateBernoulli([[0.4, 0.1], [0.1, 0.4]])
    >>> law = MultivariateBinomial([2, 3], pair)
    >>> law.mean.tolist(), law.covariance.round(12).tolist()
    ([1.0, 1.5], [[0.5, 0.3], [0.3, 0.75]])
    >>> round(float(law.pmf([2, 3])), 6)     # 0.4 * 0.4 * 0.5
    0.08
    >>> law.sample(2, np.random.default_rng(0)).shape
    (2, 2)
    """

    def __init__(self, trials: int | ArrayLike, bernoulli: BernoulliLaw) -> None:
        if not isinstance(bernoulli, BernoulliLaw):
            raise TypeError(
                f"bernoulli must be a law on {{0,1}}^k such as MultivariateBernoulli, got {bernoulli!r}"
            )
        self._trials = _check_trials(trials, bernoulli.dimension)
        self._bernoulli = bernoulli
        self._correlation_error = 0.0

    @classmethod
    def from_moments(cls, trials: int | ArrayLike, mean: ArrayLike, covariance: ArrayLike) -> Self:
        """Return a law with these means and covariances, from thresholded normal vectors.

        The correlation of each pair of normals is solved for exactly (tetrachoric correlation). Together they
        may fail to be a correlation matrix; the nearest one is then used and `correlation_error` says how
        far the delivered correlations are from those asked for. The means are always exact.

        Parameters
        ----------
        trials : int or array_like of int, shape (k,)
        mean : array_like, shape (k,)
            Between 0 and trials.
        covariance : array_like, shape (k, k)
            Its diagonal must be mean (1 - mean / trials), and each pair within its Frechet bounds (M4).

        Examples
        --------
        >>> law = MultivariateBinomial.from_moments(4, [2.0, 1.0], [[1.0, 0.4], [0.4, 0.75]])
        >>> law.mean, law.covariance.round(12).tolist(), law.correlation_error < 1e-12
        (array([2., 1.]), [[1.0, 0.4], [0.4, 0.75]], True)
        """
        means = check_array("mean", mean, shape=(None,))
        if means.size == 0:
            raise ValueError("mean must hold at least one number, got an empty array")
        checked = _check_trials(trials, means.size)
        p, per_trial = check_binomial_moments(means, covariance, checked)
        law = cls(checked, ThresholdedGaussian.from_moments(p, per_trial))
        difference = np.abs(law.covariance - np.minimum.outer(checked, checked) * per_trial)
        deviation = np.sqrt(checked * p * (1 - p))
        scale = np.outer(deviation, deviation)
        law._correlation_error = float(
            np.divide(difference, scale, out=0.0 * scale, where=scale > 0).max()
        )  # (M6)
        return law

    def __repr__(self) -> str:
        trials = self._trials.tolist() if self.dimension <= 6 else f"<{self.dimension} values>"
        return f"MultivariateBinomial({trials}, {self._bernoulli!r})"

    @property
    def dimension(self) -> int:
        """Number of coordinates k."""
        return int(self._trials.size)

    @property
    def trials(self) -> IntArray:
        """Trials of each coordinate, shape (k,)."""
        return readonly(self._trials)

    @property
    def bernoulli(self) -> BernoulliLaw:
        """Law of one draw on {0,1}^k; for `from_moments` a thresholded normal vector."""
        return self._bernoulli

    @property
    def correlation_error(self) -> float:
        """Largest absolute difference between an asked and a delivered correlation.

        It is 0 up to rounding unless `from_moments` had to repair the latent correlation matrix.
        """
        return self._correlation_error

    @property
    def mean(self) -> FloatArray:
        """Expectation, shape (k,); as exact as that of `bernoulli`."""
        return readonly(self._trials * self._bernoulli.mean)  # (M2)

    @property
    def covariance(self) -> FloatArray:
        """Covariance of this law, shape (k, k); as exact as that of `bernoulli`."""
        return readonly(np.minimum.outer(self._trials, self._trials) * self._bernoulli.covariance)  # (M2)

    def pmf(self, x: ArrayLike) -> FloatArray | np.float64:
        """Return the probability of points `x`, shape (..., k); 0 off the lattice 0..trials.

        The whole table is built by adding one draw after the other, a sum of non-negative terms that keeps
        its relative accuracy. Raises ValueError when that table, or that of `bernoulli`, would be too large.

        >>> from dcmaes.distributions import MultivariateBernoulli
        >>> law = MultivariateBinomial(2, MultivariateBernoulli([0.75, 0.25]))
        >>> law.pmf([[0], [1], [2], [3]])
        array([0.5625, 0.375 , 0.0625, 0.    ])
        """
        points = check_points("x", x, self.dimension)
        table = self._table
        index, inside = locate(points, table.shape)
        return np.where(inside, table.reshape(-1)[index], 0.0)[()]

    def sample(self, size: int | tuple[int, ...] | None, rng: np.random.Generator) -> IntArray:
        """Draw independent points, int64 of shape ``(*size, k)``.

        >>> from dcmaes.distributions import MultivariateBernoulli
        >>> MultivariateBinomial(3, MultivariateBernoulli([0.0, 1.0])).sample(2, np.random.default_rng(0))
        array([[3],
               [3]])
        """
        shape = check_size(size)
        rng = check_generator("rng", rng)
        result = np.zeros((math.prod(shape), self.dimension), dtype=np.int64)
        done = 0
        for level in np.unique(self._trials):
            taking_part = self._trials >= level
            result += self._sum_draws(int(level) - done, result.shape[0], rng) * taking_part  # (M1)
            done = int(level)
        return result.reshape(*shape, self.dimension)

    def _sum_draws(self, n_draws: int, n_points: int, rng: np.random.Generator) -> IntArray:
        """Return sums of `n_draws` draws, shape (n_points, k), drawn a chunk at a time."""
        if self.dimension <= _COUNTED_DIMENSION and n_draws > 2**self.dimension and self._is_countable:
            # Counting how often each of the few states came up costs less than drawing them one by one.
            counts = rng.multinomial(n_draws, self._bernoulli.probabilities.reshape(-1), size=n_points)
            return np.asarray(counts @ enumerate_states(self.dimension).astype(np.int64))
        rows = max(1, _CHUNK // self.dimension)
        points_step = max(1, rows // n_draws)
        draws_step = max(1, rows // points_step)
        result = np.zeros((n_points, self.dimension), dtype=np.int64)
        for start in range(0, n_points, points_step):
            part = result[start : start + points_step]
            for first in range(0, n_draws, draws_step):
                n = min(draws_step, n_draws - first)
                # Draws of one point are consecutive, which for a simulated law means different chains.
                part += np.einsum("ijk->ik", self._bernoulli.sample((part.shape[0], n), rng))
        return result

    @property
    def _is_countable(self) -> bool:
        """Whether the probabilities of one draw are exact and cheap."""
        return not isinstance(self._bernoulli, ThresholdedGaussian) or self._bernoulli.has_closed_form

    @cached_property
    def _table(self) -> FloatArray:
        """Probabilities of all points, shape (n_1 + 1, ..., n_k + 1)."""
        shape = tuple(int(n) + 1 for n in self._trials)
        cells, work = math.prod(shape), math.prod(shape) * 2**self.dimension * int(self._trials.max())
        if cells > _MAX_CELLS or work > _MAX_WORK:
            raise ValueError(
                f"pmf builds a table of all {cells:.3g} points by {work:.3g} additions, more than the "
                f"{_MAX_CELLS:.0e} and {_MAX_WORK:.0e} allowed: use fewer coordinates or trials, or sample"
            )
        table = np.zeros(shape)
        table[(0,) * self.dimension] = 1.0
        for draw in range(int(self._trials.max())):
            table = self._add_draw(table, self._trials > draw, draw)
        return table

    def _add_draw(self, table: FloatArray, taking_part: NDArray[np.bool_], draw: int) -> FloatArray:
        """Return the table after one more draw of the coordinates taking part."""
        left_out = tuple(int(i) for i in np.flatnonzero(~taking_part))
        one_draw = self._bernoulli.probabilities.sum(axis=left_out, keepdims=True)
        # After `draw` draws no coordinate exceeds `draw`: only that corner of the table holds anything.
        corner = table[tuple(slice(0, min(draw, n) + 1) for n in self._trials.tolist())]
        result = np.zeros_like(table)
        for step in np.ndindex(one_draw.shape):
            target = tuple(slice(s, s + size) for s, size in zip(step, corner.shape, strict=True))
            result[target] += one_draw[step] * corner  # (M1)
        return result


def _check_trials(trials: Any, dimension: int) -> IntArray:
    """Return the trials of each coordinate as a fresh int64 array of shape (dimension,), at least 1 each."""
    if np.ndim(trials) == 0:
        return np.full(dimension, check_integer("trials", trials, low=1), dtype=np.int64)
    if np.shape(trials) != (dimension,):
        raise ValueError(
            f"trials must be an integer or have shape ({dimension},), got shape {np.shape(trials)}"
        )
    checked = [check_integer(f"trials[{i}]", n, low=1) for i, n in enumerate(trials)]
    return np.array(checked, dtype=np.int64)
