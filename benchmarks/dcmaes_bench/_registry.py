"""The table of optimizers: one function each, registered by a decorator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np

from dcmaes_bench._domain import CATEGORY, FLOAT, INTEGER, Domain
from dcmaes_bench._recorder import Evaluate

Run = Callable[[Domain, Evaluate, int, int], None]
_LETTERS = {INTEGER: "i", CATEGORY: "c", FLOAT: "f"}
_TABLE: dict[str, Optimizer] = {}


@dataclass(frozen=True)
class Optimizer:
    """A named optimizer of the benchmark.

    `run(domain, evaluate, budget, seed)` calls ``evaluate(x)`` until it raises `RunEnded`; if it returns
    before, it is called again with another seed. `kinds` says which variables it takes ("i" integers, "c"
    categories, "f" floats), `package` what must be installed, `max_states` and `uniform_states` what it asks
    of discrete variables, and `needs_conditions` that it is only for domains where variables may not count.
    """

    name: str
    run: Run
    kinds: str = "icf"
    package: str | None = None
    max_states: int | None = None
    uniform_states: bool = False
    needs_conditions: bool = False

    @property
    def is_installed(self) -> bool:
        """Whether its package can be imported."""
        return self.package is None or find_spec(self.package) is not None

    def accepts(self, domain: Domain) -> bool:
        """Whether it can search this domain."""
        if not {_LETTERS[int(kind)] for kind in domain.kind} <= set(self.kinds):
            return False
        if self.needs_conditions and not domain.when:
            return False
        n_states = domain.n_states[domain.is_discrete]
        if self.max_states is not None and bool((n_states > self.max_states).any()):
            return False
        return not (self.uniform_states and len(np.unique(n_states)) > 1)


def optimizer(
    name: str,
    *,
    kinds: str = "icf",
    package: str | None = None,
    max_states: int | None = None,
    uniform_states: bool = False,
    needs_conditions: bool = False,
) -> Callable[[Run], Run]:
    """Register ``run(domain, evaluate, budget, seed)`` under a name.

    Examples
    --------
    >>> from dcmaes_bench import optimizer, optimizers
    >>> @optimizer("my search")
    ... def my_search(domain, evaluate, budget, seed):
    ...     rng = np.random.default_rng(seed)
    ...     while True:
    ...         evaluate(domain.sample(rng))
    >>> optimizers()["my search"].kinds
    'icf'
    >>> del optimizers()["my search"]
    """

    def register(run: Run) -> Run:
        if name in _TABLE:
            raise ValueError(f"an optimizer named {name!r} is registered already")
        _TABLE[name] = Optimizer(name, run, kinds, package, max_states, uniform_states, needs_conditions)
        return run

    return register


def optimizers() -> dict[str, Optimizer]:
    """Return the table of optimizers by name (the peers are registered on the first call).

    >>> "random" in optimizers()
    True
    """
    import dcmaes_bench._peers  # noqa: F401  (registers them)

    return _TABLE
