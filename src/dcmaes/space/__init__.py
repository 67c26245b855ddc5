"""Spaces of points, their variables, and the coded form that strategies see."""

from dcmaes.space._sites import CATEGORY, CONTINUOUS, LATTICE, Sites

__all__ = ["CATEGORY", "CONTINUOUS", "LATTICE", "Sites"]
