"""Binary test functions: counts, chains, blocks, correlations, clauses, spins on graphs, and QUBOs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dcmaes._validation import FloatArray, IntArray, check_integer, check_number
from dcmaes.problems._problem import (
    Problem,
    all_points,
    binary_variables,
    pairs_of,
    quadratic_optimum,
    ring_optimum,
    torus_optimum,
)

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
    return _problem("onemax", n, lambda x: (x != z).sum(), instance=instance, solution=z)


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

    return _problem("leadingones", n, function, instance=instance, solution=z)


def linear(n: int = 64, *, instance: int = 0) -> Problem:
    """Sum the weights 1..n (in a hidden order) of the bits that differ from a hidden string.

    >>> linear(3)(1 - linear(3).solution)
    6.0
    """
    n = check_integer("n", n, low=1)
    rng = np.random.default_rng(instance)
    z, weight = rng.integers(0, 2, n), rng.permutation(n) + 1.0
    return _problem("linear", n, lambda x: weight @ (x != z), instance=instance, solution=z)


def trap(n: int = 60, k: int = 5, *, step: int = 1, own_targets: bool = False, instance: int = 0) -> Problem:
    """Concatenate deceptive traps: k hidden bits cost 0 if all are right, else 1 + the number right.

    With `step` above 1, costs rise only every `step` bits (the step trap of Goldman & Punch, "Parameter-less
    population pyramid", GECCO 2014, as a cost). The wrong string that pulls is the complement of the right
    one; with `own_targets` it is another one, drawn per block among those that differ from the right one in
    more than half of the bits, and costs rise with the distance from it: so the complement of a point that
    has been led astray is not the optimum.

    >>> problem = trap(10, 5)
    >>> problem(problem.solution), problem(1 - problem.solution)
    (0.0, 2.0)
    >>> problem = trap(14, 7, own_targets=True)
    >>> problem(problem.solution), problem(1 - problem.solution) > 2
    (0.0, True)
    """
    k = check_integer("k", k, low=2)
    n = check_integer("n", n, low=k)
    step = check_integer("step", step, low=1, high=k)
    if n % k:
        raise ValueError(f"n must be a multiple of k, got n={n} and k={k}")
    rng = np.random.default_rng(instance)
    z, order = rng.integers(0, 2, n), rng.permutation(n)
    pull = 1 - z
    if own_targets:
        flips = all_points(2, k).astype(np.int64)
        flips = flips[2 * flips.sum(axis=1) > k]
        pull[order] = z[order] ^ flips[rng.integers(0, len(flips), n // k)].ravel()
    offset = (k - step) % step
    cost = (offset + k) // step - (offset + k - 1 - np.arange(k + 1)) // step

    def function(x: FloatArray) -> float:
        is_right = (x == z)[order].reshape(-1, k).all(axis=1)
        distance = (x != pull)[order].reshape(-1, k).sum(axis=1)
        return float(np.where(is_right, 0, cost[distance]).sum())

    name = f"{'step ' if step > 1 else ''}trap{k} n={n}{', own targets' if own_targets else ''}"
    return Problem(name, binary_variables(n), function, 0.0, instance=instance, solution=z)


def hiff(n: int = 64, *, instance: int = 0) -> Problem:
    """Hierarchical if-and-only-if: what is missing of all blocks of 2, 4, .. n hidden bits being equal.

    A block of 2^m bits that are all 0 or all 1 is worth 2^(m-1), as in Goldman & Punch (GECCO 2014) after
    Watson, Hornby & Pollack, "Modeling building-block interdependency" (PPSN 1998). The instance draws which
    bits are neighbours and which are flipped; a hidden string and its complement are the two optima.

    >>> problem = hiff(8)
    >>> problem(problem.solution), problem(1 - problem.solution)
    (0.0, 0.0)
    """
    n = check_integer("n", n, low=2)
    if n & (n - 1):
        raise ValueError(f"n must be a power of two, got {n}")
    rng = np.random.default_rng(instance)
    z, order = rng.integers(0, 2, n), rng.permutation(n)

    def function(x: FloatArray) -> float:
        level, missing = (x == z)[order], 0
        is_whole = np.ones(n, dtype=bool)
        worth = 1
        while len(level) > 1:
            left, right = level.reshape(-1, 2).T
            is_whole = is_whole.reshape(-1, 2).all(axis=1) & (left == right)
            missing += worth * int((~is_whole).sum())
            level, worth = left, 2 * worth
        return float(missing)

    return _problem("hiff", n, function, instance=instance, solution=z)


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
    return _problem("labs", n, function, optimum, source=source, instance=instance)


def max_sat(n: int = 50, ratio: float = 4.2, *, balanced: bool = False, instance: int = 0) -> Problem:
    """Count the unsatisfied clauses of a random 3-SAT formula that a hidden string satisfies.

    Each clause has three different variables and one of the seven sign patterns that string satisfies. Then
    the signs of a variable alone point to it; with `balanced` they do not: a clause agrees with the string in
    one, two or three variables with probabilities 4/6, 1/6 and 1/6, as in Goldman & Punch (GECCO 2014).

    >>> max_sat(10)(max_sat(10).solution)
    0.0
    """
    n = check_integer("n", n, low=3)
    rng = np.random.default_rng(instance)
    z = rng.integers(0, 2, n)
    n_clauses = round(ratio * n)
    which = np.array([rng.choice(n, 3, replace=False) for _ in range(n_clauses)])
    if balanced:
        agrees = np.arange(3) < np.array([1, 1, 1, 1, 2, 3])[rng.integers(0, 6, n_clauses), None]
    else:
        agrees = all_points(2, 3)[rng.integers(1, 8, n_clauses)] == 1  # pattern 0 would contradict the string
    wanted = np.where(agrees, z[which], 1 - z[which])

    def function(x: FloatArray) -> float:
        return float((x[which] != wanted).all(axis=1).sum())

    return _problem(f"3sat{' balanced' if balanced else ''}", n, function, instance=instance, solution=z)


def weighted_max_sat(dimacs: str, *, reference: float | None = None, instance: int = 0) -> Problem:
    """Minus the standardised weights of the clauses that are satisfied, of a formula in DIMACS format (wcnf).

    The weights have their mean subtracted and are divided by their standard deviation, as in Oh, Tomczak,
    Gavves & Welling, "Combinatorial Bayesian optimization using the graph Cartesian product" (NeurIPS 2019),
    whose three formulas come from the MaxSAT Evaluation 2018. The instance flips the coding of hidden
    variables: other points, the same values. Instance 0 flips nothing.

    Parameters
    ----------
    dimacs : str
        Comments ("c ..."), a line "p wcnf <variables> <clauses> ..", then one clause a line: its weight, its
        literals and 0.
    reference : float, optional
        The best value known.

    Examples
    --------
    >>> problem = weighted_max_sat("p wcnf 2 2\\n3 1 0\\n1 -1 2 0")
    >>> problem(np.array([1.0, 0.0])), problem(np.array([0.0, 0.0]))
    (-1.0, 1.0)
    """
    lines = [line.split() for line in dimacs.splitlines() if line.strip() and not line.startswith("c")]
    if not lines or lines[0][:2] != ["p", "wcnf"]:
        raise ValueError("dimacs must have a line that begins with 'p wcnf'")
    n = int(lines[0][2])
    literals = np.zeros((len(lines) - 1, max(len(line) for line in lines[1:]) - 2), dtype=np.int64)
    for row, line in zip(literals, lines[1:], strict=True):
        row[: len(line) - 2] = [int(word) for word in line[1:-1]]
    weight = np.array([float(line[0]) for line in lines[1:]])
    weight = (weight - weight.mean()) / weight.std()
    which, wanted, is_there = np.abs(literals) - 1, literals > 0, literals != 0
    flip = np.random.default_rng(instance).integers(0, 2, n) if instance else np.zeros(n, dtype=np.int64)

    def function(x: FloatArray) -> float:
        is_true = (x != flip)[which] == wanted
        return -float(weight @ (is_true & is_there).any(axis=1))

    source = "unknown" if reference is None else "best known"
    known = {"source": source, "reference": reference}
    return _problem("weighted max-sat", n, function, None, **known, instance=instance)


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

    optimum = ring_optimum(table, k) / n
    return _problem(f"nk{k}", n, function, optimum, source="dynamic programming", instance=instance)


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
        return _hidden("ising ring", n, bonds, rng, instance)
    differs = rng.integers(0, 2, n)
    frustrated = float(differs.sum() % 2)  # an odd number of "different" bonds cannot all hold around a ring
    known = {"source": "parity of the bonds", "instance": instance}
    return _problem("ising ring +-J", n, _bonds(bonds, differs), frustrated, **known)


def ising_torus(n: int = 64, *, disorder: bool = False, instance: int = 0) -> Problem:
    """Count the unsatisfied bonds of a square lattice on a torus with n = side**2 spins, in the coding {0,1}.

    With `disorder` the signs of the bonds are random (the +-J spin glass); the optimum is exact then too, by
    integer programming.

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
        return _hidden("ising torus", n, bonds, rng, instance)
    differs = rng.integers(0, 2, 2 * n)
    optimum = torus_optimum(differs.reshape(2, side, side))
    known = {"source": "integer programming", "instance": instance}
    return _problem("ising torus +-J", n, _bonds(bonds, differs), optimum, **known)


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
    source = "enumeration" if optimum is not None else "unknown"
    return _problem("qubo", n, lambda x: x @ q @ x, optimum, source=source, instance=instance)


def bqp(n: int = 50, density: float = 0.1, *, data: str | None = None, instance: int = 0) -> Problem:
    """Minimise -x'Qx over {0,1}^n with few whole numbers -100..100 in a symmetric Q; exact optimum.

    Drawn like the instances bqp50 and bqp100 of Beasley, "Heuristic algorithms for the unconstrained binary
    quadratic programming problem" (1998). With `data`, the text of one of these files of OR-Library, instance
    i is the one at place i of the file, and `n` and `density` are not used. The optimum is found by integer
    programming, which takes seconds for n = 100 at a density of 0.1 and too long far beyond.

    >>> problem = bqp(data="1\\n2 2\\n1 1 -5\\n1 2 4")
    >>> problem(np.array([1.0, 1.0])), problem.optimum
    (-3.0, -3.0)
    """
    if data is None:
        n = check_integer("n", n, low=1)
        density = check_number("density", density, low=0.0, high=1.0)
        rng = np.random.default_rng(instance)
        first, second = np.triu_indices(n)
        entry = rng.integers(-100, 101, len(first)) * (rng.random(len(first)) < density)
    else:
        n, first, second, entry = _or_library(data, instance)
    q = np.zeros((n, n))
    q[first, second] = q[second, first] = entry
    optimum = float(round(quadratic_optimum(-q)))
    known = {"source": "integer programming", "instance": instance}
    return _problem("bqp", n, lambda x: -(x @ q @ x), optimum, **known)


def _or_library(data: str, place: int) -> tuple[int, IntArray, IntArray, IntArray]:
    """Size, rows, columns and entries of one matrix of a file with several."""
    number = np.array(data.split(), dtype=np.int64)
    check_integer("instance", place, low=0, high=int(number[0]) - 1)
    at = 1
    for _ in range(place):
        at += 2 + 3 * int(number[at + 1])
    n, n_entries = int(number[at]), int(number[at + 1])
    first, second, entry = number[at + 2 : at + 2 + 3 * n_entries].reshape(-1, 3).T
    return n, first - 1, second - 1, entry


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

    pairs = pairs_of(first, second)
    return _problem("planted graph", n, function, instance=instance, solution=z, interactions=pairs)


def _problem(
    name: str, n: int, function: Callable[[Any], float], optimum: float | None = 0.0, **known: Any
) -> Problem:
    return Problem(f"{name} n={n}", binary_variables(n), function, optimum, **known)


def _bonds(bonds: IntArray, differs: IntArray) -> Any:
    first, second = bonds.T
    return lambda x: ((x[first] != x[second]) != differs).sum()


def _hidden(name: str, n: int, bonds: IntArray, rng: np.random.Generator, instance: int) -> Problem:
    z = rng.integers(0, 2, n)
    differs = z[bonds[:, 0]] ^ z[bonds[:, 1]]
    return _problem(name, n, _bonds(bonds, differs), instance=instance, solution=z)
