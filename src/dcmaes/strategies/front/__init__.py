"""The strategy `front`: several objectives, each learned by surrogates of all evaluations."""

from dcmaes.strategies.front._strategy import FrontSearch, FrontState

__all__ = ["FrontSearch", "FrontState"]
