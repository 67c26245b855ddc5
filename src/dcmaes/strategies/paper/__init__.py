"""Algorithm 1 of the paper, as printed: see docs/maths.md, section A."""

from dcmaes.strategies.paper._printed import PaperState
from dcmaes.strategies.paper._strategy import Paper

__all__ = ["Paper", "PaperState"]
