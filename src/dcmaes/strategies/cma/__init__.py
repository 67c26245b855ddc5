"""The discrete CMA-ES as it works: see docs/maths.md, section K."""

from dcmaes.strategies.cma._cma import Cma
from dcmaes.strategies.cma._state import CmaState

__all__ = ["Cma", "CmaState"]
