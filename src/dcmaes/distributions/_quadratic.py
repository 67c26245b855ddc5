"""The quadratic exponent a.x + x'Bx/2 on {0..n_i}: its table, and the statistics it is linear in."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dcmaes._validation import FloatArray, IntArray


class Statistics(NamedTuple):
    """The sufficient statistics x_i, then x_i^2 / 2 where n_i > 1, then x_i x_j for i < j."""

    trials: IntArray
    squared: IntArray  # the variables whose square is a statistic of its own
    first: IntArray
    second: IntArray

    @classmethod
    def of(cls, trials: IntArray) -> Statistics:
        """Return the statistics of variables with states 0..trials.

        >>> Statistics.of(np.array([1, 5])).squared.tolist()
        [1]
        """
        first, second = np.triu_indices(trials.size, 1)
        return cls(trials, np.flatnonzero(trials > 1), first, second)

    def at(self, x: FloatArray) -> FloatArray:
        """Return the statistics of points x, shape (..., k), as (..., m)."""
        squares = 0.5 * x[..., self.squared] ** 2
        products = x[..., self.first] * x[..., self.second]
        return np.concatenate([x, squares, products], axis=-1)  # (Y2)

    def pack(self, linear: FloatArray, quadratic: FloatArray) -> FloatArray:
        """Return the parameters of the statistics, shape (m,)."""
        diagonal = quadratic.diagonal()[self.squared]
        return np.concatenate([linear, diagonal, quadratic[self.first, self.second]])

    def unpack(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return linear (k,) and symmetric quadratic (k, k) of a vector of parameters."""
        k, n_squares = self.trials.size, self.squared.size
        quadratic = np.zeros((k, k))
        quadratic[self.first, self.second] = theta[k + n_squares :]
        quadratic += quadratic.T
        quadratic[self.squared, self.squared] = theta[k : k + n_squares]
        return theta[:k].copy(), quadratic

    def fold(self, linear: FloatArray, quadratic: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the same exponent with x_i^2 of variables in {0,1}, which is x_i, in the linear part.

        >>> Statistics.of(np.array([1])).fold(np.array([1.0]), np.array([[4.0]]))
        (array([3.]), array([[0.]]))
        """
        binary = self.trials == 1
        diagonal = np.where(binary, quadratic.diagonal(), 0.0)
        return linear + 0.5 * diagonal, quadratic - np.diag(diagonal)  # (Y3)


class Exponent(NamedTuple):
    """The exponent a.x + x'Bx/2 of variables with states 0..n_i, B with no diagonal where n_i is 1."""

    trials: IntArray
    linear: FloatArray
    quadratic: FloatArray

    @classmethod
    def of(cls, trials: IntArray, linear: FloatArray, quadratic: FloatArray) -> Exponent:
        """Return the exponent in its canonical form."""
        return cls(trials, *Statistics.of(trials).fold(linear, quadratic))

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of states of each variable."""
        return tuple(int(n) + 1 for n in self.trials)

    def table(self) -> FloatArray:
        """Return the exponent of all states, shape (n_1 + 1, ..., n_k + 1), in a few operations per state.

        >>> quadratic = np.array([[0.0, 5.0], [5.0, 0.0]])
        >>> Exponent(np.array([1, 1]), np.array([1.0, 2.0]), quadratic).table().tolist()
        [[0.0, 2.0], [1.0, 8.0]]
        """
        shape = self.shape
        table = np.zeros(1)
        for i in reversed(range(len(shape))):  # each turn puts variable i in front of the variables after it
            slope = np.array([self.linear[i]])
            for j in reversed(range(i + 1, len(shape))):
                slope = np.add.outer(self.quadratic[i, j] * np.arange(shape[j]), slope).reshape(-1)
            x = np.arange(shape[i])[:, np.newaxis]
            # (Y1), and (I1) for two states
            table = (table + x * slope + 0.5 * self.quadratic[i, i] * x**2).reshape(-1)
        return table.reshape(shape)

    def at(self, x: FloatArray) -> FloatArray:
        """Return the exponent at points x, shape (..., k)."""
        return np.asarray(x @ self.linear + 0.5 * ((x @ self.quadratic) * x).sum(axis=-1))  # (Y1)

    def own(self, i: int) -> FloatArray:
        """Return the part that only variable i enters, for each of its states."""
        x = np.arange(int(self.trials[i]) + 1)
        return np.asarray(self.linear[i] * x + 0.5 * self.quadratic[i, i] * x**2)

    def pair(self, i: int, j: int) -> FloatArray:
        """Return the part that variables i and j enter together, for all of their states."""
        states = (np.arange(int(self.trials[v]) + 1) for v in (i, j))
        return np.asarray(self.quadratic[i, j] * np.multiply.outer(*states))

    def condition(self, given: dict[int, int]) -> Exponent:
        """Return the exponent of the other variables, in their order, given the states of some."""
        free = [i for i in range(self.trials.size) if i not in given]
        fixed, states = list(given), np.array(list(given.values()), dtype=np.float64)
        linear = self.linear[free] + self.quadratic[np.ix_(free, fixed)] @ states  # (I4)
        return Exponent(self.trials[free], linear, self.quadratic[np.ix_(free, free)])
