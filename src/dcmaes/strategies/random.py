"""Uniform random search: the baseline every other strategy has to beat."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dcmaes._validation import FloatArray, check_integer
from dcmaes.space import Sites
from dcmaes.strategies._codec import Coded
from dcmaes.strategies._evaluations import Evaluations
from dcmaes.strategies._memory import Memory
from dcmaes.strategies._protocol import Summary

# Midpoints at which the uniform law is tabulated for its summary; far finer than what is shown of it.
_N_MIDPOINTS = 1024


@dataclass(frozen=True)
class RandomState:
    """The sites, and how many points were told: random search learns nothing else."""

    sites: Sites
    n_told: int


@dataclass(frozen=True)
class RandomSearch(Coded[RandomState]):
    """Draw every point uniformly (choices by their weights), independently of what was found before.

    Parameters
    ----------
    population_size : int
        How many points an `ask` without a number hands out.

    Examples
    --------
    >>> import dcmaes as dc
    >>> result = dc.minimize(sum, dc.Space.binary(3), budget=100, seed=1, strategy=RandomSearch())
    >>> result.fun, result.nfev
    (0.0, 8)
    """

    name = "random"
    state_type = RandomState

    population_size: int = 10

    def __post_init__(self) -> None:
        check_integer("population_size", self.population_size, low=1)

    def init(self, sites: Sites, memory: Memory, budget: int, rng: np.random.Generator) -> RandomState:
        """Return the first state; where the search starts makes no difference to it."""
        return RandomState(sites, n_told=0)

    def batch_size(self, state: RandomState) -> int:
        """Return the population size: no update ever waits."""
        return self.population_size

    def sample(self, state: RandomState, n: int, rng: np.random.Generator, memory: Memory) -> FloatArray:
        """Return `n` uniform points, shape (n, d)."""
        return state.sites.uniform(rng.random((n, state.sites.dimension)))

    def update(self, state: RandomState, told: Evaluations, memory: Memory) -> RandomState:
        """Return the state with the told points counted."""
        return replace(state, n_told=state.n_told + len(told))

    def convergence(self, state: RandomState, memory: Memory) -> str | None:
        """Return None: random search never converges."""
        return None

    def restart(self, state: RandomState, rng: np.random.Generator, memory: Memory) -> RandomState | None:
        """Return the same state: every draw is a fresh start."""
        return state

    def summary(self, state: RandomState, memory: Memory) -> Summary:
        """Return the distribution from which points are drawn."""
        sites = state.sites
        midpoints = (np.arange(_N_MIDPOINTS) + 0.5) / _N_MIDPOINTS
        even = Summary.at(sites, sites.uniform(np.repeat(midpoints[:, None], sites.dimension, axis=1)))
        shares = (sites.shares(i) if len(kept) else kept for i, kept in enumerate(even.probabilities))
        return replace(even, probabilities=tuple(shares), step_size=1.0)

    def interactions(self, state: RandomState, memory: Memory) -> FloatArray:
        """Return zeros, shape (d, d): nothing is learned about pairs."""
        return np.zeros((state.sites.dimension, state.sites.dimension))

    def interactions_of(self, state: RandomState, memory: Memory, objective: int) -> FloatArray:
        """Return the same of one of several objectives."""
        return self.interactions(state, memory)
