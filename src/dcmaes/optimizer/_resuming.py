"""Going on with a stored run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from dcmaes._validation import ArgumentError
from dcmaes.journal import Reader, intelligible
from dcmaes.optimizer._constraints import Constraint
from dcmaes.optimizer._loop import Effort, drive
from dcmaes.optimizer._measurement import Objective
from dcmaes.optimizer._optimizer import Callback, Optimizer
from dcmaes.optimizer._result import Result
from dcmaes.optimizer._run_store import stored_starts
from dcmaes.optimizer._saving import choose_space, choose_strategy
from dcmaes.space import Space
from dcmaes.strategies import Strategy


def resume(
    path: str | os.PathLike[str],
    objective: Objective,
    *,
    budget: int | None = None,
    time_limit: float | None = None,
    target: float | None = None,
    on_error: str | None = None,
    executor: Executor | Callable[[], Executor] | None = None,
    workers: int | None = None,
    batch_size: int | None = None,
    evaluation_timeout: float | None = None,
    constraints: Constraint | Iterable[Constraint] | None = None,
    callbacks: Callback | Iterable[Callback] = (),
    progress: bool | None = None,
    space: Space | None = None,
    strategy: Strategy[Any] | None = None,
) -> Result:
    """Go on with the run in a store exactly where it stopped; points that were out are evaluated first.

    The same as calling `minimize` or `maximize` again with the same arguments. If the run is over, its result
    is returned and nothing is evaluated.

    Parameters
    ----------
    path : path
        The store that `minimize(..., store=path)` wrote.
    objective : callable
        As in the run: code is not in the store.
    budget, time_limit, target, on_error
        New limits, such as a larger budget for a run that is over. Left out, they are as they were; the time
        counts from here.
    executor, workers, batch_size, evaluation_timeout, progress
        How to evaluate from now on; see `minimize`.
    constraints, callbacks
        As in the run: they are code and not in the store.
    space : Space
        Needed if the choices of the space are not plain data.
    strategy : strategy
        Needed if the run used a strategy object of your own.

    Raises
    ------
    StoreError
        If there is no store, or it cannot be used, or another process is at work on it.

    Examples
    --------
    >>> import dcmaes as dc, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "run.db")
    >>> dc.minimize(sum, dc.Space.binary(8), budget=10, seed=0, store=path).nfev
    10
    >>> dc.resume(path, sum, budget=40).nfev
    40
    """
    effort = Effort(executor, workers, batch_size, evaluation_timeout, progress)
    limits = {"budget": budget, "time_limit": time_limit, "target": target, "on_error": on_error}
    optimizer = _open(path, limits, constraints, callbacks, space, strategy)
    return drive(optimizer, objective, effort)


def _open(
    path: str | os.PathLike[str],
    limits: dict[str, Any],
    constraints: Constraint | Iterable[Constraint] | None,
    callbacks: Callback | Iterable[Callback],
    space: Space | None,
    strategy: Strategy[Any] | None,
) -> Optimizer:
    """Return the optimizer of a stored run."""
    reader = Reader.open(Path(os.fspath(path)))
    try:
        with intelligible(reader.path):
            identity, last = reader.identity(), reader.sittings()[-1]
            name = repr(os.fspath(path))
            if identity["has_constraints"] and constraints is None:
                raise ArgumentError(
                    f"the run in {name} had constraints, which are not in the store: pass constraints="
                )
            chosen = choose_space(name, identity["space"], space)
            arguments = {
                "strategy": choose_strategy(name, identity["strategy"], strategy),
                "x0": stored_starts(identity, chosen, is_total=False),
                **{key: identity[key] for key in ("seed", "direction", "duplicates")},
                **{key: last.limits[key] if limit is None else limit for key, limit in limits.items()},
            }
    finally:
        reader.close()
    return Optimizer(chosen, constraints=constraints, callbacks=callbacks, store=path, **arguments)
