"""New points without a model: points of the front, crossed and changed."""

from __future__ import annotations

import numpy as np

from dcmaes._validation import FloatArray
from dcmaes.space import Sites
from dcmaes.strategies._memory import Memory
from dcmaes.strategies.front._constants import CHANGES, CROSSED, JUMP, N_TRIES, STEP_EXPONENTS
from dcmaes.strategies.front._known import Known


def children(
    known: Known, n: int, sites: Sites, rng: np.random.Generator, memory: Memory
) -> list[FloatArray]:
    """Return up to `n` new coded points, shape (d,) each."""
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
