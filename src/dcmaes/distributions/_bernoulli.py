"""Bernoulli vectors: laws on {0,1}^k by the table of their 2^k probabilities, and the paper's pair."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from dcmaes._validation import FloatArray, check_array, check_integer, check_number, readonly
from dcmaes.distributions._lattice_law import MAX_CELLS, LatticeTable
from dcmaes.distributions._table import (
    check_indices,
    check_points,
    difference_subsets,
    sum_subsets,
    sum_supersets,
)

_MAX_DIMENSION = MAX_CELLS.bit_length() - 1


class MultivariateBernoulli(LatticeTable):
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
    >>> MultivariateBernoulli.fit([[0, 1], [1, 1], [0, 0], [0, 1]]).probabilities.tolist()
    [[0.25, 0.5], [0.0, 0.25]]
    """

    @classmethod
    def _check_shape(cls, name: str, shape: tuple[int, ...]) -> None:
        if not shape or shape != (2,) * len(shape):
            raise ValueError(f"{name} must have shape (2, ..., 2), one axis per variable, got {shape}")

    @classmethod
    def _shape_of(cls, points: FloatArray) -> tuple[int, ...]:
        return (2,) * _check_dimension(points.shape[1])

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

    @property
    def parameters(self) -> FloatArray:
        """Canonical parameters of the non-empty subsets, shape (2^k - 1,): `canonical` without its first."""
        return self.canonical.reshape(-1)[1:]

    def statistics(self, x: ArrayLike) -> FloatArray:
        """Return the products of x_i over each non-empty subset, of points (..., k), as (..., 2^k - 1)."""
        points = check_points("x", x, self.dimension).astype(np.int64)
        ones = points @ (2 ** np.arange(self.dimension - 1, -1, -1))
        subsets = np.arange(1, 2**self.dimension)
        return np.asarray((ones[..., np.newaxis] & subsets) == subsets, dtype=np.float64)

    @property
    def mean_statistics(self) -> FloatArray:
        """Every mixed moment E[prod of x_i over A], shape (2^k - 1,)."""
        return readonly(sum_supersets(self.probabilities).reshape(-1)[1:])  # (B7)

    @cached_property
    def canonical(self) -> FloatArray:
        """Canonical parameters theta, shape (2,)*k: cell [x1, ..., xk] belongs to the subset {i: x_i = 1}.

        Cell [0, ..., 0] belongs to no parameter and holds 0. Raises ValueError if a probability is zero.
        """
        return readonly(_canonical(self._log_probabilities))


class BivariateCanonical(NamedTuple):
    """The canonical parameters of two {0,1} variables.

    >>> BivariateCanonical(0.5, -0.5, 1.0).theta12
    1.0
    """

    theta1: float
    theta2: float
    theta12: float


class BivariateBernoulli(LatticeTable):
    """The law of two possibly dependent {0,1} variables.

    Parameters
    ----------
    p00, p10, p01, p11 : float
        P(X1 = i, X2 = j) as `pij`; must sum to one. Zeros are allowed.

    Examples
    --------
    >>> law = BivariateBernoulli(p00=0.1, p10=0.3, p01=0.2, p11=0.4)
    >>> law.mean
    array([0.7, 0.6])
    >>> round(law.canonical.theta12, 4)
    -0.4055
    >>> round(float(law.covariance[0, 1]), 4), law.is_independent()
    (-0.02, False)
    >>> law.condition({1: 1}).mean.round(4)
    array([0.6667])
    >>> BivariateBernoulli.fit([[0, 1], [1, 1], [0, 0], [0, 1]])
    BivariateBernoulli(p00=0.25, p10=0.0, p01=0.5, p11=0.25)
    """

    def __init__(self, p00: float, p10: float, p01: float, p11: float) -> None:
        named = {"p00": p00, "p10": p10, "p01": p01, "p11": p11}
        cells = {name: check_number(name, p, low=0.0, high=1.0) for name, p in named.items()}
        self._keep([[cells["p00"], cells["p01"]], [cells["p10"], cells["p11"]]])  # (B1)

    @classmethod
    def _check_shape(cls, name: str, shape: tuple[int, ...]) -> None:
        if shape != (2, 2):
            raise ValueError(f"{name} must have shape (2, 2), got {shape}")

    @classmethod
    def _shape_of(cls, points: FloatArray) -> tuple[int, ...]:
        return (2, 2)

    @classmethod
    def from_canonical(cls, theta1: float, theta2: float, theta12: float) -> Self:
        """Build the law with log P(x) = theta1 x1 + theta2 x2 + theta12 x1 x2 - A.

        Examples
        --------
        >>> law = BivariateBernoulli.from_canonical(0.0, 0.0, 1.0)
        >>> round(law.p11 / law.p00, 6)
        2.718282
        """
        named = {"theta1": theta1, "theta2": theta2, "theta12": theta12}
        first, second, both = (check_number(name, theta) for name, theta in named.items())
        law = cls._from_log_weights(sum_subsets(np.array([[0.0, second], [first, both]])))  # (B2)
        law.__dict__["canonical"] = BivariateCanonical(first, second, both)
        return law

    @property
    def parameters(self) -> FloatArray:
        """The canonical parameters theta1, theta2, theta12, shape (3,)."""
        return readonly(np.array(self.canonical))

    def statistics(self, x: ArrayLike) -> FloatArray:
        """Return x1, x2 and x1 x2 of points x, shape (..., 2), as (..., 3)."""
        points = check_points("x", x, 2)
        return np.concatenate([points, points.prod(axis=-1, keepdims=True)], axis=-1)

    @property
    def mean_statistics(self) -> FloatArray:
        """Expectations of x1, x2 and x1 x2, shape (3,)."""
        return readonly(np.append(self.mean, self.p11))

    @cached_property
    def canonical(self) -> BivariateCanonical:
        """The canonical parameters (theta1, theta2, theta12); raises ValueError if a probability is zero."""
        theta = _canonical(self._log_probabilities)
        return BivariateCanonical(float(theta[1, 0]), float(theta[0, 1]), float(theta[1, 1]))

    @property
    def p00(self) -> float:
        """P(X1 = 0, X2 = 0)."""
        return float(self.probabilities[0, 0])

    @property
    def p10(self) -> float:
        """P(X1 = 1, X2 = 0)."""
        return float(self.probabilities[1, 0])

    @property
    def p01(self) -> float:
        """P(X1 = 0, X2 = 1)."""
        return float(self.probabilities[0, 1])

    @property
    def p11(self) -> float:
        """P(X1 = 1, X2 = 1)."""
        return float(self.probabilities[1, 1])

    def __repr__(self) -> str:
        return f"BivariateBernoulli(p00={self.p00!r}, p10={self.p10!r}, p01={self.p01!r}, p11={self.p11!r})"


def _canonical(log_p: FloatArray) -> FloatArray:
    """Return the canonical parameters of a table of log probabilities, in its shape."""
    if np.isneginf(log_p).any():
        cell = tuple(int(i) for i in np.argwhere(np.isneginf(log_p))[0])
        raise ValueError(f"canonical needs positive probabilities, but probabilities{list(cell)} is 0")
    theta = difference_subsets(log_p)  # (B5)
    theta[(0,) * log_p.ndim] = 0.0
    return theta


def _check_dimension(dimension: int) -> int:
    return check_integer("dimension", dimension, low=1, high=_MAX_DIMENSION)


def _table_of_array(theta: ArrayLike, dimension: int | None) -> FloatArray:
    """Return a fresh (2,)*k table of the parameters in an array, its ignored first cell set to 0."""
    try:
        table = np.array(theta, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"theta must be an array of numbers or a mapping, got {theta!r}") from None
    MultivariateBernoulli._check_shape("theta", table.shape)
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
    table = np.zeros((2,) * _check_dimension(dimension))
    seen = set()
    for key, value in theta.items():
        subset = check_indices(f"theta key {key}", key, dimension)
        if frozenset(subset) in seen:
            raise ValueError(f"theta must give each set of indices once, got {tuple(sorted(subset))} twice")
        seen.add(frozenset(subset))
        table[tuple(int(i in subset) for i in range(dimension))] = check_number(f"theta[{key}]", value)
    return table
