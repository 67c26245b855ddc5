"""Benchmarks: every optimizer a user could install instead, on the same problems, budgets and seeds.

``python -m dcmaes.bench run --suite integer`` runs, ``python -m dcmaes.bench report`` writes tables and
plots.
"""

from dcmaes.bench._domain import Domain
from dcmaes.bench._recorder import Evaluate, RunEnded
from dcmaes.bench._registry import Optimizer, optimizer, optimizers
from dcmaes.bench._rows import Row, suite, suites

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
