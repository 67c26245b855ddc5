"""The variables of a problem as arrays, in the form all optimizers are adapted to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcmaes.problems import Problem

INTEGER, CATEGORY, FLOAT = 0, 1, 2
FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Domain:
    """Where a problem's points live: vectors of shape (d,) of integers, indices of choices, and floats.

    Attributes
    ----------
    kind : ndarray of shape (d,)
        INTEGER (0, also for binary variables and the indices of ordinal ones), CATEGORY (1) or FLOAT (2).
    low, high : ndarray of shape (d,)
        Bounds, both included; a category's are 0 and its number of choices minus 1.
    log : ndarray of bool, shape (d,)
        Which numeric variables are better seen on a log scale.
    when : tuple of d mappings, or empty
        With which values of which variables, all before it, each one counts; empty if all always do.

    Examples
    --------
    >>> from dcmaes.problems import sphere
    >>> domain = Domain.of(sphere(3, 0, 10))
    >>> domain.contains([1, 2, 3]), domain.contains([1, 2, 3.5]), domain.contains([1, 2, 11])
    (True, False, False)
    """

    kind: NDArray[np.int8]
    low: FloatArray
    high: FloatArray
    log: NDArray[np.bool_]
    when: tuple[Mapping[int, Sequence[float]], ...] = ()

    @classmethod
    def of(cls, problem: Problem) -> Domain:
        """Return the domain of a positional problem."""
        if problem.is_named:
            raise TypeError(f"benchmarks need positional variables; {problem.name} has named ones")
        return cls.of_specs(tuple(problem.variables))

    @classmethod
    def of_specs(cls, specs: Sequence[Any]) -> Domain:
        """Return the domain of variables given as plain data."""
        rows = [_bounds(spec) for spec in specs]
        types: tuple[type, ...] = (np.int8, np.float64, np.float64, np.bool_)
        columns = zip(zip(*rows, strict=True), types, strict=True)
        arrays: list[NDArray[Any]] = [np.array(column, kind) for column, kind in columns]
        for array in arrays:
            array.flags.writeable = False
        kind, low, high, log = arrays
        when = tuple(dict(spec.get("when", {})) for spec in specs)
        return cls(kind, low, high, log, when if any(when) else ())

    @property
    def dimension(self) -> int:
        """Number of variables."""
        return len(self.kind)

    @property
    def is_discrete(self) -> NDArray[np.bool_]:
        """Which variables hold whole numbers."""
        return np.asarray(self.kind != FLOAT)

    @property
    def n_states(self) -> NDArray[np.int64]:
        """Number of states of each discrete variable; 0 for continuous ones."""
        return np.where(self.is_discrete, self.high - self.low + 1, 0).astype(np.int64)

    def counts(self, x: Sequence[float] | FloatArray, i: int) -> bool:
        """Whether variable i counts at a point, of which only what comes before it need be known."""
        conditions = self.when[i].items() if self.when else ()
        return all(x[parent] in states and self.counts(x, parent) for parent, states in conditions)

    def contains(self, x: Sequence[float] | NDArray[Any]) -> bool:
        """Whether x is a point of the domain."""
        x = np.asarray(x, dtype=np.float64)
        inside = x.shape == self.low.shape and bool(((self.low <= x) & (x <= self.high)).all())
        return inside and bool((x[self.is_discrete] == np.rint(x[self.is_discrete])).all())

    def sample(self, rng: np.random.Generator) -> FloatArray:
        """Draw a point, uniformly over states and (on the scale of the variable) over continuous ranges."""
        return self.from_unit(rng.random(self.dimension))

    def from_unit(self, u: FloatArray) -> FloatArray:
        """Map [0, 1)^d onto the domain: equal shares for the states of a discrete variable."""
        x = self.low + u * (self.high - self.low + self.is_discrete)
        x = np.where(self.is_discrete, np.floor(x), x)
        wide = self.log & ~self.is_discrete
        x[wide] = self.low[wide] * (self.high[wide] / self.low[wide]) ** u[wide]
        return np.minimum(x, self.high)

    def nearest(self, x: FloatArray) -> FloatArray:
        """Round discrete variables and clip all to their bounds."""
        return np.clip(np.where(self.is_discrete, np.rint(x), x), self.low, self.high)


def _bounds(spec: Any) -> tuple[int, float, float, bool]:
    kind, log = spec["type"], bool(spec.get("log", False))
    if kind == "binary":
        return INTEGER, 0, 1, False
    if kind == "integer":
        return INTEGER, spec["low"], spec["high"], log
    if kind == "ordinal":
        return INTEGER, 0, len(spec["values"]) - 1, False
    if kind == "categorical":
        return CATEGORY, 0, len(spec["choices"]) - 1, False
    if kind == "float":
        return FLOAT, spec["low"], spec["high"], log
    raise ValueError(f"unknown variable type {kind!r}")
