"""Steps of the tabu search in all chains at once, for sites of any kind and for sites of two states."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dcmaes._validation import FloatArray, IntArray
from dcmaes.models import Energy, FeatureMap
from dcmaes.strategies.ising._constants import BARRIER_COST

FORBIDDEN = 1e12


@dataclass(frozen=True, eq=False)
class Box:
    """Where numeric features may go, shape (c, q), and the grid they are on, shape (q,).

    `gap` is the distance between the states of a lattice, 0 for continuous sites and for lattices that are
    not evenly spaced (their rounding is left to the end).
    """

    low: FloatArray
    high: FloatArray
    gap: FloatArray

    @staticmethod
    def around(feature_map: FeatureMap, radius: FloatArray) -> Box:
        """Return the part of the space within `radius` widths of the centre, for each of some chains."""
        sites, numeric = feature_map.sites, feature_map.numeric
        middle, width = sites.coordinate(feature_map.centre), feature_map.width[numeric]
        periodic = sites.periodic[numeric]
        low = np.where(periodic, -0.5, -middle[numeric]) / width
        high = np.where(periodic, 0.5, 1 - middle[numeric]) / width
        is_grid = sites.is_lattice[numeric] & ~sites.log[numeric]
        gap = np.where(is_grid, sites.spacing(middle)[numeric] / width, 0.0)
        reach = np.maximum(radius[:, None], 1.01 * gap)
        return Box(np.maximum(low, -reach), np.minimum(high, reach), gap)

    def snap(self, z: FloatArray) -> FloatArray:
        """Return numeric features brought into the box and onto the grid."""
        z = np.clip(z, self.low, self.high)
        safe = np.where(self.gap > 0, self.gap, 1.0)
        steps = np.clip(np.rint(z / safe), np.ceil(self.low / safe - 1e-9), np.floor(self.high / safe + 1e-9))
        return np.where(self.gap > 0, steps * safe, z)


@dataclass(eq=False)
class Walkers:
    """Where the chains are: every step changes it.

    Attributes
    ----------
    features, gradient : arrays of shape (c, f)
    level, height : arrays of shape (c,)
        Energy, and the value of the barrier.
    free_at : array of shape (c, d)
        The step from which on each site may move again.
    """

    features: FloatArray
    gradient: FloatArray
    level: FloatArray
    height: FloatArray
    free_at: IntArray


def cost(height: FloatArray) -> FloatArray:
    """Return what it costs to be beyond a barrier (Q21).

    >>> cost(np.array([-1.0, 0.5]))
    array([ 0., 50.])
    """
    penalty: FloatArray = BARRIER_COST * np.maximum(height, 0.0)
    return penalty


def step(
    at: Walkers,
    number: int,
    waits: IntArray,
    energy: Energy,
    barrier: Energy | None,
    feature_map: FeatureMap,
    box: Box,
    most_changes: IntArray,
) -> None:
    """Make one step in every chain; the site that moves is then left alone for `waits` steps, shape (c,).

    >>> from dcmaes.space import Space
    >>> feature_map = FeatureMap(Space.integers(1, 0, 8).sites, np.full(1, 4.0), np.full(1, 0.125))
    >>> energy = Energy(0, np.ones(1), np.full((1, 1), -3.0), np.zeros((1, 1)), None)
    >>> box = Box.around(feature_map, np.full(1, 4.0))
    >>> start, free_at = np.zeros((1, 1)), np.zeros((1, 1), dtype=np.int64)
    >>> walkers = Walkers(start, energy.gradient(start), np.zeros(1), np.zeros(1), free_at)
    >>> step(walkers, 0, np.ones(1), energy, None, feature_map, box, np.ones(1))
    >>> walkers.features, walkers.level
    (array([[2.]]), array([-2.]))
    """
    site, rows = feature_map.site, np.arange(len(energy.field))
    moves = _best_moves(energy, barrier, at.height, at.features, at.gradient, feature_map, box, most_changes)
    change = moves.change + cost(at.height[:, None] + moves.climb)
    best = np.where(at.free_at[:, site] > number, change + FORBIDDEN, change).argmin(axis=1)
    at.features, at.gradient = _apply(energy, at.features, at.gradient, feature_map, rows, best, moves.target)
    at.level, at.height = at.level + moves.change[rows, best], at.height + moves.climb[rows, best]
    at.free_at[rows, site[best]] = number + 1 + waits


@dataclass(frozen=True, eq=False)
class _Moves:
    """The best move of each feature: how energy and barrier change, (c, f); numeric targets, (c, q)."""

    change: FloatArray
    climb: FloatArray
    target: FloatArray


def _best_moves(
    energy: Energy,
    barrier: Energy | None,
    height: FloatArray,
    features: FloatArray,
    gradient: FloatArray,
    feature_map: FeatureMap,
    box: Box,
    most_changes: IntArray,
) -> _Moves:
    """Return the best move of each feature.

    The move of a {0,1} feature is to switch it (switching off another one of its site); that of a numeric one
    goes to the minimum along its line, or to a neighbour.
    """
    p = energy.n_choices
    change, climb = np.empty_like(features), np.zeros_like(features)
    target = features[:, p:]
    slopes = None if barrier is None else barrier.gradient(features)
    if p:
        is_full = _is_full(features[:, :p], feature_map, most_changes)
        change[:, :p] = _choice_changes(energy, features[:, :p], gradient[:, :p], feature_map)
        change[:, :p] = np.where(is_full, 3 * FORBIDDEN, change[:, :p])
        if barrier is not None and slopes is not None:
            climb[:, :p] = _choice_changes(barrier, features[:, :p], slopes[:, :p], feature_map)
    if p < features.shape[1]:
        z = features[:, p:]
        bend = energy.curvature + energy.radial[:, None]
        slope = gradient[:, p:]
        away = np.where(slope < 0, np.inf, np.where(slope > 0, -np.inf, z))
        lowest = np.where(bend > 1e-12, -slope / np.maximum(2 * bend, 1e-12), away)
        step = np.where(box.gap > 0, box.gap, 0.1)
        candidates = np.stack([box.snap(lowest), box.snap(z + step), box.snap(z - step)])
        rise = slope * (candidates - z) + bend * (candidates**2 - z**2)
        rise = np.where(np.abs(candidates - z) < 1e-12, FORBIDDEN, rise)
        higher = np.zeros_like(rise)
        if barrier is not None and slopes is not None:
            bend = barrier.curvature + barrier.radial[:, None]
            higher = slopes[:, p:] * (candidates - z) + bend * (candidates**2 - z**2)
        pick = (rise + cost(height[:, None] + higher)).argmin(axis=0)[None]
        change[:, p:] = np.take_along_axis(rise, pick, axis=0)[0]
        climb[:, p:] = np.take_along_axis(higher, pick, axis=0)[0]
        target = np.take_along_axis(candidates, pick, axis=0)[0]
    return _Moves(change, climb, target)


def _is_full(on: FloatArray, feature_map: FeatureMap, most_changes: IntArray) -> NDArray[np.bool_]:
    """Return which switches would change one site too many, shape (c, p)."""
    site = feature_map.choice_site
    has_change = np.zeros((len(on), feature_map.sites.dimension), dtype=bool)
    row, column = np.nonzero(on > 0)
    has_change[row, site[column]] = True
    is_full: NDArray[np.bool_] = (has_change.sum(axis=1) >= most_changes)[:, None] & ~has_change[:, site]
    return is_full


def _choice_changes(
    energy: Energy, on: FloatArray, gradient: FloatArray, feature_map: FeatureMap
) -> FloatArray:
    """Return how a function changes with each switch, shape (c, p)."""
    rise = gradient + energy.radial[:, None]
    is_on = on > 0
    # What the site's present choice contributes: zero at the centre.
    site = feature_map.choice_site
    by_site = np.zeros((len(on), feature_map.sites.dimension))
    row, column = np.nonzero(is_on)
    by_site[row, site[column]] = rise[row, column]
    changes: FloatArray = np.where(is_on, -rise, rise - by_site[:, site])
    return changes


def _apply(
    energy: Energy,
    features: FloatArray,
    gradient: FloatArray,
    feature_map: FeatureMap,
    rows: IntArray,
    best: IntArray,
    target: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return features and gradient after the chosen move of each chain."""
    p = energy.n_choices
    moved = features.copy()
    is_choice = best < p
    chain, column = rows[is_choice], best[is_choice]
    was_on = features[chain, column] > 0
    if len(chain):
        same_site = feature_map.choice_site == feature_map.choice_site[column][:, None]
        moved[chain, :p] = np.where(same_site, 0.0, moved[chain, :p])
        moved[chain, column] = np.where(was_on, 0.0, 1.0)
    chain, column = rows[~is_choice], best[~is_choice]
    moved[chain, column] = target[chain, column - p]
    if energy.coupling is None:
        return moved, gradient
    difference = moved - features
    chain, column = np.nonzero(difference)
    gradient = gradient.copy()
    np.add.at(gradient, chain, energy.coupling[chain, column] * difference[chain, column][:, None])
    return moved, gradient


def walk_bits(
    energy: Energy,
    barrier: Energy | None,
    height: FloatArray,
    most_changes: IntArray,
    waits: IntArray,
    trail: FloatArray,
    levels: FloatArray,
) -> None:
    """Set what a search from the centre visits after its start: `trail` (s + 1, c, f), `levels` (s + 1, c).

    `height` is the value of the barrier at the centre, shape (c,); `waits`, for how many steps the site of
    each step is then left alone, shape (s, c).

    >>> energy = Energy(2, np.zeros(1), np.array([[1.0, -1.0]]), np.zeros((1, 0)), None)
    >>> trail, levels = np.zeros((3, 1, 2)), np.zeros((3, 1))
    >>> walk_bits(energy, None, np.zeros(1), np.full(1, 2), np.full((2, 1), 1), trail, levels)
    >>> trail[:, 0].tolist(), levels[:, 0].tolist()
    ([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [0.0, -1.0, 0.0])
    """
    shape = energy.field.shape
    rows = np.arange(shape[0])
    change, sign, level = energy.field + energy.radial[:, None], np.ones(shape), np.zeros(shape[0])
    free_at, n_changed = np.zeros(shape, dtype=np.int64), np.zeros(shape[0], dtype=np.int64)
    climb = None if barrier is None else barrier.field + barrier.radial[:, None]
    for step in range(len(waits)):
        is_full = (n_changed >= most_changes)[:, None] & (sign > 0)
        costly = change if climb is None else change + cost(height[:, None] + climb)
        best = (costly + FORBIDDEN * (free_at > step) + 3 * FORBIDDEN * is_full).argmin(axis=1)
        level = level + change[rows, best]
        height = height if climb is None else height + climb[rows, best]
        turned = sign[rows, best]
        sign[rows, best] = -turned
        n_changed += turned.astype(np.int64)
        for function, moves in ((energy, change), (barrier, climb)):
            if function is None or moves is None:
                continue
            moves[rows, best] *= -1
            if function.coupling is not None:
                moves += sign * function.coupling[rows, best] * turned[:, None]
        free_at[rows, best] = step + 1 + waits[step]
        trail[step + 1], levels[step + 1] = (1 - sign) / 2, level + cost(height)
