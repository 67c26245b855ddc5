"""Strategies by name."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from dcmaes._validation import check_choice, shown
from dcmaes.strategies._protocol import Multiobjective, Strategy

# Module and class of each strategy; modules are imported when their strategy is first used.
_CLASSES = {
    "auto": ("dcmaes.strategies.auto", "Auto"),
    "cma": ("dcmaes.strategies.cma", "Cma"),
    "front": ("dcmaes.strategies.front", "FrontSearch"),
    "ising": ("dcmaes.strategies.ising", "IsingSearch"),
    "mixing": ("dcmaes.strategies.mixing", "Mixing"),
    "paper": ("dcmaes.strategies.paper", "Paper"),
    "random": ("dcmaes.strategies.random", "RandomSearch"),
}
_METHODS = tuple(name for name in vars(Strategy) if not name.startswith("_"))


def strategy_names() -> tuple[str, ...]:
    """Return the names of the strategies that come with the library.

    >>> "random" in strategy_names()
    True
    """
    return tuple(_CLASSES)


def make_strategy(strategy: str | Strategy[Any], options: Mapping[str, Any] | None = None) -> Strategy[Any]:
    """Return the strategy of that name, built with `options`, or the object if it follows the protocol.

    >>> make_strategy("random", {"population_size": 5})
    RandomSearch(population_size=5)
    """
    if not isinstance(strategy, str):
        missing = [method for method in _METHODS if not hasattr(strategy, method)]
        if missing or isinstance(strategy, type):
            detail = (
                "a class; make an object of it" if isinstance(strategy, type) else f"no {missing[0]!r} in it"
            )
            wanted = "a name or an object that obeys the strategy protocol"
            raise TypeError(f"strategy must be {wanted}, got {shown(strategy)} ({detail})")
        return strategy
    check_choice("strategy", strategy, tuple(_CLASSES))
    made: Strategy[Any] = strategy_class(strategy)(**(options or {}))
    return made


def strategy_for(strategy: str | Strategy[Any], n_objectives: int) -> Strategy[Any]:
    """Return the strategy for so many objectives, or raise if it cannot search for several.

    >>> strategy_for("auto", 1).name, strategy_for("auto", 2).name
    ('auto', 'front')
    """
    if n_objectives == 1:
        return make_strategy(strategy)
    made = make_strategy("front" if isinstance(strategy, str) and strategy == "auto" else strategy)
    if not isinstance(made, Multiobjective):
        raise ValueError(
            f"strategy must be 'auto', 'front' or 'random' with several objectives ({made.name!r} searches "
            f"for one), got {shown(strategy)}"
        )
    return made


def is_registered(strategy: Strategy[Any]) -> bool:
    """Tell whether `make_strategy(strategy.name, strategy.options())` gives an equal strategy.

    >>> is_registered(make_strategy("random"))
    True
    """
    return strategy.name in _CLASSES and type(strategy) is strategy_class(strategy.name)


def strategy_class(name: str) -> type[Any]:
    """Return the class of the strategy of that name.

    >>> strategy_class("random").__name__
    'RandomSearch'
    """
    module, class_name = _CLASSES[name]
    found: type[Any] = getattr(import_module(module), class_name)
    return found
