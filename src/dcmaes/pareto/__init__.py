"""Fronts of several objectives, as plain functions of arrays: everything is minimized here."""

from dcmaes.pareto._front import best_by_weights, is_nondominated, knee
from dcmaes.pareto._hypervolume import hypervolume, hypervolume_gains

__all__ = ["best_by_weights", "hypervolume", "hypervolume_gains", "is_nondominated", "knee"]
