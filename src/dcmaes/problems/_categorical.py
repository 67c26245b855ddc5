"""Categorical test functions: the vector holds indices of choices, whose order means nothing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dcmaes._validation import FloatArray, IntArray, check_integer, check_number
from dcmaes.problems._problem import Pair, Problem, categorical_variables, pairs_of


def categorical_onemax(n: int = 20, k: int = 5, *, instance: int = 0) -> Problem:
    """Count the variables that differ from a hidden string over k choices.

    >>> categorical_onemax(4, 3)(categorical_onemax(4, 3).solution)
    0.0
    """
    z, _ = _hidden(n, k, instance)
    return _problem(f"categorical onemax {n}x{k}", k, lambda x: (x != z).sum(), z, instance)


def categorical_leadingones(n: int = 15, k: int = 4, *, instance: int = 0) -> Problem:
    """Count the variables from the first wrong one on, in a hidden order.

    >>> categorical_leadingones(4, 3)(categorical_leadingones(4, 3).solution)
    0.0
    """
    z, rng = _hidden(n, k, instance)
    order = rng.permutation(n)
    return _problem(
        f"categorical leadingones {n}x{k}", k, lambda x: n - np.cumprod((x == z)[order]).sum(), z, instance
    )


def matching_pairs(n: int = 20, k: int = 4, *, preferred: bool = False, instance: int = 0) -> Problem:
    """Count the hidden pairs of variables that do not match, by a hidden bijection of their choices.

    No single variable tells anything, only the two of a pair together. With `preferred`, one match of each
    pair costs 0, the others 1 and a mismatch 2, so a pair in the wrong match has to move as one.

    >>> problem = matching_pairs(4, 3)
    >>> problem(problem.solution), len(problem.interactions)
    (0.0, 2)
    """
    if n % 2:
        raise ValueError(f"n must be even, got {n}")
    z, rng = _hidden(n, k, instance)
    first, second = rng.permutation(n).reshape(2, -1)
    bijection = np.array([rng.permutation(k) for _ in range(n // 2)])
    z[second] = bijection[np.arange(n // 2), z[first]]
    rows = np.arange(n // 2)

    def function(x: FloatArray) -> float:
        mismatch = bijection[rows, x[first].astype(int)] != x[second]
        if not preferred:
            return float(mismatch.sum())
        return float((np.where(mismatch, 2, x[first] != z[first])).sum())

    name = "preferred pairs" if preferred else "matching pairs"
    return _problem(f"{name} {n}x{k}", k, function, z, instance, pairs_of(first, second))


def graph_colouring(n: int = 40, k: int = 3, degree: float = 4.0, *, instance: int = 0) -> Problem:
    """Count the edges whose ends have one colour, in a random graph that a hidden colouring makes colourable.

    >>> graph_colouring(10)(graph_colouring(10).solution)
    0.0
    """
    z, rng = _hidden(n, k, instance)
    check_number("degree", degree, low=0.0)
    first, second = np.triu_indices(n, 1)
    allowed = np.flatnonzero(z[first] != z[second])
    chosen = np.sort(rng.choice(allowed, min(round(degree * n / 2), len(allowed)), replace=False))
    first, second = first[chosen], second[chosen]

    def function(x: FloatArray) -> float:
        return float((x[first] == x[second]).sum())

    return _problem(f"graph colouring {n}x{k}", k, function, z, instance, pairs_of(first, second))


def _hidden(n: int, k: int, instance: int) -> tuple[IntArray, np.random.Generator]:
    check_integer("n", n, low=1)
    check_integer("k", k, low=2)
    rng = np.random.default_rng(check_integer("instance", instance, low=0))
    return rng.integers(0, k, n), rng


def _problem(
    name: str,
    k: int,
    function: Callable[[FloatArray], float],
    z: IntArray,
    instance: int,
    interactions: tuple[Pair, ...] | None = None,
) -> Problem:
    return Problem(
        name,
        categorical_variables(len(z), k),
        function,
        0.0,
        instance=instance,
        solution=z.astype(np.float64),
        interactions=interactions,
    )
