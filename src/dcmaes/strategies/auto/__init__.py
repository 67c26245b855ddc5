"""The default: a search with a model and one with a population take turns; see docs/maths.md, section T."""

from dcmaes.strategies.auto._state import AutoState
from dcmaes.strategies.auto._strategy import Auto

__all__ = ["Auto", "AutoState"]
