"""The Bernoulli vector of two variables, in the paper's four probabilities and three canonical parameters."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from dcmaes._validation import FloatArray, check_number, readonly
from dcmaes.distributions._bernoulli import MultivariateBernoulli
from dcmaes.distributions._lattice_law import LatticeLaw
from dcmaes.distributions._lattice_table import frequencies
from dcmaes.distributions._law import ExponentialLaw
from dcmaes.distributions._states import check_points


class BivariateCanonical(NamedTuple):
    """The canonical parameters of two {0,1} variables.

    >>> BivariateCanonical(0.5, -0.5, 1.0).theta12
    1.0
    """

    theta1: float
    theta2: float
    theta12: float


class BivariateBernoulli(LatticeLaw, ExponentialLaw):
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
    """

    def __init__(self, p00: float, p10: float, p01: float, p11: float) -> None:
        named = {"p00": p00, "p10": p10, "p01": p01, "p11": p11}
        cells = {name: check_number(name, p, low=0.0, high=1.0) for name, p in named.items()}
        self._law = MultivariateBernoulli(
            [[cells["p00"], cells["p01"]], [cells["p10"], cells["p11"]]]
        )  # (B1)
        self.__dict__["probabilities"] = self._law.probabilities

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
        law = object.__new__(cls)
        law._law = MultivariateBernoulli.from_canonical([[0.0, second], [first, both]])  # (B2)
        return law

    @classmethod
    def fit(cls, data: ArrayLike, weights: ArrayLike | None = None) -> Self:
        """Return the law of the observed frequencies, which is that of maximum likelihood.

        Parameters
        ----------
        data : array_like of zeros and ones, shape (n, 2)
        weights : array_like, shape (n,), optional

        Examples
        --------
        >>> BivariateBernoulli.fit([[0, 1], [1, 1], [0, 0], [0, 1]])
        BivariateBernoulli(p00=0.25, p10=0.0, p01=0.5, p11=0.25)
        """
        table = frequencies(data, weights, (2, 2))
        return cls(*(float(table[cell]) for cell in ((0, 0), (1, 0), (0, 1), (1, 1))))

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of states of each variable, (2, 2)."""
        return (2, 2)

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

    def _key(self) -> tuple[Any, ...]:
        return (self.log_probabilities,)

    @property
    def log_probabilities(self) -> FloatArray:
        """Table of log P(x), shape (2, 2), indexed [x1, x2]; -inf for impossible states."""
        return self._law.log_probabilities

    @property
    def canonical(self) -> BivariateCanonical:
        """The canonical parameters (theta1, theta2, theta12); raises ValueError if a probability is zero."""
        theta = self._law.canonical
        return BivariateCanonical(float(theta[1, 0]), float(theta[0, 1]), float(theta[1, 1]))

    @property
    def log_partition(self) -> float:
        """The log partition function A = -log p00; raises ValueError if p00 is zero."""
        return self._law.log_partition

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
