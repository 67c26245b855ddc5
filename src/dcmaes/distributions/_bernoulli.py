"""Bernoulli vectors: laws on {0,1}^k given by the table of their 2^k probabilities."""

from __future__ import annotations

from abc import ABC, abstractmethod
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
from dcmaes.distributions import _exponential_family as family
from dcmaes.distributions._states import check_indices, check_points, check_size, locate, states_of_index
from dcmaes.distributions._subsets import difference_subsets, sum_subsets
from dcmaes.distributions._table import check_pmf, cumulate, entropy, sample_table


class BernoulliLaw(ABC):
    """What every law on {0,1}^k can do once it supplies `dimension` and `log_probabilities`."""

    @property
    @abstractmethod
    def dimension(self) -> int:
        """Number of variables k."""

    @property
    @abstractmethod
    def log_probabilities(self) -> FloatArray:
        """Table of log P(x), shape (2,)*k, indexed [x1, ..., xk]; -inf for impossible states."""

    @cached_property
    def probabilities(self) -> FloatArray:
        """Table of P(x), shape (2,)*k, indexed [x1, ..., xk]."""
        return readonly(np.exp(self.log_probabilities))

    @cached_property
    def _table_moments(self) -> tuple[FloatArray, FloatArray]:
        mean, second = family.moments(self.probabilities)
        return readonly(mean), readonly(family.covariance(mean, second))

    @cached_property
    def _cumulative(self) -> FloatArray:
        return cumulate(self.probabilities)

    @property
    def mean(self) -> FloatArray:
        """P(x_i = 1) for each variable, shape (k,)."""
        return self._table_moments[0]

    @property
    def covariance(self) -> FloatArray:
        """Covariance of the variables, shape (k, k)."""
        return self._table_moments[1]

    def entropy(self) -> float:
        """Return the Shannon entropy in nats."""
        return entropy(self.probabilities)

    def kl(self, other: BernoulliLaw) -> float:
        """Return the Kullback-Leibler divergence D(self || other) in nats.

        It is inf if `other`, a law on {0,1}^k of the same dimension, excludes a state that this law allows.
        """
        if not isinstance(other, BernoulliLaw):
            raise TypeError(f"other must be a law on {{0,1}}^k, got {other!r}")
        if other.dimension != self.dimension:
            raise ValueError(f"other must have dimension {self.dimension}, got {other.dimension}")
        return family.kl(self.log_probabilities, other.log_probabilities)

    def log_pmf(self, x: ArrayLike) -> FloatArray | np.float64:
        """Return log P(x) of points x, shape (..., k); -inf for points that are not states."""
        index, inside = locate(check_points("x", x, self.dimension), (2,) * self.dimension)
        return np.where(inside, self.log_probabilities.reshape(-1)[index], -np.inf)[()]  # (B4)

    def pmf(self, x: ArrayLike) -> FloatArray | np.float64:
        """Return P(x) of points x, shape (..., k); 0 for points that are not states."""
        index, inside = locate(check_points("x", x, self.dimension), (2,) * self.dimension)
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
        shape = check_size(size)
        uniforms = check_generator("rng", rng).random(shape)
        return states_of_index(sample_table(self._cumulative, np.asarray(uniforms)), self.dimension)

    def marginal(self, indices: Sequence[int]) -> MultivariateBernoulli:
        """Return the joint law of the variables `indices`, in that order."""
        kept = check_indices("indices", indices, self.dimension)
        if not kept:
            raise ValueError("indices must name at least one variable, got none")
        dropped = tuple(i for i in range(self.dimension) if i not in kept)
        table = self.log_probabilities
        if dropped:
            table = np.asarray(special.logsumexp(table, axis=dropped))  # (B8)
        ascending = sorted(kept)
        return MultivariateBernoulli._from_log_weights(table.transpose([ascending.index(i) for i in kept]))

    def condition(self, values: Mapping[int, int]) -> BernoulliLaw:
        """Return the law of the other variables, in their order, given the values (0 or 1) of some.

        Parameters
        ----------
        values : mapping of index to 0 or 1
        """
        given = check_conditions(values, self.dimension)
        cells = tuple(given.get(i, slice(None)) for i in range(self.dimension))
        table = self.log_probabilities[cells]
        if np.isneginf(table).all():
            raise ValueError(f"values must be possible together, but {given} has probability 0")
        return MultivariateBernoulli._from_log_weights(table)  # (B9)

    def is_independent(self, tol: float = 1e-9) -> bool:
        """Say whether the variables are mutually independent.

        They are if the log of every joint probability is the sum of the logs of its marginals, within `tol`.
        The criterion is scale-free, so that dependence among rare events counts, and it allows for zeros.
        """
        tolerance = check_number("tol", tol, low=0.0)
        product = np.zeros(())
        for pair in family.log_marginals(self.log_probabilities):
            product = np.add.outer(product, pair)
        joint = self.log_probabilities
        both_impossible = np.isneginf(joint) & np.isneginf(product)
        with np.errstate(invalid="ignore"):  # -inf minus -inf, masked just below
            difference = np.where(both_impossible, 0.0, np.abs(joint - product))
        return bool((difference <= tolerance).all())  # (B10)


class MultivariateBernoulli(BernoulliLaw):
    """The general law of k possibly dependent {0,1} variables, by its table of probabilities.

    Parameters
    ----------
    probabilities : array_like, shape (2,)*k
        P(x), indexed [x1, ..., xk]; must sum to one. Zeros are allowed.

    Notes
    -----
    The family is exponential, with one canonical parameter theta_A per non-empty subset A of the variables
    (Proposition 5 of the paper; formulas B4 to B6). Logarithms of the probabilities are kept, so that laws
    made from extreme canonical parameters lose nothing to underflow.

    Examples
    --------
    >>> law = MultivariateBernoulli([[0.1, 0.2], [0.3, 0.4]])
    >>> law.mean
    array([0.7, 0.6])
    >>> float(law.pmf([1, 0]))
    0.3
    >>> law.sample(3, np.random.default_rng(0))
    array([[1, 1],
           [0, 1],
           [0, 0]])
    >>> law.marginal([1]).probabilities
    array([0.4, 0.6])
    >>> law.condition({0: 1}).mean.round(4)
    array([0.5714])
    >>> round(law.entropy(), 4), law.is_independent()
    (1.2799, False)
    """

    def __init__(self, probabilities: ArrayLike) -> None:
        table = check_pmf("probabilities", probabilities)
        _check_table_shape("probabilities", table)
        with np.errstate(divide="ignore"):
            self._log_probabilities = readonly(np.log(table))
        self.__dict__["probabilities"] = readonly(table)

    @classmethod
    def from_canonical(
        cls, theta: ArrayLike | Mapping[tuple[int, ...], float], *, dimension: int | None = None
    ) -> Self:
        """Build the law from its canonical parameters theta_A.

        The log of P(x) is the sum of theta_A over the subsets A of the ones of x, minus the log partition.

        Parameters
        ----------
        theta : array_like of shape (2,)*k, or mapping of index tuples to numbers
            In the array, cell [x1, ..., xk] holds theta of the subset {i: x_i = 1}; [0, ..., 0] is ignored.
            In the mapping, `(0,)` is the parameter of variable 0 and `(0, 2)` the interaction of 0 and 2;
            those left out are 0.
        dimension : int, optional
            Number of variables when `theta` is a mapping; by default one more than the largest index.

        Examples
        --------
        >>> law = MultivariateBernoulli.from_canonical({(0,): 0.5, (0, 2): -1.0})
        >>> law.dimension, float(law.canonical[1, 0, 1])
        (3, -1.0)
        """
        if isinstance(theta, Mapping):
            table = _table_of_mapping(theta, dimension)
        else:
            table = _table_of_array(theta, dimension)
        law = cls._from_log_weights(sum_subsets(table))  # (B6)
        law.__dict__["canonical"] = readonly(table)
        return law

    @classmethod
    def _from_log_weights(cls, log_weights: FloatArray) -> Self:
        """Build the law with P(x) proportional to exp(log_weights[x]), shape (2,)*k."""
        law = object.__new__(cls)
        law._log_probabilities = readonly(log_weights - family.log_partition(log_weights))  # (E1)
        return law

    @property
    def dimension(self) -> int:
        """Number of variables k."""
        return self._log_probabilities.ndim

    @property
    def log_probabilities(self) -> FloatArray:
        """Table of log P(x), shape (2,)*k, indexed [x1, ..., xk]; -inf for impossible states."""
        return self._log_probabilities

    @cached_property
    def canonical(self) -> FloatArray:
        """Canonical parameters theta, shape (2,)*k: cell [x1, ..., xk] belongs to the subset {i: x_i = 1}.

        Cell [0, ..., 0] belongs to no parameter and holds 0. Raises ValueError if a probability is zero.
        """
        log_p = self._log_probabilities
        if np.isneginf(log_p).any():
            cell = tuple(int(i) for i in np.argwhere(np.isneginf(log_p))[0])
            raise ValueError(f"canonical needs positive probabilities, but probabilities{list(cell)} is 0")
        theta = difference_subsets(log_p)  # (B5)
        theta[(0,) * log_p.ndim] = 0.0
        return readonly(theta)

    @property
    def log_partition(self) -> float:
        """The log partition function A = -log P(0, ..., 0); raises ValueError if that probability is zero."""
        origin = float(self._log_probabilities[(0,) * self.dimension])
        if np.isneginf(origin):
            raise ValueError("log_partition needs a positive probability of the state of zeros, but it is 0")
        return -origin  # (B3)

    def __repr__(self) -> str:
        if self.dimension <= 3:
            return f"MultivariateBernoulli({self.probabilities.tolist()})"
        return f"<MultivariateBernoulli of {self.dimension} variables>"


def check_conditions(values: Any, dimension: int) -> dict[int, int]:
    """Return the mapping of distinct indices to 0 or 1 given to `condition`, or raise naming the offender.

    >>> check_conditions({1: 0}, 2)
    {1: 0}
    """
    if not isinstance(values, Mapping):
        raise TypeError(f"values must be a mapping of index to 0 or 1, got {values!r}")
    indices = check_indices("values", values, dimension)
    states = [check_integer(f"values[{i}]", value, low=0, high=1) for i, value in values.items()]
    given = dict(zip(indices, states, strict=True))
    if len(given) == dimension:
        raise ValueError(f"values must leave at least one of the {dimension} variables free, got {given}")
    return given


def _check_table_shape(name: str, table: np.ndarray[Any, Any]) -> None:
    if table.ndim == 0 or table.shape != (2,) * table.ndim:
        raise ValueError(f"{name} must have shape (2, ..., 2), one axis per variable, got {table.shape}")


def _table_of_array(theta: ArrayLike, dimension: int | None) -> FloatArray:
    """Return a fresh (2,)*k table of the parameters in an array, its ignored first cell set to 0."""
    try:
        table = np.array(theta, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"theta must be an array of numbers or a mapping, got {theta!r}") from None
    _check_table_shape("theta", table)
    if dimension is not None and check_integer("dimension", dimension) != table.ndim:
        raise ValueError(f"theta must have dimension = {dimension} axes of length 2, got shape {table.shape}")
    table[(0,) * table.ndim] = 0.0
    return check_array("theta", table)


def _table_of_mapping(theta: Mapping[tuple[int, ...], float], dimension: int | None) -> FloatArray:
    """Return the (2,)*k table of the parameters in a mapping of index tuples."""
    for key in theta:
        if not isinstance(key, tuple) or not key:
            raise TypeError(f"theta must have tuples of indices as keys, such as (0,) or (0, 2), got {key!r}")
    if dimension is None:
        if not theta:
            raise ValueError("theta is empty: give `dimension` as well")
        dimension = 1 + max(check_integer("an index in theta", i, low=0) for key in theta for i in key)
    table = np.zeros((2,) * check_integer("dimension", dimension, low=1))
    seen = set()
    for key, value in theta.items():
        subset = check_indices(f"theta key {key}", key, dimension)
        if frozenset(subset) in seen:
            raise ValueError(f"theta must give each set of indices once, got {tuple(sorted(subset))} twice")
        seen.add(frozenset(subset))
        table[tuple(int(i in subset) for i in range(dimension))] = check_number(f"theta[{key}]", value)
    return table
