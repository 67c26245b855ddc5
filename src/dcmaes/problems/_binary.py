"""Binary test functions without couplings between spins: counts, chains, blocks, correlations, clauses."""

from __future__ import annotations

import numpy as np

from dcmaes._validation import FloatArray, check_integer
from dcmaes.problems._problem import Problem, all_points, binary_variables

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
