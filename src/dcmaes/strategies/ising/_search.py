"""Low-energy points of drawn energies: a tabu search of all functions at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dcmaes._validation import FloatArray, IntArray
from dcmaes.models import Energy, FeatureMap
from dcmaes.strategies.ising._steps import Box, Walkers, cost, step, walk_bits

# Beyond this many numeric sites a minimum is rounded at once: the time grows with the cube.
LARGEST_SEQUENTIAL = 100


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
    levels = np.empty((n_steps + 1, n_chains))
    trail[0], levels[0] = walkers.features, walkers.level + cost(walkers.height)
    waits = tenure + rng.integers(0, 3, size=(n_steps, n_chains))
    for number in range(n_steps):
        step(walkers, number, waits[number], energy, barrier, feature_map, box, most_changes)
        if has_conditions:
            _lay_to_rest(walkers, number + 1, energy, barrier, feature_map)
        trail[number + 1], levels[number + 1] = walkers.features, walkers.level + cost(walkers.height)
    return Visited(trail, levels)


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
    at.level, at.height = energy.value(features), _height(barrier, features)


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
    trail, levels = np.zeros((n_steps + 1, *shape)), np.zeros((n_steps + 1, shape[0]))
    levels[0] = cost(height)
    waits = tenure + rng.integers(0, 3, size=(n_steps, shape[0]))
    walk_bits(energy, barrier, height, most_changes, waits, trail, levels)
    return Visited(trail, levels)


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
        other = start.copy()
        other[:, p:] = box.snap(minimum)
        level = energy.value(other) + cost(_height(barrier, other))
        start = np.where((level < lowest)[:, None], other, start)
        lowest = np.minimum(level, lowest)
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
