"""When a run has converged, and what the next one looks like."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dcmaes.strategies._protocol import Evaluations
from dcmaes.strategies.cma._distribution import Distribution
from dcmaes.strategies.cma._progress import Progress
from dcmaes.strategies.cma._start import distribution_around, widened
from dcmaes.strategies.cma._state import CmaState, no_paths
from dcmaes.strategies.cma._summary import interaction_matrix

SMALLEST_DEVIATION = 1e-11
FROZEN_PROBABILITY = 0.9
MOST_FREE_GENERATIONS = 1000


def convergence(state: CmaState) -> str | None:
    """Return why the run has converged, quoting the number that fired, or None."""
    progress, marginals, layout = state.progress, state.distribution.marginals, state.distribution.layout
    if progress.n_free > MOST_FREE_GENERATIONS:
        return f"no new point was drawn in {progress.n_free} generations"
    if progress.generation and not layout.is_lattice.all():
        widest = float(marginals.numeric.deviation[~layout.is_lattice].max())
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


def _is_frozen(distribution: Distribution) -> bool:
    marginals = distribution.marginals
    law = marginals.numeric
    # What is left of the spread without jumps is the rounding of the mean: f (1 - f) squared spacings.
    rounding = law.spread**2 - law.deviation**2
    is_still = law.is_rare & (rounding <= FROZEN_PROBABILITY * (1 - FROZEN_PROBABILITY) * law.gap**2)
    likeliest = marginals.probabilities.max(axis=1, initial=0.0)
    return bool(is_still.all()) and bool((likeliest >= FROZEN_PROBABILITY).all())


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
    is_best = progress.best < state.memory_best
    state = replace(
        state,
        waiting=Evaluations.empty(layout.sites.dimension),
        progress=Progress(run=progress.run + 1, budgets=(growing, small)),
        memory=interaction_matrix(state.distribution) if is_best else state.memory,
        memory_best=min(progress.best, state.memory_best),
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
