"""What a test function is: its variables as plain data, the function, what is known of its optimum.

Optima of instances too large to enumerate are found by dynamic and integer programming.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcmaes._validation import FloatArray, IntArray, readonly

Variable = Mapping[str, Any]
Pair = tuple[int, int]


@dataclass(frozen=True)
class Problem:
    """A function to minimise, with its variables and what is known of its optimum.

    Parameters
    ----------
    name : str
        What reports call it.
    variables : tuple of dict, or dict of dict
        One specification per variable, in the form ``Space.from_dict`` reads:
        ``{"type": "integer", "low": 0, "high": 10}``. A tuple: the function takes a vector of shape (d,),
        with the index of the choice for categorical variables. A mapping from names: it takes a dict.
    function : callable
        Point to value; smaller is better; deterministic. Infinite where the evaluation fails.
    optimum : float or None
        The smallest value there is, where it is known.
    source : str
        Where `optimum` (or `reference`) comes from.
    reference : float or None
        The best value known, where the optimum is not.
    instance : int
        The seed the instance was drawn with.
    tolerance : float
        A value within this of the optimum counts as solved.
    solution : ndarray of shape (d,), or None
        One point of the optimum, for positional problems.
    interactions : tuple of pairs, or None
        The pairs of variables that truly interact, where the instance was planted so.
    outcome : callable or None
        Point to value and total violation of the constraints (0: feasible), for problems that have some;
        `function` then adds a penalty to the value.
    starts : ndarray of shape (m, d), or None
        Points that come with the problem, where those drawn by chance hardly ever have a value.

    Examples
    --------
    >>> from dcmaes.problems import onemax
    >>> problem = onemax(4, instance=1)
    >>> problem(problem.solution), problem.optimum, problem.dimension
    (0.0, 0.0, 4)
    """

    name: str
    variables: tuple[Variable, ...] | Mapping[str, Variable]
    function: Callable[[Any], float] = field(repr=False)
    optimum: float | None = None
    source: str = "by construction"
    reference: float | None = None
    instance: int = 0
    tolerance: float = 1e-9
    solution: NDArray[Any] | None = field(default=None, repr=False, compare=False)
    interactions: tuple[Pair, ...] | None = field(default=None, repr=False)
    outcome: Callable[[Any], tuple[float, float]] | None = field(default=None, repr=False)
    starts: NDArray[Any] | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("solution", "starts"):
            points = getattr(self, name)
            if points is not None:
                object.__setattr__(self, name, readonly(np.array(points, dtype=np.float64)))

    def __call__(self, point: Any) -> float:
        """Return the value of a point."""
        return float(self.function(point))

    @property
    def dimension(self) -> int:
        """Number of variables."""
        return len(self.variables)

    @property
    def is_named(self) -> bool:
        """Whether points are dicts instead of vectors."""
        return isinstance(self.variables, Mapping)


def binary_variables(n: int) -> tuple[Variable, ...]:
    """Specify n variables with states {0, 1}."""
    return tuple({"type": "binary"} for _ in range(n))


def integer_variables(n: int, low: int, high: int) -> tuple[Variable, ...]:
    """Specify n integers low..high."""
    return tuple({"type": "integer", "low": low, "high": high} for _ in range(n))


def float_variables(n: int, low: float, high: float) -> tuple[Variable, ...]:
    """Specify n continuous variables in [low, high]."""
    return tuple({"type": "float", "low": low, "high": high} for _ in range(n))


def categorical_variables(n: int, n_choices: int) -> tuple[Variable, ...]:
    """Specify n variables with choices 0..n_choices-1."""
    return tuple({"type": "categorical", "choices": list(range(n_choices))} for _ in range(n))


def pairs_of(first: IntArray, second: IntArray) -> tuple[Pair, ...]:
    """Pairs of variables, the smaller index first, from arrays of their ends."""
    low, high = np.minimum(first, second), np.maximum(first, second)
    return tuple(zip(low.tolist(), high.tolist(), strict=True))


def all_points(n_states: int, dimension: int) -> FloatArray:
    """Every point of {0..n_states-1}^dimension, shape (n_states**dimension, dimension)."""
    grid = np.indices((n_states,) * dimension)
    return grid.reshape(dimension, -1).T.astype(np.float64)


def ring_optimum(table: FloatArray, k: int) -> float:
    """Smallest total over the ring: min-plus products over windows of k bits, closed on itself."""
    window = 2**k
    total = np.where(np.eye(window, dtype=bool), 0.0, np.inf)
    for row in table:
        # entry [s, b] of row: window s (k bits) followed by bit b; the next window drops the oldest bit
        reached = total[:, :, np.newaxis] + row.reshape(window, 2)
        total = reached.reshape(window, 2, window).min(axis=1)
    return float(np.diag(total).min())


def torus_optimum(differs: IntArray) -> float:
    """Smallest number of unsatisfied bonds of a +-J torus, by integer programming.

    `differs` has shape (2, side, side): whether the bond to the right, or downward, asks its spins to differ.
    A set of unsatisfied bonds belongs to some spins if and only if it has, around every closed path, the
    parity of the bonds there that ask for a difference. Plaquettes and two paths around the torus generate
    all closed paths.
    """
    side, sign = differs.shape[1], differs.ravel()
    right, down = bond = np.arange(2 * side * side).reshape(2, side, side)
    around = [right, np.roll(down, -1, axis=1), np.roll(right, -1, axis=0), down]
    plaquettes = np.stack([part.ravel() for part in around], axis=1)
    cycles = [*plaquettes, right[0], down[:, 0]]
    n_bonds, n_cycles = bond.size, len(cycles)
    # Sum of the unsatisfied bonds of a cycle = parity + 2 * (a whole number of its own).
    parity = np.array([sign[cycle].sum() % 2 for cycle in cycles], dtype=np.float64)
    size = np.array([len(cycle) for cycle in cycles])
    # The other paths around the torus follow; that odd ones have an unsatisfied bond tightens the relaxation.
    odd = [path for path in (*right[1:], *down.T[1:]) if sign[path].sum() % 2]
    matrix = np.zeros((n_cycles + len(odd), n_bonds + n_cycles))
    for row, path in enumerate([*cycles, *odd]):
        matrix[row, path] = 1.0
    matrix[:n_cycles, n_bonds:] = -2.0 * np.eye(n_cycles)
    limits = np.append(parity, np.ones(len(odd))), np.append(parity, np.full(len(odd), np.inf))
    cost = np.repeat([1.0, 0.0], [n_bonds, n_cycles])
    high = np.append(np.ones(n_bonds), (size - parity) // 2)
    return round(_integer_program(cost, matrix, limits, high, np.ones(len(cost), dtype=np.int64)))


def quadratic_optimum(q: FloatArray) -> float:
    """Smallest x'qx over {0,1}^n of a sparse symmetric q, by integer programming over bits and products."""
    n = len(q)
    first, second = np.nonzero(np.triu(q, 1))
    weight, product = 2 * q[first, second], np.eye(len(first))
    ends = np.eye(n)
    # A product with a negative weight wants to be large, up to either factor; the others want to be small,
    # down to the sum of both factors minus 1.
    wanted = weight < 0
    rows = [
        np.hstack([-ends[first], product])[wanted],
        np.hstack([-ends[second], product])[wanted],
        np.hstack([ends[first] + ends[second], -product])[~wanted],
    ]
    matrix = np.vstack(rows)
    high = np.append(np.zeros(2 * wanted.sum()), np.ones((~wanted).sum()))
    cost = np.append(np.diag(q), weight)
    is_whole = np.repeat([1, 0], [n, len(first)])
    return _integer_program(cost, matrix, (np.full(len(high), -np.inf), high), np.ones(len(cost)), is_whole)


def _integer_program(
    cost: FloatArray,
    matrix: FloatArray,
    limits: tuple[FloatArray, FloatArray],
    high: FloatArray,
    is_whole: IntArray,
) -> float:
    """Smallest cost @ y with 0 <= y <= high and limits[0] <= matrix @ y <= limits[1]."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_matrix

    constraint = LinearConstraint(csr_matrix(matrix), *limits)
    found = milp(cost, constraints=constraint, integrality=is_whole, bounds=Bounds(0.0, high))
    if found.status != 0:
        raise RuntimeError(f"the optimum of the instance was not found: {found.message}")
    return float(found.fun)
