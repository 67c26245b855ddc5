"""The strategy `cma`: the discrete CMA-ES as it works."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dcmaes._validation import FloatArray, check_choice, check_integer, check_number
from dcmaes.space import Sites
from dcmaes.strategies._codec import decode, encode
from dcmaes.strategies._evaluations import WORST, Evaluations
from dcmaes.strategies._memory import Memory
from dcmaes.strategies._protocol import Summary
from dcmaes.strategies.cma._constants import default_population_size
from dcmaes.strategies.cma._distribution import draw, interaction_matrix, summarize
from dcmaes.strategies.cma._layout import Layout
from dcmaes.strategies.cma._runs import convergence, first_distribution, next_run
from dcmaes.strategies.cma._state import CmaState, Progress, no_paths
from dcmaes.strategies.cma._update import advance

# Beyond this many latent normals `covariance="auto"` keeps scales only: a full matrix would cost more time
# per evaluation than it could learn within any budget of the order of 100 evaluations a site.
LARGEST_FULL = 300


class Cma:
    """Discrete CMA-ES: correlated steps on lattices, choices and continuous sites, adapted by ranks.

    Parameters
    ----------
    population_size : int, optional
        Points in a generation of the first run; by default 1.5 (4 + 3 log d).
    step_size : float
        Initial standard deviation as a fraction of each range.
    covariance : {"auto", "full", "diagonal"}
        Whether correlations are learned; "auto" does so for up to 300 latent normal variables.
    restarts : {"ipop", "bipop", None}
        What follows convergence: runs with doubled population, alternating with small ones, or nothing.
    max_restarts : int
        Largest number of restarts.

    Examples
    --------
    >>> import dcmaes as dc
    >>> space = dc.Space.integers(5, -10, 10)
    >>> result = dc.minimize(lambda x: int((x**2).sum()), space, budget=300, seed=0, strategy=Cma(), target=0)
    >>> result.fun
    0.0
    """

    def __init__(
        self,
        *,
        population_size: int | None = None,
        step_size: float = 0.25,
        covariance: str = "auto",
        restarts: str | None = "ipop",
        max_restarts: int = 1000,
    ) -> None:
        if population_size is not None:
            population_size = check_integer("population_size", population_size, low=4)
        self.population_size = population_size
        self.step_size = check_number("step_size", step_size, low=1e-6, high=1.0)
        self.covariance = check_choice("covariance", covariance, ("auto", "full", "diagonal"))
        self.restarts = None if restarts is None else check_choice("restarts", restarts, ("ipop", "bipop"))
        self.max_restarts = check_integer("max_restarts", max_restarts, low=0)

    def __repr__(self) -> str:
        return f"Cma({', '.join(f'{name}={value!r}' for name, value in self.options().items())})"

    @property
    def name(self) -> str:
        """The name under which results report the strategy."""
        return "cma"

    def options(self) -> Mapping[str, Any]:
        """Return the options as plain data."""
        return dict(vars(self))

    def init(self, sites: Sites, memory: Memory, budget: int, rng: np.random.Generator) -> CmaState:
        """Return the first state: wide in the middle of the space, or narrower around the best start."""
        layout = Layout(sites)
        size = self.population_size or default_population_size(layout.n_sites)
        distribution = first_distribution(
            layout, memory.starts, self.step_size, size, is_full=self._is_full(layout)
        )
        return CmaState(
            distribution=distribution,
            paths=no_paths(distribution),
            population_size=size,
            growing_size=size,
            is_small_run=False,
            waiting=Evaluations.empty(sites.dimension),
            progress=Progress(),
            interactions=np.zeros((sites.dimension, sites.dimension)),
            record=WORST,
        )

    def batch_size(self, state: CmaState) -> int:
        """Return how many results the next generation still waits for."""
        return max(1, state.population_size - len(state.waiting))

    def sample(self, state: CmaState, n: int, rng: np.random.Generator, memory: Memory) -> FloatArray:
        """Return `n` coded points drawn from the search distribution, shape (n, d)."""
        return draw(state.distribution, n, rng)

    def update(self, state: CmaState, told: Evaluations, memory: Memory) -> CmaState:
        """Return the state after as many generations as the results now told complete."""
        waiting = Evaluations.join(state.waiting, told)
        size = state.population_size
        while len(waiting) >= size:
            state = _generation(state, waiting.take(slice(size)))
            waiting = waiting.take(slice(size, None))
        return replace(state, waiting=waiting)

    def join(self, state: CmaState, memory: Memory) -> CmaState:
        """Return the state as it is: a distribution is moved by its own samples only."""
        return state

    def convergence(self, state: CmaState, memory: Memory) -> str | None:
        """Return why the run has converged, or None."""
        return convergence(state)

    def restart(self, state: CmaState, rng: np.random.Generator, memory: Memory) -> CmaState | None:
        """Return the first state of the next run, or None when there is to be none."""
        if self.restarts is None or state.progress.run >= self.max_restarts:
            return None
        base_size = self.population_size or default_population_size(state.distribution.layout.n_sites)
        is_bipop = self.restarts == "bipop"
        return next_run(state, rng, base_size=base_size, step_size=self.step_size, is_bipop=is_bipop)

    def summary(self, state: CmaState, memory: Memory) -> Summary:
        """Return the present search distribution."""
        return summarize(state.distribution)

    def interactions(self, state: CmaState, memory: Memory) -> FloatArray:
        """Return how strongly pairs of sites interact in the run that found the best point, shape (d, d)."""
        if state.progress.best < state.record:
            return interaction_matrix(state.distribution)
        return state.interactions

    def state_to_dict(self, state: CmaState) -> dict[str, Any]:
        """Return the state as plain data."""
        data: dict[str, Any] = encode(state)
        return data

    def state_from_dict(self, data: Mapping[str, Any], sites: Sites) -> CmaState:
        """Return the state that `state_to_dict` described."""
        return decode(CmaState, data, sites)

    def _is_full(self, layout: Layout) -> bool:
        wanted = self.covariance == "full" or (self.covariance == "auto" and layout.n_latents <= LARGEST_FULL)
        return wanted and layout.n_latents > 0


def _generation(state: CmaState, told: Evaluations) -> CmaState:
    order = told.order()
    progress = state.progress.advance(told, int(order[0]))
    distribution, paths = advance(
        state.distribution,
        state.paths,
        told.x[order],
        fresh=1 - float(told.is_repeat.mean()),
        generation=progress.generation,
    )
    return replace(state, distribution=distribution, paths=paths, progress=progress)
