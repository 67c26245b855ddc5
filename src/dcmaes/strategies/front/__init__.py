"""The strategy `front`: several objectives, each learned by surrogates of all evaluations."""

from dcmaes.strategies.front._state import FrontState
from dcmaes.strategies.front._strategy import FrontSearch

__all__ = ["FrontSearch", "FrontState"]
