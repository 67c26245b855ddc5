"""Optimization of black-box functions over discrete and mixed variables."""

__version__ = "0.1.0"
