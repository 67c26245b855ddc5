"""The Ising model: Bernoulli vectors whose canonical parameters of order three and more are zero."""

from __future__ import annotations

from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from dcmaes._validation import FloatArray, IntArray, check_array, check_integer, readonly
from dcmaes.distributions._feasibility import check_moments
from dcmaes.distributions._inverse_ising import invert_approximately, invert_exact
from dcmaes.distributions._lattice_gaussian import LatticeGaussian, check_symmetric
from dcmaes.distributions._quadratic import Exponent

MAX_EXACT_DIMENSION = 20


class Ising(LatticeGaussian):
    """The Ising model on {0,1}^k: log P(x) = field.x + sum over i<j of coupling_ij x_i x_j - A.

    It is the `LatticeGaussian` whose variables have two states.

    Parameters
    ----------
    field : array_like, shape (k,)
    coupling : array_like, shape (k, k)
        Symmetric, with a zero diagonal; for states in {0,1}, not {-1,+1}.

    Notes
    -----
    Everything is exact (`method` is "exact") by enumeration up to 20 variables, and by variable elimination
    when the couplings form a sparse graph, at any k. Beyond, `method` is "gibbs": `sample` simulates by heat
    bath; `mean`, `covariance` and `log_partition` are Monte Carlo estimates with the standard errors in
    `moments` and `log_partition_error`, and what needs a table of all states raises ValueError.

    Examples
    --------
    >>> law = Ising([0.0, 0.0, -1.0], [[0.0, 1.0, 0.0], [1.0, 0.0, 2.0], [0.0, 2.0, 0.0]])
    >>> law.method
    'exact'
    >>> law.mean.round(4)
    array([0.6929, 0.8348, 0.6547])
    >>> law.sample(2, np.random.default_rng(0))
    array([[1, 1, 1],
           [0, 1, 1]])
    >>> law.condition({1: 0}).field
    array([ 0., -1.])
    >>> dense = np.full((50, 50), 0.05) - 0.05 * np.eye(50)
    >>> large = Ising(np.zeros(50), dense)
    >>> large.method, large.sample(4, np.random.default_rng(0)).shape
    ('gibbs', (4, 50))
    """

    def __init__(self, field: ArrayLike, coupling: ArrayLike) -> None:
        h = check_array("field", field, shape=(None,))
        if h.size == 0:
            raise ValueError("field must not be empty")
        self._exponent = Exponent(np.ones(h.size, dtype=np.int64), h, _check_coupling(coupling, h.size))

    @classmethod
    def from_moments(  # type: ignore[override]  # the lattice is known here: {0,1}^k
        cls,
        mean: ArrayLike,
        covariance: ArrayLike,
        *,
        n_rounds: int = 0,
        rng: np.random.Generator | None = None,
    ) -> Self:
        """Return the law of maximum entropy with these means and covariances.

        Up to 20 variables the moments are matched by Newton's method, until every probability of a pair has
        ten digits. Moments on the boundary of what is possible, such as a mean of 1 or two variables that are
        always equal, are met up to rounding, by parameters that are large but finite. Beyond 20 variables the
        Bethe approximation is used: exact when the couplings form a tree, and otherwise with an error that
        `docs/maths.md` (section I) measures; `n_rounds` rounds of simulation (100, say) then reduce it where
        couplings are strong.

        Parameters
        ----------
        mean : array_like, shape (k,), between 0 and 1; strictly beyond 20 variables
        covariance : array_like, shape (k, k), with diagonal mean * (1 - mean)
        n_rounds : int
            Rounds of refinement beyond 20 variables; they need `rng`.
        rng : numpy.random.Generator, optional

        Raises
        ------
        ValueError
            If no such law exists, naming the variable, pair or pairs at fault.

        Examples
        --------
        >>> law = Ising.from_moments([0.5, 0.3], [[0.25, 0.05], [0.05, 0.21]])
        >>> law.covariance.round(12)
        array([[0.25, 0.05],
               [0.05, 0.21]])
        """
        m, c = check_moments(mean, covariance, strictly=np.size(mean) > MAX_EXACT_DIMENSION)
        n_rounds = check_integer("n_rounds", n_rounds, low=0)
        if m.size <= MAX_EXACT_DIMENSION:
            return cls(*invert_exact(m, c))
        return cls(*invert_approximately(m, c, n_rounds, rng))

    @classmethod
    def _invert(cls, trials: IntArray, mean: FloatArray, covariance: FloatArray) -> Exponent:
        return Exponent(trials, *invert_exact(mean, covariance))

    @classmethod
    def fit(
        cls,
        data: ArrayLike,
        weights: ArrayLike | None = None,
        *,
        trials: int | ArrayLike | None = None,
        method: str = "auto",
        l1: float = 0.0,
        l2: float | None = None,
    ) -> Self:
        """Fit the law to data, by maximum likelihood or pseudo-likelihood.

        Parameters
        ----------
        data : array_like of zeros and ones, shape (n, k)
        weights : array_like, shape (n,), optional
            How often each observation counts; 1 by default.
        trials : optional
            Implied: 1 for each variable.
        method : "auto", "likelihood" or "pseudo-likelihood"
            Maximum likelihood matches the moments of the data exactly, up to 20 variables.
            Pseudo-likelihood (a logistic regression of each variable on all others, with one coupling for
            each pair) does at any k. "auto" is the first where it can be done and no penalty is asked for.
        l1, l2 : float
            Penalties on the couplings in pseudo-likelihood: l1 sets weak ones to zero. By default l1 is 0 and
            l2 is 1/n unless l1 is given. `fit_summary` of the law says what was used.

        Examples
        --------
        >>> law = Ising([0.0, 0.5], [[0.0, 1.0], [1.0, 0.0]])
        >>> again = Ising.fit(law.sample(5000, np.random.default_rng(0)))
        >>> again.coupling.round(1).tolist(), again.fit_summary.method
        ([[0.0, 1.0], [1.0, 0.0]], 'likelihood')
        """
        points = check_array("data", data, shape=(None, None))
        if trials is not None and not (np.asarray(trials) == 1).all():
            raise ValueError(f"trials must be 1 for {{0,1}} variables, got {trials}")
        return cls._fit_to(points, weights, np.ones(points.shape[1], dtype=np.int64), method, l1, l2)

    @property
    def field(self) -> FloatArray:
        """First-order canonical parameters, shape (k,)."""
        return self.linear

    @property
    def coupling(self) -> FloatArray:
        """Second-order canonical parameters for states in {0,1}, shape (k, k); symmetric, zero diagonal."""
        return self.quadratic

    @cached_property
    def canonical(self) -> FloatArray:
        """Canonical parameters as a table of shape (2,)*k, as in `MultivariateBernoulli` (up to k = 20)."""
        theta = np.zeros_like(self.log_probabilities).reshape(-1)
        bits = 2 ** np.arange(self.dimension - 1, -1, -1)
        first, second = np.triu_indices(self.dimension, 1)
        theta[bits] = self.field
        theta[bits[first] | bits[second]] = self.coupling[first, second]
        return readonly(theta.reshape((2,) * self.dimension))

    def __repr__(self) -> str:
        if self.dimension <= 3:
            return f"Ising({self.field.tolist()}, {self.coupling.tolist()})"
        return f"<Ising of {self.dimension} variables, {self.method}>"


def _check_coupling(coupling: ArrayLike, dimension: int) -> FloatArray:
    result = check_symmetric("coupling", coupling, dimension)
    for i in np.flatnonzero(result.diagonal()):
        raise ValueError(
            f"coupling must have a zero diagonal, got {result[i, i]} at ({i}, {i}); x_i^2 = x_i belongs to "
            "the field"
        )
    return result
