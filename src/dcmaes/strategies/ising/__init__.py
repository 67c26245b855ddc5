"""Search by regression in canonical coordinates: see docs/maths.md, section Q."""

from dcmaes.strategies.ising._model import IsingState
from dcmaes.strategies.ising._strategy import IsingSearch

__all__ = ["IsingSearch", "IsingState"]
