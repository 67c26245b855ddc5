"""The 25 pseudo-Boolean functions of IOHprofiler, through the `ioh` package; turned into minimisation."""

from __future__ import annotations

from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from dcmaes.problems import Problem, labs
from dcmaes_bench._domain import FloatArray
from dcmaes_bench._rows import Row

N_FUNCTIONS = 25
LABS, MIS, TRAP, NK = 18, 22, 24, 25
# ConcatenatedTrap with 64 bits adds to its 12 blocks of 5 a trap of size 4 that counts the last 16 bits, so
# that all ones are far from the best: ones in 10 blocks, none in the 2 others, and 2 of the last 4 bits.
TRAP_64 = 12.6


def rows(name: str) -> list[Row]:
    """All functions with 64 and 100 bits; 500 evaluations per bit."""
    found = []
    for n in (64, 100):
        for function in range(1, N_FUNCTIONS + 1):
            make = partial(pbo_problem, function, n)
            quick = n == 64 and function in (2, 20)
            found.append(Row(name, make(instance=0).name, make, 500 * n, has_logger=True, is_quick=quick))
    return found


def pbo_problem(function: int, n: int, *, instance: int = 0, log_folder: Path | None = None) -> Problem:
    """One function of the suite; instance i is the package's instance i + 2, where that can be trusted.

    Instance 1 is the function as it stands, without the package's relabelling of bits: strings of equal bits,
    where some optimizers start, solve its Ising models. The package's stated optimum is infinite for LABS and
    NKLandscapes and wrong for MIS on instances other than 1, and for ConcatenatedTrap when 5 does not divide
    n; these use instance 1 with every seed, and their optimum comes from published tables (LABS), from the
    formula (ConcatenatedTrap) or is unknown (NKLandscapes).
    """
    ioh = import_module("ioh")
    odd = function in (LABS, MIS, NK) or (function == TRAP and n % 5)
    number = 1 if odd else instance + 2
    wrapped = ioh.get_problem(function, number, n, ioh.ProblemClass.PBO)
    optimum, source = _optimum(wrapped, function, n)
    if log_folder is not None:
        wrapped.attach_logger(_logger(ioh, log_folder))

    def value(x: FloatArray) -> float:
        return -float(wrapped(np.rint(x).astype(int)))

    name = f"F{function} {wrapped.meta_data.name} n={n}"
    return Problem(name, ({"type": "binary"},) * n, value, optimum, source, instance=instance)


def _optimum(wrapped: Any, function: int, n: int) -> tuple[float | None, str]:
    if function == LABS:
        energy = labs(n).optimum
        return (None, "unknown") if energy is None else (-(n**2) / (2 * energy), labs(n).source)
    if function == NK:
        return None, "unknown"
    if function == TRAP and n % 5:
        return (-TRAP_64, "formula of the package") if n == 64 else (None, "unknown")
    return -float(wrapped.optimum.y), "ioh"


@cache
def _logger(ioh: Any, folder: Path) -> Any:
    """One logger per folder and process; IOHanalyzer reads what it writes."""
    return ioh.logger.Analyzer(root=str(folder.parent), folder_name=folder.name, algorithm_name=folder.name)
