"""Low-energy points of drawn energies: a tabu search of all functions at once, for sites of any kind."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dcmaes._validation import FloatArray, IntArray
from dcmaes.models import Energy, FeatureMap

FORBIDDEN = 1e12
# What it costs a function to be beyond the limit, for each unit of that: more than it can gain.
BARRIER_COST = 100.0
# Beyond this many numeric sites a minimum is rounded at once: the time grows with the cube.
LARGEST_SEQUENTIAL = 100
# Beyond this many features no couplings are drawn: the time grows with the square.
LARGEST_PAIRS = 400


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
    energy, height : arrays of shape (c,)
        The energy, and how high the barrier is.
    free_at : array of shape (c, d)
        The step from which on each site may move again.
    """

    features: FloatArray
    gradient: FloatArray
    energy: FloatArray
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
    >>> walkers.features, walkers.energy
    (array([[2.]]), array([-2.]))
    """
    site, rows = feature_map.site, np.arange(len(energy.field))
    moves = _best_moves(energy, barrier, at.height, at.features, at.gradient, feature_map, box, most_changes)
    change = moves.change + cost(at.height[:, None] + moves.climb)
    best = np.where(at.free_at[:, site] > number, change + FORBIDDEN, change).argmin(axis=1)
    at.features, at.gradient = _apply(energy, at.features, at.gradient, feature_map, rows, best, moves.target)
    at.energy, at.height = at.energy + moves.change[rows, best], at.height + moves.climb[rows, best]
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
    energies: FloatArray,
) -> None:
    """Set what a search from the centre visits after its start: `trail` (s + 1, c, f), `energies` (s + 1, c).

    `height` is the value of the barrier at the centre, shape (c,); `waits`, for how many steps the site of
    each step is then left alone, shape (s, c).

    >>> energy = Energy(2, np.zeros(1), np.array([[1.0, -1.0]]), np.zeros((1, 0)), None)
    >>> trail, energies = np.zeros((3, 1, 2)), np.zeros((3, 1))
    >>> walk_bits(energy, None, np.zeros(1), np.full(1, 2), np.full((2, 1), 1), trail, energies)
    >>> trail[:, 0].tolist(), energies[:, 0].tolist()
    ([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [0.0, -1.0, 0.0])
    """
    shape = energy.field.shape
    rows = np.arange(shape[0])
    change, sign, reached = energy.field + energy.radial[:, None], np.ones(shape), np.zeros(shape[0])
    free_at, n_changed = np.zeros(shape, dtype=np.int64), np.zeros(shape[0], dtype=np.int64)
    climb = None if barrier is None else barrier.field + barrier.radial[:, None]
    for step in range(len(waits)):
        is_full = (n_changed >= most_changes)[:, None] & (sign > 0)
        costly = change if climb is None else change + cost(height[:, None] + climb)
        best = (costly + FORBIDDEN * (free_at > step) + 3 * FORBIDDEN * is_full).argmin(axis=1)
        reached = reached + change[rows, best]
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
        trail[step + 1], energies[step + 1] = (1 - sign) / 2, reached + cost(height)


@dataclass(frozen=True, eq=False)
class Visited:
    """States that the search passed through: features (s, c, f) and energies (s, c)."""

    features: FloatArray
    energy: FloatArray


def search(
    energy: Energy,
    barrier: Energy | None,
    feature_map: FeatureMap,
    box: Box,
    *,
    n_steps: int,
    most_changes: IntArray,
    tenure: int,
    rng: np.random.Generator,
) -> Visited:
    """Return what a tabu search of each energy visits, from the centre or a Newton step away.

    >>> from dcmaes.space import Space
    >>> feature_map = FeatureMap(Space.binary(2).sites, np.zeros(2), np.ones(2))
    >>> coupling = np.array([[[0.0, -3.0], [-3.0, 0.0]]])
    >>> energy = Energy(2, np.zeros(1), np.ones((1, 2)), np.zeros((1, 0)), coupling)
    >>> box, rng = Box.around(feature_map, np.full(1, 2.0)), np.random.default_rng(0)
    >>> changes = np.full(1, 2)
    >>> search(energy, None, feature_map, box, n_steps=2, most_changes=changes, tenure=1, rng=rng).energy
    array([[ 0.],
           [ 1.],
           [-1.]])

    Every step takes the best move of all sites, also if it goes up, and then leaves that site alone for about
    `tenure` steps; at most `most_changes` choices differ from the centre. Where a barrier is above 0, the
    energy is higher by `BARRIER_COST` times that.
    """
    n_chains, n_features = energy.field.shape
    has_conditions = feature_map.sites.has_conditions
    if n_features == energy.n_choices == len(np.unique(feature_map.site)) and not has_conditions:
        return _search_bits(
            energy, barrier, n_steps=n_steps, most_changes=most_changes, tenure=tenure, rng=rng
        )
    features = _newton_start(energy, barrier, box, rng)
    height = _height(barrier, features)
    # Walkers are changed in place: the gradient may be the energy's own field.
    gradient = np.array(energy.gradient(features), order="C")
    free_at = np.zeros((n_chains, feature_map.sites.dimension), dtype=np.int64)
    walkers = Walkers(features, gradient, energy.value(features), height, free_at)
    if has_conditions:
        _lay_to_rest(walkers, 0, energy, barrier, feature_map)
    trail = np.empty((n_steps + 1, n_chains, n_features))
    energies = np.empty((n_steps + 1, n_chains))
    trail[0], energies[0] = walkers.features, walkers.energy + cost(walkers.height)
    waits = tenure + rng.integers(0, 3, size=(n_steps, n_chains))
    for number in range(n_steps):
        step(walkers, number, waits[number], energy, barrier, feature_map, box, most_changes)
        if has_conditions:
            _lay_to_rest(walkers, number + 1, energy, barrier, feature_map)
        trail[number + 1], energies[number + 1] = walkers.features, walkers.energy + cost(walkers.height)
    return Visited(trail, energies)


def _lay_to_rest(
    at: Walkers, number: int, energy: Energy, barrier: Energy | None, feature_map: FeatureMap
) -> None:
    """Set features of inactive sites to zero, and keep these sites from moving in step `number`."""
    is_active = feature_map.sites.active(feature_map.points(at.features))
    at.free_at = np.where(is_active, at.free_at, number + 1)
    features = at.features * is_active[:, feature_map.site]
    if np.array_equal(features, at.features):
        return
    at.features, at.gradient = features, np.array(energy.gradient(features), order="C")
    at.energy, at.height = energy.value(features), _height(barrier, features)


def _height(barrier: Energy | None, features: FloatArray) -> FloatArray:
    """Return how high a barrier is at one point per function, shape (c,); 0 if there is none."""
    return np.zeros(len(features)) if barrier is None else barrier.constant + barrier.value(features)


def _search_bits(
    energy: Energy,
    barrier: Energy | None,
    *,
    n_steps: int,
    most_changes: IntArray,
    tenure: int,
    rng: np.random.Generator,
) -> Visited:
    """Return what the same search visits where every site has two states."""
    shape = energy.field.shape
    height = _height(barrier, np.zeros(shape))
    trail, energies = np.zeros((n_steps + 1, *shape)), np.zeros((n_steps + 1, shape[0]))
    energies[0] = cost(height)
    waits = tenure + rng.integers(0, 3, size=(n_steps, shape[0]))
    walk_bits(energy, barrier, height, most_changes, waits, trail, energies)
    return Visited(trail, energies)


def _newton_start(energy: Energy, barrier: Energy | None, box: Box, rng: np.random.Generator) -> FloatArray:
    """Return the centre with numeric sites near the minimum of their quadratic, where that is lower."""
    n_chains, n_features = energy.field.shape
    p, start = energy.n_choices, np.zeros((n_chains, n_features))
    if p == n_features:
        return start
    slope = energy.field[:, p:]
    bend = 2 * (energy.curvature + energy.radial[:, None])
    if energy.coupling is None:
        minima = [-slope / np.maximum(np.abs(bend), 1e-9)]
    else:
        hessian = energy.coupling[:, p:, p:].copy()
        diagonal = np.arange(n_features - p)
        hessian[:, diagonal, diagonal] += bend
        values, vectors = np.linalg.eigh(hessian)
        # A direction in which the function falls away is followed as far as if it rose as steeply.
        spread = (vectors / np.maximum(np.abs(values), 1e-9)[:, None, :]) @ vectors.transpose(0, 2, 1)
        minimum = -(spread @ slope[:, :, None])[:, :, 0]
        minima = [minimum, _rounded_in_turn(minimum, spread, box, rng)]
    lowest = cost(_height(barrier, start))
    for minimum in minima:
        moved = start.copy()
        moved[:, p:] = box.snap(minimum)
        reached = energy.value(moved) + cost(_height(barrier, moved))
        start = np.where((reached < lowest)[:, None], moved, start)
        lowest = np.minimum(reached, lowest)
    return start


def _rounded_in_turn(
    minimum: FloatArray, spread: FloatArray, box: Box, rng: np.random.Generator
) -> FloatArray:
    """Return minima of quadratics rounded to the grid site by site, the others following each time.

    `spread` has the inverse matrices of second derivatives, shape (c, q, q).
    """
    z, (n_chains, n_lines) = minimum, minimum.shape
    if n_lines > LARGEST_SEQUENTIAL:
        return z
    rows, is_left = np.arange(n_chains), np.ones((n_chains, n_lines), dtype=bool)
    luck, first = rng.gumbel(size=(n_chains, n_lines)), np.einsum("cii->ci", spread)
    for _ in range(n_lines):
        variance = np.maximum(np.einsum("cii->ci", spread), 1e-100)
        # Stiff sites first, in an order that differs between the chains.
        site = np.where(is_left, luck - np.log(variance) / 2, -np.inf).argmax(axis=1)
        is_left[rows, site] = False
        # What rounding errors have left of a spread that is used up says nothing about the others.
        is_used_up = variance[rows, site] < 1e-12 * first[rows, site]
        share = np.where(is_used_up[:, None], 0.0, spread[rows, :, site] / variance[rows, site][:, None])
        # The minimum over the other sites, given this one, and their spread: (Q11)
        step = box.snap(z)[rows, site] - z[rows, site]
        z = z + share * step[:, None]
        spread = spread - share[:, :, None] * spread[rows, site][:, None, :]
    return z
