"""The strategy `paper`: Algorithm 1 of the paper as printed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dcmaes._validation import FloatArray, check_choice, check_integer, check_number
from dcmaes.distributions import CenteredBinomial, LatticeGaussian
from dcmaes.space import Sites
from dcmaes.strategies._codec import Coded
from dcmaes.strategies._evaluations import Evaluations
from dcmaes.strategies._memory import Memory
from dcmaes.strategies._protocol import Summary
from dcmaes.strategies.paper._likelihood import (
    LawState,
    advance_law,
    law_convergence,
    law_interactions,
    sample_law,
    start_law,
    summarise_law,
)
from dcmaes.strategies.paper._printed import (
    LARGEST_SUM,
    PaperState,
    advance,
    between_sites,
    default_population_size,
    summarise,
)


class Paper(Coded[PaperState | LawState]):
    """Algorithm 1 of "A discrete version of CMA-ES", with only what is needed to make it well defined.

    A reference for comparisons, for binary, integer and ordinal variables. It treats every variable as
    periodic, its standard deviation is at most sqrt(n)/2 states in a range of n, and it stops when its mean
    repeats, optimum or not: to optimize, use strategy "cma".

    Parameters
    ----------
    population_size : int, optional
        Points in a generation; by default 4 + 3 log d, and four times that with update="likelihood".
    step_size : float, optional
        Initial sigma, in states; by default the largest that has an effect, sqrt(n)/2 for the widest
        variable, n being its number of states less one.
    tolerance : float
        The run is over when the mean moves by less than this, in states (the paper's epsilon).
    round_mean : bool
        Whether the mean is rounded to a point. The paper does not say; it returns the mean as a solution.
    update : "printed" or "likelihood"
        "printed" is the algorithm as it stands. "likelihood" takes the paper at its word that the update is
        one of maximum likelihood: the search distribution is the `LatticeGaussian` law itself, moved towards
        the better half of each population within a trust region; `tolerance` and `round_mean` have no part in
        it.

    Examples
    --------
    >>> import dcmaes as dc
    >>> space = dc.Space.integers(5, -10, 10)
    >>> result = dc.minimize(lambda x: int((x**2).sum()), space, budget=10_000, seed=0, strategy=Paper())
    >>> result.stop_reason
    <StopReason.CONVERGED: 'converged'>
    """

    name = "paper"
    state_type = PaperState | LawState

    def __init__(
        self,
        *,
        population_size: int | None = None,
        step_size: float | None = None,
        tolerance: float = 1e-6,
        round_mean: bool = False,
        update: str = "printed",
    ) -> None:
        if population_size is not None:
            population_size = check_integer("population_size", population_size, low=2)
        if step_size is not None:
            step_size = check_number("step_size", step_size, low=1e-6, high=1e9)
        if not isinstance(round_mean, bool):
            raise TypeError(f"round_mean must be True or False, got {round_mean!r}")
        self.population_size = population_size
        self.step_size = step_size
        self.tolerance = check_number("tolerance", tolerance, low=0.0)
        self.round_mean = round_mean
        self.update_rule = check_choice("update", update, ("printed", "likelihood"))

    def options(self) -> Mapping[str, Any]:
        """Return the options as plain data."""
        options = dict(vars(self))
        options["update"] = options.pop("update_rule")
        return options

    def init(
        self, sites: Sites, memory: Memory, budget: int, rng: np.random.Generator
    ) -> PaperState | LawState:
        """Return the first state: around the best starting point, or the middle of the space."""
        for i in np.flatnonzero(~sites.is_lattice)[:1]:
            kind = "categorical" if sites.is_category[i] else "continuous"
            raise ValueError(
                'strategy "paper" handles binary, integer and ordinal variables only, '
                f'but variable {i} is {kind}; use strategy "cma"'
            )
        if sites.has_conditions:
            raise ValueError('strategy "paper" handles no variables with conditions; use strategy "cma"')
        start, free = memory.starts, sites.n_states > 1
        trials = sites.n_states[free] - 1
        k = len(trials)
        if self.update_rule == "likelihood":
            centre = start.x[start.order()[0]][free] if len(start) else None
            size = self.population_size or 4 * default_population_size(k)
            return start_law(sites, size, centre, self.step_size, rng)
        mean = start.x[start.order()[0]][free] if len(start) else trials / 2
        return PaperState(
            sites=sites,
            population_size=self.population_size or default_population_size(k),
            mean=np.rint(mean) if self.round_mean else mean,
            step_size=self.step_size or float(np.sqrt(trials.max(initial=1)) / 2),
            covariance=np.eye(k),
            sigma_path=np.zeros(k),
            c_path=np.zeros(k),
            mean_step=np.inf,
            generation=0,
            waiting=Evaluations.empty(sites.dimension),
        )

    def batch_size(self, state: PaperState | LawState) -> int:
        """Return how many results the next generation still waits for."""
        return state.population_size - len(state.waiting)

    def sample(
        self, state: PaperState | LawState, n: int, rng: np.random.Generator, memory: Memory
    ) -> FloatArray:
        """Return `n` coded points, m + B(sigma^2 C) modulo the number of states, shape (n, d)."""
        if isinstance(state, LawState):
            return sample_law(state, n, rng, memory)
        x = np.zeros((n, state.sites.dimension))
        if state.free.size:
            steps = state.steps
            centred = state.mean - steps.mean + steps.sample(n, rng)
            rounded = np.floor(centred + rng.random(centred.shape))
            x[:, state.free] = rounded % state.sites.n_states[state.free]  # (A1)
        return x

    def update(
        self, state: PaperState | LawState, told: Evaluations, memory: Memory
    ) -> PaperState | LawState:
        """Return the state after as many generations as the results now told complete."""
        waiting = Evaluations.join(state.waiting, told)
        size = state.population_size
        while len(waiting) >= size:
            generation = waiting.take(slice(size))
            x = generation.x[generation.order()]
            if isinstance(state, LawState):
                state = advance_law(state, x)
            else:
                state = advance(state, x, round_mean=self.round_mean)
            waiting = waiting.take(slice(size, None))
        return replace(state, waiting=waiting)

    def convergence(self, state: PaperState | LawState, memory: Memory) -> str | None:
        """Return that the mean has stopped moving, or None: the paper's rule (A12)."""
        if isinstance(state, LawState):
            return law_convergence(state)
        if state.mean_step >= self.tolerance:
            return None
        return (
            f"the mean moved by {state.mean_step:.3g} states in generation {state.generation}, "
            f"less than {self.tolerance:g}"
        )

    def restart(
        self, state: PaperState | LawState, rng: np.random.Generator, memory: Memory
    ) -> PaperState | LawState | None:
        """Return None: the paper has no restarts."""
        return None

    def summary(self, state: PaperState | LawState, memory: Memory) -> Summary:
        """Return the present search distribution as drawn; only probabilities include wrapping."""
        if isinstance(state, LawState):
            return summarise_law(state)
        steps = state.steps
        fraction = (state.mean - steps.mean) % 1.0
        deviation = np.sqrt(steps.variance + fraction * (1 - fraction))
        laws = zip(state.trials.tolist(), state.mean.tolist(), steps.variance.tolist(), strict=True)
        probabilities = [_probabilities(*law) for law in laws]
        return summarise(
            state, state.mean, deviation, probabilities, _correlation(steps.delivered, deviation)
        )

    def interactions(self, state: PaperState | LawState, memory: Memory) -> FloatArray:
        """Return absolute partial correlations, the entries of the inverse of C scaled, shape (d, d)."""
        if isinstance(state, LawState):
            return law_interactions(state)
        # A little of the identity keeps directions that were never explored from dominating the inverse.
        precision = np.linalg.inv(state.steps.correlation + 1e-6 * np.eye(state.free.size))
        scale = np.sqrt(np.abs(precision.diagonal()))
        partial = np.abs(precision) / np.outer(scale, scale)
        return between_sites(state, (partial + partial.T) / 2, diagonal=0.0)

    def law(self, state: PaperState | LawState, memory: Memory) -> LatticeGaussian | None:
        """Return the search distribution with update="likelihood"; the printed one keeps no law."""
        return state.law if isinstance(state, LawState) and state.free.size else None


def _correlation(covariance: FloatArray, deviation: FloatArray) -> FloatArray:
    """Return the correlations of steps with this covariance before rounding, and this deviation after it."""
    scale = np.outer(deviation, deviation)
    result: FloatArray = np.divide(covariance, scale, out=np.zeros_like(scale), where=scale > 0)
    np.fill_diagonal(result, 1.0)
    return result


def _probabilities(trials: int, mean: float, variance: float) -> FloatArray:
    """Return the probability of each state, or nothing where there are too many states to list."""
    if trials > LARGEST_SUM:
        return np.empty(0)
    return CenteredBinomial(trials, min(variance, trials / 4), center=mean, wrap=trials + 1).probabilities
