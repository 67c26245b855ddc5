"""The general law on a small lattice, by the table of its probabilities."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from dcmaes._validation import FloatArray, check_array, readonly
from dcmaes.distributions import _exponential_family as family
from dcmaes.distributions._lattice_law import LatticeLaw, check_observations
from dcmaes.distributions._law import ExponentialLaw, check_weights
from dcmaes.distributions._states import check_points, locate
from dcmaes.distributions._table import check_pmf

MAX_CELLS = 2**26  # of a table: half a gigabyte


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
        table = check_pmf("probabilities", probabilities)
        if table.ndim == 0 or min(table.shape) < 2:
            raise ValueError(
                f"probabilities must have an axis of two or more states per variable, got shape {table.shape}"
            )
        with np.errstate(divide="ignore"):
            self._log_probabilities = readonly(np.log(table))
        self.__dict__["probabilities"] = readonly(table)

    @classmethod
    def _from_log_weights(cls, log_weights: FloatArray) -> Self:
        """Build the law with P(x) proportional to exp(log_weights[x])."""
        law = object.__new__(cls)
        law._log_probabilities = readonly(family.normalise(log_weights).log_probabilities)  # (E1)
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
            Number of states of each variable; by default one more than the largest seen, at least 2.

        Examples
        --------
        >>> LatticeTable.fit([[0], [2], [2], [1]]).probabilities
        array([0.25, 0.25, 0.5 ])
        """
        if shape is None:
            seen = check_array("data", data, shape=(None, None))
            shape = tuple(max(1, int(largest)) + 1 for largest in seen.max(axis=0, initial=1.0))
        return cls(frequencies(data, weights, shape))

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

    def _key(self) -> tuple[Any, ...]:
        return (self._log_probabilities,)

    def __repr__(self) -> str:
        name = type(self).__name__
        if self._log_probabilities.size <= 8:
            return f"{name}({self.probabilities.tolist()})"
        return f"<{name} of {self.dimension} variables>"


def frequencies(data: ArrayLike, weights: ArrayLike | None, shape: tuple[int, ...]) -> FloatArray:
    """Return the weighted frequencies of the states in `data`, (n, k), as a table.

    >>> frequencies([[0, 1], [1, 1]], None, (2, 2)).tolist()
    [[0.0, 0.5], [0.0, 0.5]]
    """
    points = check_observations(data, shape)
    counts = check_weights(weights, len(points))
    index, _ = locate(points, shape)
    table = np.bincount(index, weights=counts, minlength=int(np.prod(shape)))
    return np.asarray(table / table.sum()).reshape(shape)


def table_law(log_weights: FloatArray) -> LatticeTable:
    """Return the law of a table of log weights: a Bernoulli vector if every variable has two states."""
    from dcmaes.distributions._bernoulli import MultivariateBernoulli

    kind = MultivariateBernoulli if set(log_weights.shape) == {2} else LatticeTable
    return kind._from_log_weights(log_weights)
