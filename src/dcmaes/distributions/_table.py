"""Probability tables: their check, their entropy, and sampling by the inverse distribution function."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from dcmaes._validation import FloatArray, IntArray, check_probabilities

SUM_TOLERANCE = 1e-8  # as numpy.random.Generator.choice: the square root of the float64 resolution, rounded


def check_pmf(name: str, values: ArrayLike, *, shape: tuple[int | None, ...] | None = None) -> FloatArray:
    """Return a fresh table of probabilities that sum to one (rescaled to do so exactly), or raise.

    >>> check_pmf("probabilities", [0.25, 0.75])
    array([0.25, 0.75])
    """
    table = check_probabilities(name, values, shape=shape)
    if table.size == 0:
        raise ValueError(f"{name} must not be empty, got shape {table.shape}")
    total = float(table.sum())
    if abs(total - 1.0) > SUM_TOLERANCE:
        raise ValueError(f"{name} must sum to 1, got a sum of {total:.10g}")
    return table / total


def cumulate(probabilities: FloatArray) -> FloatArray:
    """Return the running sums of a table of any shape, flattened in C order and ending at exactly 1.

    >>> cumulate(np.array([[0.25, 0.25], [0.5, 0.0]]))
    array([0.25, 0.5 , 1.  , 1.  ])
    """
    sums = np.cumsum(probabilities, axis=None)
    return np.asarray(sums / sums[-1])


def sample_table(cumulative: FloatArray, uniforms: FloatArray) -> IntArray:
    """Return flat indices drawn by inverting `cumulate(probabilities)` at `uniforms` in [0, 1).

    Cells of probability zero are never drawn: the first cell whose running sum exceeds the uniform is.

    >>> sample_table(cumulate(np.array([0.5, 0.0, 0.5])), np.array([0.0, 0.49, 0.5, 0.99]))
    array([0, 0, 2, 2])
    """
    return np.searchsorted(cumulative, uniforms, side="right").astype(np.int64, copy=False)


def entropy(probabilities: FloatArray) -> float:
    """Return the Shannon entropy of a table in nats, with 0 log 0 = 0.

    >>> round(entropy(np.array([0.5, 0.5, 0.0])), 6)
    0.693147
    """
    return float(special.entr(probabilities).sum())  # (E5)
