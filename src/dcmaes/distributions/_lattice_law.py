"""Laws on a lattice {0..n_1} x ... x {0..n_k}: what they can do with the table of their probabilities."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from dcmaes._validation import FloatArray, IntArray, check_generator, check_integer, check_number, readonly
from dcmaes.distributions import _exponential_family as family
from dcmaes.distributions._law import Law
from dcmaes.distributions._states import check_indices, check_points, check_size, locate, states_of_index
from dcmaes.distributions._table import cumulate, entropy, sample_table


class LatticeLaw(Law):
    """What every law of k variables with states 0..n_i can do.

    It supplies `shape` and `log_probabilities`, and overrides what it can do without the table.
    """

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """Number of states n_i + 1 of each variable."""

    @property
    @abstractmethod
    def log_probabilities(self) -> FloatArray:
        """Table of log P(x), indexed [x1, ..., xk]; -inf for impossible states."""

    @property
    def dimension(self) -> int:
        """Number of variables k."""
        return len(self.shape)

    @cached_property
    def probabilities(self) -> FloatArray:
        """Table of P(x), indexed [x1, ..., xk]."""
        return readonly(np.exp(self.log_probabilities))

    @cached_property
    def _table_moments(self) -> tuple[FloatArray, FloatArray]:
        mean, covariance = family.moments(self.probabilities)
        return readonly(mean), readonly(covariance)

    @cached_property
    def _cumulative(self) -> FloatArray:
        return cumulate(self.probabilities)

    @property
    def mean(self) -> FloatArray:
        """Expectation of each variable, shape (k,)."""
        return self._table_moments[0]

    @property
    def covariance(self) -> FloatArray:
        """Covariance of the variables, shape (k, k)."""
        return self._table_moments[1]

    @property
    def correlation(self) -> FloatArray:
        """Correlation of the variables, shape (k, k); 0 with a variable that is constant."""
        deviation = np.sqrt(self.covariance.diagonal())
        scale = np.outer(deviation, deviation)
        result = np.divide(self.covariance, scale, out=np.zeros_like(scale), where=scale > 0)
        result = np.clip(result, -1.0, 1.0)
        np.fill_diagonal(result, 1.0)
        return readonly(result)

    def entropy(self) -> float:
        """Return the Shannon entropy in nats."""
        return entropy(self.probabilities)

    def kl(self, other: LatticeLaw) -> float:
        """Return the Kullback-Leibler divergence D(self || other) in nats.

        It is inf if `other`, a law on the same lattice, excludes a state that this law allows.
        """
        return family.kl(self.log_probabilities, self._check_other(other).log_probabilities)

    def _check_other(self, other: LatticeLaw) -> LatticeLaw:
        if not isinstance(other, LatticeLaw):
            raise TypeError(f"other must be a law on a lattice such as {{0,1}}^k, got {other!r}")
        if other.dimension != self.dimension:
            raise ValueError(f"other must have dimension {self.dimension}, got {other.dimension}")
        if other.shape != self.shape:
            raise ValueError(f"other must have {self.shape} states, got {other.shape}")
        return other

    def log_pmf(self, x: ArrayLike) -> FloatArray | np.float64:
        """Return log P(x) of points x, shape (..., k); -inf for points that are not states."""
        index, inside = locate(check_points("x", x, self.dimension), self.shape)
        return np.where(inside, self.log_probabilities.reshape(-1)[index], -np.inf)[()]  # (B4)

    def pmf(self, x: ArrayLike) -> FloatArray | np.float64:
        """Return P(x) of points x, shape (..., k); 0 for points that are not states."""
        index, inside = locate(check_points("x", x, self.dimension), self.shape)
        return np.where(inside, self.probabilities.reshape(-1)[index], 0.0)[()]  # (B1)

    def sample(self, size: int | tuple[int, ...] | None, rng: np.random.Generator) -> IntArray:
        """Draw independent points.

        Parameters
        ----------
        size : int, tuple of int, or None
            Number or shape of the draws; None for one point.
        rng : numpy.random.Generator

        Returns
        -------
        ndarray of int64, shape (*size, k)
        """
        uniforms = check_generator("rng", rng).random(check_size(size))
        return states_of_index(sample_table(self._cumulative, np.asarray(uniforms)), self.shape)

    def marginal(self, indices: Sequence[int]) -> LatticeLaw:
        """Return the joint law of the variables `indices`, in that order."""
        from dcmaes.distributions._lattice_table import table_law

        kept = self._check_kept(indices)
        dropped = tuple(i for i in range(self.dimension) if i not in kept)
        table = self.log_probabilities
        if dropped:
            table = np.asarray(special.logsumexp(table, axis=dropped))  # (B8)
        ascending = sorted(kept)
        return table_law(table.transpose([ascending.index(i) for i in kept]))

    def _check_kept(self, indices: Sequence[int]) -> tuple[int, ...]:
        kept = check_indices("indices", indices, self.dimension)
        if not kept:
            raise ValueError("indices must name at least one variable, got none")
        return kept

    def condition(self, values: Mapping[int, int]) -> LatticeLaw:
        """Return the law of the other variables, in their order, given the values of some.

        Parameters
        ----------
        values : mapping of index to state
        """
        from dcmaes.distributions._lattice_table import table_law

        given = check_conditions(values, self.shape)
        cells = tuple(given.get(i, slice(None)) for i in range(self.dimension))
        table = self.log_probabilities[cells]
        if np.isneginf(table).all():
            raise ValueError(f"values must be possible together, but {given} has probability 0")
        return table_law(table)  # (B9)

    def is_independent(self, tol: float = 1e-9) -> bool:
        """Say whether the variables are mutually independent.

        They are if the log of every joint probability is the sum of the logs of its marginals, within `tol`.
        The criterion is scale-free, so that dependence among rare events counts, and it allows for zeros.
        """
        tolerance = check_number("tol", tol, low=0.0)
        product = np.zeros(())
        for own in family.log_marginals(self.log_probabilities):
            product = np.add.outer(product, own)
        joint = self.log_probabilities
        both_impossible = np.isneginf(joint) & np.isneginf(product)
        with np.errstate(invalid="ignore"):  # -inf minus -inf, masked just below
            difference = np.where(both_impossible, 0.0, np.abs(joint - product))
        return bool((difference <= tolerance).all())  # (B10)

    def _support(self) -> tuple[FloatArray, FloatArray]:
        probabilities = self.probabilities.reshape(-1)  # first: it refuses lattices that are too large
        states = states_of_index(np.arange(math.prod(self.shape)), self.shape)
        return states.astype(np.float64), probabilities

    def _check_states(self, x: ArrayLike) -> FloatArray:
        points = check_points("x", x, self.dimension)
        outside = (points < 0) | (points >= np.array(self.shape)) | (points != np.floor(points))
        for where in np.argwhere(outside)[:1]:
            largest = self.shape[where[-1]] - 1
            raise ValueError(
                f"x must hold states, whole numbers from 0 to {largest} for variable {where[-1]}, got "
                f"{points[tuple(where)]:g} at index {tuple(where.tolist())}"
            )
        return points

    def _check_data(self, data: ArrayLike) -> FloatArray:
        return check_observations(data, self.shape)


def check_observations(data: ArrayLike, shape: tuple[int, ...]) -> FloatArray:
    """Return observations (n, k) of variables with `shape` states, or raise naming the first offender.

    >>> check_observations([[0, 1], [1, 1]], (2, 2))
    array([[0., 1.],
           [1., 1.]])
    """
    points = check_points("data", data, len(shape))
    if points.ndim != 2:
        raise ValueError(f"data must have shape (n, {len(shape)}), got {points.shape}")
    sizes = np.array(shape)
    bad = (points < 0) | (points >= sizes) | (points != np.floor(points))
    for i, j in np.argwhere(bad)[:1]:
        raise ValueError(
            f"data must hold whole numbers from 0 to {shape[j] - 1} for variable {j}, got "
            f"{points[i, j]:g} at "
            f"index ({i}, {j})"
        )
    return points


def check_conditions(values: Any, shape: tuple[int, ...]) -> dict[int, int]:
    """Return the mapping of distinct indices to states given to `condition`, or raise naming the offender.

    >>> check_conditions({1: 0}, (2, 2))
    {1: 0}
    """
    if not isinstance(values, Mapping):
        raise TypeError(f"values must be a mapping of index to state, got {values!r}")
    indices = check_indices("values", values, len(shape))
    states = [
        check_integer(f"values[{i}]", value, low=0, high=shape[i] - 1)
        for i, value in zip(indices, values.values(), strict=True)
    ]
    given = dict(zip(indices, states, strict=True))
    if len(given) == len(shape):
        raise ValueError(f"values must leave at least one of the {len(shape)} variables free, got {given}")
    return given


def check_trials(trials: Any, dimension: int | None) -> IntArray:
    """Return the largest state n_i of each variable as a fresh int64 array, at least 1 each.

    >>> check_trials(2, 3), check_trials([1, 5], None)
    (array([2, 2, 2]), array([1, 5]))
    """
    largest = int(np.iinfo(np.int64).max) // 2**10
    if np.ndim(trials) == 0:
        n = check_integer("trials", trials, low=1, high=largest)
        if dimension is None:
            raise ValueError(f"trials must have one entry per variable, got the single number {n}")
        return np.full(dimension, n, dtype=np.int64)
    if np.ndim(trials) != 1 or (dimension is not None and len(trials) != dimension):
        wanted = "one axis" if dimension is None else f"shape ({dimension},)"
        raise ValueError(f"trials must be an integer or have {wanted}, got shape {np.shape(trials)}")
    checked = [check_integer(f"trials[{i}]", n, low=1, high=largest) for i, n in enumerate(trials)]
    return np.array(checked, dtype=np.int64)
