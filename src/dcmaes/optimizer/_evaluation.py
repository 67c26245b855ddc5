"""`minimize` and `maximize`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from typing import Any

from dcmaes.optimizer._constraints import Constraint
from dcmaes.optimizer._loop import Effort, drive
from dcmaes.optimizer._measurement import Objective
from dcmaes.optimizer._optimizer import Callback, Optimizer
from dcmaes.optimizer._result import Result
from dcmaes.space import Space
from dcmaes.strategies import Strategy


def minimize(
    objective: Objective,
    space: Space,
    *,
    budget: int,
    seed: int | None = None,
    strategy: str | Strategy[Any] = "auto",
    x0: Any = None,
    executor: Executor | Callable[[], Executor] | None = None,
    workers: int | None = None,
    batch_size: int | None = None,
    evaluation_timeout: float | None = None,
    constraints: Constraint | Iterable[Constraint] | None = None,
    store: str | os.PathLike[str] | None = None,
    time_limit: float | None = None,
    target: float | None = None,
    duplicates: str = "cache",
    on_error: str = "penalize",
    callbacks: Callback | Iterable[Callback] = (),
    progress: bool | None = None,
) -> Result:
    """Find a point at which the objective is small.

    Parameters
    ----------
    objective : callable
        Takes a point (a fresh dict or array) and returns a number, or an `Outcome` with a violation. One with
        an attribute `takes_trial` that is true is given the `Trial` instead of its point.
    space, budget, seed, strategy, x0, constraints, store, time_limit, target, duplicates, callbacks
        See `Optimizer`.
    executor : concurrent.futures.Executor, callable that returns one, or None
        Where to evaluate: threads, processes, a cluster. Only its `submit` is used. A callable is called
        again if the executor breaks; what it returned last is shut down at the end.
    workers : int or None
        How many evaluations to keep going at once. Without an executor, more than one starts so many
        processes; one that dies is replaced, and its point is evaluated once more. None is one, or with an
        executor the larger of the number of processors and of what the strategy waits for.
    batch_size : int or None
        Evaluate in rounds of so many points: the next round begins when all of the last one are told, in
        the order of their ids, so the run does not depend on how long evaluations take. None: a free worker
        gets a new point at once.
    evaluation_timeout : float or None
        Seconds after which an evaluation has failed. Worker processes that take longer are killed and
        replaced; with a timeout there is one also for `workers=1`. The workers of an executor cannot be
        killed: they are not waited for, and are not used again until they are done.
    on_error : {"penalize", "raise"}
        "penalize": an objective that raises or returns no finite number costs one evaluation, is recorded
        with its reason and ranks last. "raise": it ends the run with an `EvaluationError` that has the result
        so far.
    progress : bool or None
        Whether to show, on standard error, how far the run is. True: a live display in a terminal or
        notebook, plain lines elsewhere. None: the live display, for runs of more than a second. False:
        nothing.

    Returns
    -------
    Result
        Also after KeyboardInterrupt, with what is known by then: evaluations that workers have begun are
        waited for, unless it is interrupted again, which raises KeyboardInterrupt.

    Raises
    ------
    EvaluationError
        For errors in the objective or a constraint with `on_error="raise"`, or anything else that broke the
        run, such as an exception in a callback; its `result` has what was evaluated until then.

    Examples
    --------
    >>> import dcmaes as dc
    >>> space = dc.Space({"n": dc.Integer(-5, 5), "act": dc.Categorical(["relu", "gelu"])})
    >>> result = dc.minimize(lambda p: p["n"] ** 2 + (p["act"] == "relu"), space, budget=100, seed=0)
    >>> result.x, result.fun
    ({'n': 0, 'act': 'gelu'}, 0.0)
    """
    effort = Effort(executor, workers, batch_size, evaluation_timeout, progress)
    optimizer = Optimizer(
        space,
        budget=budget,
        seed=seed,
        strategy=strategy,
        direction="minimize",
        x0=x0,
        constraints=constraints,
        time_limit=time_limit,
        target=target,
        duplicates=duplicates,
        on_error=on_error,
        callbacks=callbacks,
        store=store,
    )
    return drive(optimizer, objective, effort)


def maximize(
    objective: Objective,
    space: Space,
    *,
    budget: int,
    seed: int | None = None,
    strategy: str | Strategy[Any] = "auto",
    x0: Any = None,
    executor: Executor | Callable[[], Executor] | None = None,
    workers: int | None = None,
    batch_size: int | None = None,
    evaluation_timeout: float | None = None,
    constraints: Constraint | Iterable[Constraint] | None = None,
    store: str | os.PathLike[str] | None = None,
    time_limit: float | None = None,
    target: float | None = None,
    duplicates: str = "cache",
    on_error: str = "penalize",
    callbacks: Callback | Iterable[Callback] = (),
    progress: bool | None = None,
) -> Result:
    """Find a point at which the objective is large.

    Everything is as in `minimize`, and in the objective's own sign: `target` and known values in `x0`,
    messages, `result.fun` and `result.history`.

    >>> import dcmaes as dc
    >>> dc.maximize(sum, dc.Space.binary(4), budget=16, seed=0).fun
    4.0
    """
    effort = Effort(executor, workers, batch_size, evaluation_timeout, progress)
    optimizer = Optimizer(
        space,
        budget=budget,
        seed=seed,
        strategy=strategy,
        direction="maximize",
        x0=x0,
        constraints=constraints,
        time_limit=time_limit,
        target=target,
        duplicates=duplicates,
        on_error=on_error,
        callbacks=callbacks,
        store=store,
    )
    return drive(optimizer, objective, effort)
