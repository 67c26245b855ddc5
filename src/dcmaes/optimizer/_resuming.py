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
    time_limit: float | str | None = None,
    target: float | None = None,
    patience: int | None = None,
    on_error: str | None = None,
    executor: Executor | Callable[[], Executor] | None = None,
    workers: int | None = None,
    batch_size: int | None = None,
    evaluation_timeout: float | str | None = None,
    constraints: Constraint | Iterable[Constraint] | None = None,
    callbacks: Callback | Iterable[Callback] = (),
    progress: bool | None = None,
    space: Space | None = None,
    strategy: Strategy[Any] | None = None,
) -> Result:
    """Continue the run in a store exactly where it stopped; pending points are evaluated first.

    This is the same as calling `minimize` or `maximize` again with the same arguments. If the run is over,
    its result is returned and nothing is evaluated.

    Parameters
    ----------
    path : path
        The store that `minimize(..., store=path)` wrote.
    objective : callable
        The run's objective: code is not in the store.
    budget : int or None
        A new budget, such as a larger one for a run that is over. None keeps the old one.
    time_limit : float, str or None
        A new time limit in seconds or as text such as "30m", counted from this call. None keeps the old one.
    target : float or None
        A new target. None keeps the old one.
    patience : int or None
        A new number of evaluations without an improvement after which to stop. None keeps the old one.
    on_error : {"penalize", "continue", "raise"} or None
        What to do with failed evaluations from now on. None keeps the old setting.
    executor : concurrent.futures.Executor, callable that returns one, or None
        Where to evaluate from now on, as in `minimize`.
    workers : int or None
        The number of evaluations to run at the same time, as in `minimize`.
    batch_size : int or None
        The number of points in a round, as in `minimize`.
    evaluation_timeout : float, str or None
        Time after which an evaluation counts as failed, as in `minimize`.
    constraints : callable or sequence of callables
        The run's constraints: they are code and not in the store.
    callbacks : callable or sequence of callables
        Called with the `Optimizer` after every tell; one that returns True stops the run.
    progress : bool or None
        Whether to show progress on standard error, as in `minimize`.
    space : Space
        Needed if the choices of the space are not plain data.
    strategy : Strategy
        Needed if the run used a strategy object of your own.

    Raises
    ------
    StoreError
        If there is no store, it cannot be used, or another process is using it.

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
    limits = {
        "budget": budget,
        "time_limit": time_limit,
        "target": target,
        "patience": patience,
        "on_error": on_error,
    }
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
