"""Bernoulli vectors: laws on {0,1}^k given by the table of their 2^k probabilities."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from dcmaes._validation import FloatArray, check_array, check_integer, check_number, readonly
from dcmaes.distributions._lattice_table import MAX_CELLS, LatticeTable, frequencies
from dcmaes.distributions._states import check_indices, check_points
from dcmaes.distributions._subsets import difference_subsets, sum_subsets, sum_supersets
from dcmaes.distributions._table import check_pmf

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
    def fit(
        cls, data: ArrayLike, weights: ArrayLike | None = None, *, shape: tuple[int, ...] | None = None
    ) -> Self:
        """Return the law of the observed frequencies, which is that of maximum likelihood.

        Parameters
        ----------
        data : array_like of zeros and ones, shape (n, k)
            Observations.
        weights : array_like, shape (n,), optional
            How often each counts; 1 by default.
        shape : tuple of int, optional
            Implied: two states for each variable.

        Examples
        --------
        >>> MultivariateBernoulli.fit([[0, 1], [1, 1], [0, 0], [0, 1]]).probabilities.tolist()
        [[0.25, 0.5], [0.0, 0.25]]
        """
        points = check_array("data", data, shape=(None, None))
        binary = (2,) * _check_dimension(points.shape[1])
        if shape is not None and tuple(shape) != binary:
            raise ValueError(f"shape must be {binary} for {{0,1}} variables, got {shape}")
        return cls(frequencies(points, weights, binary))

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


def _check_table_shape(name: str, table: np.ndarray[Any, Any]) -> None:
    if table.ndim == 0 or table.shape != (2,) * table.ndim:
        raise ValueError(f"{name} must have shape (2, ..., 2), one axis per variable, got {table.shape}")


def _check_dimension(dimension: int) -> int:
    return check_integer("dimension", dimension, low=1, high=_MAX_DIMENSION)


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
    table = np.zeros((2,) * _check_dimension(dimension))
    seen = set()
    for key, value in theta.items():
        subset = check_indices(f"theta key {key}", key, dimension)
        if frozenset(subset) in seen:
            raise ValueError(f"theta must give each set of indices once, got {tuple(sorted(subset))} twice")
        seen.add(frozenset(subset))
        table[tuple(int(i in subset) for i in range(dimension))] = check_number(f"theta[{key}]", value)
    return table
