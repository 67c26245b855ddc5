"""The tabu search by loops that numba compiles: number by number what `_steps` and `_bits` compute."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcmaes._compiled import ready
from dcmaes._validation import FloatArray, IntArray
from dcmaes.models import Energy, FeatureMap
from dcmaes.strategies.ising._box import Box
from dcmaes.strategies.ising._constants import BARRIER_COST
from dcmaes.strategies.ising._search_kernels import step_all, walk_bits
from dcmaes.strategies.ising._steps import FORBIDDEN, Step, Walkers

# Stand for what there is none of: compiled functions take arrays only.
_NO_ROWS, _NO_COUPLING = np.zeros((0, 0)), np.zeros((0, 0, 0))


def compiled_step(
    energy: Energy, barrier: Energy | None, feature_map: FeatureMap, box: Box, most_changes: IntArray
) -> Step:
    """Return a function that makes the same step as that of `plain_step`.

    >>> from dcmaes.space import Space
    >>> feature_map = FeatureMap(Space.integers(1, 0, 8).sites, np.full(1, 4.0), np.full(1, 0.125))
    >>> energy = Energy(0, np.ones(1), np.full((1, 1), -3.0), np.zeros((1, 1)), None)
    >>> step = compiled_step(energy, None, feature_map, Box.around(feature_map, np.full(1, 4.0)), np.ones(1))
    >>> start, free_at = np.zeros((1, 1)), np.zeros((1, 1), dtype=np.int64)
    >>> walkers = Walkers(start, energy.gradient(start), np.zeros(1), np.zeros(1), free_at)
    >>> step(0, np.ones(1, dtype=np.int64), walkers)
    >>> walkers.features, walkers.level
    (array([[2.]]), array([-2.]))
    """
    limit = energy if barrier is None else barrier
    constants: tuple[Any, ...] = (
        *(energy.n_choices, ready(feature_map.site, np.int64), ready(most_changes, np.int64)),
        *(ready(energy.radial), ready(energy.curvature), _coupling(energy)),
        *(ready(limit.radial), ready(limit.curvature)),
        *(ready(box.low), ready(box.high), ready(box.gap)),
        *(FORBIDDEN, BARRIER_COST),
    )

    def step(number: int, waits: IntArray, at: Walkers) -> None:
        # A product of arrays adds up in an order of its own, so that it is left to numpy here as well.
        slopes = _NO_ROWS if barrier is None else ready(barrier.gradient(at.features))
        step_all(number, waits, slopes, at.features, at.gradient, at.level, at.height, at.free_at, *constants)

    return step


def compiled_bits(
    energy: Energy,
    barrier: Energy | None,
    height: FloatArray,
    most_changes: IntArray,
    waits: IntArray,
    trail: FloatArray,
    levels: FloatArray,
) -> None:
    """Set what `walk_bits` sets.

    >>> energy = Energy(2, np.zeros(1), np.array([[1.0, -1.0]]), np.zeros((1, 0)), None)
    >>> trail, levels = np.zeros((3, 1, 2)), np.zeros((3, 1))
    >>> compiled_bits(energy, None, np.zeros(1), np.full(1, 2), np.full((2, 1), 1), trail, levels)
    >>> trail[:, 0].tolist(), levels[:, 0].tolist()
    ([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [0.0, -1.0, 0.0])
    """
    change = ready(energy.field + energy.radial[:, None])
    climb = _NO_ROWS if barrier is None else ready(barrier.field + barrier.radial[:, None])
    changes = change, climb, _coupling(energy), _coupling(barrier)
    limits = ready(most_changes, np.int64), waits, FORBIDDEN, BARRIER_COST
    walk_bits(trail, levels, height, *changes, *limits)


def _coupling(function: Energy | None) -> FloatArray:
    if function is None or function.coupling is None:
        return _NO_COUPLING
    coupling: FloatArray = ready(function.coupling)
    return coupling
