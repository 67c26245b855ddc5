"""What is remembered of points: of those evaluated more than once the mean, and how noisy that shows them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dcmaes.strategies._protocol import Evaluations
from dcmaes.strategies.ising._constants import LARGEST_STEP, MEMORY
from dcmaes.strategies.ising._state import IsingState


def remembered(state: IsingState, told: Evaluations) -> IsingState:
    """Return the state with results in memory, and with what they say of the noise.

    Repeats, which were told before, are left out as long as they agree with what was told then.
    """
    for row in np.flatnonzero(told.count > 1):
        state = _measured(state, told.take(slice(row, row + 1)))
    if not state.is_noisy:
        fresh = told.take(np.flatnonzero(~told.is_repeat))
        return replace(state, memory=_shortened(Evaluations.join(state.memory, fresh)))
    joined = Evaluations.join(state.memory, told)
    # What was told last of a point is the mean of all its values.
    last = {x.tobytes(): row for row, x in enumerate(joined.x)}
    return replace(state, memory=_shortened(joined.take(np.array(sorted(last.values())))))


def _measured(state: IsingState, one: Evaluations) -> IsingState:
    """Return the state after comparing the mean value of one point with what is remembered of it."""
    memory, n = state.memory, int(one.count[0])
    rows = np.flatnonzero((memory.x == one.x).all(axis=1) & (memory.violation == 0) & (memory.count < n))
    if len(rows) == 0 or one.violation[0] > 0:
        return state
    n_before = int(memory.count[rows[-1]])
    step = np.clip(one.value[0] / 2 - memory.value[rows[-1]] / 2, -LARGEST_STEP, LARGEST_STEP)
    # The square of what the values since then add to those around the mean.
    square = 4 * float(step) ** 2 * n * n_before / (n - n_before)
    return replace(state, squares=state.squares + square, degrees=state.degrees + 1)


def _shortened(memory: Evaluations) -> Evaluations:
    """Return what stays in memory: when it is full, the best quarter and the recent half."""
    if len(memory) <= MEMORY:
        return memory
    best = memory.order()[: MEMORY // 4]
    recent = np.arange(max(0, len(memory) - MEMORY // 2), len(memory))
    return memory.take(np.union1d(best, recent))
