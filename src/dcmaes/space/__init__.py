"""Spaces of points, their variables, and the coded form that strategies see."""

from dcmaes.space._coordinates import CATEGORY, CONTINUOUS, LATTICE, SiteKind
from dcmaes.space._ranges import Float, Integer, Scale
from dcmaes.space._sites import Sites
from dcmaes.space._space import Space
from dcmaes.space._variables import Binary, Categorical, Ordinal, Variable

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
