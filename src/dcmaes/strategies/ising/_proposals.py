"""New points: low-energy points of functions drawn from the model."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dcmaes._validation import FloatArray
from dcmaes.strategies._memory import Memory
from dcmaes.strategies.ising._constants import (
    BATCH,
    CHANGE_LIMITS,
    LARGEST_PAIRS,
    MANY_TIES,
    MEMORY,
    MIDDLE,
    OPENING_SHARE,
    PLATEAU_POINTS,
    RADII,
    SMALLEST_LIMIT,
    SOME_TIES,
    TREND_PATIENCE,
    TREND_PAUSE,
)
from dcmaes.strategies.ising._model import IsingState, model
from dcmaes.strategies.ising._plateau import harmless_points
from dcmaes.strategies.ising._search import Visited, search
from dcmaes.strategies.ising._steps import Box
from dcmaes.strategies.ising._trend import trend_minimum

# Tells for each coded point, shape (n, d), whether there is no use in proposing it.
IsKnown = Callable[[FloatArray], NDArray[np.bool_]]
# How many visited points of each chain are looked up at first: mostly one of them is new.
_FIRST_LOOK = 4


def propose(state: IsingState, n: int, rng: np.random.Generator, memory: Memory) -> FloatArray:
    """Return `n` coded points, shape (n, d): random ones while the run has no results yet."""
    sites, feature_map = state.sites, state.feature_map
    if not np.isfinite(state.level[0]) or len(memory.recall(MEMORY)) < BATCH or feature_map.n_features == 0:
        return _opening(state, n, rng, memory)
    is_known = _is_settled(memory) if memory.is_noisy else memory.contains
    has_pairs = feature_map.n_features <= LARGEST_PAIRS
    found = model(state, memory)
    energy = found.values.draw(n, rng, has_pairs=has_pairs)
    barrier = None if found.barrier is None else found.barrier.draw(n, rng, has_pairs=has_pairs)
    visited = search(
        energy,
        barrier,
        feature_map,
        Box.around(feature_map, np.resize(RADII, n)),
        n_steps=10 + sites.dimension // 2,
        most_changes=np.maximum(SMALLEST_LIMIT, np.resize(CHANGE_LIMITS, n) * state.reach).astype(np.int64),
        tenure=sites.dimension // 10,
        rng=rng,
    )
    chosen = _across_plateau(_unseen(visited, state, rng, is_known), state, rng, is_known)
    return sites.canonical(_with_trend(chosen, state, memory, is_known))


def _is_settled(memory: Memory) -> IsKnown:
    """Return what is known under noise: of points evaluated and not out, one more value is of use."""
    told = memory.recall(MEMORY)
    out = {x.tobytes() for x in memory.pending}
    still_open = {x.tobytes() for x in told.x[told.violation == 0]} - out

    def is_known(x: FloatArray) -> NDArray[np.bool_]:
        return memory.contains(x) & np.array([row.tobytes() not in still_open for row in x], dtype=np.bool_)

    return is_known


def _with_trend(chosen: FloatArray, state: IsingState, memory: Memory, is_known: IsKnown) -> FloatArray:
    """Return the points with the last one replaced by the minimum of the trend, if the run has stalled."""
    is_stalled = state.idle > TREND_PATIENCE * state.patience
    is_due = state.idle % TREND_PAUSE < len(chosen)
    if not (is_stalled and is_due) or len(chosen) == 1 or state.feature_map.n_features > LARGEST_PAIRS:
        return chosen
    x = trend_minimum(state.feature_map, memory.recall(MEMORY))
    chosen[-1:] = np.where(is_known(x[None])[:, None], chosen[-1:], x)
    return chosen


def _across_plateau(
    chosen: FloatArray, state: IsingState, rng: np.random.Generator, is_known: IsKnown
) -> FloatArray:
    """Return the points with the last ones replaced by large steps, the more the more ties there were."""
    feature_map, tie_rate = state.feature_map, state.blame.tie_rate
    n = min(len(chosen) - 1, int(np.ceil(PLATEAU_POINTS * min(1.0, tie_rate / MANY_TIES))))
    if n < 1 or tie_rate < SOME_TIES or feature_map.n_features > feature_map.n_choices:
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
        inner[:, numeric] = 0.5 + MIDDLE * (u[:, numeric] - 0.5)
        if memory.n_trials == 0:
            inner[0, numeric] = 0.5
        points = sites.uniform(inner)
        return np.where(memory.contains(points)[:, None], sites.uniform(u), points)
    is_changed = rng.random(shape) < OPENING_SHARE
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
