"""COCO's bbob-mixint through `coco-experiment`: four fifths integers with 2 to 16 values, one continuous."""

from __future__ import annotations

import re
import tempfile
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

from dcmaes.problems import Problem
from dcmaes_bench._domain import FloatArray
from dcmaes_bench._rows import Row

DIMENSIONS = (5, 10, 20, 40)
N_FUNCTIONS = 24


def rows(name: str) -> list[Row]:
    """All functions in all dimensions, 500 evaluations per variable."""
    found = []
    for dimension in DIMENSIONS:
        for function in range(1, N_FUNCTIONS + 1):
            make = partial(mixint_problem, function, dimension)
            label, quick = f"f{function} d={dimension}", dimension == 10 and function in (1, 15)
            found.append(Row(name, label, make, 500 * dimension, has_logger=True, is_quick=quick))
    return found


def mixint_problem(
    function: int, dimension: int, *, instance: int = 0, log_folder: Path | None = None
) -> Problem:
    """One function of the suite, solved at 1e-8 as in COCO; instance i is COCO's instance i + 1."""
    suite, wrapped = _problem(function, dimension, instance + 1)
    if log_folder is not None:
        wrapped.observe_with(_observer(log_folder))
    n_integer = wrapped.number_of_integer_variables
    variables = tuple(
        {"type": "integer", "low": int(low), "high": int(high)}
        if i < n_integer
        else {"type": "float", "low": float(low), "high": float(high)}
        for i, (low, high) in enumerate(zip(wrapped.lower_bounds, wrapped.upper_bounds, strict=True))
    )

    def value(x: FloatArray, _keep: Any = suite) -> float:  # a problem dies with its suite
        return float(wrapped(x))

    return Problem(
        f"f{function} d={dimension}",
        variables,
        value,
        optimal_value(function, dimension, instance + 1),
        "COCO's logger",
        instance=instance,
        tolerance=1e-8,
    )


def _problem(function: int, dimension: int, instance: int) -> tuple[Any, Any]:
    cocoex = import_module("cocoex")
    cocoex.log_level("error")
    suite = cocoex.Suite(
        "bbob-mixint", f"instances:{instance}", f"dimensions:{dimension} function_indices:{function}"
    )
    return suite, suite.get_problem(0)


@cache
def optimal_value(function: int, dimension: int, instance: int) -> float:
    """The optimal value, read from the header that COCO's own logger writes: problems do not tell it."""
    cocoex = import_module("cocoex")
    _, wrapped = suite_and_problem = _problem(function, dimension, instance)
    with tempfile.TemporaryDirectory() as folder:
        observer = cocoex.Observer("bbob-mixint", f"outer_folder: {folder} result_folder: probe")
        wrapped.observe_with(observer)
        wrapped(wrapped.initial_solution)
        wrapped.free()
        del suite_and_problem
        header = next(Path(folder).rglob("*.dat")).read_text(encoding="utf-8")
    found = re.search(r"Fopt \(([^)]+)\)", header)
    if found is None:
        raise RuntimeError("COCO's logger has changed its header: no Fopt in it")
    return float(found.group(1))


@cache
def _observer(folder: Path) -> Any:
    """One observer per folder and process; cocopp reads what it writes."""
    cocoex = import_module("cocoex")
    options = f"outer_folder: {folder.parent} result_folder: {folder.name} algorithm_name: {folder.name}"
    return cocoex.Observer("bbob-mixint", options)
