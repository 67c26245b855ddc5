"""The one gate between an optimizer and a problem: counts, checks, times, keeps improvements, and stops."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dcmaes.problems import Problem
from dcmaes_bench._domain import Domain, FloatArray

Evaluate = Callable[[ArrayLike], float]
BINS_PER_DECADE = 20  # resolution of the stored trace on the axis of evaluations: 12 per cent


class RunEnded(Exception):
    """Raised by `evaluate` when the run is over; optimizers let it pass. Its argument says why."""


class Recorder:
    """Evaluate points of a problem and keep the trace of improvements.

    Calling it returns the value and raises `RunEnded` once the target is hit ("target"), the budget is used
    up ("budget"), or the wall time is over ("time").

    Examples
    --------
    >>> from dcmaes.problems import onemax
    >>> problem = onemax(4)
    >>> recorder = Recorder(problem, budget=2)
    >>> recorder(1 - problem.solution)
    4.0
    >>> recorder(problem.solution)
    Traceback (most recent call last):
    dcmaes_bench._recorder.RunEnded: target
    >>> recorder.trace
    [(1, 4.0), (2, 0.0)]
    """

    def __init__(self, problem: Problem, budget: int, time_limit: float = math.inf) -> None:
        self.problem = problem
        self.domain = Domain.of(problem)
        self.budget = budget
        self.n_evaluations = 0
        self.best = math.inf
        self.best_x: FloatArray | None = None
        self.trace: list[tuple[int, float]] = []
        self.time_inside = 0.0
        self._target = -math.inf if problem.optimum is None else problem.optimum + problem.tolerance
        self._deadline = time.perf_counter() + time_limit
        self._seen: set[int] = set()

    def __call__(self, x: ArrayLike) -> float:
        """Return the value of x, or raise `RunEnded`."""
        start = time.perf_counter()
        if self.n_evaluations >= self.budget:
            raise RunEnded("budget")
        if start > self._deadline:
            raise RunEnded("time")
        x = np.array(x, dtype=np.float64)
        if not self.domain.contains(x):
            raise ValueError(f"not a point of the domain of {self.problem.name}: {x.tolist()}")
        self._seen.add(hash((x + 0.0).tobytes()))  # adding 0 turns -0.0 into 0.0
        value = self.problem(x)
        self.n_evaluations += 1
        if value < self.best:
            self._improve(value, x)
        self.time_inside += time.perf_counter() - start
        if self.best <= self._target:
            raise RunEnded("target")
        return value

    def outcome(self, x: ArrayLike) -> tuple[float, float]:
        """Evaluate x like a call, and return value and violation apart where the problem tells them."""
        value = self(x)
        apart = self.problem.outcome
        return (value, 0.0) if apart is None else apart(np.asarray(x, dtype=np.float64))

    @property
    def n_distinct(self) -> int:
        """Number of different points evaluated."""
        return len(self._seen)

    def _improve(self, value: float, x: FloatArray) -> None:
        self.best, self.best_x = value, x
        entry = (self.n_evaluations, value)
        if self.trace and _bin(self.trace[-1][0]) == _bin(self.n_evaluations):
            self.trace[-1] = entry
        else:
            self.trace.append(entry)


def _bin(n_evaluations: int) -> int:
    return math.ceil(BINS_PER_DECADE * math.log10(n_evaluations) - 1e-9)


def as_vector(*parts: Any) -> FloatArray:
    """Join parts of a point into one float vector.

    >>> as_vector([1, 2], [0.5])
    array([1. , 2. , 0.5])
    """
    return np.concatenate([np.asarray(part, dtype=np.float64).ravel() for part in parts])
