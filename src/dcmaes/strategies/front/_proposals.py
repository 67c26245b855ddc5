"""New points: the largest gains of hypervolume among all that searches of drawn functions pass through."""

from __future__ import annotations

import numpy as np

from dcmaes._validation import FloatArray, IntArray
from dcmaes.pareto import hypervolume_gains, is_nondominated
from dcmaes.strategies._memory import Memory
from dcmaes.strategies.front._constants import BEHIND, CHANGE_LIMITS, N_DRAWS, N_SPREAD, RADII, SMALLEST_LIMIT
from dcmaes.strategies.front._known import Known
from dcmaes.strategies.front._model import Draws, LocalModel, local_model
from dcmaes.strategies.front._state import FrontState
from dcmaes.strategies.ising._search import search
from dcmaes.strategies.ising._steps import Box


def propose(
    state: FrontState, known: Known, n: int, rng: np.random.Generator, memory: Memory
) -> list[FloatArray]:
    """Return up to `n` new coded points, shape (d,) each."""
    n_objectives = known.values.shape[1]
    weights = rng.dirichlet(np.ones(n_objectives), n)
    centres = _centres(known, weights)
    taken = _Taken(known)
    chosen: list[FloatArray] = []
    for centre in dict.fromkeys(centres.tolist()):
        own = weights[centres == centre]
        model = local_model(known, centre, state.sites, state.variances)
        taken.add_pending(model, memory)
        for x in _from_centre(model, np.repeat(own, N_DRAWS, axis=0), taken, rng, memory):
            taken.points.add(x.tobytes())
            chosen.append(x)
    return chosen


def _centres(known: Known, weights: FloatArray) -> IntArray:
    """Return the row of the point of the front that is best for each row of weights, shape (n,) (O1)."""
    front = known.front_values
    weighted = weights[:, None, :] * (front - front.min(axis=0))
    best = (weighted.max(axis=2) + 0.05 * weighted.sum(axis=2)).argmin(axis=1)
    rows: IntArray = known.front[best]
    return rows


class _Taken:
    """The front, with points that are out or chosen as if they had the values that are predicted of them."""

    def __init__(self, known: Known) -> None:
        self.values = known.front_values
        self.limit = known.limit
        self.points: set[bytes] = set()
        self._has_pending = False

    def gains(self, values: FloatArray) -> FloatArray:
        """Return what each of some points would add to the hypervolume, shape (n, m) to (n,)."""
        return hypervolume_gains(values, self.values, self.limit, n_spread=N_SPREAD)

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
    """Return a new point for each `N_DRAWS` rows of weights, shape (c, m), as far as there are any."""
    draws = model.draw(len(weights), rng)
    points = _visited(model, draws, weights, rng)
    is_chosen = np.array([x.tobytes() in taken.points for x in points], dtype=bool)
    points = points[~(is_chosen | memory.contains(points))]
    if len(points) == 0:
        return []
    values, expected, is_beyond = draws.values(points), model.predict(points), draws.is_beyond(points)
    is_left = np.ones(len(points), dtype=bool)
    chosen = []
    for first in range(0, len(weights), N_DRAWS):
        if not is_left.any():
            break
        each = range(first, first + N_DRAWS)
        merit = np.max([np.where(is_beyond[c], 0.0, taken.gains(values[c])) for c in each], axis=0)
        if not (merit[is_left] > 0).any():
            # Nothing that would be on the front: what is nearest to it by these weights.
            merit = -(weights[first] * values[first]).max(axis=1) - BEHIND * is_beyond[first]
        best = int(np.where(is_left, merit, -np.inf).argmax())
        is_left[best] = False
        chosen.append(points[best])
        taken.add(expected[best][None])
    return chosen


def _visited(model: LocalModel, draws: Draws, weights: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return the different points that tabu searches of weighted sums pass through, shape (k, d)."""
    feature_map, n_chains = model.feature_map, len(weights)
    d = feature_map.sites.dimension
    turn = rng.permutation(n_chains)
    limits = np.resize(CHANGE_LIMITS, n_chains)[turn] * model.reach
    visited = search(
        draws.weighted(weights),
        draws.barrier,
        feature_map,
        Box.around(feature_map, np.resize(RADII, n_chains)[turn]),
        n_steps=10 + d // 2,
        most_changes=np.maximum(SMALLEST_LIMIT, limits).astype(np.int64),
        tenure=d // 10,
        rng=rng,
    )
    features = visited.features.reshape(-1, visited.features.shape[2])
    return np.unique(feature_map.points(features), axis=0)
