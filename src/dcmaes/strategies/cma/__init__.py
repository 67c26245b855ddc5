"""The discrete CMA-ES as it works: see docs/maths.md, section K."""

from dcmaes.strategies.cma._state import CmaState
from dcmaes.strategies.cma._strategy import Cma

__all__ = ["Cma", "CmaState"]
