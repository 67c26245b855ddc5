"""The loop of the heat bath that numba compiles: what `_heat_bath._redraw` computes."""

from __future__ import annotations

import numpy as np

from dcmaes._compiled import compiled, ready
from dcmaes._validation import FloatArray


def redraw(states: FloatArray, thresholds: FloatArray, local: FloatArray, coupling: FloatArray) -> None:
    """Redraw the sites of a block in turn, in place; `local` are their fields, (b, n_chains)."""
    _redraw(states, thresholds, ready(local), ready(coupling))


@compiled("void(float64[:, :], float64[:, :], float64[:, ::1], float64[:, ::1])")
def _redraw(states: FloatArray, thresholds: FloatArray, local: FloatArray, coupling: FloatArray) -> None:
    n_sites, n_chains = local.shape
    change = np.empty(n_chains)
    for i in range(n_sites):
        for chain in range(n_chains):
            drawn = 1.0 if thresholds[i, chain] < local[i, chain] else 0.0
            change[chain] = drawn - states[i, chain]
            states[i, chain] = drawn
        for j in range(i + 1, n_sites):
            for chain in range(n_chains):
                local[j, chain] += coupling[j, i] * change[chain]
