"""Laws P(x) ~ exp(a.x + x'Bx/2) on {0..n_i}: their sums, moments and draws, exact or simulated."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from dcmaes._validation import FloatArray, IntArray, check_generator, check_integer, check_number, readonly
from dcmaes.distributions._heat_bath import (
    AnnealedPopulation,
    HeatBathRun,
    HeatBathSettings,
    MomentEstimate,
    anneal,
    estimate_moments,
    redraw,
    run_heat_bath,
)
from dcmaes.distributions._lattice_law import MAX_CELLS, LatticeLaw, check_conditions, table_law
from dcmaes.distributions._law import ExponentialLaw
from dcmaes.distributions._quadratic import (
    Elimination,
    Exponent,
    Statistics,
    log_marginal_weights,
    plan_elimination,
)
from dcmaes.distributions._table import Normalised, are_states, check_points, check_size, normalise

MAX_ENUMERATED = 2**20
_LARGEST_R_HAT = 1.1  # the customary limit: Gelman et al., Bayesian Data Analysis, section 11.4
_MOST_CHAINS = 256
_ANNEALED_CHAINS = 1024


class QuadraticLaw(LatticeLaw, ExponentialLaw):
    """What the lattice Gaussian law and the Ising model can do with their exponent."""

    _exponent: Exponent

    @classmethod
    def _from_exponent(cls, exponent: Exponent) -> Self:
        law = object.__new__(cls)
        law._exponent = exponent
        return law

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of states n_i + 1 of each variable."""
        return self._exponent.shape

    @property
    def trials(self) -> IntArray:
        """Largest state n_i of each variable, shape (k,)."""
        return readonly(self._exponent.trials)

    @property
    def linear(self) -> FloatArray:
        """The vector a, shape (k,)."""
        return readonly(self._exponent.linear)

    @property
    def quadratic(self) -> FloatArray:
        """The matrix B, shape (k, k); symmetric, its diagonal 0 for variables in {0,1}."""
        return readonly(self._exponent.quadratic)

    @cached_property
    def _statistics(self) -> Statistics:
        return Statistics.of(self._exponent.trials)

    @property
    def parameters(self) -> FloatArray:
        """Coefficients of x_i, of x_i^2 / 2 where n_i > 1, and of x_i x_j for i < j, shape (m,)."""
        return readonly(self._statistics.pack(self._exponent.linear, self._exponent.quadratic))

    def statistics(self, x: ArrayLike) -> FloatArray:
        """Return x_i, x_i^2 / 2 where n_i > 1, and x_i x_j for i < j, of points (..., k), as (..., m)."""
        return self._statistics.at(check_points("x", x, self.dimension))

    @property
    def mean_statistics(self) -> FloatArray:
        """Expectations of the statistics, shape (m,): exact, or as estimated in `moments`."""
        second = self.covariance + np.outer(self.mean, self.mean)
        return readonly(self._statistics.pack(self.mean, second / (1.0 + np.eye(self.dimension))))

    def _key(self) -> tuple[Any, ...]:
        return tuple(self._exponent)

    @property
    def _is_small(self) -> bool:
        return math.prod(self.shape) <= MAX_ENUMERATED

    @cached_property
    def _elimination(self) -> Elimination | None:
        """The exact sums of a law too large to enumerate, if its graph is sparse."""
        plan = plan_elimination(self._exponent)
        return None if plan is None else Elimination(self._exponent, plan)

    @property
    def method(self) -> str:
        """How the law is computed: "exact" (enumeration or elimination) or "gibbs" (tempered heat bath)."""
        return "exact" if self._is_small or self._elimination is not None else "gibbs"

    @cached_property
    def _normalised(self) -> Normalised:
        if not self._is_small:
            raise ValueError(
                f"this needs a table of all {math.prod(self.shape):.3g} states of a law of {self.dimension} "
                f"variables, which is made up to {MAX_ENUMERATED}; beyond, use log_pmf, sample, moments or "
                "condition"
            )
        return normalise(self._exponent.table())

    @cached_property
    def _annealed(self) -> AnnealedPopulation:
        """A population with a fixed seed, so that equal laws give equal numbers."""
        return anneal(self._exponent, _ANNEALED_CHAINS, np.random.default_rng(0), n_sweeps=2)

    @property
    def log_partition(self) -> float:
        """The log partition function A: exact, or estimated as `log_partition_error` says."""
        if self._is_small:
            return self._normalised.log_partition  # (I2)
        if self._elimination is not None:
            return self._elimination.log_partition
        return self._annealed.log_partition

    @property
    def log_partition_error(self) -> float:
        """Standard error of `log_partition`; 0 when it is exact."""
        return 0.0 if self.method == "exact" else self._annealed.error

    @property
    def log_probabilities(self) -> FloatArray:
        """Table of log P(x), indexed [x1, ..., xk], up to 2^20 states."""
        return readonly(self._normalised.log_probabilities)

    def log_weight(self, x: ArrayLike) -> FloatArray | np.float64:
        """Return log P(x) + A of points x, shape (..., k); -inf for points that are not states.

        Examples
        --------
        >>> from dcmaes.distributions import LatticeGaussian
        >>> float(LatticeGaussian([2, 2], [1.0, 2.0], [[0.0, 5.0], [5.0, 0.0]]).log_weight([1, 2]))
        15.0
        """
        points = check_points("x", x, self.dimension)
        return np.where(are_states(points, self.shape), self._exponent.at(points), -np.inf)[()]

    def log_pmf(self, x: ArrayLike) -> FloatArray | np.float64:
        """Return log P(x) of points x, shape (..., k), as exact as `log_partition`; -inf for no state."""
        if self._is_small:
            return super().log_pmf(x)
        return self.log_weight(x) - self.log_partition

    def pmf(self, x: ArrayLike) -> FloatArray | np.float64:
        """Return P(x) of points x, shape (..., k), as exact as `log_partition`; 0 for no state."""
        return super().pmf(x) if self._is_small else np.exp(self.log_pmf(x))

    def entropy(self) -> float:
        """Return the Shannon entropy in nats, as exact as `log_partition` and `moments`."""
        if self._is_small:
            return super().entropy()
        return self.log_partition - float(self.parameters @ self.mean_statistics)  # (E5)

    def kl(self, other: LatticeLaw) -> float:
        """Return the Kullback-Leibler divergence D(self || other) in nats, as exact as both laws are.

        `other` is any law on the same lattice if that is enumerable, and otherwise one of this family.
        """
        self._check_other(other)
        if self._is_small or not isinstance(other, QuadraticLaw):
            return super().kl(other)
        difference = (self.parameters - other.parameters) @ self.mean_statistics
        return max(0.0, other.log_partition - self.log_partition + float(difference))  # (E6)

    @cached_property
    def moments(self) -> MomentEstimate:
        """Mean and covariance with their standard errors, and the method that gave them.

        Exact laws have errors of 0. Otherwise this is `estimate_moments` at its default effort with a
        generator of fixed seed, so that equal laws give equal numbers.
        """
        if self._is_small:
            return MomentEstimate.exact(*self._table_moments)
        if self._elimination is not None:
            return MomentEstimate.exact(
                readonly(self._elimination.mean), readonly(self._elimination.covariance)
            )
        return self.estimate_moments(np.random.default_rng(0))

    @property
    def mean(self) -> FloatArray:
        """Expectation of each variable, shape (k,): exact, or as estimated in `moments`."""
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
        >>> from dcmaes.distributions import LatticeGaussian
        >>> law = LatticeGaussian([2], [0.0], [[0.0]])
        >>> estimate = law.estimate_moments(np.random.default_rng(0))
        >>> bool(abs(estimate.mean[0] - 1.0) < 5 * estimate.mean_error[0])
        True
        """
        settings = HeatBathSettings(n_chains, burn_in, thinning)
        n_draws = check_integer("n_draws", n_draws, low=1)
        start = anneal(self._exponent, n_chains, check_generator("rng", rng)).states
        estimate = estimate_moments(self._exponent, n_draws, settings, rng, start)
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
            Sweeps over all variables between the annealed population and the first point of each chain.
        thinning : int
            Sweeps between points of the same chain.
        n_chains : int, optional
            Chains run side by side; by default `size`, but at least 4 and at most 256.

        Returns
        -------
        HeatBathRun
            With `samples` (size, k), `r_hat` (k,), `max_r_hat` and the `settings` used.

        Examples
        --------
        >>> from dcmaes.distributions import LatticeGaussian
        >>> law = LatticeGaussian([1, 1], [0.5, -0.5], [[0.0, 1.0], [1.0, 0.0]])
        >>> run = law.simulate(1000, np.random.default_rng(0))
        >>> run.samples.shape, run.max_r_hat < 1.1
        ((1000, 2), True)
        """
        size = check_integer("size", size, low=0)
        if n_chains is None:
            n_chains = min(max(size, 4), _MOST_CHAINS)
        settings = HeatBathSettings(n_chains, burn_in, thinning)
        start = anneal(self._exponent, settings.n_chains, check_generator("rng", rng)).states
        return run_heat_bath(self._exponent, size, settings, rng, start)

    def continue_chains(self, states: FloatArray, n_sweeps: int, rng: np.random.Generator) -> FloatArray:
        """Return states (k, n_chains) after so many sweeps of the heat bath."""
        result = np.array(states, dtype=np.float64)
        for _ in range(n_sweeps):
            redraw(result, self._exponent, rng)
        return result

    def sample(self, size: int | tuple[int, ...] | None, rng: np.random.Generator) -> IntArray:
        """Draw points: independent ones where the law is exact, beyond by heat bath, as `simulate` does.

        A RuntimeWarning tells if an R-hat exceeds 1.1; then use `simulate` with a longer burn-in.

        Parameters
        ----------
        size : int, tuple of int, or None
            Number or shape of the draws; None for one point.
        rng : numpy.random.Generator

        Returns
        -------
        ndarray of int64, shape (*size, k)
        """
        if self._is_small:
            return super().sample(size, rng)
        shape = check_size(size)
        if self._elimination is not None:
            points = self._elimination.sample(math.prod(shape), check_generator("rng", rng))
        else:
            run = self.simulate(math.prod(shape), rng)
            _warn_unless_mixed(run.r_hat, run.settings)
            points = run.samples
        return points.reshape(*shape, self.dimension)

    def marginal(self, indices: Sequence[int]) -> LatticeLaw:
        """Return the joint law of a few variables, in the order given, as a table.

        By enumeration or elimination; raises ValueError when the graph of the other variables is too dense.
        """
        kept = self._check_kept(indices)
        if self._is_small:
            return super().marginal(kept)
        plan = plan_elimination(self._exponent, kept)
        cells = math.prod(self.shape[i] for i in kept)
        if plan is None or cells > MAX_CELLS:
            raise ValueError(
                f"marginal needs to sum out {self.dimension - len(kept)} variables of a graph that is too "
                "dense for it: use sample, or condition on some variables first"
            )
        return table_law(log_marginal_weights(self._exponent, kept, plan))

    def condition(self, values: Mapping[int, int]) -> Self:
        """Return the law of the other variables given the values of some: of the same family."""
        return self._from_exponent(self._exponent.condition(check_conditions(values, self.shape)))

    def is_independent(self, tol: float = 1e-9) -> bool:
        """Say whether the variables are mutually independent: no coupling exceeds `tol` in size."""
        couplings = self.quadratic - np.diag(self.quadratic.diagonal())
        return bool(np.abs(couplings).max() <= check_number("tol", tol, low=0.0))  # (B10)


def _warn_unless_mixed(r_hat: FloatArray, settings: HeatBathSettings) -> None:
    worst = int(np.argmax(r_hat))
    if r_hat[worst] <= _LARGEST_R_HAT:
        return
    if np.isnan(r_hat[worst]):
        said = (
            f"the heat bath is too short to tell whether it has mixed: {settings.burn_in} sweeps of burn_in"
        )
    else:
        said = (
            f"the heat bath has not mixed: R-hat is {r_hat[worst]:.2f} at variable {worst} after "
            f"{settings.burn_in} sweeps of burn_in"
        )
    warnings.warn(f"{said}; raise it, in simulate or estimate_moments", RuntimeWarning, stacklevel=3)
