"""New points: what searches of drawn functions pass through, and children of the front."""

from __future__ import annotations

import numpy as np

from dcmaes._validation import FloatArray, IntArray
from dcmaes.pareto import hypervolume_gains, is_nondominated
from dcmaes.space import Sites
from dcmaes.strategies._memory import Memory
from dcmaes.strategies.front._constants import (
    BEHIND,
    CHANGE_LIMITS,
    CHANGES,
    CROSSED,
    N_DRAWS,
    N_SPREAD,
    N_TRIES,
    RADII,
)
from dcmaes.strategies.front._known import Known
from dcmaes.strategies.front._model import Draws, LocalModel, local_model
from dcmaes.strategies.gaussian_process import JUMP, STEP_EXPONENTS
from dcmaes.strategies.ising._constants import SMALLEST_LIMIT
from dcmaes.strategies.ising._search import search
from dcmaes.strategies.ising._steps import Box


def propose(
    variances: FloatArray, known: Known, n: int, sites: Sites, rng: np.random.Generator, memory: Memory
) -> list[FloatArray]:
    """Return up to `n` new coded points of regressions with these variances, shape (d,) each."""
    n_objectives = known.values.shape[1]
    weights = rng.dirichlet(np.ones(n_objectives), n)
    centres = _centres(known, weights)
    taken = _Taken(known)
    chosen: list[FloatArray] = []
    for centre in dict.fromkeys(centres.tolist()):
        own = weights[centres == centre]
        model = local_model(known, centre, sites, variances)
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


def children(
    known: Known, n: int, sites: Sites, rng: np.random.Generator, memory: Memory
) -> list[FloatArray]:
    """Return up to `n` new points without a model, shape (d,) each: the front, crossed and changed."""
    found: dict[bytes, FloatArray] = {}
    for _ in range(N_TRIES):
        x = _child(known, 2 * n, sites, rng)
        for one in x[~memory.contains(x)]:
            found.setdefault(one.tobytes(), one)
        if len(found) >= n:
            break
    return list(found.values())[:n]


def _child(known: Known, n: int, sites: Sites, rng: np.random.Generator) -> FloatArray:
    """Return points of the front, crossed and changed, shape (n, d)."""
    d, k = sites.dimension, len(known.front)
    first = rng.integers(0, k, n)
    # The other parent is near on the front, mostly.
    second = np.clip(first + np.rint(rng.standard_cauchy(n)).clip(-k, k).astype(np.int64), 0, k - 1)
    one, other = known.x[known.front[first]], known.x[known.front[second]]
    is_crossed = (rng.random((n, 1)) < CROSSED) & (rng.random((n, d)) < 0.5)
    x = np.where(is_crossed, other, one)
    step = 10 ** rng.uniform(*STEP_EXPONENTS, size=(n, 1)) * rng.standard_normal((n, d))
    u = sites.coordinate(x) + step
    u = np.where(sites.periodic, u % 1.0, np.clip(u, 0.0, 1.0))
    near = sites.from_coordinate(np.where(sites.is_line, u, sites.coordinate(x)), rng.random((n, d)))
    is_step = sites.is_line & (rng.random((n, d)) > JUMP)
    v = rng.random((n, d))
    changed = np.where(is_step, near, sites.uniform(v))
    is_changed = rng.random((n, d)) < CHANGES * rng.exponential(1.0, (n, 1)) / d
    # Sites that neither parent had active are anywhere once they are.
    return sites.canonical(sites.awake(np.where(is_changed, changed, x), one, v))
