"""The regressions on all objectives around a point of the front, and functions drawn from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dcmaes._validation import FloatArray, IntArray
from dcmaes.models import Component, Energy, FeatureMap, Regression
from dcmaes.space import Sites
from dcmaes.strategies.front._constants import (
    LARGEST_WIDTH,
    N_NEIGHBOURS,
    SMALLEST_WIDTH,
    VALUE_RANGE,
    WIDTH_FACTOR,
    WINDOW,
)
from dcmaes.strategies.front._known import Known
from dcmaes.strategies.ising._constants import (
    FIRST_BARRIER_VARIANCES,
    FIRST_VARIANCES,
    LARGEST_BARRIER_NOISE,
    LARGEST_PAIRS,
    SMALLEST_REACH,
    SMALLEST_WEIGHT,
    WIDTH_IN_GAPS,
)
from dcmaes.strategies.ising._neighbourhood import distances, improved, limit_of, nearness


@dataclass(frozen=True, eq=False)
class LocalModel:
    """Regressions on the evaluations nearest to a point, one for each objective.

    Attributes
    ----------
    feature_map : FeatureMap
        Features relative to that point.
    reach : float
        How many choices neighbours on the front differ in.
    regressions : tuple of m Regression
        On standardized values.
    limit : Regression or None
        On how far points are beyond the constraints; None if few or none are.
    mean, scale : arrays of shape (m,)
        What was taken off values, and by what they were divided then.
    """

    feature_map: FeatureMap
    reach: float
    regressions: tuple[Regression, ...]
    limit: Regression | None
    mean: FloatArray
    scale: FloatArray

    def predict(self, x: FloatArray) -> FloatArray:
        """Return the expected values of coded points, shape (n, d) to (n, m)."""
        features = self.feature_map.features(x)
        expected = np.stack([regression.predict(features) for regression in self.regressions], axis=1)
        values: FloatArray = self.mean + self.scale * expected
        return values

    @property
    def barrier(self) -> Regression | None:
        """The same if it tells which points are beyond, else None."""
        return self.limit if _tells(self.limit) else None

    def draw(self, n: int, rng: np.random.Generator) -> Draws:
        """Return `n` functions of each objective, drawn from what the evaluations leave open."""
        has_pairs = self.feature_map.n_features <= LARGEST_PAIRS
        energies = tuple(regression.draw(n, rng, has_pairs=has_pairs) for regression in self.regressions)
        barrier = None if self.barrier is None else self.barrier.draw(n, rng, has_pairs=has_pairs)
        return Draws(self, energies, barrier)


@dataclass(frozen=True, eq=False)
class Draws:
    """Functions drawn from a model: c of them for each of m objectives, and for the constraints."""

    model: LocalModel
    energies: tuple[Energy, ...]
    barrier: Energy | None

    def weighted(self, weights: FloatArray) -> Energy:
        """Return their weighted sums, one for each row of `weights`, shape (c, m) (O6)."""
        return weighted_sum(self.energies, weights * self.model.scale)

    def values(self, x: FloatArray) -> FloatArray:
        """Return the values of coded points under each function, shape (n, d) to (c, n, m)."""
        features = self.model.feature_map.features(x)
        drawn = [energy.constant[:, None] + energy.values_at(features) for energy in self.energies]
        values: FloatArray = self.model.mean + self.model.scale * np.stack(drawn, axis=2)
        return values

    def is_beyond(self, x: FloatArray) -> NDArray[np.bool_]:
        """Tell which coded points violate constraints under each function, shape (n, d) to (c, n)."""
        if self.barrier is None:
            return np.zeros((len(self.energies[0].radial), len(x)), dtype=bool)
        features = self.model.feature_map.features(x)
        is_beyond: NDArray[np.bool_] = self.barrier.constant[:, None] + self.barrier.values_at(features) > 0
        return is_beyond


def weighted_sum(energies: Sequence[Energy], weights: FloatArray) -> Energy:
    """Return a weighted sum of energies: its coefficients are those of the energies, weighted.

    >>> one = Energy(1, np.ones(1), np.ones((1, 1)), np.zeros((1, 0)), None)
    >>> weighted_sum([one, one], np.array([[1.0, 2.0]])).field
    array([[3.]])
    """
    first = energies[0]

    def total(name: str) -> FloatArray:
        parts = [
            weight.reshape(-1, *[1] * (getattr(energy, name).ndim - 1)) * getattr(energy, name)
            for energy, weight in zip(energies, weights.T, strict=True)
        ]
        added: FloatArray = np.sum(parts, axis=0)
        return added

    coupling = None if first.coupling is None else total("coupling")
    return Energy(
        first.n_choices, total("radial"), total("field"), total("curvature"), coupling, total("constant")
    )


def local_model(known: Known, centre: int, sites: Sites, variances: FloatArray) -> LocalModel:
    """Return the regressions around row `centre` of what is known; `variances` have the shape (m + 1, 7)."""
    near = _neighbours(known, centre)
    feature_map = FeatureMap(sites, known.x[centre], _width(known, centre, near, sites))
    n_choices = feature_map.n_choices
    features = feature_map.features(known.x)
    reach = max(SMALLEST_REACH, float(features[near, :n_choices].sum(axis=1).mean()) if len(near) else 0.0)
    distance = distances(features, n_choices, reach)
    nearest = np.argsort(distance, kind="stable")[:WINDOW]
    relevance = nearness(distance[nearest], feature_map.n_features)
    every = Regression(
        features=features[nearest],
        n_choices=n_choices,
        site=feature_map.site,
        targets=np.zeros(len(nearest)),
        weights=np.maximum(relevance, SMALLEST_WEIGHT),
        variances=variances[-1],
    )
    limit = _limit(every, known.excess[nearest])
    if _tells(limit):
        is_used = known.excess[nearest] == 0
        nearest, every = nearest[is_used], every.of_data(is_used)
    values = known.values[nearest]
    rise = (values - known.values[centre]) / VALUE_RANGE
    weights = np.maximum(every.weights[:, None] / (1 + rise**2) ** 2, SMALLEST_WEIGHT)
    share = weights / weights.sum(axis=0)
    mean = (share * values).sum(axis=0)
    scale = np.sqrt((share * (values - mean) ** 2).sum(axis=0))
    scale = np.where(scale > 0, scale, 1.0)
    targets = (values - mean) / scale
    regressions = tuple(
        replace(every, targets=targets[:, k], weights=weights[:, k], variances=variances[k])
        for k in range(values.shape[1])
    )
    return LocalModel(feature_map, reach, regressions, limit, mean, scale)


def _tells(limit: Regression | None) -> bool:
    """Tell whether a regression explains how far points are beyond the constraints."""
    return limit is not None and bool(limit.variances[Component.NOISE] <= LARGEST_BARRIER_NOISE)


def _limit(every: Regression, excess: FloatArray) -> Regression | None:
    """Return the regression on how far points are beyond the constraints; None if few or none are (Q20)."""
    found = limit_of(every, excess) if excess.any() and not excess.all() else None
    return None if found is None else found[0]


def refitted(known: Known, centre: int, sites: Sites, variances: FloatArray, n_steps: int) -> FloatArray:
    """Return variances of higher likelihood, shape (m + 1, 7), after some steps from these or from the first.

    Steps from variances that take everything for noise stay there.
    """
    first = np.tile(FIRST_VARIANCES, (len(variances), 1))
    first[-1] = FIRST_BARRIER_VARIANCES
    models = [_improved(local_model(known, centre, sites, start), n_steps) for start in (variances, first)]
    found = variances.copy()
    for k, pair in enumerate(zip(*(model.regressions for model in models), strict=True)):
        found[k] = max(pair, key=Regression.log_likelihood).variances
    if models[0].limit is not None:
        found[-1] = models[0].limit.variances
    return found


def _improved(model: LocalModel, n_steps: int) -> LocalModel:
    """Return the model with variances of higher likelihood."""
    for _ in range(n_steps):
        regressions = tuple(improved(one) for one in model.regressions)
        limit = None if model.limit is None else improved(model.limit)
        model = replace(model, regressions=regressions, limit=limit)
    return model


def _neighbours(known: Known, centre: int) -> IntArray:
    """Return rows of the points of the front that are nearest to the centre in value."""
    others = known.front[known.front != centre]
    distance = np.abs(known.values[others] - known.values[centre]).max(axis=1)
    near: IntArray = others[np.argsort(distance, kind="stable")[:N_NEIGHBOURS]]
    return near


def _width(known: Known, centre: int, near: IntArray, sites: Sites) -> FloatArray:
    """Return how far to look along numeric sites: as far as from the centre to its neighbours."""
    u = sites.coordinate(known.x[centre])
    gap = np.where(sites.is_numeric, sites.spacing(u), 0.0)
    if len(near) == 0:
        return np.full(sites.dimension, LARGEST_WIDTH)
    step = sites.coordinate(known.x[near]) - u
    step = np.where(sites.periodic, step - np.rint(step), step)
    typical = WIDTH_FACTOR * np.sqrt((step**2).mean(axis=0))
    # A site in which all neighbours agree is looked at as far as the others, on average.
    typical = np.where(typical > 0, typical, typical[sites.is_line].mean() if sites.is_line.any() else 0.0)
    width: FloatArray = np.clip(typical, np.maximum(SMALLEST_WIDTH, WIDTH_IN_GAPS * gap), LARGEST_WIDTH)
    return width
