"""Ways to move a distribution over the sites of a space towards good points."""

from dcmaes.strategies._protocol import Evaluations, Known, Strategy, Summary
from dcmaes.strategies._registry import is_registered, make_strategy, strategy_names
from dcmaes.strategies.random import RandomSearch

__all__ = [
    "Evaluations",
    "Known",
    "RandomSearch",
    "Strategy",
    "Summary",
    "is_registered",
    "make_strategy",
    "strategy_names",
]
