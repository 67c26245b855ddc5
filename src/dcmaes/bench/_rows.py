"""Suites: named lists of rows, each a problem family with a budget; instance i is run with seed i."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from dcmaes import problems
from dcmaes.problems import Problem

RANGES = ((0, 10), (-50, 50), (0, 1000))


@dataclass(frozen=True)
class Row:
    """One line of a suite's table: how to make instance i of a problem, and the budget.

    `make` is a module-level function (or a partial of one), so that rows travel to worker processes.
    """

    suite: str
    label: str
    make: Callable[..., Problem] = field(repr=False)
    budget: int
    group: str = ""

    def problem(self, instance: int) -> Problem:
        """Return instance `instance` of the row's problem."""
        return self.make(instance=instance)


def _row(
    suite: str, budget: int, group: str, factory: Callable[..., Problem], *args: Any, **kwargs: Any
) -> Row:
    make = partial(factory, *args, **kwargs)
    return Row(suite, make(instance=0).name, make, budget, group)


def _budget(dimension: int) -> int:
    return 20_000 if dimension >= 40 else 10_000


def cma_rows() -> list[Row]:
    """The problems on which the `cma` strategy is compared with its relatives, small dimensions first."""
    rows: list[Row] = []
    for dimension in (10, 20, 40):
        budget = _budget(dimension)
        for low, high in RANGES:
            where = (dimension, low, high)
            group = f"integer d={dimension}"
            rows += [
                _row("cma", budget, group, problems.sphere, *where),
                _row("cma", budget, group, problems.ellipsoid, *where, condition=1e3),
                _row("cma", budget, group, problems.ellipsoid, *where, condition=1e4),
                _row("cma", budget, group, problems.rastrigin, *where),
                _row("cma", budget, group, problems.rotated_ellipsoid, *where),
            ]
        mixed = (dimension, -50, 50)
        rows += [
            _row("cma", budget, "mixed", problems.mixed_sphere, *mixed),
            _row("cma", budget, "mixed", problems.mixed_ellipsoid, *mixed),
        ]
        if dimension == 10:
            for factory in (problems.onemax, problems.leadingones, problems.linear):
                rows.append(_row("cma", 10_000, "binary", factory, 64))
            rows += [
                _row("cma", 10_000, "binary", factory, 64)
                for factory in (problems.ising_ring, problems.ising_torus)
            ]
            for k in (3, 5):
                rows.append(_row("cma", 10_000, "categorical", problems.categorical_onemax, 20, k))
                rows.append(_row("cma", 10_000, "categorical", problems.matching_pairs, 20, k))
    return rows


_SUITES: dict[str, Callable[[], list[Row]]] = {"cma": cma_rows}


def suites() -> tuple[str, ...]:
    """Names of the suites.

    >>> "cma" in suites()
    True
    """
    return tuple(_SUITES)


def suite(name: str) -> list[Row]:
    """Return the rows of a suite.

    >>> suite("cma")[0].label
    'sphere d=10 0..10'
    """
    if name not in _SUITES:
        raise ValueError(f"suite must be one of {', '.join(_SUITES)}; got {name!r}")
    return _SUITES[name]()
