"""Search by regression in canonical coordinates: see docs/maths.md, section Q."""

from dcmaes.strategies.ising._ising import IsingSearch
from dcmaes.strategies.ising._learning import IsingState
from dcmaes.strategies.ising._settings import IsingSettings

__all__ = ["IsingSearch", "IsingSettings", "IsingState"]
