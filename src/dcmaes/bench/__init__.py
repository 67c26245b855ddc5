"""Benchmarks: every optimizer a user could install instead, on the same problems, budgets and seeds.

``dcmaes bench run --suite integer`` runs, ``dcmaes bench report`` writes tables and plots; ``python -m
dcmaes.bench`` is the same.
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
