"""The strategy `cma`: the discrete CMA-ES as it works; where its runs start, and when they have converged."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dcmaes._validation import FloatArray, check_choice, check_integer, check_number
from dcmaes.space import Sites
from dcmaes.strategies._codec import Coded
from dcmaes.strategies._evaluations import WORST, Evaluations
from dcmaes.strategies._memory import Memory
from dcmaes.strategies._protocol import Summary
from dcmaes.strategies.cma._distribution import Copula, Distribution, draw, interaction_matrix, summarize
from dcmaes.strategies.cma._marginals import Layout, Marginals
from dcmaes.strategies.cma._state import CmaState, Progress, default_population_size, no_paths
from dcmaes.strategies.cma._update import advance, smallest_floor

# Around a starting point given by the user the search looks less far, and trusts its choices half.
START_SHARE = 0.4
START_TRUST = 0.5
FIRST_MUTATION = 0.01
# A run around the best point starts this many spacings wide, but not wider than this part of a first run;
# a lattice of few states starts with this share of jumps.
NEARBY_SPACINGS = 2.0
NEARBY_SHARE = 0.5
NEARBY_JUMPS = 0.05
NEARBY_CONTINUOUS_SHARE = 0.1
SMALLEST_DEVIATION = 1e-11
FROZEN_PROBABILITY = 0.9
MOST_FREE_GENERATIONS = 1000
# Beyond this many latent normals `covariance="auto"` keeps scales only: a full matrix would cost more time
# per evaluation than it could learn within any budget of the order of 100 evaluations a site.
LARGEST_FULL = 300


class Cma(Coded[CmaState]):
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

    name = "cma"
    state_type = CmaState

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


def first_distribution(
    layout: Layout, start: Evaluations, step_size: float, population_size: int, *, is_full: bool
) -> Distribution:
    """Return the distribution of the first run: around the best starting point, or the middle."""
    if len(start) == 0:
        middle = np.full(len(layout.numeric), 0.5)
        return distribution_around(layout, middle, step_size, population_size, is_full=is_full)
    x = start.x[start.order()[0]]
    mean = _towards_middle(layout, layout.sites.coordinate(x)[layout.numeric])
    # An inactive site prefers no state.
    choices = np.where(layout.sites.active(x), x, -1.0)[layout.category]
    return distribution_around(
        layout, mean, START_SHARE * step_size, population_size, is_full=is_full, choices=choices
    )


def distribution_around(
    layout: Layout,
    mean: FloatArray,
    step_size: float,
    population_size: int,
    *,
    is_full: bool,
    choices: FloatArray | None = None,
) -> Distribution:
    """Return a fresh distribution.

    Parameters
    ----------
    mean : array of shape (n,)
        Unit coordinate of the centre.
    step_size : float
        Standard deviation of every numeric site.
    choices : array of shape (b,), optional
        Preferred choices of the one-of-c sites, -1 for none; by default only their prior counts.
    """
    gap = layout.gap(mean)
    # Rounding alone gives a lattice step up to a quarter of a squared spacing: only the rest is added (K22).
    variance = np.maximum(step_size**2 - gap**2 / 4, FIRST_MUTATION * gap**2)
    probabilities = layout.shares
    if choices is not None:
        preferred = choices[:, None] == np.arange(layout.is_state.shape[1])
        trust = np.where(choices >= 0, START_TRUST, 0.0)[:, None]
        probabilities = (1 - trust) * probabilities + trust * preferred
    marginals = Marginals.within_limits(
        layout,
        mean=mean,
        step_size=1.0,
        scale=np.sqrt(variance),
        probabilities=probabilities,
        mutation=np.full(len(layout.category), FIRST_MUTATION),
        floor=smallest_floor(layout.n_sites, population_size),
    )
    copula = Copula.identity(layout.n_latents, len(mean)) if is_full else None
    return Distribution(marginals, copula)


def widened(distribution: Distribution, step_size: float, population_size: int) -> Distribution:
    """Return the distribution made wide again around its mean; its correlations are kept (K22)."""
    old, layout = distribution.marginals, distribution.layout
    gap = layout.gap(old.mean)
    lattice = np.minimum(NEARBY_SPACINGS * gap, NEARBY_SHARE * step_size)
    lattice = np.maximum(lattice, np.sqrt(NEARBY_JUMPS) * gap)
    deviation = np.where(layout.is_lattice, lattice, NEARBY_CONTINUOUS_SHARE * step_size)
    marginals = Marginals.within_limits(
        layout,
        mean=old.mean,
        step_size=1.0,
        scale=np.maximum(old.numeric.deviation, deviation),
        probabilities=(1 - START_TRUST) * layout.shares + START_TRUST * old.probabilities,
        mutation=np.full(len(layout.category), FIRST_MUTATION),
        floor=smallest_floor(layout.n_sites, population_size),
    )
    return Distribution(marginals, distribution.copula)


def _towards_middle(layout: Layout, mean: FloatArray) -> FloatArray:
    """Move the mean of short lattices half-way to the middle, so that they are not frozen at once."""
    is_short = layout.is_lattice & (layout.gap(mean) >= 0.5) & ~layout.is_periodic
    return np.where(is_short, mean + START_TRUST * (0.5 - mean), mean)


def convergence(state: CmaState) -> str | None:
    """Return why the run has converged, quoting the number that fired, or None."""
    progress, marginals, layout = state.progress, state.distribution.marginals, state.distribution.layout
    if progress.n_free > MOST_FREE_GENERATIONS:
        return f"no new point was drawn in {progress.n_free} generations"
    is_continuous = ~layout.is_lattice & _live(state.distribution)[layout.numeric]
    if progress.generation and is_continuous.any():
        widest = float(marginals.numeric.deviation[is_continuous].max())
        if widest < SMALLEST_DEVIATION:
            return f"the largest continuous deviation is {widest:.1e} of its range"
    # (K23): a run that has frozen on one discrete point has only its neighbours left to try; any other needs
    # a number of generations that grows with the number of sites.
    patience = state.population_size * (30 + 5 * layout.n_sites)
    frozen_patience = 50 + 3 * layout.n_neighbours
    if progress.idle > frozen_patience and _is_frozen(state.distribution):
        patience = frozen_patience
    if progress.idle > patience:
        return f"no improvement in {progress.idle} evaluations (patience {patience})"
    return None


def _live(distribution: Distribution) -> NDArray[np.bool_]:
    """Tell which sites are active in the middle of the distribution, shape (d,): nothing hangs on others."""
    layout, marginals = distribution.layout, distribution.marginals
    if not layout.sites.has_conditions:
        return np.ones(layout.sites.dimension, dtype=bool)
    middle, choices = marginals.mean[None], np.empty((1, 0))
    if len(layout.category):
        choices = marginals.probabilities.argmax(axis=1)[None].astype(np.float64)
    x = layout.points(middle, np.full_like(middle, 0.5), choices)
    return layout.sites.active(x[0])


def _is_frozen(distribution: Distribution) -> bool:
    marginals = distribution.marginals
    layout, is_live = distribution.layout, _live(distribution)
    law = marginals.numeric
    # What is left of the spread without jumps is the rounding of the mean: f (1 - f) squared spacings.
    rounding = law.spread**2 - law.deviation**2
    is_still = law.is_rare & (rounding <= FROZEN_PROBABILITY * (1 - FROZEN_PROBABILITY) * law.gap**2)
    likeliest = marginals.probabilities.max(axis=1, initial=0.0)
    is_still |= ~is_live[layout.numeric]
    is_settled = (likeliest >= FROZEN_PROBABILITY) | ~is_live[layout.category]
    return bool(is_still.all()) and bool(is_settled.all())


def next_run(
    state: CmaState, rng: np.random.Generator, *, base_size: int, step_size: float, is_bipop: bool
) -> CmaState:
    """Return the first state of the next run: near the best point if that is new, otherwise elsewhere."""
    progress, layout = state.progress, state.distribution.layout
    growing, small = progress.budgets
    if state.is_small_run:
        small += progress.evaluations
    else:
        growing += progress.evaluations
    is_best = progress.best < state.record
    state = replace(
        state,
        waiting=Evaluations.empty(layout.sites.dimension),
        progress=Progress(run=progress.run + 1, budgets=(growing, small)),
        interactions=interaction_matrix(state.distribution) if is_best else state.interactions,
        record=min(progress.best, state.record),
    )
    if is_best and layout.n_neighbours:
        # A frozen run may be a few joint steps away from something better: cheaper to try than a new run.
        distribution = widened(state.distribution, step_size, state.population_size)
        return replace(state, distribution=distribution, paths=no_paths(distribution))
    is_small = is_bipop and progress.run > 0 and small < growing
    return _run_elsewhere(state, rng, base_size=base_size, step_size=step_size, is_small=is_small)


def _run_elsewhere(
    state: CmaState, rng: np.random.Generator, *, base_size: int, step_size: float, is_small: bool
) -> CmaState:
    layout = state.distribution.layout
    if is_small:
        # BIPOP: a size between the first and half of the present one, and a shorter first step.
        growing_size = state.growing_size
        ratio = max(1.0, growing_size / (2 * base_size))
        size = int(base_size * ratio ** (rng.random() ** 2))
        step_size *= float(10 ** (-2 * rng.random()))
    else:
        size = growing_size = 2 * state.growing_size
    mean = rng.random(len(layout.numeric))
    is_full = state.distribution.copula is not None
    distribution = distribution_around(layout, mean, step_size, size, is_full=is_full)
    return replace(
        state,
        distribution=distribution,
        paths=no_paths(distribution),
        population_size=size,
        growing_size=growing_size,
        is_small_run=is_small,
    )
