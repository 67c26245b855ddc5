"""New points by a model of all orders: of many candidates, anywhere and near the best, the most promising."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dcmaes._validation import FloatArray
from dcmaes.models import AllOrders
from dcmaes.strategies._evaluations import Evaluations
from dcmaes.strategies.ising._constants import (
    ALL_ORDERS_MEMORY,
    ALL_ORDERS_SITES,
    ENOUGH,
    FEWEST_CHANGES,
    JUMP,
    LARGEST_CHANGE,
    LOW_SHARES,
    N_ANYWHERE,
    N_BEST,
    N_CHILDREN,
    N_FINALISTS,
    N_GRANDCHILDREN,
    N_ROUNDS,
    STEP_EXPONENTS,
    UNEXPLAINED,
)
from dcmaes.strategies.ising._relevance import low_rise, rises
from dcmaes.strategies.ising._state import Posterior

# Tells for each coded point, shape (n, d), whether there is no use in proposing it.
IsKnown = Callable[[FloatArray], NDArray[np.bool_]]


def has_all_orders(state: Posterior) -> bool:
    """Return whether a model of all orders is of use: for few values, of numbers, and not of a quadratic."""
    n, n_features = len(state.memory), state.feature_map.n_features
    is_small = state.sites.dimension <= ALL_ORDERS_SITES and n <= ALL_ORDERS_MEMORY
    is_unexplained = n >= ENOUGH * n_features and state.variances[-1] >= UNEXPLAINED
    # Values that differ at one point are left to the regression, which weighs them.
    return is_small and is_unexplained and not state.is_noisy and len(state.feature_map.numeric) > 0


def all_orders(state: Posterior) -> AllOrders:
    """Return the model of all evaluations that are remembered."""
    return AllOrders(state.feature_map, state.memory.x, _targets(state.memory), state.scales)


def promising_points(state: Posterior, n: int, rng: np.random.Generator, is_known: IsKnown) -> FloatArray:
    """Return up to `n` new coded points that may be the best by the model of all orders, shape (m, d)."""
    model, sites = all_orders(state), state.sites
    best = state.memory.x[state.memory.order()[:N_BEST]]
    anywhere = sites.canonical(sites.uniform(rng.random((N_ANYWHERE, sites.dimension))))
    points = np.concatenate([anywhere, _changed(state, np.repeat(best, N_CHILDREN, axis=0), rng)])
    for _ in range(N_ROUNDS):
        # Each of the points looked for has finalists of its own; their children are there for all.
        ranked = np.argsort(model.draw(points, n, rng), axis=1, kind="stable")
        finalists = points[np.unique(ranked[:, :N_FINALISTS])]
        children = _changed(state, np.repeat(finalists, N_GRANDCHILDREN, axis=0), rng)
        points = np.concatenate([finalists, children])
    points = points[~is_known(points)]
    chosen: dict[bytes, FloatArray] = {}
    for values in model.draw(points, n, rng):
        ranking = (points[i] for i in np.argsort(values, kind="stable"))
        lowest = next((x for x in ranking if x.tobytes() not in chosen), None)
        if lowest is not None:
            chosen[lowest.tobytes()] = lowest
    return np.array(list(chosen.values())).reshape(-1, sites.dimension)


def _targets(memory: Evaluations) -> FloatArray:
    """Return the values, high ones on a logarithmic scale, with mean 0 and variance 1 (Q19)."""
    rise = rises(memory)
    bent = np.log1p(rise / low_rise(rise, LOW_SHARES[1], float(rise.max())))
    standardized: FloatArray = (bent - bent.mean()) / (float(bent.std()) or 1.0)
    return standardized


def _changed(state: Posterior, x: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return coded points with few or many sites changed, numbers mostly a little, shape (n, d)."""
    sites, (n, d) = state.sites, x.shape
    share = np.maximum(FEWEST_CHANGES / d, LARGEST_CHANGE * rng.random((n, 1)))
    step = 10 ** rng.uniform(*STEP_EXPONENTS, size=(n, 1)) * rng.standard_normal((n, d))
    u = sites.coordinate(x) + step
    u = np.where(sites.periodic, u % 1.0, np.clip(u, 0.0, 1.0))
    is_number = np.isin(np.arange(d), state.feature_map.numeric)
    near = sites.from_coordinate(np.where(is_number, u, sites.coordinate(x)), rng.random((n, d)))
    is_step = is_number & (rng.random((n, d)) > JUMP)
    v = rng.random((n, d))
    other = np.where(is_step, near, sites.uniform(v))
    changed = np.where(rng.random((n, d)) < share, other, x)
    return sites.canonical(sites.awake(changed, x, v))
