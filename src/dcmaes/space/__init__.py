"""Spaces of points, their variables, and the coded form that strategies see."""

from dcmaes.space._ranges import Float, Integer
from dcmaes.space._sites import CATEGORY, CONTINUOUS, LATTICE, SiteKind, Sites
from dcmaes.space._space import Space
from dcmaes.space._variables import Binary, Categorical, Ordinal, Scale, Variable

__all__ = [
    "CATEGORY",
    "CONTINUOUS",
    "LATTICE",
    "Binary",
    "Categorical",
    "Float",
    "Integer",
    "Ordinal",
    "Scale",
    "SiteKind",
    "Sites",
    "Space",
    "Variable",
]
