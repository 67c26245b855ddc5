"""Benchmarks: every optimizer a user could install instead, on the same problems, budgets and seeds.

In a checkout, ``python benchmarks run --suite integer`` runs, ``python benchmarks report`` writes tables and
plots.
"""

from dcmaes_bench._domain import Domain
from dcmaes_bench._recorder import Evaluate, RunEnded
from dcmaes_bench._registry import Optimizer, optimizer, optimizers
from dcmaes_bench._rows import Row, suite, suites

__all__ = [
    "Domain",
    "Evaluate",
    "Optimizer",
    "Row",
    "RunEnded",
    "optimizer",
    "optimizers",
    "suite",
    "suites",
]
