"""What the laws on the integers share: looking up a table of probabilities, and the binomial table."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from dcmaes._validation import FloatArray, IntArray, check_array, check_generator
from dcmaes.distributions._states import check_size, locate
from dcmaes.distributions._table import sample_table

_LOG_SMALLEST = 746.0  # exp(-746) is zero in double precision


def lattice_pmf(x: ArrayLike, first: int, table: FloatArray) -> FloatArray | np.float64:
    """Return the probabilities of `x` under a table that starts at `first`; 0 off the lattice or the table.

    >>> lattice_pmf([-1, 0, 0.5, 1], -1, np.array([0.25, 0.75]))
    array([0.25, 0.75, 0.  , 0.  ])
    """
    points = check_array("x", x) - first
    index, inside = locate(points[..., np.newaxis], (table.size,))
    return np.where(inside, table[index], 0.0)[()]


def sample_lattice(
    first: int, cumulative: FloatArray, size: int | tuple[int, ...] | None, rng: np.random.Generator
) -> IntArray:
    """Draw integers from running sums whose first entry belongs to the value `first`.

    >>> sample_lattice(5, np.array([0.0, 1.0]), 3, np.random.default_rng(0))
    array([6, 6, 6])
    """
    shape = check_size(size)
    uniforms = np.asarray(check_generator("rng", rng).random(shape))
    return first + sample_table(cumulative, uniforms)


def binomial_table(trials: int, p: float) -> tuple[int, FloatArray]:
    """Return the first value and the probabilities of the binomial, without values that underflow to zero.

    Products of the ratios of neighbours, outwards from the mode: every entry keeps its relative accuracy.

    >>> binomial_table(2, 0.5)
    (0, array([0.25, 0.5 , 0.25]))
    """
    mode = min(math.floor((trials + 1) * p), trials)
    # Bernstein's inequality: beyond this distance the probability is below exp(-746).
    reach = _LOG_SMALLEST / 3 + math.sqrt((_LOG_SMALLEST / 3) ** 2 + 2 * _LOG_SMALLEST * trials * p * (1 - p))
    first = max(0, mode - math.ceil(reach) - 1)
    last = min(trials, mode + math.ceil(reach) + 1)
    above = np.arange(mode + 1, last + 1)
    below = np.arange(mode, first, -1)
    up = np.cumprod((trials - above + 1) * p / (above * (1 - p))) if above.size else np.ones(0)
    down = np.cumprod(below * (1 - p) / ((trials - below + 1) * p)) if below.size else np.ones(0)
    table = np.concatenate([down[::-1], [1.0], up])
    return first, table / table.sum()
