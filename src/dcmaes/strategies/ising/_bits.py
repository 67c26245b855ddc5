"""The tabu search where every site has two states: a few array operations a step."""

from __future__ import annotations

import numpy as np

from dcmaes._validation import FloatArray, IntArray
from dcmaes.models import Energy
from dcmaes.strategies.ising._steps import FORBIDDEN, cost


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
