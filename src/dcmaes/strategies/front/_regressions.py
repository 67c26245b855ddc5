"""Regressions on all objectives around points of the front, and new points from functions drawn of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dcmaes._validation import FloatArray, IntArray
from dcmaes.models import Component, Energy, FeatureMap, Regression
from dcmaes.pareto import hypervolume_gains, is_nondominated
from dcmaes.space import Sites
from dcmaes.strategies._memory import Memory
from dcmaes.strategies.front._observations import FrontSettings, Observations
from dcmaes.strategies.gaussian_process import JUMP, STEP_EXPONENTS
from dcmaes.strategies.ising._neighbourhood import SMALLEST_WEIGHT, distances, improved, limit_of, nearness
from dcmaes.strategies.ising._settings import IsingSettings
from dcmaes.strategies.ising._tabu import LARGEST_PAIRS, Box, search

# No width is below this, as a fraction of the range.
_SMALLEST_WIDTH = 1e-6
# Points from which gains of more than two objectives are estimated; how often children are made until they
# are new.
_N_SPREAD, _N_TRIES = 1000, 10


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
    barrier : Regression or None
        The same if it tells which points are beyond.
    mean, scale : arrays of shape (m,)
        What was taken off values, and by what they were divided then.
    settings : FrontSettings
        Those of the strategy.
    """

    feature_map: FeatureMap
    reach: float
    regressions: tuple[Regression, ...]
    limit: Regression | None
    barrier: Regression | None
    mean: FloatArray
    scale: FloatArray
    settings: FrontSettings

    def predict(self, x: FloatArray) -> FloatArray:
        """Return the expected values of coded points, shape (n, d) to (n, m)."""
        features = self.feature_map.features(x)
        expected = np.stack([regression.predict(features) for regression in self.regressions], axis=1)
        values: FloatArray = self.mean + self.scale * expected
        return values

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


def local_model(observed: Observations, centre: int, sites: Sites, variances: FloatArray) -> LocalModel:
    """Return the regressions around row `centre` of what is known; `variances` have the shape (m + 1, 7)."""
    settings = observed.settings.regression
    near = _neighbours(observed, centre)
    feature_map = FeatureMap(sites, observed.x[centre], _width(observed, centre, near, sites))
    n_choices = feature_map.n_choices
    features = feature_map.features(observed.x)
    reach = max(
        settings.smallest_reach, float(features[near, :n_choices].sum(axis=1).mean()) if len(near) else 0.0
    )
    distance = distances(features, n_choices, reach)
    nearest = np.argsort(distance, kind="stable")[: settings.window]
    relevance = nearness(distance[nearest], feature_map.n_features)
    every = Regression(
        features=features[nearest],
        n_choices=n_choices,
        site=feature_map.site,
        targets=np.zeros(len(nearest)),
        weights=np.maximum(relevance, SMALLEST_WEIGHT),
        variances=variances[-1],
    )
    limit = _limit(every, observed.excess[nearest], settings)
    tells = limit is not None and limit.variances[Component.NOISE] <= settings.largest_barrier_noise
    if tells:
        is_used = observed.excess[nearest] == 0
        nearest, every = nearest[is_used], every.of_data(is_used)
    values = observed.values[nearest]
    rise = values - observed.values[centre]
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
    return LocalModel(
        feature_map, reach, regressions, limit, limit if tells else None, mean, scale, observed.settings
    )


def _limit(every: Regression, excess: FloatArray, settings: IsingSettings) -> Regression | None:
    """Return the regression on how far points are beyond the constraints; None if few or none are (Q20)."""
    found = limit_of(every, excess, settings) if excess.any() and not excess.all() else None
    return None if found is None else found[0]


def refitted(
    observed: Observations, centre: int, sites: Sites, variances: FloatArray, n_steps: int
) -> FloatArray:
    """Return variances of higher likelihood, shape (m + 1, 7), after some steps from these or from the first.

    Steps from variances that take everything for noise stay there.
    """
    first = np.tile(observed.settings.regression.first_variances, (len(variances), 1))
    first[-1] = observed.settings.regression.first_barrier_variances
    models = [_improved(local_model(observed, centre, sites, start), n_steps) for start in (variances, first)]
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


def _neighbours(observed: Observations, centre: int) -> IntArray:
    """Return rows of the points of the front that are nearest to the centre in value."""
    others = observed.front[observed.front != centre]
    distance = np.abs(observed.values[others] - observed.values[centre]).max(axis=1)
    near: IntArray = others[np.argsort(distance, kind="stable")[: observed.settings.n_neighbours]]
    return near


def _width(observed: Observations, centre: int, near: IntArray, sites: Sites) -> FloatArray:
    """Return how far to look along numeric sites: as far as from the centre to its neighbours."""
    u = sites.coordinate(observed.x[centre])
    gap = np.where(sites.is_numeric, sites.spacing(u), 0.0)
    if len(near) == 0:
        return np.full(sites.dimension, observed.settings.largest_width)
    step = sites.coordinate(observed.x[near]) - u
    step = np.where(sites.periodic, step - np.rint(step), step)
    typical = np.sqrt((step**2).mean(axis=0))
    # A site in which all neighbours agree is looked at as far as the others, on average.
    typical = np.where(typical > 0, typical, typical[sites.is_line].mean() if sites.is_line.any() else 0.0)
    least = np.maximum(_SMALLEST_WIDTH, observed.settings.regression.width_in_gaps * gap)
    width: FloatArray = np.clip(typical, least, observed.settings.largest_width)
    return width


def propose(
    variances: FloatArray,
    observed: Observations,
    n: int,
    sites: Sites,
    rng: np.random.Generator,
    memory: Memory,
) -> list[FloatArray]:
    """Return up to `n` new coded points of regressions with these variances, shape (d,) each."""
    n_objectives = observed.values.shape[1]
    weights = rng.dirichlet(np.ones(n_objectives), n)
    centres = _centres(observed, weights)
    taken = _Taken(observed)
    chosen: list[FloatArray] = []
    for centre in dict.fromkeys(centres.tolist()):
        own = weights[centres == centre]
        model = local_model(observed, centre, sites, variances)
        taken.add_pending(model, memory)
        for x in _from_centre(model, np.repeat(own, observed.settings.n_draws, axis=0), taken, rng, memory):
            taken.points.add(x.tobytes())
            chosen.append(x)
    return chosen


def _centres(observed: Observations, weights: FloatArray) -> IntArray:
    """Return the row of the point of the front that is best for each row of weights, shape (n,) (O1)."""
    front = observed.front_values
    weighted = weights[:, None, :] * (front - front.min(axis=0))
    best = (weighted.max(axis=2) + 0.05 * weighted.sum(axis=2)).argmin(axis=1)
    rows: IntArray = observed.front[best]
    return rows


class _Taken:
    """The front, with points that are out or chosen as if they had the values that are predicted of them."""

    def __init__(self, observed: Observations) -> None:
        self.values = observed.front_values
        self.limit = observed.limit
        self.points: set[bytes] = set()
        self._has_pending = False

    def gains(self, values: FloatArray) -> FloatArray:
        """Return what each of some points would add to the hypervolume, shape (n, m) to (n,)."""
        return hypervolume_gains(values, self.values, self.limit, n_spread=_N_SPREAD)

    def add(self, values: FloatArray) -> None:
        """Add points of predicted values, shape (n, m)."""
        joined = np.vstack([self.values, values])
        self.values = joined[is_nondominated(joined)]

    def add_pending(self, model: LocalModel, memory: Memory) -> None:
        """Add the points that are out, once."""
        pending = memory.pending
        if len(pending) and not self._has_pending:
            self.add(model.predict(pending))
        self._has_pending = True


def _from_centre(
    model: LocalModel, weights: FloatArray, taken: _Taken, rng: np.random.Generator, memory: Memory
) -> list[FloatArray]:
    """Return a new point for each `n_draws` rows of weights, shape (c, m), as far as there are any."""
    settings, draws = model.settings, model.draw(len(weights), rng)
    points = _visited(model, draws, weights, rng)
    is_chosen = np.array([x.tobytes() in taken.points for x in points], dtype=bool)
    points = points[~(is_chosen | memory.contains(points))]
    if len(points) == 0:
        return []
    values, expected, is_beyond = draws.values(points), model.predict(points), draws.is_beyond(points)
    is_left = np.ones(len(points), dtype=bool)
    chosen = []
    for first in range(0, len(weights), settings.n_draws):
        if not is_left.any():
            break
        each = range(first, first + settings.n_draws)
        merit = np.max([np.where(is_beyond[c], 0.0, taken.gains(values[c])) for c in each], axis=0)
        if not (merit[is_left] > 0).any():
            # Nothing that would be on the front: what is nearest to it by these weights.
            merit = -(weights[first] * values[first]).max(axis=1) - settings.behind * is_beyond[first]
        best = int(np.where(is_left, merit, -np.inf).argmax())
        is_left[best] = False
        chosen.append(points[best])
        taken.add(expected[best][None])
    return chosen


def _visited(model: LocalModel, draws: Draws, weights: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return the different points that tabu searches of weighted sums pass through, shape (k, d)."""
    feature_map, n_chains, settings = model.feature_map, len(weights), model.settings
    d = feature_map.sites.dimension
    turn = rng.permutation(n_chains)
    limits = np.resize(settings.change_limits, n_chains)[turn] * model.reach
    visited = search(
        draws.weighted(weights),
        draws.barrier,
        feature_map,
        Box.around(feature_map, np.resize(settings.radii, n_chains)[turn]),
        n_steps=10 + d // 2,
        most_changes=np.maximum(settings.regression.smallest_reach + 1, limits).astype(np.int64),
        tenure=d // 10,
        rng=rng,
    )
    features = visited.features.reshape(-1, visited.features.shape[2])
    return np.unique(feature_map.points(features), axis=0)


def children(
    observed: Observations, n: int, sites: Sites, rng: np.random.Generator, memory: Memory
) -> list[FloatArray]:
    """Return up to `n` new points without a model, shape (d,) each: the front, crossed and changed."""
    found: dict[bytes, FloatArray] = {}
    for _ in range(_N_TRIES):
        x = _child(observed, 2 * n, sites, rng)
        for one in x[~memory.contains(x)]:
            found.setdefault(one.tobytes(), one)
        if len(found) >= n:
            break
    return list(found.values())[:n]


def _child(observed: Observations, n: int, sites: Sites, rng: np.random.Generator) -> FloatArray:
    """Return points of the front, crossed and changed, shape (n, d)."""
    d, k = sites.dimension, len(observed.front)
    first = rng.integers(0, k, n)
    # The other parent is near on the front, mostly.
    second = np.clip(first + np.rint(rng.standard_cauchy(n)).clip(-k, k).astype(np.int64), 0, k - 1)
    one, other = observed.x[observed.front[first]], observed.x[observed.front[second]]
    is_crossed = (rng.random((n, 1)) < observed.settings.crossed) & (rng.random((n, d)) < 0.5)
    x = np.where(is_crossed, other, one)
    step = 10 ** rng.uniform(*STEP_EXPONENTS, size=(n, 1)) * rng.standard_normal((n, d))
    u = sites.coordinate(x) + step
    u = np.where(sites.periodic, u % 1.0, np.clip(u, 0.0, 1.0))
    near = sites.from_coordinate(np.where(sites.is_line, u, sites.coordinate(x)), rng.random((n, d)))
    is_step = sites.is_line & (rng.random((n, d)) > JUMP)
    v = rng.random((n, d))
    changed = np.where(is_step, near, sites.uniform(v))
    is_changed = rng.random((n, d)) < rng.exponential(1.0, (n, 1)) / d
    # Sites that neither parent had active are anywhere once they are.
    return sites.canonical(sites.awake(np.where(is_changed, changed, x), one, v))
