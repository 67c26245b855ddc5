"""Laws on a lattice {0..n_1} x ... x {0..n_k}: what they can do with the table of their probabilities.

`LatticeTable` is the general one, by its table; every other family has a shorter way to it.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
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
    readonly,
)
from dcmaes.distributions import _table
from dcmaes.distributions._law import ExponentialLaw, Law, check_weights
from dcmaes.distributions._table import (
    check_indices,
    check_pmf,
    check_points,
    check_size,
    check_whole,
    enumerate_states,
    locate,
    sample_table,
    states_of_index,
)

MAX_CELLS = 2**26  # of a table: half a gigabyte


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
        mean, covariance = _table.moments(self.probabilities)
        return readonly(mean), readonly(covariance)

    @cached_property
    def _cumulative(self) -> FloatArray:
        return _table.cumulate(self.probabilities)

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
        result = np.clip(_table.in_deviations(self.covariance, self.covariance.diagonal()), -1.0, 1.0)
        np.fill_diagonal(result, 1.0)
        return readonly(result)

    def entropy(self) -> float:
        """Return the Shannon entropy in nats."""
        return _table.entropy(self.probabilities)

    def kl(self, other: LatticeLaw) -> float:
        """Return the Kullback-Leibler divergence D(self || other) in nats.

        It is inf if `other`, a law on the same lattice, excludes a state that this law allows.
        """
        return _table.kl(self.log_probabilities, self._check_other(other).log_probabilities)

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
        for own in _table.marginals(self.log_probabilities, np.logaddexp):
            product = np.add.outer(product, own)
        joint = self.log_probabilities
        both_impossible = np.isneginf(joint) & np.isneginf(product)
        with np.errstate(invalid="ignore"):  # -inf minus -inf, masked just below
            difference = np.where(both_impossible, 0.0, np.abs(joint - product))
        return bool((difference <= tolerance).all())  # (B10)

    def _support(self) -> tuple[FloatArray, FloatArray]:
        probabilities = self.probabilities.reshape(-1)  # first: it refuses lattices that are too large
        return enumerate_states(self.shape).astype(np.float64), probabilities

    def _check_states(self, x: ArrayLike) -> FloatArray:
        return check_whole("x", check_points("x", x, self.dimension), 0, np.array(self.shape) - 1)

    def _check_data(self, data: ArrayLike) -> FloatArray:
        return check_observations(data, self.shape)


class LatticeTable(LatticeLaw, ExponentialLaw):
    """Any law of k variables with a few states 0..n_i each, by the table of its probabilities.

    Parameters
    ----------
    probabilities : array_like, shape (n_1 + 1, ..., n_k + 1)
        P(x), indexed [x1, ..., xk]; must sum to one. Zeros are allowed.

    Notes
    -----
    The family is exponential: its parameters are log P(x) / P(0, ..., 0) for every state x but the first, its
    statistics the indicators of these states. `marginal` and `condition` of other laws return it.

    Examples
    --------
    >>> law = LatticeTable([[0.1, 0.2, 0.1], [0.2, 0.3, 0.1]])
    >>> law.mean.round(12).tolist()
    [0.6, 0.9]
    >>> law.condition({0: 1}).probabilities.round(4)
    array([0.3333, 0.5   , 0.1667])
    """

    def __init__(self, probabilities: ArrayLike) -> None:
        self._keep(probabilities)

    def _keep(self, probabilities: ArrayLike) -> Self:
        table = check_pmf("probabilities", probabilities)
        self._check_shape("probabilities", table.shape)
        with np.errstate(divide="ignore"):
            self._log_probabilities = readonly(np.log(table))
        self.__dict__["probabilities"] = readonly(table)
        return self

    @classmethod
    def _check_shape(cls, name: str, shape: tuple[int, ...]) -> None:
        """Raise unless a table of this shape is one of the family."""
        if not shape or min(shape) < 2:
            raise ValueError(
                f"{name} must have an axis of two or more states per variable, got shape {shape}"
            )

    @classmethod
    def _from_log_weights(cls, log_weights: FloatArray) -> Self:
        """Build the law with P(x) proportional to exp(log_weights[x])."""
        law = object.__new__(cls)
        law._log_probabilities = readonly(_table.normalise(log_weights).log_probabilities)  # (E1)
        return law

    @classmethod
    def fit(
        cls, data: ArrayLike, weights: ArrayLike | None = None, *, shape: tuple[int, ...] | None = None
    ) -> Self:
        """Return the law of the observed frequencies, which is that of maximum likelihood.

        Parameters
        ----------
        data : array_like, shape (n, k)
            Observations.
        weights : array_like, shape (n,), optional
            How often each counts; 1 by default.
        shape : tuple of int, optional
            Number of states of each variable; by default one more than the largest seen, at least 2, and 2
            for Bernoulli vectors.

        Examples
        --------
        >>> LatticeTable.fit([[0], [2], [2], [1]]).probabilities
        array([0.25, 0.25, 0.5 ])
        """
        points = check_array("data", data, shape=(None, None))
        sizes = cls._shape_of(points) if shape is None else tuple(shape)
        cls._check_shape("the table of frequencies", sizes)
        points = check_observations(points, sizes)
        counts = check_weights(weights, len(points))
        index, _ = locate(points, sizes)
        table = np.bincount(index, weights=counts, minlength=math.prod(sizes))
        return object.__new__(cls)._keep((table / table.sum()).reshape(sizes))

    @classmethod
    def _shape_of(cls, points: FloatArray) -> tuple[int, ...]:
        """Return how many states the variables of observations (n, k) are taken to have."""
        return tuple(max(1, int(largest)) + 1 for largest in points.max(axis=0, initial=1.0))

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of states of each variable."""
        return self._log_probabilities.shape

    @property
    def log_probabilities(self) -> FloatArray:
        """Table of log P(x), indexed [x1, ..., xk]; -inf for impossible states."""
        return self._log_probabilities

    @property
    def parameters(self) -> FloatArray:
        """Log odds of each state but the first against the first, shape (number of states - 1,)."""
        flat = self._log_probabilities.reshape(-1)
        return readonly(flat[1:] - flat[0])

    def statistics(self, x: ArrayLike) -> FloatArray:
        """Return which state but the first each of the points (..., k) is: one 1 or none in (..., m)."""
        index, _ = locate(check_points("x", x, self.dimension), self.shape)
        others = np.arange(1, self._log_probabilities.size)
        return np.asarray(index[..., np.newaxis] == others, dtype=np.float64)

    @property
    def mean_statistics(self) -> FloatArray:
        """Probabilities of the states but the first, shape (m,)."""
        return self.probabilities.reshape(-1)[1:]

    @property
    def log_partition(self) -> float:
        """The log partition function A = -log P(0, ..., 0); raises ValueError if that probability is zero."""
        origin = float(self._log_probabilities[(0,) * self.dimension])
        if np.isneginf(origin):
            raise ValueError("log_partition needs a positive probability of the state of zeros, but it is 0")
        return -origin  # (B3)

    def _key(self) -> tuple[Any, ...]:
        return (self._log_probabilities,)

    def __repr__(self) -> str:
        name = type(self).__name__
        if self._log_probabilities.size <= 8:
            return f"{name}({self.probabilities.tolist()})"
        return f"<{name} of {self.dimension} variables>"


def table_law(log_weights: FloatArray) -> LatticeTable:
    """Return the law of a table of log weights: a Bernoulli vector if every variable has two states."""
    from dcmaes.distributions._bernoulli import MultivariateBernoulli

    kind = MultivariateBernoulli if set(log_weights.shape) == {2} else LatticeTable
    return kind._from_log_weights(log_weights)


def check_observations(data: ArrayLike, shape: tuple[int, ...]) -> FloatArray:
    """Return observations (n, k) of variables with `shape` states, or raise naming the first offender.

    >>> check_observations([[0, 1], [1, 1]], (2, 2))
    array([[0., 1.],
           [1., 1.]])
    """
    points = check_points("data", data, len(shape))
    if points.ndim != 2:
        raise ValueError(f"data must have shape (n, {len(shape)}), got {points.shape}")
    return check_whole("data", points, 0, np.array(shape) - 1)


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


def check_trials(trials: Any, dimension: int) -> IntArray:
    """Return the largest state n_i of each variable as a fresh int64 array, at least 1 each.

    >>> check_trials(2, 3), check_trials([1, 5], 2)
    (array([2, 2, 2]), array([1, 5]))
    """
    largest = int(np.iinfo(np.int64).max) // 2**10
    if np.ndim(trials) == 0:
        return np.full(dimension, check_integer("trials", trials, low=1, high=largest), dtype=np.int64)
    if np.shape(trials) != (dimension,):
        wanted = f"an integer or have shape ({dimension},)"
        raise ValueError(f"trials must be {wanted}, got shape {np.shape(trials)}")
    checked = [check_integer(f"trials[{i}]", n, low=1, high=largest) for i, n in enumerate(trials)]
    return np.array(checked, dtype=np.int64)
