"""New points: low-energy points of drawn functions, large steps across plateaus, the minimum of the trend."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dcmaes._validation import FloatArray
from dcmaes.models import FeatureMap
from dcmaes.strategies._evaluations import Evaluations
from dcmaes.strategies._labels import rises
from dcmaes.strategies._memory import Memory
from dcmaes.strategies.ising._learning import IsingState, model
from dcmaes.strategies.ising._plateau import harmless_points
from dcmaes.strategies.ising._settings import DEFAULT, IsingSettings
from dcmaes.strategies.ising._tabu import LARGEST_PAIRS, Box, Visited, search

# How many recent values the trend is fitted to.
_MOST_RECENT = 1000
# Tells for each coded point, shape (n, d), whether there is no use in proposing it.
IsKnown = Callable[[FloatArray], NDArray[np.bool_]]
# How many visited points of each chain are looked up at first: mostly one of them is new.
_FIRST_LOOK = 4


def propose(state: IsingState, n: int, rng: np.random.Generator, memory: Memory) -> FloatArray:
    """Return `n` coded points, shape (n, d): random ones while the run has no results yet."""
    sites, feature_map, settings = state.sites, state.feature_map, state.settings
    has_few = len(memory.recall()) < settings.batch
    if has_few or not np.isfinite(state.level[0]) or feature_map.n_features == 0:
        return _opening(state, n, rng, memory)
    is_known = _is_settled(memory) if memory.is_noisy else memory.contains
    has_pairs = feature_map.n_features <= LARGEST_PAIRS
    found = model(state, memory)
    energy = found.values.draw(n, rng, has_pairs=has_pairs)
    barrier = None if found.barrier is None else found.barrier.draw(n, rng, has_pairs=has_pairs)
    limits = np.resize(settings.change_limits, n)
    visited = search(
        energy,
        barrier,
        feature_map,
        Box.around(feature_map, np.resize(settings.radii, n)),
        n_steps=10 + sites.dimension // 2,
        most_changes=np.maximum(settings.smallest_reach + 1, limits * state.reach).astype(np.int64),
        tenure=sites.dimension // 10,
        rng=rng,
    )
    chosen = _across_plateau(_unseen(visited, state, rng, is_known), state, rng, is_known)
    return sites.canonical(_with_trend(chosen, state, memory, is_known))


def _is_settled(memory: Memory) -> IsKnown:
    """Return what is known under noise: of points evaluated and not out, one more value is of use."""
    told = memory.recall()
    out = {x.tobytes() for x in memory.pending}
    still_open = {x.tobytes() for x in told.x[told.violation == 0]} - out

    def is_known(x: FloatArray) -> NDArray[np.bool_]:
        return memory.contains(x) & np.array([row.tobytes() not in still_open for row in x], dtype=np.bool_)

    return is_known


def _with_trend(chosen: FloatArray, state: IsingState, memory: Memory, is_known: IsKnown) -> FloatArray:
    """Return the points with the last one replaced by the minimum of the trend, if the run has stalled."""
    is_stalled = state.idle > state.settings.trend_patience * state.patience
    is_due = state.idle % state.settings.trend_pause < len(chosen)
    if not (is_stalled and is_due) or len(chosen) == 1 or state.feature_map.n_features > LARGEST_PAIRS:
        return chosen
    x = trend_minimum(state.feature_map, memory.recall(), state.settings)
    chosen[-1:] = np.where(is_known(x[None])[:, None], chosen[-1:], x)
    return chosen


def _across_plateau(
    chosen: FloatArray, state: IsingState, rng: np.random.Generator, is_known: IsKnown
) -> FloatArray:
    """Return the points with the last ones replaced by large steps, the more the more ties there were."""
    feature_map, tie_rate, settings = state.feature_map, state.blame.tie_rate, state.settings
    n = min(len(chosen) - 1, int(np.ceil((settings.batch - 1) * min(1.0, tie_rate / settings.many_ties))))
    if n < 1 or tie_rate < settings.some_ties or feature_map.n_features > feature_map.n_choices:
        return chosen
    points = harmless_points(state.blame, state.centre, state.sites, n, rng)
    chosen[-n:] = np.where(is_known(points)[:, None], chosen[-n:], points)
    return chosen


def _opening(state: IsingState, n: int, rng: np.random.Generator, memory: Memory) -> FloatArray:
    """Return the middle and points around it in the first run; after a restart, the new centre and others."""
    sites, shape = state.sites, (n, state.sites.dimension)
    u = rng.random(shape)
    if state.run == 0:
        # Numbers far from the middle are far from most others, and often much worse.
        numeric = state.feature_map.numeric
        inner = u.copy()
        inner[:, numeric] = 0.5 + state.settings.middle * (u[:, numeric] - 0.5)
        if memory.n_trials == 0:
            inner[0, numeric] = 0.5
        points = sites.uniform(inner)
        return np.where(memory.contains(points)[:, None], sites.uniform(u), points)
    is_changed = rng.random(shape) < state.settings.opening_share
    is_changed[0] = False
    changed = np.where(is_changed, sites.uniform(u), state.centre)
    return sites.canonical(sites.awake(changed, state.centre, u))


def _unseen(visited: Visited, state: IsingState, rng: np.random.Generator, is_known: IsKnown) -> FloatArray:
    """Return for each chain the visited point of lowest energy that is new, shape (c, d)."""
    n_visited, n_chains, n_features = visited.features.shape
    d = state.sites.dimension
    ranked = visited.energy.argsort(axis=0, kind="stable")
    ordered = np.take_along_axis(visited.features, ranked[:, :, None], axis=0)
    chosen = np.empty((n_chains, d))
    taken: set[bytes] = set()
    waiting = list(range(n_chains))
    for first, last in ((0, _FIRST_LOOK), (_FIRST_LOOK, n_visited)):
        if not waiting or first >= last:
            break
        block = ordered[first:last, waiting].reshape(-1, n_features)
        points = state.feature_map.points(block)
        is_old = is_known(points).reshape(-1, len(waiting))
        points = points.reshape(-1, len(waiting), d)
        left = []
        for column, chain in enumerate(waiting):
            rows = [x for x, old in zip(points[:, column], is_old[:, column], strict=True) if not old]
            x = next((x for x in rows if x.tobytes() not in taken), None)
            if x is None:
                left.append(chain)
            else:
                taken.add(x.tobytes())
                chosen[chain] = x
        waiting = left
    for chain in waiting:
        u = rng.random(d)
        changed = np.where(rng.random(d) < 2 / d, state.sites.uniform(u), state.centre)
        chosen[chain] = state.sites.canonical(state.sites.awake(changed, state.centre, u))
    return chosen


def trend_minimum(
    feature_map: FeatureMap, told: Evaluations, settings: IsingSettings = DEFAULT
) -> FloatArray:
    """Return the coded point at which the trend is lowest, shape (d,).

    >>> from dcmaes.space import Space
    >>> sites = Space.binary(2).sites
    >>> x = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> told = Evaluations(x, np.array([5.0, 4.0, 7.0]), np.zeros(3))
    >>> trend_minimum(FeatureMap(sites, np.zeros(2), np.ones(2)), told)
    array([1., 0.])
    """
    sites, numeric, p = feature_map.sites, feature_map.numeric, feature_map.n_choices
    recent = told.take(slice(-_MOST_RECENT, None))
    u = sites.coordinate(recent.x)[:, numeric] - 0.5
    # One value for each state of a choice, a parabola for each number: (Q14)
    terms = np.concatenate([feature_map.features(recent.x)[:, :p], u, u**2], axis=1)
    span = np.maximum(np.ptp(terms, axis=0), 1e-12)
    terms = (terms - terms.mean(axis=0)) / span
    rise = rises(recent)
    rise = np.minimum(rise, np.quantile(rise, settings.trend_quantile))
    rise /= float(rise.max()) or 1.0
    ridge = settings.trend_ridge * np.eye(terms.shape[1])
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
