"""The ask-and-tell shell around strategies: what is evaluated, recorded and reported."""

from dcmaes.optimizer._distribution import Distribution
from dcmaes.optimizer._evaluation import maximize, minimize
from dcmaes.optimizer._history import History, Record
from dcmaes.optimizer._loop import EvaluationError
from dcmaes.optimizer._noise import Noise
from dcmaes.optimizer._optimizer import Optimizer
from dcmaes.optimizer._rebuilding import rebuild
from dcmaes.optimizer._result import Interaction, Result
from dcmaes.optimizer._resuming import resume
from dcmaes.optimizer._stopping import StopReason
from dcmaes.optimizer._trial import Outcome, Trial

__all__ = [
    "Distribution",
    "EvaluationError",
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
    "rebuild",
    "resume",
]
