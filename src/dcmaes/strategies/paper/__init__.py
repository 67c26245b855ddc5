"""Algorithm 1 of the paper, as printed: see docs/maths.md, section A."""

from dcmaes.strategies.paper._paper import Paper
from dcmaes.strategies.paper._printed import PaperState

__all__ = ["Paper", "PaperState"]
