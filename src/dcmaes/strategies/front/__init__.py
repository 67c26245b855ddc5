"""The strategy `front`: several objectives, each learned by surrogates of all evaluations."""

from dcmaes.strategies.front._front import FrontSearch, FrontState
from dcmaes.strategies.front._observations import FrontSettings

__all__ = ["FrontSearch", "FrontSettings", "FrontState"]
