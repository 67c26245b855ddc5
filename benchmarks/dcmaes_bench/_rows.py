"""Suites: named lists of rows, each a problem family with a budget; instance i is run with seed i."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from dcmaes.problems import Problem

# Module that lists the rows of each suite, and the package its problems come from.
_SUITES = {
    "pbo": ("dcmaes_bench._suite_pbo", "ioh"),
    "integer": ("dcmaes_bench._suite_own", None),
    "mixint": ("dcmaes_bench._suite_mixint", "cocoex"),
    "categorical": ("dcmaes_bench._suite_own", None),
    "hpo": ("dcmaes_bench._suite_hpo", "sklearn"),
    "combinatorial": ("dcmaes_bench._suite_own", None),
    "cma": ("dcmaes_bench._suite_own", None),
    "small": ("dcmaes_bench._suite_small", "sklearn"),
}


@dataclass(frozen=True)
class Row:
    """One line of a suite's table: how to make instance i of a problem, and the budget.

    `make(instance=i)` is a module-level function (or a partial of one), so that rows travel to worker
    processes; with `has_logger` it also takes ``log_folder=`` and writes there what its own framework's tools
    read.
    """

    suite: str
    label: str
    make: Callable[..., Problem] = field(repr=False)
    budget: int
    has_logger: bool = False
    is_quick: bool = False

    def problem(self, instance: int, log_folder: Path | None = None) -> Problem:
        """Return instance `instance` of the row's problem."""
        if log_folder is not None and self.has_logger:
            return self.make(instance=instance, log_folder=log_folder)
        return self.make(instance=instance)


def make_row(
    suite: str, budget: int, factory: Callable[..., Problem], *args: Any, quick: bool = False, **kwargs: Any
) -> Row:
    """Make a row from a factory of `dcmaes.problems`, labelled with the problem's name.

    >>> from dcmaes.problems import onemax
    >>> make_row("mine", 100, onemax, 8).label
    'onemax n=8'
    """
    make = partial(factory, *args, **kwargs)
    return Row(suite, make(instance=0).name, make, budget, is_quick=quick)


def suites() -> tuple[str, ...]:
    """Names of the suites.

    >>> suites()[:2]
    ('pbo', 'integer')
    """
    return tuple(_SUITES)


def missing_package(name: str) -> str | None:
    """The package a suite needs that is not installed, if any.

    >>> missing_package("integer") is None
    True
    """
    package = _SUITES[name][1]
    return package if package is not None and find_spec(package) is None else None


def suite(name: str) -> list[Row]:
    """Return the rows of a suite.

    >>> suite("cma")[0].label
    'sphere d=10 0..10'
    """
    if name not in _SUITES:
        raise ValueError(f"suite must be one of {', '.join(_SUITES)}; got {name!r}")
    if (package := missing_package(name)) is not None:
        raise ImportError(f"the suite {name!r} needs the package {package!r}: make bench-setup")
    rows: list[Row] = import_module(_SUITES[name][0]).rows(name)
    return rows
