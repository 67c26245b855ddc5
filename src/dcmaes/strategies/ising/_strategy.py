"""The strategy `ising`: the paper's exponential family in canonical coordinates, learned by regression."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dcmaes._validation import FloatArray, check_integer
from dcmaes.distributions import LatticeGaussian
from dcmaes.space import Sites
from dcmaes.strategies._codec import Coded
from dcmaes.strategies._evaluations import WORST, Evaluations
from dcmaes.strategies._memory import Memory
from dcmaes.strategies._protocol import Summary
from dcmaes.strategies.ising._constants import (
    BATCH,
    FIRST_BARRIER_VARIANCES,
    FIRST_LOW_SHARE,
    FIRST_VARIANCES,
    FIRST_WIDTH,
    LARGEST_WINDOW,
    MEMORY,
    RESTART_SHARES,
    SMALLEST_REACH,
    SMALLEST_WINDOW,
)
from dcmaes.strategies.ising._law import chosen_shares, implied_law, interaction_sizes
from dcmaes.strategies.ising._model import IsingState, best_of
from dcmaes.strategies.ising._plateau import Blame
from dcmaes.strategies.ising._proposals import propose
from dcmaes.strategies.ising._update import follow, learn


class IsingSearch(Coded[IsingState]):
    """Thompson sampling: draw functions from a Bayesian regression on all evaluations, propose their minima.

    The coefficients of the regression are the canonical parameters of the Ising model, field and couplings,
    for changes relative to the best point, so it learns the natural gradient of that family (docs/maths.md,
    section Q).

    Parameters
    ----------
    window : int, optional
        Largest number of evaluations in a regression, by default 300 to 600; its time grows with the cube.
    max_restarts : int
        Largest number of restarts.

    Examples
    --------
    >>> import dcmaes as dc
    >>> strategy = IsingSearch()
    >>> result = dc.minimize(sum, dc.Space.binary(30), budget=100, seed=0, strategy=strategy, target=0)
    >>> result.fun
    0.0
    """

    state_type = IsingState

    def __init__(self, *, window: int | None = None, max_restarts: int = 1000) -> None:
        self.window = None if window is None else check_integer("window", window, low=20)
        self.max_restarts = check_integer("max_restarts", max_restarts, low=0)

    def __repr__(self) -> str:
        return f"IsingSearch({', '.join(f'{name}={value!r}' for name, value in self.options().items())})"

    @property
    def name(self) -> str:
        """The name under which results report the strategy."""
        return "ising"

    def options(self) -> Mapping[str, Any]:
        """Return the options as plain data."""
        return dict(vars(self))

    def init(self, sites: Sites, memory: Memory, budget: int, rng: np.random.Generator) -> IsingState:
        """Return the first state: around the best start, or anywhere."""
        start = memory.starts
        centre = start.x[start.order()[0]] if len(start) else sites.uniform(rng.random(sites.dimension))
        state = IsingState(
            sites=sites,
            centre=sites.canonical(centre),
            level=WORST,
            width=np.full(sites.dimension, FIRST_WIDTH),
            reach=max(
                SMALLEST_REACH, float((1 / np.where(sites.n_states > 1, sites.n_states, np.inf)).sum())
            ),
            blame=Blame.none(sites.dimension),
            variances=np.array(FIRST_VARIANCES),
            barrier_variances=np.array(FIRST_BARRIER_VARIANCES),
            cliff="",
            low_share=FIRST_LOW_SHARE,
            window=self.window or _default_window(sites),
            n_fitted=0,
            n_fits=0,
            idle=0,
            run=0,
        )
        known = start.take(np.flatnonzero(~np.isnan(start.value) | (start.violation > 0.0)))
        return learn(state, known, memory)

    def batch_size(self, state: IsingState) -> int:
        """Return how many points are proposed at a time."""
        return BATCH

    def sample(self, state: IsingState, n: int, rng: np.random.Generator, memory: Memory) -> FloatArray:
        """Return `n` coded points, shape (n, d)."""
        return propose(state, n, rng, memory)

    def update(self, state: IsingState, told: Evaluations, memory: Memory) -> IsingState:
        """Return the state after learning from `told`."""
        return learn(state, told, memory)

    def join(self, state: IsingState, memory: Memory) -> IsingState:
        """Return the state at the best point of the memory, if another proposer has found it."""
        return follow(state, memory)

    def convergence(self, state: IsingState, memory: Memory) -> str | None:
        """Return why the run has converged, or None."""
        if state.idle > state.patience:
            return f"no improvement in {state.idle} evaluations (patience {state.patience})"
        return None

    def restart(self, state: IsingState, rng: np.random.Generator, memory: Memory) -> IsingState | None:
        """Return a fresh start: from the best point, from a changed one, or from anywhere, in turns."""
        if state.run >= self.max_restarts:
            return None
        d = state.sites.dimension
        share = RESTART_SHARES[state.run % len(RESTART_SHARES)]
        best, level = best_of(memory.recall(MEMORY), memory.deviation) or (state.centre, state.level)
        u = rng.random(d)
        changed = np.where(rng.random(d) < share, state.sites.uniform(u), best)
        return replace(
            state,
            centre=state.sites.canonical(state.sites.awake(changed, best, u)),
            level=level if share == 0 else WORST,
            width=np.full(d, FIRST_WIDTH),
            reach=max(SMALLEST_REACH, d / 4),
            blame=Blame.none(d),
            variances=np.array(FIRST_VARIANCES),
            barrier_variances=np.array(FIRST_BARRIER_VARIANCES),
            cliff="",
            idle=0,
            run=state.run + 1,
        )

    def summary(self, state: IsingState, memory: Memory) -> Summary:
        """Return the present search distribution: the centre, the widths around it, what low points chose."""
        sites, shares = state.sites, chosen_shares(state, memory)
        mean = np.where(sites.is_numeric, sites.coordinate(state.centre), np.nan)
        deviation = np.where(sites.is_numeric, state.width, np.nan)
        for site in np.flatnonzero(sites.is_numeric & (sites.n_states == 2)):
            mean[site] = shares[site][1]
            deviation[site] = np.sqrt(mean[site] * (1 - mean[site]))
        return Summary(mean, deviation, shares, None, float(state.width.mean()))

    def interactions(self, state: IsingState, memory: Memory) -> FloatArray:
        """Return the size of the largest mean coupling of each pair of sites, shape (d, d)."""
        return interaction_sizes(state, memory)

    def law(self, state: IsingState, memory: Memory) -> LatticeGaussian | None:
        """Return the law that the regression implies: energy over temperature; None if there is none."""
        return implied_law(state, memory)


def _default_window(sites: Sites) -> int:
    """Return twice the number of parameters of a quadratic in the numeric sites, within limits."""
    n_lines = int((sites.is_numeric & (sites.n_states != 2)).sum())
    return int(np.clip((n_lines + 1) * (n_lines + 2), SMALLEST_WINDOW, LARGEST_WINDOW))
