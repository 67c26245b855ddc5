"""What a test function is: its variables as plain data, the function, what is known of its optimum."""

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
