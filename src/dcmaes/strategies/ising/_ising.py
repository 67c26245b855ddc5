"""The strategy `ising`: the paper's exponential family in canonical coordinates, learned by regression."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dcmaes._validation import FloatArray, check_integer
from dcmaes.distributions import LatticeGaussian
from dcmaes.models import FeatureMap, Regression
from dcmaes.space import Sites
from dcmaes.strategies._codec import Coded, changed, changes
from dcmaes.strategies._evaluations import WORST, Evaluations
from dcmaes.strategies._memory import Memory
from dcmaes.strategies._protocol import Summary
from dcmaes.strategies.ising._learning import IsingState, around, best_of, follow, labelled, learn, model
from dcmaes.strategies.ising._plateau import Blame
from dcmaes.strategies.ising._proposals import propose
from dcmaes.strategies.ising._settings import DEFAULT, IsingSettings

_WIDE_STEPS = 20  # towards the variances of the regression that interactions are read from
N_RECENT = 50  # evaluations whose spread gives the temperature
SMALLEST_TEMPERATURE = 1e-6  # in units of the values' deviation


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
    settings : IsingSettings, or mapping
        The numbers that it works with, or those of them that are not the default ones, for studies.

    Examples
    --------
    >>> import dcmaes as dc
    >>> strategy = IsingSearch()
    >>> result = dc.minimize(sum, dc.Space.binary(30), budget=100, seed=0, strategy=strategy, target=0)
    >>> result.fun
    0.0
    """

    state_type = IsingState

    def __init__(
        self,
        *,
        window: int | None = None,
        max_restarts: int = 1000,
        settings: IsingSettings | Mapping[str, Any] = DEFAULT,
    ) -> None:
        self.window = None if window is None else check_integer("window", window, low=20)
        self.max_restarts = check_integer("max_restarts", max_restarts, low=0)
        self.settings = settings if isinstance(settings, IsingSettings) else changed(DEFAULT, settings)

    def __repr__(self) -> str:
        return f"IsingSearch({', '.join(f'{name}={value!r}' for name, value in self.options().items())})"

    @property
    def name(self) -> str:
        """The name under which results report the strategy."""
        return "ising"

    def options(self) -> Mapping[str, Any]:
        """Return the options as plain data."""
        options: dict[str, Any] = {"window": self.window, "max_restarts": self.max_restarts}
        if self.settings != DEFAULT:
            options["settings"] = changes(DEFAULT, self.settings)
        return options

    def init(self, sites: Sites, memory: Memory, budget: int, rng: np.random.Generator) -> IsingState:
        """Return the first state: around the best start, or anywhere."""
        start = memory.starts
        centre = start.x[start.order()[0]] if len(start) else sites.uniform(rng.random(sites.dimension))
        n_changed = float((1 / np.where(sites.n_states > 1, sites.n_states, np.inf)).sum())
        state = IsingState(
            sites=sites,
            centre=sites.canonical(centre),
            level=WORST,
            width=np.full(sites.dimension, self.settings.first_width),
            reach=max(self.settings.smallest_reach, n_changed),
            blame=Blame.none(sites.dimension, self.settings),
            variances=np.array(self.settings.first_variances),
            barrier_variances=np.array(self.settings.first_barrier_variances),
            cliff="",
            low_share=self.settings.first_low_share,
            window=self.window or self._default_window(sites),
            n_fitted=0,
            n_fits=0,
            idle=0,
            run=0,
            settings=self.settings,
        )
        evaluated = start.take(np.flatnonzero(~np.isnan(start.value) | (start.violation > 0.0)))
        return learn(state, evaluated, memory)

    def batch_size(self, state: IsingState) -> int:
        """Return how many points are proposed at a time."""
        return self.settings.batch

    def sample(self, state: IsingState, n: int, rng: np.random.Generator, memory: Memory) -> FloatArray:
        """Return `n` coded points, shape (n, d)."""
        return propose(state, n, rng, memory)

    def update(self, state: IsingState, told: Evaluations, memory: Memory) -> IsingState:
        """Return the state after learning from `told`."""
        return learn(state, told, memory)

    def join(self, state: IsingState, memory: Memory) -> IsingState:
        """Return the state at the best point of the memory, if another proposer has found it."""
        return follow(state, memory)

    def state_from_dict(self, data: Mapping[str, Any], sites: Sites) -> IsingState:
        """Return the state that `state_to_dict` described."""
        state = super().state_from_dict(data, sites)
        return replace(state, settings=self.settings, blame=replace(state.blame, settings=self.settings))

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
        share = self.settings.restart_shares[state.run % len(self.settings.restart_shares)]
        best, level = best_of(memory.recall(), memory.deviation, self.settings) or (state.centre, state.level)
        u = rng.random(d)
        changed = np.where(rng.random(d) < share, state.sites.uniform(u), best)
        return replace(
            state,
            centre=state.sites.canonical(state.sites.awake(changed, best, u)),
            level=level if share == 0 else WORST,
            width=np.full(d, self.settings.first_width),
            reach=max(self.settings.smallest_reach, d / 4),
            blame=Blame.none(d, self.settings),
            variances=np.array(self.settings.first_variances),
            barrier_variances=np.array(self.settings.first_barrier_variances),
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

    def _default_window(self, sites: Sites) -> int:
        """Return twice the number of parameters of a quadratic in the numeric sites, within limits."""
        n_lines, least = int((sites.is_numeric & (sites.n_states != 2)).sum()), self.settings.window
        # The time grows with the cube.
        return int(np.clip((n_lines + 1) * (n_lines + 2), least, 2 * least))


def wide_model(state: IsingState, memory: Memory) -> Regression:
    """Return a regression in which also values far above the best count: what is asked is who interacts."""
    # Also who interacts in a penalty, so a cliff does not count.
    used, _ = labelled(replace(state, cliff=""), around(state, memory))
    return used.regression(state.settings.low_shares[-1], state.variances).fitted(_WIDE_STEPS)


def interaction_sizes(state: IsingState, memory: Memory) -> FloatArray:
    """Return the size of the largest mean coupling of each pair of sites, shape (d, d)."""
    d, site = state.sites.dimension, state.feature_map.site
    strength = np.zeros((d, d))
    if memory.n_seen and len(site):
        coupling = wide_model(state, memory).mean(has_pairs=True).coupling
        if coupling is not None:
            np.maximum.at(strength, np.ix_(site, site), np.abs(coupling[0]))
    # Rounding may differ between the two triangles.
    return np.maximum(strength, strength.T)


def chosen_shares(state: IsingState, memory: Memory) -> tuple[FloatArray, ...]:
    """Return how often low, near points have each state of a two-state or one-of-c site; equal at first."""
    feature_map, n_states = state.feature_map, state.sites.n_states
    mean = None
    if memory.n_seen and feature_map.n_features:
        values = model(state, memory).values
        mean = values.weights / values.weights.sum() @ values.features
    shares = []
    for i in range(state.sites.dimension):
        own = np.flatnonzero(feature_map.choice_site == i)
        share = np.full(n_states[i] if len(own) else 0, 1 / max(n_states[i], 1))
        if len(own) and mean is not None:
            share[feature_map.choice_state[own].astype(np.int64)] = mean[own]
            share[int(state.centre[i])] = 1 - mean[own].sum()
        shares.append(np.clip(share, 0.0, 1.0))
    return tuple(shares)


def implied_law(state: IsingState, memory: Memory) -> LatticeGaussian | None:
    """Return P(x) ~ exp(-e(x) / T) on the sites with more than one state, e the mean of the regression.

    None where that is no quadratic function on a lattice: with continuous or periodic variables, with choices
    among three or more, with uneven steps, with conditions; and before anything was learned.
    """
    feature_map = state.feature_map
    slopes = _slopes(feature_map)
    if slopes is None or memory.n_seen == 0:
        return None
    energy = wide_model(state, memory).mean(has_pairs=True)
    p = energy.n_choices
    radial, linear, pairs = (
        float(energy.radial[0]),
        energy.field[0].copy(),
        np.zeros((len(slopes), len(slopes))),
    )
    if energy.coupling is not None:
        pairs += energy.coupling[0]
    linear[:p] += radial  # rho counts changed choices, and squares of numbers
    pairs[np.arange(p, len(slopes)), np.arange(p, len(slopes))] = 2.0 * (energy.curvature[0] + radial)
    recent = feature_map.features(memory.recall().x[-N_RECENT:])
    values = recent @ linear + 0.5 * ((recent @ pairs) * recent).sum(axis=1)
    # A quadratic energy in k variables spreads by T sqrt(k/2) under its own law (Q25).
    temperature = max(float(values.std()) * np.sqrt(2.0 / len(slopes)), SMALLEST_TEMPERATURE)
    order = np.argsort(feature_map.site)
    site = feature_map.site[order]
    quadratic = -(pairs * np.outer(slopes, slopes))[np.ix_(order, order)] / temperature
    slope = -(linear * slopes)[order] / temperature
    return LatticeGaussian(state.sites.n_states[site] - 1, slope - quadratic @ state.centre[site], quadratic)


def _slopes(feature_map: FeatureMap) -> FloatArray | None:
    """Return by how much each feature changes with its site's state, or None where it is no straight line."""
    sites, site = feature_map.sites, feature_map.site
    if len(site) == 0 or len(np.unique(site)) < len(site) or (sites.is_free & ~sites.is_lattice).any():
        return None
    if sites.has_conditions:  # an inactive site has no state
        return None
    if sites.periodic[feature_map.numeric].any():
        return None
    largest = np.maximum(sites.n_states - 1.0, 1.0)
    ends = [
        sites.coordinate(np.where(sites.is_lattice, share, 0.0))
        for share in (np.zeros_like(largest), largest)
    ]
    step = (ends[1] - ends[0]) / largest
    middle = np.floor(largest / 2.0)
    straight = (
        np.abs(sites.coordinate(np.where(sites.is_lattice, middle, 0.0)) - ends[0] - step * middle) < 1e-9
    )
    if not straight[feature_map.numeric].all():
        return None
    choices = (
        1.0 - 2.0 * feature_map.centre[feature_map.choice_site]
    )  # a choice of two: 1 where it has changed
    lines = step[feature_map.numeric] / feature_map.width[feature_map.numeric]
    return np.concatenate([choices, lines])
