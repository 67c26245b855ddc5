"""Correlated binomial variables: sums of independent Bernoulli vectors."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dcmaes._validation import FloatArray, IntArray, check_array, check_choice, check_generator, readonly
from dcmaes.distributions._bernoulli import MultivariateBernoulli
from dcmaes.distributions._feasibility import check_binomial_diagonal, check_binomial_moments
from dcmaes.distributions._gaussian_copula import GaussianCopula, binary_copula, correlation_error
from dcmaes.distributions._latent_normal import covariance_range
from dcmaes.distributions._lattice_law import LatticeLaw, check_observations, check_trials
from dcmaes.distributions._law import ExponentialLaw, ParametricLaw, binomial_table, check_weights
from dcmaes.distributions._table import check_size, enumerate_states, locate, survival_function

_CHUNK = 2**19  # numbers drawn at a time: 4 MiB, which stays in cache
_COUNTED_DIMENSION = 12  # up to here all states of one draw may be counted instead of drawn
_MAX_CELLS = 4_000_000  # of the table behind pmf: 32 MB
_MAX_WORK = 2_000_000_000  # additions to fill it: some seconds
_MAX_ROUNDS = 2000
_EM_TOLERANCE = 1e-12
_SLACK = 1e-9  # in units of the deviations: how far rounding may take a covariance beyond its range


class MultivariateBinomial(LatticeLaw, ParametricLaw):
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

    def __init__(self, trials: int | ArrayLike, bernoulli: LatticeLaw) -> None:
        if not isinstance(bernoulli, LatticeLaw) or set(bernoulli.shape) != {2}:
            raise TypeError(
                f"bernoulli must be a law on {{0,1}}^k such as MultivariateBernoulli, got {bernoulli!r}"
            )
        self._trials = check_trials(trials, bernoulli.dimension)
        self._bernoulli: LatticeLaw | None = bernoulli
        self._copula: GaussianCopula | None = None
        self._correlation_error = 0.0

    @classmethod
    def from_moments(
        cls, trials: int | ArrayLike, mean: ArrayLike, covariance: ArrayLike, *, coupling: str = "shared"
    ) -> Self:
        """Return a law with these means and covariances, from correlated normal vectors.

        The correlation of each pair of normals is solved for exactly. Together they may fail to be a
        correlation matrix; the nearest one is then used and `correlation_error` says how far the delivered
        correlations are from those asked for. The means are always exact.

        Parameters
        ----------
        trials : int or array_like of int, shape (k,)
        mean : array_like, shape (k,)
            Between 0 and trials.
        covariance : array_like, shape (k, k)
            Its diagonal must be mean (1 - mean / trials), and each pair within its range.
        coupling : "shared" or "quantile"
            How the variables are joined. "shared": each draw of the sum is a thresholded normal vector, and
            two coordinates share as many draws as they can, as in the paper; the range of a pair is (M4).
            "quantile": the coordinates are binomial quantiles of one normal vector, which reaches the whole
            range that any joint law has (M10), wider when trials differ.

        Examples
        --------
        >>> law = MultivariateBinomial.from_moments(4, [2.0, 1.0], [[1.0, 0.4], [0.4, 0.75]])
        >>> law.mean, law.covariance.round(12).tolist(), law.correlation_error < 1e-12
        (array([2., 1.]), [[1.0, 0.4], [0.4, 0.75]], True)
        >>> moments = [10, 100], [5, 50], [[2.5, 7.5], [7.5, 25]]
        >>> wide = MultivariateBinomial.from_moments(*moments, coupling="quantile")
        >>> round(float(wide.correlation[0, 1]), 6)
        0.948683
        """
        means = check_array("mean", mean, shape=(None,))
        if means.size == 0:
            raise ValueError("mean must hold at least one number, got an empty array")
        checked = check_trials(trials, means.size)
        if check_choice("coupling", coupling, ("shared", "quantile")) == "quantile":
            return cls._join_quantiles(checked, means, covariance)
        p, per_trial = check_binomial_moments(means, covariance, checked)
        law = cls(checked, binary_copula(p, per_trial))
        law._correlation_error = correlation_error(law.covariance, check_array("covariance", covariance))
        return law

    @classmethod
    def _join_quantiles(cls, trials: IntArray, mean: FloatArray, covariance: ArrayLike) -> Self:
        mean, asked = check_binomial_diagonal(mean, covariance, trials)
        survival = [_binomial_survival(int(n), float(m / n)) for n, m in zip(trials, mean, strict=True)]
        deviation = np.sqrt(asked.diagonal())
        for i, j in itertools.combinations(range(trials.size), 2):
            low, high = covariance_range(survival[i], survival[j])
            slack = _SLACK * deviation[i] * deviation[j]
            if not low - slack <= asked[i, j] <= high + slack:
                raise ValueError(
                    f"covariance[{i}, {j}] must lie between {low:.10g} and {high:.10g}, the range of two "
                    f"binomial variables with {trials[i]} and {trials[j]} trials and means {mean[i]} and "
                    f"{mean[j]}, got {asked[i, j]}"
                )
        law = object.__new__(cls)
        law._trials, law._bernoulli = trials, None
        law._copula = GaussianCopula._of_covariance(survival, asked)
        law._correlation_error = law._copula.correlation_error
        return law

    @classmethod
    def fit(cls, data: ArrayLike, weights: ArrayLike | None = None, *, trials: int | ArrayLike) -> Self:
        """Fit the law of one draw, a `MultivariateBernoulli`, to sums of draws by maximum likelihood.

        By the EM algorithm: given a sum, how often each state was drawn has an expectation; the frequencies
        of these expected draws are the next law of one draw. Its table makes this an affair of a few
        coordinates and trials.

        Parameters
        ----------
        data : array_like of whole numbers, shape (n, k)
        weights : array_like, shape (n,), optional
            How often each observation counts; 1 by default.
        trials : int or array_like of int, shape (k,)
            Number of draws of each coordinate.

        Examples
        --------
        >>> law = MultivariateBinomial(3, MultivariateBernoulli([[0.4, 0.1], [0.2, 0.3]]))
        >>> points, p = law._support()
        >>> MultivariateBinomial.fit(points, p, trials=3).bernoulli.probabilities.round(4).tolist()
        [[0.4, 0.1], [0.2, 0.3]]
        """
        points = check_array("data", data, shape=(None, None))
        sizes = check_trials(trials, points.shape[1])
        points = check_observations(points, tuple(int(n) + 1 for n in sizes))
        share = check_weights(weights, len(points))
        points, share = points[share > 0], share[share > 0] / share.sum()
        start = np.clip(share @ points / sizes, 1e-6, 1.0 - 1e-6)
        table = np.ones(())
        for p in start:
            table = np.multiply.outer(table, [1.0 - p, p])
        found = _squarem(lambda q: cls(sizes, MultivariateBernoulli(q))._expected_step(points, share), table)
        return cls(sizes, MultivariateBernoulli(found))

    def _expected_step(self, points: FloatArray, share: FloatArray) -> tuple[FloatArray, float]:
        """Return the next law of one draw in the EM algorithm, and the mean log likelihood of this one."""
        counts = share @ self._expected_counts(points)
        likelihood = float(share @ np.asarray(self.log_pmf(points)))
        return (counts / counts.sum()).reshape((2,) * self.dimension), likelihood

    def __repr__(self) -> str:
        trials = self._trials.tolist() if self.dimension <= 6 else f"<{self.dimension} values>"
        return f"MultivariateBinomial({trials}, {self._bernoulli or self._copula!r})"

    @property
    def coupling(self) -> str:
        """How the coordinates are joined: "shared" draws, or "quantile" of one normal vector."""
        return "shared" if self._copula is None else "quantile"

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of states n_i + 1 of each coordinate."""
        return tuple(int(n) + 1 for n in self._trials)

    @property
    def trials(self) -> IntArray:
        """Trials of each coordinate, shape (k,)."""
        return readonly(self._trials)

    @property
    def bernoulli(self) -> LatticeLaw:
        """Law of one draw on {0,1}^k; for `from_moments` a Gaussian copula. Quantiles have none."""
        if self._bernoulli is None:
            raise ValueError(
                'a law with coupling="quantile" is not a sum of draws: it has no law of one draw'
            )
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
        if self._copula is not None:
            return self._copula.mean
        return readonly(self._trials * self.bernoulli.mean)  # (M2)

    @property
    def covariance(self) -> FloatArray:
        """Covariance of this law, shape (k, k); as exact as that of `bernoulli`."""
        if self._copula is not None:
            return self._copula.covariance
        return readonly(np.minimum.outer(self._trials, self._trials) * self.bernoulli.covariance)  # (M2)

    @cached_property
    def probabilities(self) -> FloatArray:
        """Table of P(x), shape (n_1 + 1, ..., n_k + 1).

        It is built by adding one draw after the other, a sum of non-negative terms that keeps its relative
        accuracy. Raises ValueError when it, or that of `bernoulli`, would be too large.
        """
        if self._copula is not None:
            return self._copula.probabilities
        return readonly(self._add_draws(self._draw_groups))

    @cached_property
    def log_probabilities(self) -> FloatArray:
        """Table of log P(x), shape (n_1 + 1, ..., n_k + 1); -inf for impossible states."""
        with np.errstate(divide="ignore"):
            return readonly(np.log(self.probabilities))

    def marginal(self, indices: Sequence[int]) -> LatticeLaw:
        """Return the joint law of the coordinates `indices`, in that order: again a sum of draws."""
        kept = self._check_kept(indices)
        if self._copula is not None:
            return super().marginal(kept)
        return MultivariateBinomial(self._trials[list(kept)], self.bernoulli.marginal(kept))

    @property
    def parameters(self) -> FloatArray:
        """The parameters of the law of one draw."""
        return self._family.parameters

    @property
    def _family(self) -> ExponentialLaw:
        one_draw: object = self._bernoulli
        if not isinstance(one_draw, ExponentialLaw):
            raise ValueError(
                "this needs a law of one draw with canonical parameters, such as MultivariateBernoulli "
                f"or Ising, got {self!r}"
            )
        return one_draw

    def score(self, x: ArrayLike) -> FloatArray:
        """Return the gradient of the log probability of points (..., k) in `parameters`, (..., m).

        Given a sum, it is the expected score of the draws that made it.
        """
        counts = self._expected_counts(self._check_states(x))
        states = enumerate_states(self.bernoulli.shape).astype(np.float64)
        return np.asarray(counts @ self._family.score(states))  # (M11)

    def _expected_counts(self, points: FloatArray) -> FloatArray:
        """Return how often each state was drawn, in expectation given the sums `points`: (..., 2^k).

        Draws that a coordinate takes no part in count with the probabilities of its states, as they should.
        """
        states = enumerate_states(self.bernoulli.shape)
        p = self.bernoulli.probabilities.reshape(-1)
        index, _ = locate(points, self.shape)
        reached = self.probabilities.reshape(-1)[index]
        result = np.zeros((*points.shape[:-1], p.size))
        for number, (taking_part, n_draws) in enumerate(self._draw_groups):
            fewer = [(part, n - (other == number)) for other, (part, n) in enumerate(self._draw_groups)]
            rest = self._add_draws(fewer).reshape(-1)
            for s, state in enumerate(states):
                before = points - state * taking_part
                at, inside = locate(before, self.shape)
                result[..., s] += n_draws * p[s] * np.where(inside, rest[at], 0.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(result / reached[..., np.newaxis])

    def _key(self) -> tuple[Any, ...]:
        inner = self._copula if self._copula is not None else self.bernoulli
        return (self._trials, *inner._key())

    def sample(self, size: int | tuple[int, ...] | None, rng: np.random.Generator) -> IntArray:
        """Draw independent points, int64 of shape ``(*size, k)``.

        >>> from dcmaes.distributions import MultivariateBernoulli
        >>> MultivariateBinomial(3, MultivariateBernoulli([0.0, 1.0])).sample(2, np.random.default_rng(0))
        array([[3],
               [3]])
        """
        if self._copula is not None:
            return self._copula.sample(size, rng)
        shape = check_size(size)
        rng = check_generator("rng", rng)
        result = np.zeros((math.prod(shape), self.dimension), dtype=np.int64)
        for taking_part, n_draws in self._draw_groups:
            result += self._sum_draws(n_draws, result.shape[0], rng) * taking_part  # (M1)
        return result.reshape(*shape, self.dimension)

    @cached_property
    def _draw_groups(self) -> list[tuple[NDArray[np.bool_], int]]:
        """Which coordinates take part in how many consecutive draws."""
        ends = np.unique(self._trials)
        return [
            (self._trials >= end, int(end - start)) for start, end in zip([0, *ends[:-1]], ends, strict=True)
        ]

    def _sum_draws(self, n_draws: int, n_points: int, rng: np.random.Generator) -> IntArray:
        """Return sums of `n_draws` draws, shape (n_points, k), drawn a chunk at a time."""
        # The table of a copula of three variables or more needs quadrature.
        is_cheap = not isinstance(self._bernoulli, GaussianCopula) or self.dimension <= 2
        if is_cheap and self.dimension <= _COUNTED_DIMENSION and n_draws > 2**self.dimension:
            # Counting how often each of the few states came up costs less than drawing them one by one.
            counts = rng.multinomial(n_draws, self.bernoulli.probabilities.reshape(-1), size=n_points)
            return np.asarray(counts @ enumerate_states(self.bernoulli.shape))
        rows = max(1, _CHUNK // self.dimension)
        points_step = max(1, rows // n_draws)
        draws_step = max(1, rows // points_step)
        result = np.zeros((n_points, self.dimension), dtype=np.int64)
        for start in range(0, n_points, points_step):
            part = result[start : start + points_step]
            for first in range(0, n_draws, draws_step):
                n = min(draws_step, n_draws - first)
                # Draws of one point are consecutive, which for a simulated law means different chains.
                part += np.einsum("ijk->ik", self.bernoulli.sample((part.shape[0], n), rng))
        return result

    def _add_draws(self, groups: list[tuple[NDArray[np.bool_], int]]) -> FloatArray:
        """Return the table of sums of so many draws of the coordinates taking part."""
        cells, total = math.prod(self.shape), sum(n for _, n in groups)
        work = cells * 2**self.dimension * total
        if cells > _MAX_CELLS or work > _MAX_WORK:
            raise ValueError(
                f"pmf builds a table of all {cells:.3g} points by {work:.3g} additions, more than the "
                f"{_MAX_CELLS:.0e} and {_MAX_WORK:.0e} allowed: use fewer coordinates or trials, or sample"
            )
        table = np.zeros(self.shape)
        table[(0,) * self.dimension] = 1.0
        done = 0
        for taking_part, n_draws in groups:
            left_out = tuple(int(i) for i in np.flatnonzero(~taking_part))
            one_draw = self.bernoulli.probabilities.sum(axis=left_out, keepdims=True)
            for _ in range(n_draws):
                table = self._add_draw(table, one_draw, done)
                done += 1
        return table

    def _add_draw(self, table: FloatArray, one_draw: FloatArray, done: int) -> FloatArray:
        """Return the table after one more draw, `done` draws being in it."""
        # After `done` draws no coordinate exceeds `done`: only that corner of the table holds anything.
        corner = table[tuple(slice(0, min(done, n) + 1) for n in self._trials.tolist())]
        result = np.zeros_like(table)
        for step in np.ndindex(one_draw.shape):
            room = tuple(
                slice(s, min(s + size, n + 1))
                for s, size, n in zip(step, corner.shape, self._trials, strict=True)
            )
            kept = corner[tuple(slice(0, part.stop - part.start) for part in room)]
            result[room] += one_draw[step] * kept  # (M1)
        return result


def _binomial_survival(n: int, p: float) -> FloatArray:
    """Return P(X >= 1), ..., P(X >= n) of a binomial variable."""
    first, table = binomial_table(n, p)
    whole = np.zeros(n + 1)
    whole[first : first + table.size] = table
    return survival_function(whole)


def _squarem(step: Any, table: FloatArray) -> FloatArray:
    """Iterate the EM algorithm to its fixed point, extrapolating (SQUAREM, Varadhan and Roland 2008)."""
    value = -np.inf
    for _ in range(_MAX_ROUNDS):
        first, value = step(table)
        second, _ = step(first)
        r, v = first - table, second - 2.0 * first + table
        if np.abs(r).max() < _EM_TOLERANCE:
            return np.asarray(second)
        length = -np.sqrt((r**2).sum() / max(float((v**2).sum()), 1e-300))
        jump = table - 2.0 * length * r + length**2 * v
        jump = np.maximum(jump, 0.0)
        jump /= jump.sum()
        third, reached = step(np.maximum(jump, 1e-300))
        table = third if reached >= value else second
    return np.asarray(table)
