"""Ways to move a distribution over the sites of a space towards good points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dcmaes.strategies._evaluations import Evaluations, Rank
from dcmaes.strategies._memory import Memory
from dcmaes.strategies._protocol import (
    Explaining,
    Modelling,
    Multiobjective,
    Strategy,
    Summary,
    is_registered,
    make_strategy,
    strategy_class,
    strategy_names,
)

if TYPE_CHECKING:
    from dcmaes.strategies.auto import Auto
    from dcmaes.strategies.cma import Cma
    from dcmaes.strategies.front import FrontSearch
    from dcmaes.strategies.ising import IsingSearch
    from dcmaes.strategies.mixing import Mixing
    from dcmaes.strategies.paper import Paper
    from dcmaes.strategies.random import RandomSearch

__all__ = [
    "Auto",
    "Cma",
    "Evaluations",
    "Explaining",
    "FrontSearch",
    "IsingSearch",
    "Memory",
    "Mixing",
    "Modelling",
    "Multiobjective",
    "Paper",
    "RandomSearch",
    "Rank",
    "Strategy",
    "Summary",
    "is_registered",
    "make_strategy",
    "strategy_names",
]

# Imported when first used: what a strategy needs of scipy would double the time `import dcmaes` takes.
_NAMES = {
    "Auto": "auto",
    "Cma": "cma",
    "FrontSearch": "front",
    "IsingSearch": "ising",
    "Mixing": "mixing",
    "Paper": "paper",
    "RandomSearch": "random",
}


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        return strategy_class(_NAMES[name])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
