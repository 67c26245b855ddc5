"""The law of maximum entropy with given mean and covariance: lattice Gaussian, on {0,1}^k the Ising model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from dcmaes._validation import (
    FloatArray,
    IntArray,
    check_array,
    check_choice,
    check_integer,
    check_number,
    readonly,
)
from dcmaes.distributions._feasibility import check_lattice_moments, check_moments, check_symmetric
from dcmaes.distributions._inverse_ising import invert_approximately, invert_exact
from dcmaes.distributions._lattice_law import check_observations, check_trials
from dcmaes.distributions._law import check_weights
from dcmaes.distributions._quadratic import Exponent
from dcmaes.distributions._quadratic_fit import NotConvergedError, fit_lattice_moments, fit_pseudo_likelihood
from dcmaes.distributions._quadratic_law import MAX_ENUMERATED, QuadraticLaw


@dataclass(frozen=True)
class Fit:
    """How a law was fitted to data.

    Attributes
    ----------
    method : "likelihood" or "pseudo-likelihood"
    l1, l2 : float
        Weights of the penalties on the couplings of variables scaled to variance 1; 0 means none.
    n : float
        Number of observations, or the sum of their weights.

    Examples
    --------
    >>> Fit("pseudo-likelihood", 0.0, 0.01, 100.0).is_regularised
    True
    """

    method: str
    l1: float
    l2: float
    n: float

    @property
    def is_regularised(self) -> bool:
        """Whether a penalty moved the fit away from the maximum."""
        return self.l1 > 0 or self.l2 > 0


class LatticeGaussian(QuadraticLaw):
    """The law P(x) ~ exp(a.x + x'Bx/2) of k variables with states 0..n_i.

    Of all laws on the lattice with its mean and covariance it has the largest entropy, as the normal law has
    on the reals. With n_i = 1 it is the Ising model; with many states and a small variance, the normal law.

    Parameters
    ----------
    trials : int or array_like of int, shape (k,)
        Largest state n_i of each variable.
    linear : array_like, shape (k,)
        a.
    quadratic : array_like, shape (k, k)
        B, symmetric, of any definiteness: a positive diagonal gives laws with their mass at both ends. For a
        variable in {0,1} the square is the variable itself, and its diagonal is moved to `linear`.

    Notes
    -----
    Everything is exact (`method` is "exact") by enumeration up to 2^20 states, and by variable elimination
    when the couplings form a sparse graph, at any k. Beyond, `method` is "gibbs": draws come from the heat
    bath, led there from independent variables by population annealing; `mean`, `covariance` and
    `log_partition` are estimates with standard errors in `moments` and `log_partition_error`, from a
    generator with a fixed seed.

    Examples
    --------
    >>> law = LatticeGaussian([4, 4], [2.0, 2.0], [[-1.0, 0.5], [0.5, -1.0]])
    >>> law.mean.round(4), round(float(law.correlation[0, 1]), 4)
    (array([3.271, 3.271]), 0.3086)
    >>> law.condition({0: 0}).mean.round(4)
    array([2.])
    >>> LatticeGaussian.from_moments([10], [5.0], [[4.0]]).quadratic.round(4)
    array([[-0.2354]])
    """

    _fit: Fit | None = None

    def __init__(self, trials: int | ArrayLike, linear: ArrayLike, quadratic: ArrayLike) -> None:
        a, b = _check_parameters("linear", linear, "quadratic", quadratic)
        self._exponent = Exponent.of(check_trials(trials, a.size), a, b)

    @classmethod
    def _invert(cls, trials: IntArray, mean: FloatArray, covariance: FloatArray) -> Exponent:
        """Return the exponent of the law with these moments, which have been checked."""
        if math.prod(int(n) + 1 for n in trials) > MAX_ENUMERATED:
            raise ValueError(
                f"from_moments enumerates all states, which is done up to {MAX_ENUMERATED}; this lattice has "
                f"{math.prod(int(n) + 1 for n in trials):.3g}: use fit with pseudo-likelihood on draws"
            )
        mean, covariance = check_lattice_moments(trials, mean, covariance)
        try:
            return Exponent(trials, *fit_lattice_moments(trials, mean, covariance))
        except NotConvergedError as failure:
            raise ValueError(
                "no law on this lattice has these moments: after the search, in variables of variance 1, "
                f"they are off by {np.abs(failure.mismatch).max():.3g}"
            ) from None

    @classmethod
    def from_moments(cls, trials: int | ArrayLike, mean: ArrayLike, covariance: ArrayLike) -> Self:
        """Return the law of maximum entropy with this mean and covariance, by Newton's method.

        Parameters
        ----------
        trials : int or array_like of int, shape (k,)
        mean : array_like, shape (k,), strictly between 0 and trials
        covariance : array_like, shape (k, k), positive definite

        Raises
        ------
        ValueError
            If no such law exists, or the lattice has more than 2^20 states.

        Examples
        --------
        >>> law = LatticeGaussian.from_moments([3, 5], [1.0, 2.0], [[1.0, 0.5], [0.5, 2.0]])
        >>> law.mean.round(9).tolist(), law.covariance.round(9).tolist()
        ([1.0, 2.0], [[1.0, 0.5], [0.5, 2.0]])
        """
        means = check_array("mean", mean, shape=(None,))
        sizes = check_trials(trials, means.size)
        asked = check_array("covariance", covariance, shape=(means.size, means.size))
        return cls._from_exponent(cls._invert(sizes, means, asked))

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
        data : array_like of whole numbers, shape (n, k)
        weights : array_like, shape (n,), optional
            How often each observation counts; 1 by default.
        trials : int or array_like of int, shape (k,), optional
            Largest state of each variable; by default the largest seen, and 1 in the Ising model.
        method : "auto", "likelihood" or "pseudo-likelihood"
            Maximum likelihood matches the moments of the data exactly, and needs an enumerable lattice.
            Pseudo-likelihood (each variable given all others) does at any k. "auto" is the first where it can
            be done and no penalty is asked for: not where a variable never changes in the data, for example.
            In the Ising model it is a logistic regression of each variable on all others.
        l1, l2 : float
            Penalties on the couplings in pseudo-likelihood: l1 sets weak ones to zero. By default l1 is 0 and
            l2 is 1/n unless l1 is given. `fit_summary` of the law says what was used.

        Examples
        --------
        >>> law = LatticeGaussian([4, 4], [2.0, 2.0], [[-1.0, 0.5], [0.5, -1.0]])
        >>> data = law.sample(2000, np.random.default_rng(0))
        >>> LatticeGaussian.fit(data, trials=4).quadratic.round(1).tolist()
        [[-0.9, 0.5], [0.5, -1.0]]
        """
        points = check_array("data", data, shape=(None, None))
        sizes = cls._trials_to_fit(points, trials)
        points = check_observations(points, tuple(int(n) + 1 for n in sizes))
        counts = check_weights(weights, len(points))
        check_choice("method", method, ("auto", "likelihood", "pseudo-likelihood"))
        l1 = check_number("l1", l1, low=0.0)
        total = float(counts.sum())
        if method == "likelihood" and (l1 or l2):
            raise ValueError('l1 and l2 need method="pseudo-likelihood", got method="likelihood"')
        is_small = math.prod(int(n) + 1 for n in sizes) <= MAX_ENUMERATED
        if method == "likelihood" or (method == "auto" and is_small and not l1 and not l2):
            share = counts / total
            mean = points[0] + share @ (points - points[0])  # exact where a variable never changes
            covariance = ((points - mean).T * share) @ (points - mean)
            try:
                return cls._fitted(cls._invert(sizes, mean, covariance), Fit("likelihood", 0.0, 0.0, total))
            except ValueError:
                if method == "likelihood":
                    raise
        ridge = (0.0 if l1 else 1.0 / total) if l2 is None else check_number("l2", l2, low=0.0)
        exponent = fit_pseudo_likelihood(sizes, points, counts, l1=l1, l2=ridge)
        return cls._fitted(exponent, Fit("pseudo-likelihood", l1, ridge, total))

    @classmethod
    def _trials_to_fit(cls, points: FloatArray, trials: int | ArrayLike | None) -> IntArray:
        """Return the largest state of each variable of observations (n, k), as given or as seen."""
        if trials is None:
            return np.asarray(points.max(axis=0, initial=1.0), dtype=np.int64)
        return check_trials(trials, points.shape[1])

    @classmethod
    def _fitted(cls, exponent: Exponent, fit: Fit) -> Self:
        law = cls._from_exponent(exponent)
        law._fit = fit
        return law

    @property
    def fit_summary(self) -> Fit | None:
        """How the law was fitted, with the penalties used; None if it was not."""
        return self._fit

    def __repr__(self) -> str:
        if self.dimension <= 3:
            values = (self.trials.tolist(), self.linear.tolist(), self.quadratic.tolist())
            return f"LatticeGaussian({', '.join(map(repr, values))})"
        return f"<LatticeGaussian of {self.dimension} variables, {self.method}>"


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
    >>> again = Ising.fit(law.sample(5000, np.random.default_rng(0)))
    >>> again.coupling.round(0).tolist(), again.fit_summary.method
    ([[0.0, 1.0, 0.0], [1.0, 0.0, 2.0], [0.0, 2.0, 0.0]], 'likelihood')
    >>> dense = np.full((50, 50), 0.05) - 0.05 * np.eye(50)
    >>> large = Ising(np.zeros(50), dense)
    >>> large.method, large.sample(4, np.random.default_rng(0)).shape
    ('gibbs', (4, 50))
    """

    def __init__(self, field: ArrayLike, coupling: ArrayLike) -> None:
        h, j = _check_parameters("field", field, "coupling", coupling)
        for i in np.flatnonzero(j.diagonal()):
            raise ValueError(
                f"coupling must have a zero diagonal, got {j[i, i]} at ({i}, {i}); x_i^2 = x_i belongs to "
                "the field"
            )
        self._exponent = Exponent(np.ones(h.size, dtype=np.int64), h, j)

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
        is_small = 2 ** np.size(mean) <= MAX_ENUMERATED
        m, c = check_moments(mean, covariance, strictly=not is_small)
        n_rounds = check_integer("n_rounds", n_rounds, low=0)
        if is_small:
            return cls(*invert_exact(m, c))
        return cls(*invert_approximately(m, c, n_rounds, rng))

    @classmethod
    def _invert(cls, trials: IntArray, mean: FloatArray, covariance: FloatArray) -> Exponent:
        return Exponent(trials, *invert_exact(mean, covariance))

    @classmethod
    def _trials_to_fit(cls, points: FloatArray, trials: int | ArrayLike | None) -> IntArray:
        if trials is not None and not (np.asarray(trials) == 1).all():
            raise ValueError(f"trials must be 1 for {{0,1}} variables, got {trials!r}")
        return np.ones(points.shape[1], dtype=np.int64)

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


def _check_parameters(
    first: str, linear: ArrayLike, second: str, quadratic: ArrayLike
) -> tuple[FloatArray, FloatArray]:
    """Return a vector (k,) and a symmetric matrix (k, k), or raise by the names they are given under."""
    a = check_array(first, linear, shape=(None,))
    if a.size == 0:
        raise ValueError(f"{first} must not be empty")
    return a, check_symmetric(second, quadratic, a.size)
