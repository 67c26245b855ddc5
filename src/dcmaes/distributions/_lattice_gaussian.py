"""The law of maximum entropy on a lattice with given mean and covariance, as the normal law on the reals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from dcmaes._validation import FloatArray, IntArray, check_array, check_choice, check_number
from dcmaes.distributions._feasibility import check_lattice_moments
from dcmaes.distributions._lattice_law import check_observations, check_trials
from dcmaes.distributions._law import check_weights
from dcmaes.distributions._moment_fit import NotConvergedError, fit_lattice_moments
from dcmaes.distributions._pseudo_likelihood import fit_pseudo_likelihood
from dcmaes.distributions._quadratic import Exponent
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
        a = check_array("linear", linear, shape=(None,))
        if a.size == 0:
            raise ValueError("linear must not be empty")
        b = check_symmetric("quadratic", quadratic, a.size)
        self._exponent = Exponent.of(check_trials(trials, a.size), a, b)

    @classmethod
    def _fitted(cls, exponent: Exponent, fit: Fit) -> Self:
        law = cls._from_exponent(exponent)
        law._fit = fit
        return law

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
                "they "
                f"are off by {np.abs(failure.mismatch).max():.3g}"
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
            Largest state of each variable; by default the largest seen.
        method : "auto", "likelihood" or "pseudo-likelihood"
            Maximum likelihood matches the moments of the data exactly, and needs an enumerable lattice.
            Pseudo-likelihood (each variable given all others) does at any k. "auto" is the first where it can
            be done and no penalty is asked for: not where a variable never changes in the data, for example.
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
        if trials is None:
            sizes = np.maximum(1, points.max(axis=0, initial=1.0)).astype(np.int64)
        else:
            sizes = check_trials(trials, points.shape[1])
        return cls._fit_to(points, weights, sizes, method, l1, l2)

    @classmethod
    def _fit_to(
        cls,
        points: FloatArray,
        weights: ArrayLike | None,
        trials: IntArray,
        method: str,
        l1: float,
        l2: float | None,
    ) -> Self:
        points = check_observations(points, tuple(int(n) + 1 for n in trials))
        counts = check_weights(weights, len(points))
        check_choice("method", method, ("auto", "likelihood", "pseudo-likelihood"))
        l1 = check_number("l1", l1, low=0.0)
        total = float(counts.sum())
        if method == "likelihood" and (l1 or l2):
            raise ValueError('l1 and l2 need method="pseudo-likelihood", got method="likelihood"')
        is_small = math.prod(int(n) + 1 for n in trials) <= MAX_ENUMERATED
        if method == "likelihood" or (method == "auto" and is_small and not l1 and not l2):
            share = counts / total
            mean = points[0] + share @ (points - points[0])  # exact where a variable never changes
            covariance = ((points - mean).T * share) @ (points - mean)
            try:
                exponent = cls._invert(trials, mean, covariance)
            except ValueError:
                if method == "likelihood":
                    raise
            else:
                return cls._fitted(exponent, Fit("likelihood", 0.0, 0.0, total))
        method = "pseudo-likelihood"
        ridge = (0.0 if l1 else 1.0 / total) if l2 is None else check_number("l2", l2, low=0.0)
        exponent = fit_pseudo_likelihood(trials, points, counts, l1=l1, l2=ridge)
        return cls._fitted(exponent, Fit(method, l1, ridge, total))

    @property
    def fit_summary(self) -> Fit | None:
        """How the law was fitted, with the penalties used; None if it was not."""
        return self._fit

    def __repr__(self) -> str:
        if self.dimension <= 3:
            values = (self.trials.tolist(), self.linear.tolist(), self.quadratic.tolist())
            return f"LatticeGaussian({', '.join(map(repr, values))})"
        return f"<LatticeGaussian of {self.dimension} variables, {self.method}>"


def check_symmetric(name: str, matrix: ArrayLike, dimension: int) -> FloatArray:
    """Return a fresh symmetric matrix, or raise naming the entries that differ.

    >>> check_symmetric("quadratic", [[0, 1], [1, 0]], 2).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    result = check_array(name, matrix, shape=(dimension, dimension))
    uneven = np.abs(result - result.T) > 1e-12 * np.maximum(1.0, np.abs(result))
    for i, j in np.argwhere(uneven)[:1]:
        raise ValueError(
            f"{name} must be symmetric, got {result[i, j]} at ({i}, {j}) and {result[j, i]} at ({j}, {i})"
        )
    return (result + result.T) / 2.0
