"""The Ising model: Bernoulli vectors whose canonical parameters of order three and more are zero."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from dcmaes._validation import (
    FloatArray,
    IntArray,
    check_array,
    check_generator,
    check_integer,
    check_number,
    readonly,
)
from dcmaes.distributions._bernoulli import BernoulliLaw, check_conditions
from dcmaes.distributions._exponential_family import log_partition
from dcmaes.distributions._feasibility import check_moments
from dcmaes.distributions._heat_bath import HeatBathRun, HeatBathSettings, run_heat_bath
from dcmaes.distributions._inverse_ising import invert_approximately, invert_exact
from dcmaes.distributions._ising_moments import MomentEstimate, estimate_moments
from dcmaes.distributions._ising_table import log_weights
from dcmaes.distributions._states import check_points, check_size

MAX_EXACT_DIMENSION = 20
_LARGEST_R_HAT = 1.1  # the customary limit: Gelman et al., Bayesian Data Analysis, section 11.4
_MOST_CHAINS = 256


class Ising(BernoulliLaw):
    """The Ising model on {0,1}^k: log P(x) = field.x + sum over i<j of coupling_ij x_i x_j - A.

    Parameters
    ----------
    field : array_like, shape (k,)
    coupling : array_like, shape (k, k)
        Symmetric, with a zero diagonal; for states in {0,1}, not {-1,+1}.

    Notes
    -----
    Up to 20 variables everything is exact, by enumeration (`method` is "exact"). Beyond, `method` is "gibbs":
    `sample` simulates by heat bath, `mean` and `covariance` are Monte Carlo estimates with the standard
    errors in `moments`, and what needs the sum over all states (`log_partition`, `pmf`, `entropy`, ...)
    raises ValueError; `log_weight`, `condition` and `is_independent` work at any size.

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
    >>> large = Ising(np.zeros(50), np.zeros((50, 50)))
    >>> large.method, large.sample(4, np.random.default_rng(0)).shape
    ('gibbs', (4, 50))
    """

    def __init__(self, field: ArrayLike, coupling: ArrayLike) -> None:
        self._field = readonly(check_array("field", field, shape=(None,)))
        if self._field.size == 0:
            raise ValueError("field must not be empty")
        self._coupling = readonly(_check_coupling(coupling, self._field.size))

    @classmethod
    def from_moments(
        cls,
        mean: ArrayLike,
        covariance: ArrayLike,
        *,
        n_rounds: int = 0,
        rng: np.random.Generator | None = None,
    ) -> Self:
        """Return the law of maximum entropy with these means and covariances.

        Up to 20 variables the moments are matched to 1e-12 by Newton's method. Beyond, the Bethe
        approximation is used: exact when the couplings form a tree, and otherwise with an error that
        `docs/maths.md` (section I) measures; `n_rounds` rounds of simulation (100, say) then reduce it where
        couplings are strong.

        Parameters
        ----------
        mean : array_like, shape (k,), strictly between 0 and 1
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
        m, second = check_moments(mean, covariance)
        n_rounds = check_integer("n_rounds", n_rounds, low=0)
        if m.size <= MAX_EXACT_DIMENSION:
            return cls(*invert_exact(m, second))
        return cls(*invert_approximately(m, second - np.outer(m, m), n_rounds, rng))

    @property
    def dimension(self) -> int:
        """Number of variables k."""
        return self._field.size

    @property
    def field(self) -> FloatArray:
        """First-order canonical parameters, shape (k,)."""
        return self._field

    @property
    def coupling(self) -> FloatArray:
        """Second-order canonical parameters for states in {0,1}, shape (k, k); symmetric, zero diagonal."""
        return self._coupling

    @property
    def method(self) -> str:
        """How the law is computed: "exact" (enumeration, up to 20 variables) or "gibbs" (heat bath)."""
        return "exact" if self.dimension <= MAX_EXACT_DIMENSION else "gibbs"

    @cached_property
    def _log_weights(self) -> FloatArray:
        if self.method != "exact":
            raise ValueError(
                f"this needs all 2^{self.dimension} states of an Ising law of {self.dimension} variables, "
                f"which is done up to {MAX_EXACT_DIMENSION}; beyond, use log_weight (unnormalised log_pmf), "
                "sample, moments or estimate_moments"
            )
        return log_weights(self._field, self._coupling)

    @cached_property
    def log_partition(self) -> float:
        """The log partition function A (up to 20 variables)."""
        return log_partition(self._log_weights)  # (I2)

    @cached_property
    def log_probabilities(self) -> FloatArray:
        """Table of log P(x), shape (2,)*k, indexed [x1, ..., xk] (up to 20 variables)."""
        return readonly(self._log_weights - self.log_partition)

    @cached_property
    def canonical(self) -> FloatArray:
        """Canonical parameters as a table of shape (2,)*k, as in `MultivariateBernoulli` (up to k = 20)."""
        theta = np.zeros_like(self._log_weights).reshape(-1)
        bits = 2 ** np.arange(self.dimension - 1, -1, -1)
        first, second = np.triu_indices(self.dimension, 1)
        theta[bits] = self._field
        theta[bits[first] | bits[second]] = self._coupling[first, second]
        return readonly(theta.reshape((2,) * self.dimension))

    def log_weight(self, x: ArrayLike) -> FloatArray | np.float64:
        """Return log P(x) + A of points x, shape (..., k), at any k; -inf for points that are not states.

        Examples
        --------
        >>> float(Ising([1.0, 2.0], [[0.0, 5.0], [5.0, 0.0]]).log_weight([1, 1]))
        8.0
        """
        points = check_points("x", x, self.dimension)
        inside = ((points == 0.0) | (points == 1.0)).all(axis=-1)
        weight = points @ self._field + 0.5 * ((points @ self._coupling) * points).sum(axis=-1)
        return np.where(inside, weight, -np.inf)[()]  # (I1)

    @cached_property
    def moments(self) -> MomentEstimate:
        """Mean and covariance with their standard errors, and the method that gave them.

        Exact laws have errors of 0. Otherwise this is `estimate_moments` at its default effort with a
        generator of fixed seed, so that equal laws give equal numbers.
        """
        if self.method == "exact":
            return MomentEstimate.exact(*self._table_moments)
        return self.estimate_moments(np.random.default_rng(0))

    @property
    def mean(self) -> FloatArray:
        """P(x_i = 1) for each variable, shape (k,): exact, or as estimated in `moments`."""
        return self.moments.mean

    @property
    def covariance(self) -> FloatArray:
        """Covariance of the variables, shape (k, k): exact, or as estimated in `moments`."""
        return self.moments.covariance

    def estimate_moments(
        self,
        rng: np.random.Generator,
        *,
        n_draws: int = 60,
        burn_in: int = 100,
        thinning: int = 5,
        n_chains: int = _MOST_CHAINS,
    ) -> MomentEstimate:
        """Estimate mean and covariance by heat-bath simulation, at any dimension.

        Parameters
        ----------
        rng : numpy.random.Generator
        n_draws : int
            States used of each chain; `n_chains * n_draws` in all.
        burn_in, thinning, n_chains : int
            As in `simulate`; `n_chains` at least 16.

        Returns
        -------
        MomentEstimate
            With `mean`, `covariance`, `mean_error`, `covariance_error` (standard errors, from the scatter
            between groups of chains), `r_hat` and `method` "gibbs".

        Examples
        --------
        >>> estimate = Ising([0.0], [[0.0]]).estimate_moments(np.random.default_rng(0))
        >>> bool(abs(estimate.mean[0] - 0.5) < 5 * estimate.mean_error[0])
        True
        """
        settings = HeatBathSettings(n_chains, burn_in, thinning)
        n_draws = check_integer("n_draws", n_draws, low=1)
        estimate = estimate_moments(
            self._field, self._coupling, n_draws, settings, check_generator("rng", rng)
        )
        _warn_unless_mixed(estimate.r_hat, settings)
        return estimate

    def simulate(
        self,
        size: int,
        rng: np.random.Generator,
        *,
        burn_in: int = 100,
        thinning: int = 5,
        n_chains: int | None = None,
    ) -> HeatBathRun:
        """Draw points by heat-bath simulation, whatever the dimension, and report how well it mixed.

        Parameters
        ----------
        size : int
            Number of points.
        rng : numpy.random.Generator
        burn_in : int
            Sweeps over all variables before the first point of each chain.
        thinning : int
            Sweeps between points of the same chain.
        n_chains : int, optional
            Independent chains run side by side; by default `size`, but at least 4 and at most 256. With no
            fewer chains than points, the points are independent of one another.

        Returns
        -------
        HeatBathRun
            With `samples` (size, k), `r_hat` (k,), `max_r_hat` and the `settings` used.

        Examples
        --------
        >>> run = Ising([0.5, -0.5], [[0.0, 1.0], [1.0, 0.0]]).simulate(1000, np.random.default_rng(0))
        >>> run.samples.shape, run.max_r_hat < 1.1
        ((1000, 2), True)
        """
        size = check_integer("size", size, low=0)
        if n_chains is None:
            n_chains = min(max(size, 4), _MOST_CHAINS)
        settings = HeatBathSettings(n_chains, burn_in, thinning)
        return run_heat_bath(self._field, self._coupling, size, settings, check_generator("rng", rng))

    def sample(
        self,
        size: int | tuple[int, ...] | None,
        rng: np.random.Generator,
        *,
        burn_in: int = 100,
        thinning: int = 5,
        n_chains: int | None = None,
    ) -> IntArray:
        """Draw points: independent ones from the table up to 20 variables, by heat bath beyond.

        Parameters
        ----------
        size : int, tuple of int, or None
            Number or shape of the draws; None for one point.
        rng : numpy.random.Generator
        burn_in, thinning, n_chains : int
            As in `simulate`, and only used beyond 20 variables. A RuntimeWarning tells if an R-hat exceeds
            1.1.

        Returns
        -------
        ndarray of int64, shape (*size, k)
        """
        if self.method == "exact":
            return super().sample(size, rng)
        shape = check_size(size)
        run = self.simulate(math.prod(shape), rng, burn_in=burn_in, thinning=thinning, n_chains=n_chains)
        _warn_unless_mixed(run.r_hat, run.settings)
        return run.samples.reshape(*shape, self.dimension)

    def condition(self, values: Mapping[int, int]) -> Ising:
        """Return the law of the other variables given the values (0 or 1) of some: again an Ising model."""
        given = check_conditions(values, self.dimension)
        free = [i for i in range(self.dimension) if i not in given]
        ones = [i for i, value in given.items() if value == 1]
        field = self._field[free] + self._coupling[np.ix_(free, ones)].sum(axis=1)  # (I4)
        return Ising(field, self._coupling[np.ix_(free, free)])

    def is_independent(self, tol: float = 1e-9) -> bool:
        """Say whether the variables are mutually independent: no coupling exceeds `tol` in size."""
        return bool(np.abs(self._coupling).max() <= check_number("tol", tol, low=0.0))  # (B10)

    def __repr__(self) -> str:
        if self.dimension <= 3:
            return f"Ising({self._field.tolist()}, {self._coupling.tolist()})"
        return f"<Ising of {self.dimension} variables, {self.method}>"


def _check_coupling(coupling: ArrayLike, dimension: int) -> FloatArray:
    result = check_array("coupling", coupling, shape=(dimension, dimension))
    for i in np.flatnonzero(result.diagonal()):
        raise ValueError(
            f"coupling must have a zero diagonal, got {result[i, i]} at ({i}, {i}); x_i^2 = x_i belongs to "
            "the field"
        )
    uneven = np.abs(result - result.T) > 1e-12 * np.maximum(1.0, np.abs(result))
    for i, j in np.argwhere(uneven):
        raise ValueError(
            f"coupling must be symmetric, got {result[i, j]} at ({i}, {j}) and {result[j, i]} at ({j}, {i})"
        )
    return (result + result.T) / 2.0


def _warn_unless_mixed(r_hat: FloatArray, settings: HeatBathSettings) -> None:
    worst = int(np.argmax(r_hat))
    if r_hat[worst] > _LARGEST_R_HAT:
        warnings.warn(
            f"the heat bath has not mixed: R-hat is {r_hat[worst]:.2f} at variable {worst} after "
            f"{settings.burn_in} sweeps of burn_in; raise it",
            RuntimeWarning,
            stacklevel=3,
        )
