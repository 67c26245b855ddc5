"""Quadratic binary test functions: Ising ring and torus, dense QUBO, and a planted interaction graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcmaes._validation import FloatArray, IntArray, check_integer, check_number
from dcmaes.problems._problem import Pair, Problem, all_points, binary_variables


def ising_ring(n: int = 64, *, disorder: bool = False, instance: int = 0) -> Problem:
    """Count the unsatisfied bonds of a ring of n spins, in the coding {0,1}.

    A bond asks its two spins to be equal or different, by a hidden sign: signs from a hidden string (all
    bonds can be satisfied), or random ones with `disorder` (one bond may have to stay unsatisfied).

    >>> ising_ring(8)(ising_ring(8).solution)
    0.0
    """
    n = check_integer("n", n, low=3)
    bonds = np.stack([np.arange(n), (np.arange(n) + 1) % n], axis=1)
    rng = np.random.default_rng(instance)
    if not disorder:
        return _hidden(f"ising ring n={n}", n, bonds, rng, instance)
    differs = rng.integers(0, 2, n)
    frustrated = float(differs.sum() % 2)  # an odd number of "different" bonds cannot all hold around a ring
    return _spin_glass(f"ising ring +-J n={n}", n, bonds, differs, frustrated, instance)


def ising_torus(n: int = 64, *, disorder: bool = False, instance: int = 0) -> Problem:
    """Count the unsatisfied bonds of a square lattice on a torus with n = side**2 spins, in the coding {0,1}.

    With `disorder` the signs of the bonds are random (the +-J spin glass); the optimum is then exact up to
    side 8, by min-plus products of the transfer matrices of the rows.

    >>> ising_torus(9)(ising_torus(9).solution)
    0.0
    """
    n = check_integer("n", n, low=9)
    side = int(np.sqrt(n))
    if side * side != n:
        raise ValueError(f"n must be a square, got {n}")
    site = np.arange(n).reshape(side, side)
    right, down = np.roll(site, -1, axis=1), np.roll(site, -1, axis=0)
    bonds = np.concatenate(
        [np.stack([site.ravel(), right.ravel()], axis=1), np.stack([site.ravel(), down.ravel()], axis=1)]
    )
    rng = np.random.default_rng(instance)
    if not disorder:
        return _hidden(f"ising torus n={n}", n, bonds, rng, instance)
    differs = rng.integers(0, 2, 2 * n)
    optimum = _torus_optimum(differs.reshape(2, side, side)) if side <= 8 else None
    return _spin_glass(f"ising torus +-J n={n}", n, bonds, differs, optimum, instance)


def qubo(n: int = 64, *, instance: int = 0) -> Problem:
    """Minimise x'Qx over {0,1}^n with a dense symmetric Q of standard normal entries.

    Exact optimum by enumeration up to n = 16; unknown beyond.

    >>> qubo(4).optimum <= 0
    True
    """
    n = check_integer("n", n, low=1)
    a = np.random.default_rng(instance).normal(size=(n, n))
    q = (a + a.T) / 2
    optimum = None
    if n <= 16:
        points = all_points(2, n)
        optimum = float(np.einsum("pi,ij,pj->p", points, q, points, optimize=True).min())
    return Problem(
        f"qubo n={n}",
        binary_variables(n),
        lambda x: x @ q @ x,
        optimum,
        "enumeration" if optimum is not None else "unknown",
        instance=instance,
    )


def planted_graph(n: int = 30, degree: float = 3.0, *, instance: int = 0) -> Problem:
    """Weighted bonds on a hidden random graph plus weak fields, all satisfied by one hidden string.

    ``problem.interactions`` lists the bonds: what an optimizer's own account of the interactions should find.

    >>> problem = planted_graph(10)
    >>> problem(problem.solution), len(problem.interactions)
    (0.0, 15)
    """
    n = check_integer("n", n, low=2)
    degree = check_number("degree", degree, low=0.0, high=n - 1.0)
    rng = np.random.default_rng(instance)
    first, second = np.triu_indices(n, 1)
    chosen = np.sort(rng.choice(len(first), round(degree * n / 2), replace=False))
    first, second = first[chosen], second[chosen]
    z = rng.integers(0, 2, n)
    differs = z[first] ^ z[second]
    weight, field = rng.uniform(0.5, 1.5, len(chosen)), rng.uniform(0.1, 0.3, n)

    def function(x: FloatArray) -> float:
        return float(weight @ ((x[first] != x[second]) != differs) + field @ (x != z))

    pairs: tuple[Pair, ...] = tuple((int(i), int(j)) for i, j in zip(first, second, strict=True))
    return Problem(
        f"planted graph n={n}",
        binary_variables(n),
        function,
        0.0,
        instance=instance,
        solution=z,
        interactions=pairs,
    )


def _bonds(bonds: IntArray, differs: IntArray) -> Any:
    first, second = bonds.T
    return lambda x: ((x[first] != x[second]) != differs).sum()


def _hidden(name: str, n: int, bonds: IntArray, rng: np.random.Generator, instance: int) -> Problem:
    z = rng.integers(0, 2, n)
    differs = z[bonds[:, 0]] ^ z[bonds[:, 1]]
    return Problem(name, binary_variables(n), _bonds(bonds, differs), 0.0, instance=instance, solution=z)


def _spin_glass(
    name: str, n: int, bonds: IntArray, differs: IntArray, optimum: float | None, instance: int
) -> Problem:
    source = "transfer matrices" if optimum is not None else "unknown"
    return Problem(name, binary_variables(n), _bonds(bonds, differs), optimum, source, instance=instance)


def _torus_optimum(differs: IntArray) -> float:
    """Smallest number of unsatisfied bonds; `differs` (2, side, side) has rightward and downward bonds."""
    side = differs.shape[1]
    states = all_points(2, side).astype(np.int64)
    n_states = len(states)
    total = np.where(np.eye(n_states, dtype=bool), 0.0, np.inf)
    for right, down in zip(differs[0], differs[1], strict=True):
        inside = ((states != np.roll(states, -1, axis=1)) != right).sum(axis=1)
        below = ((states[:, None, :] != states[None, :, :]) != down).sum(axis=2)
        step = inside[:, None] + below
        total = np.stack([(row[:, None] + step).min(axis=0) for row in total])
    return float(np.diag(total).min())
