"""The ask-and-tell shell around strategies: what is evaluated, recorded and reported."""

from dcmaes.optimizer._loop import EvaluationError
from dcmaes.optimizer._minimize import maximize, minimize, resume
from dcmaes.optimizer._optimizer import Optimizer
from dcmaes.run._history import History, Record
from dcmaes.run._noise import Noise
from dcmaes.run._objectives import Front
from dcmaes.run._result import Distribution, Interaction, Result
from dcmaes.run._settings import StopReason
from dcmaes.run._trial import Outcome, Trial

__all__ = [
    "Distribution",
    "EvaluationError",
    "Front",
    "History",
    "Interaction",
    "Noise",
    "Optimizer",
    "Outcome",
    "Record",
    "Result",
    "StopReason",
    "Trial",
    "maximize",
    "minimize",
    "resume",
]
