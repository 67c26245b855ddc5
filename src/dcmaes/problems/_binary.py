"""Binary test functions: counts, chains, blocks, correlations, clauses, spins on graphs, and a dense QUBO."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcmaes._validation import FloatArray, IntArray, check_integer, check_number
from dcmaes.problems._problem import Problem, all_points, binary_variables, pairs_of

# Packebusch & Mertens, "Low autocorrelation binary sequences", J. Phys. A 49 (2016) 165001, table 1.
# fmt: off
_LABS_ENERGIES = (
    1, 2, 2, 7, 3, 8, 12, 13, 5, 10, 6, 19, 15, 24, 32, 25, 29, 26, 26, 39, 47, 36, 36, 45, 37, 50, 62, 59,
    67, 64, 64, 65, 73, 82, 86, 87, 99, 108, 108, 101, 109, 122, 118, 131, 135, 140, 136, 153, 153, 166, 170,
    175, 171, 192, 188, 197, 205, 218, 226, 235, 207, 208, 240, 257,
)
# fmt: on


def onemax(n: int = 64, *, instance: int = 0) -> Problem:
    """Count the bits that differ from a hidden string.

    >>> onemax(8)(onemax(8).solution)
    0.0
    """
    n = check_integer("n", n, low=1)
    z = np.random.default_rng(instance).integers(0, 2, n)
    return Problem(
        f"onemax n={n}", binary_variables(n), lambda x: (x != z).sum(), 0.0, instance=instance, solution=z
    )


def leadingones(n: int = 64, *, instance: int = 0) -> Problem:
    """Count the bits from the first wrong one on, in a hidden order, against a hidden string.

    >>> leadingones(8)(leadingones(8).solution)
    0.0
    """
    n = check_integer("n", n, low=1)
    rng = np.random.default_rng(instance)
    z, order = rng.integers(0, 2, n), rng.permutation(n)

    def function(x: FloatArray) -> float:
        return float(n - np.cumprod((x == z)[order]).sum())

    return Problem(f"leadingones n={n}", binary_variables(n), function, 0.0, instance=instance, solution=z)


def linear(n: int = 64, *, instance: int = 0) -> Problem:
    """Sum the weights 1..n (in a hidden order) of the bits that differ from a hidden string.

    >>> linear(3)(1 - linear(3).solution)
    6.0
    """
    n = check_integer("n", n, low=1)
    rng = np.random.default_rng(instance)
    z, weight = rng.integers(0, 2, n), rng.permutation(n) + 1.0
    return Problem(
        f"linear n={n}", binary_variables(n), lambda x: weight @ (x != z), 0.0, instance=instance, solution=z
    )


def trap(n: int = 60, k: int = 5, *, instance: int = 0) -> Problem:
    """Concatenate deceptive traps: k hidden bits cost 0 if all are right, else 1 + the number right.

    >>> problem = trap(10, 5)
    >>> problem(problem.solution), problem(1 - problem.solution)
    (0.0, 2.0)
    """
    k = check_integer("k", k, low=2)
    n = check_integer("n", n, low=k)
    if n % k:
        raise ValueError(f"n must be a multiple of k, got n={n} and k={k}")
    rng = np.random.default_rng(instance)
    z, order = rng.integers(0, 2, n), rng.permutation(n)
    cost = np.append(np.arange(1.0, k + 1), 0.0)

    def function(x: FloatArray) -> float:
        right = (x == z)[order].reshape(-1, k).sum(axis=1)
        return float(cost[right].sum())

    return Problem(f"trap{k} n={n}", binary_variables(n), function, 0.0, instance=instance, solution=z)


def labs(n: int = 32, *, instance: int = 0) -> Problem:
    """Sum the squared aperiodic autocorrelations of a {-1,+1} sequence ("low autocorrelation").

    The instance flips the coding of hidden positions: other points, the same optimum.

    >>> labs(13).optimum  # the Barker sequence of length 13
    6.0
    """
    n = check_integer("n", n, low=3)
    flip = np.random.default_rng(instance).integers(0, 2, n)

    def function(x: FloatArray) -> float:
        spin = 2 * (x != flip) - 1.0
        correlation = np.correlate(spin, spin, mode="full")[n:]
        return float(correlation @ correlation)

    optimum = float(_LABS_ENERGIES[n - 3]) if n <= 66 else None
    source = "Packebusch & Mertens 2016" if n <= 66 else "unknown"
    return Problem(f"labs n={n}", binary_variables(n), function, optimum, source, instance=instance)


def max_sat(n: int = 50, ratio: float = 4.2, *, instance: int = 0) -> Problem:
    """Count the unsatisfied clauses of a random 3-SAT formula that a hidden string satisfies.

    Each clause has three different variables and one of the seven sign patterns that string satisfies.

    >>> max_sat(10)(max_sat(10).solution)
    0.0
    """
    n = check_integer("n", n, low=3)
    rng = np.random.default_rng(instance)
    z = rng.integers(0, 2, n)
    n_clauses = round(ratio * n)
    which = np.array([rng.choice(n, 3, replace=False) for _ in range(n_clauses)])
    agrees = all_points(2, 3)[rng.integers(1, 8, n_clauses)]  # pattern 0 would contradict the hidden string
    wanted = np.where(agrees == 1, z[which], 1 - z[which])

    def function(x: FloatArray) -> float:
        return float((x[which] != wanted).all(axis=1).sum())

    return Problem(f"3sat n={n}", binary_variables(n), function, 0.0, instance=instance, solution=z)


def nk_landscape(n: int = 64, k: int = 3, *, instance: int = 0) -> Problem:
    """Average n random tables, each of a bit and its k right neighbours on a ring.

    The optimum is exact, by dynamic programming along the ring.

    >>> nk_landscape(8, 2).optimum > 0
    True
    """
    k = check_integer("k", k, low=1, high=8)
    n = check_integer("n", n, low=2 * k + 1)
    table = np.random.default_rng(instance).random((n, 2 ** (k + 1)))
    neighbours = (np.arange(n)[:, None] + np.arange(k + 1)) % n
    power = 2.0 ** np.arange(k, -1, -1)
    rows = np.arange(n)

    def function(x: FloatArray) -> float:
        return float(table[rows, (x[neighbours] @ power).astype(int)].mean())

    optimum = _ring_optimum(table, k) / n
    return Problem(
        f"nk{k} n={n}", binary_variables(n), function, optimum, "dynamic programming", instance=instance
    )


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

    return Problem(
        f"planted graph n={n}",
        binary_variables(n),
        function,
        0.0,
        instance=instance,
        solution=z,
        interactions=pairs_of(first, second),
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


def _ring_optimum(table: FloatArray, k: int) -> float:
    """Smallest total over the ring: min-plus products over windows of k bits, closed on itself."""
    window = 2**k
    total = np.where(np.eye(window, dtype=bool), 0.0, np.inf)
    for row in table:
        # entry [s, b] of row: window s (k bits) followed by bit b; the next window drops the oldest bit
        cost = row.reshape(window, 2)
        following = np.full((window, window), np.inf)
        for bit in range(2):
            reached = total + cost[:, bit]
            after = (2 * np.arange(window) + bit) % window
            for s in range(window):
                following[:, after[s]] = np.minimum(following[:, after[s]], reached[:, s])
        total = following
    return float(np.diag(total).min())
