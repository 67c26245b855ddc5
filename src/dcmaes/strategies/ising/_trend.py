"""The trend of all values: a sum over single sites, which knows nothing of ruggedness and interactions."""

from __future__ import annotations

import numpy as np

from dcmaes._validation import FloatArray
from dcmaes.models import FeatureMap
from dcmaes.strategies._evaluations import Evaluations
from dcmaes.strategies._labels import rises
from dcmaes.strategies.ising._constants import TREND_MEMORY, TREND_QUANTILE, TREND_RIDGE


def trend_minimum(feature_map: FeatureMap, memory: Evaluations) -> FloatArray:
    """Return the coded point at which the trend is lowest, shape (d,).

    >>> from dcmaes.space import Space
    >>> sites = Space.binary(2).sites
    >>> x = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> told = Evaluations(x, np.array([5.0, 4.0, 7.0]), np.zeros(3))
    >>> trend_minimum(FeatureMap(sites, np.zeros(2), np.ones(2)), told)
    array([1., 0.])
    """
    sites, numeric, p = feature_map.sites, feature_map.numeric, feature_map.n_choices
    recent = memory.take(slice(-TREND_MEMORY, None))
    u = sites.coordinate(recent.x)[:, numeric] - 0.5
    # One value for each state of a choice, a parabola for each number: (Q14)
    terms = np.concatenate([feature_map.features(recent.x)[:, :p], u, u**2], axis=1)
    span = np.maximum(np.ptp(terms, axis=0), 1e-12)
    terms = (terms - terms.mean(axis=0)) / span
    rise = rises(recent)
    rise = np.minimum(rise, np.quantile(rise, TREND_QUANTILE))
    rise /= float(rise.max()) or 1.0
    ridge = TREND_RIDGE * np.eye(terms.shape[1])
    weights = np.linalg.solve(terms.T @ terms + ridge, terms.T @ (rise - rise.mean())) / span
    coordinate = sites.coordinate(feature_map.centre)
    coordinate[numeric] = 0.5 + _parabola_minima(weights[p:].reshape(2, -1))
    x = sites.from_coordinate(coordinate, np.full_like(coordinate, 0.5))
    # The lowest state of a site comes last and stays; where all are above the centre's, that stays.
    order = np.argsort(-weights[:p], kind="stable")
    order = order[weights[order] < 0]
    x = np.where(sites.is_choice, feature_map.centre, x)
    x[feature_map.choice_site[order]] = feature_map.choice_state[order]
    return x


def _parabola_minima(weights: FloatArray) -> FloatArray:
    """Return where s z + b z^2 is lowest within [-1/2, 1/2], for weights (s, b) of shape (2, q)."""
    slope, bend = weights
    at_end = -np.sign(slope) / 2
    inside = -slope / np.maximum(2 * bend, 1e-12)
    minima: FloatArray = np.where(bend > 1e-12, np.clip(inside, -0.5, 0.5), at_end)
    return minima
