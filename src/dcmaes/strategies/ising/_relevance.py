"""Which evaluations a regression learns from, and how much each of them counts."""

from __future__ import annotations

import numpy as np

from dcmaes._validation import FloatArray
from dcmaes.models import FeatureMap, Regression
from dcmaes.strategies._protocol import Evaluations
from dcmaes.strategies.ising._constants import LARGE_RISE, LOW_SHARE, SMALLEST_WEIGHT

# Distances and rises beyond these are not told apart: their squares would overflow.
_FAR, _HIGH = 1e6, 1e70


def local_regression(
    feature_map: FeatureMap, memory: Evaluations, reach: float, window: int, variances: FloatArray
) -> Regression:
    """Return the regression on the `window` evaluations nearest to the centre of the features."""
    features = feature_map.features(memory.x)
    distance = distances(features, feature_map.n_choices, reach)
    nearest = np.argsort(distance, kind="stable")[:window]
    features, distance = features[nearest], distance[nearest]
    rise = _in_low_rises(rises(memory)[nearest])
    # Near the centre and low: (Q8)
    weights = nearness(distance, feature_map.n_features) / (1 + rise**2) ** 2
    weights = np.maximum(weights, SMALLEST_WEIGHT)
    return Regression(
        features=features,
        n_choices=feature_map.n_choices,
        site=feature_map.site,
        targets=_standardized(_bent(rise), weights),
        weights=weights,
        variances=variances,
    )


def rises(memory: Evaluations) -> FloatArray:
    """Return how far values lie above the best, infeasible points and failures behind nearly all others.

    In sixteenths of the unit of the values, so that no difference of finite values overflows.

    >>> told = Evaluations(np.zeros((3, 1)), np.array([0.0, 16.0, np.nan]), np.array([0.0, 0.0, np.inf]))
    >>> rises(told)
    array([0.  , 1.  , 2.25])
    """
    excess = np.minimum(memory.violation, 1e300)
    share = excess / (1 + excess)
    is_usable = (memory.violation == 0) & np.isfinite(memory.value)
    if not is_usable.any():
        behind: FloatArray = share - share.min()
        return behind
    rise = np.where(is_usable, memory.value, 0.0) / 16
    rise -= rise[is_usable].min()
    high = float(np.quantile(rise[is_usable], 0.9))
    return np.where(is_usable, rise, high + (high or 1.0) * (0.5 + share))


def distances(features: FloatArray, n_choices: int, reach: float) -> FloatArray:
    """Return how far points are from the centre: changed choices in reaches, numbers in widths (Q8).

    >>> distances(np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 3.0]]), n_choices=2, reach=4.0)
    array([0.5, 3. ])
    """
    changed = features[:, :n_choices].sum(axis=1) / reach
    lines = np.minimum(np.abs(features[:, n_choices:]), _FAR)
    spread = np.sqrt((lines**2).mean(axis=1)) if lines.shape[1] else 0.0
    distance: FloatArray = np.hypot(changed, spread)
    return distance


def nearness(distance: FloatArray, n_features: int) -> FloatArray:
    """Return weights that fade with distance, in increasing order, wide enough to hold enough points (Q8)."""
    enough = min(len(distance) - 1, 2 * n_features)
    bandwidth = max(2.0, 1.5 * float(distance[enough]))
    near: FloatArray = np.exp(-((distance / bandwidth) ** 2) / 2)
    return near


def _in_low_rises(rise: FloatArray) -> FloatArray:
    """Return rises in units of the one that counts as low."""
    positive = rise[rise > 0]
    if len(positive) == 0:
        return rise
    low = max(float(np.quantile(positive, LOW_SHARE)), 1e-300)
    with np.errstate(over="ignore"):
        return np.minimum(rise / low, _HIGH)


def _bent(rise: FloatArray) -> FloatArray:
    """Return rises that grow only like a logarithm where they are large (Q9)."""
    beyond = np.log(np.maximum(rise, LARGE_RISE) / LARGE_RISE)
    bent: FloatArray = np.minimum(rise, LARGE_RISE) + LARGE_RISE * beyond
    return bent


def _standardized(target: FloatArray, weights: FloatArray) -> FloatArray:
    share = weights / weights.sum()
    deviation = target - share @ target
    standardized: FloatArray = deviation / max(float(np.sqrt(share @ deviation**2)), 1e-12)
    return standardized
