"""What the model tells about the function: who interacts, the law that it implies, what low points chose."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dcmaes._validation import FloatArray
from dcmaes.distributions import LatticeGaussian
from dcmaes.models import FeatureMap, Regression
from dcmaes.strategies._memory import Memory
from dcmaes.strategies.ising._constants import LOW_SHARES, MEMORY, WIDE_STEPS
from dcmaes.strategies.ising._model import IsingState, around, labelled, model

N_RECENT = 50  # evaluations whose spread gives the temperature
SMALLEST_TEMPERATURE = 1e-6  # in units of the values' deviation


def wide_model(state: IsingState, memory: Memory) -> Regression:
    """Return a regression in which also values far above the best count: what is asked is who interacts."""
    # Also who interacts in a penalty, so a cliff does not count.
    used, _ = labelled(replace(state, cliff=""), around(state, memory))
    return used.regression(LOW_SHARES[-1], state.variances).fitted(WIDE_STEPS)


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
    recent = feature_map.features(memory.recall(MEMORY).x[-N_RECENT:])
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
