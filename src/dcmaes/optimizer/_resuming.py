"""Going on with a stored run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from typing import Any

from dcmaes._validation import check_path
from dcmaes.optimizer._loop import Effort, drive
from dcmaes.optimizer._measurement import Objective
from dcmaes.optimizer._optimizer import Callback, Optimizer
from dcmaes.run._constraints import Constraint
from dcmaes.run._result import Result
from dcmaes.space import Space
from dcmaes.store._reader import Reader
from dcmaes.store._restoring import arguments_of
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
    path = check_path("path", path)
    with Reader.opened(path) as reader:
        arguments = arguments_of(reader, space, strategy, limits, constraints is not None)
    optimizer = Optimizer(constraints=constraints, callbacks=callbacks, store=path, **arguments)
    return drive(optimizer, objective, effort)
