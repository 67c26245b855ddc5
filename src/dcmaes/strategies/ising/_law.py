"""The law that the regression implies: its energy over a temperature, an object of `dcmaes.distributions`."""

from __future__ import annotations

import numpy as np

from dcmaes._validation import FloatArray
from dcmaes.distributions import LatticeGaussian
from dcmaes.models import FeatureMap
from dcmaes.strategies.ising._state import Posterior
from dcmaes.strategies.ising._update import wide_model

N_RECENT = 50  # evaluations whose spread gives the temperature
SMALLEST_TEMPERATURE = 1e-6  # in units of the values' deviation


def implied_law(state: Posterior) -> LatticeGaussian | None:
    """Return P(x) ~ exp(-e(x) / T) on the sites with more than one state, e the mean of the regression.

    None where that is no quadratic function on a lattice: with continuous or periodic variables, with choices
    among three or more, with uneven steps, with conditions; and before anything was learned.
    """
    feature_map = state.feature_map
    slopes = _slopes(feature_map)
    if slopes is None or len(state.memory) == 0:
        return None
    energy = wide_model(state).mean(has_pairs=True)
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
    recent = feature_map.features(state.memory.x[-N_RECENT:])
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
