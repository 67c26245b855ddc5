"""Optimization of black-box functions over discrete and mixed variables."""

from dcmaes.space import Binary, Categorical, Float, Integer, Ordinal, Space

__all__ = ["Binary", "Categorical", "Float", "Integer", "Ordinal", "Space"]

__version__ = "0.1.0"
