"""Optimization of black-box functions over discrete and mixed variables."""

from dcmaes import store
from dcmaes.optimizer import (
    EvaluationError,
    Interaction,
    Optimizer,
    Outcome,
    Result,
    StopReason,
    Trial,
    maximize,
    minimize,
    resume,
)
from dcmaes.space import Binary, Categorical, Float, Integer, Ordinal, Space

__all__ = [
    "Binary",
    "Categorical",
    "EvaluationError",
    "Float",
    "Integer",
    "Interaction",
    "Optimizer",
    "Ordinal",
    "Outcome",
    "Result",
    "Space",
    "StopReason",
    "Trial",
    "maximize",
    "minimize",
    "resume",
    "store",
]

__version__ = "0.1.0"
