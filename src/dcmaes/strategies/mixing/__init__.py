"""Search by a pyramid of populations that are mixed along learned linkage: see docs/maths.md, section L."""

from dcmaes.strategies.mixing._mixing import Mixing
from dcmaes.strategies.mixing._state import MixingState

__all__ = ["Mixing", "MixingState"]
