"""Fronts of the problems of the suite `multi`, by searches that know the functions."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcmaes.pareto import is_nondominated

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
# Weights for which the best point is looked for, starts for each, and steps of each tabu search.
_N_WEIGHTS, _N_STARTS, _N_STEPS = 41, 3, 400
# Points of a continuous front that are kept.
_MOST_KEPT = 400


def front_by_tabu(matrices: FloatArray, seed: int) -> FloatArray:
    """Return a front of quadratic functions of bits: tabu searches of weighted sums, which know them."""
    n = matrices.shape[1]
    rng = np.random.default_rng(seed + 1)
    symmetric = matrices + matrices.transpose(0, 2, 1)
    found = []
    for weight in np.linspace(0.0, 1.0, _N_WEIGHTS):
        coupling = weight * symmetric[0] + (1 - weight) * symmetric[1]
        field: FloatArray = np.diag(coupling) / 2
        coupling = coupling - np.diag(np.diag(coupling))
        for _ in range(_N_STARTS):
            x: Any = rng.integers(0, 2, n).astype(np.float64)
            gradient: Any = field + coupling @ x
            free_at = np.zeros(n)
            for step in range(_N_STEPS):
                change = (1 - 2 * x) * gradient
                i = int(np.where(free_at > step, np.inf, change).argmin())
                gradient = gradient + coupling[i] * (1 - 2 * x[i])
                x[i] = 1 - x[i]
                free_at[i] = step + n // 10 + rng.integers(1, 4)
                found.append([x @ matrix @ x for matrix in matrices])
    return np.array(found)


def front_by_flips(evaluate: Callable[[FloatArray], FloatArray], n: int, seed: int) -> FloatArray:
    """Return a front found by climbing weighted sums, one flip at a time, from changed copies of the best."""
    rng = np.random.default_rng(seed + 1)
    flips = np.eye(n)
    found = []
    for weight in np.linspace(0.0, 1.0, _N_WEIGHTS):
        weights = np.array([weight, 1 - weight])
        best, level = rng.integers(0, 2, n).astype(np.float64), np.inf
        for _ in range(20 * _N_STARTS):
            x = np.abs(best - (rng.random(n) < 4 / n))
            while True:
                around = np.abs(x - np.vstack([np.zeros(n), flips]))
                values = evaluate(around)
                found.append(values[is_nondominated(values)])
                lowest = int((values @ weights).argmin())
                if lowest == 0:
                    break
                x = around[lowest]
            reached = float((values @ weights)[0])
            if reached <= level:
                best, level = x, reached
    return np.vstack(found)


def best_profits(profits: IntArray, weights: IntArray, capacity: int) -> FloatArray:
    """Return the profits that no load within the capacity dominates, shape (k, 2), by adding item by item."""
    # A load is kept unless another one weighs no more and has no less of both profits.
    states = np.zeros((1, 3))
    for profit, weight in zip(profits.T, weights, strict=True):
        more = states + np.array([weight, *(-profit)])
        states = np.vstack([states, more[more[:, 0] <= capacity]])
        states = states[is_nondominated(states)]
    return -states[:, 1:]


def front_by_long_runs(wrapped: Any, n_integer: int) -> FloatArray:
    """Return a front found by NSGA-II with 100,000 evaluations, twice, and steps from its points."""
    nsga, optimize = (
        import_module("pymoo.algorithms.moo.nsga2").NSGA2,
        import_module("pymoo.optimize").minimize,
    )
    low, high = np.array(wrapped.lower_bounds), np.array(wrapped.upper_bounds)
    is_integer = np.arange(len(low)) < n_integer
    # Every integer has a unit of length.
    wide_low, wide_high = np.where(is_integer, low - 0.499, low), np.where(is_integer, high + 0.499, high)

    def rounded(x: FloatArray) -> FloatArray:
        return np.where(is_integer, np.rint(x), x).clip(low, high)

    class Rounded(import_module("pymoo.core.problem").ElementwiseProblem):  # type: ignore[misc]
        def _evaluate(self, x: FloatArray, out: dict[str, Any], *_: Any, **__: Any) -> None:
            out["F"] = wrapped(rounded(x))

    problem = Rounded(n_var=len(low), n_obj=2, xl=wide_low, xu=wide_high)

    points, values = np.empty((0, len(low))), np.empty((0, 2))
    for seed in range(2):
        found = optimize(problem, nsga(pop_size=200), ("n_eval", 100_000), seed=seed)
        points, values = np.vstack([points, rounded(found.X)]), np.vstack([values, found.F])
    rng = np.random.default_rng(0)
    for _ in range(200):
        kept = is_nondominated(values)
        points, values = points[kept], values[kept]
        x = points[rng.integers(len(points), size=500)]
        size = 10 ** rng.uniform(-5, -0.5, (500, 1)) * (high - low)
        step = np.where(is_integer, rng.integers(-1, 2, x.shape), size * rng.standard_normal(x.shape))
        is_moved = rng.random(x.shape) < np.where(rng.random((500, 1)) < 0.5, 1.5 / len(low), ~is_integer)
        new = rounded(x + is_moved * step)
        points, values = np.vstack([points, new]), np.vstack([values, [wrapped(one) for one in new]])
    values = values[is_nondominated(values)]
    values = values[np.argsort(values[:, 0])]
    # Evenly along the front: so many points lose a thousandth of the volume at most.
    if len(values) > _MOST_KEPT:
        unit = (values - values.min(axis=0)) / np.ptp(values, axis=0)
        along = np.concatenate([[0.0], np.abs(np.diff(unit, axis=0)).sum(axis=1).cumsum()])
        values = values[np.unique(np.searchsorted(along, np.linspace(0, along[-1], _MOST_KEPT)))]
    return values
