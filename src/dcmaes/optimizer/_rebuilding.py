"""A stored run as an optimizer to look at."""

from __future__ import annotations

from typing import Any

from dcmaes.journal import Reader
from dcmaes.optimizer._optimizer import Optimizer
from dcmaes.optimizer._run_store import restore_for_reading, stored_starts
from dcmaes.optimizer._saving import choose_space, choose_strategy
from dcmaes.space import Space
from dcmaes.strategies import Strategy


def rebuild(reader: Reader, space: Space | None = None, strategy: Strategy[Any] | None = None) -> Optimizer:
    """Return an optimizer that stands where the stored run does; nothing it is told goes to the store.

    Parameters
    ----------
    reader : Reader
        The store.
    space, strategy
        Needed if they are not plain data, and so not in the store; without the strategy the optimizer has all
        evaluations, but has learned nothing from them.
    """
    identity, name = reader.identity(), repr(str(reader.path))
    chosen = choose_space(name, identity["space"], space)
    has_strategy = strategy is not None or identity["strategy"]["options"] is not None
    optimizer = Optimizer(
        chosen,
        strategy=choose_strategy(name, identity["strategy"], strategy) if has_strategy else "random",
        x0=stored_starts(identity, chosen, is_total=True),
        **{key: identity[key] for key in ("seed", "direction", "duplicates")},
        **reader.sittings()[0].limits,
    )
    restore_for_reading(optimizer._run, reader, has_strategy)
    return optimizer
