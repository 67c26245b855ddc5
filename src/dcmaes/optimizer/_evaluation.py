"""The one evaluation loop, and `minimize` and `maximize` around it."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any

from dcmaes._validation import check_integer
from dcmaes.optimizer._constraints import Constraint
from dcmaes.optimizer._measurement import Evaluator, ExecutorEvaluator, InlineEvaluator, Objective
from dcmaes.optimizer._optimizer import Callback, Optimizer
from dcmaes.optimizer._progress import show_progress
from dcmaes.optimizer._result import Result
from dcmaes.optimizer._stopping import StopReason
from dcmaes.optimizer._trial import Trial, describe
from dcmaes.space import Space
from dcmaes.strategies import Strategy


class EvaluationError(RuntimeError):
    """A run that ended in an error: what was evaluated until then is in `result`.

    Attributes
    ----------
    result : Result
        What is known, with the full history.

    Examples
    --------
    >>> import dcmaes as dc
    >>> try:
    ...     dc.minimize(lambda x: 1 / 0, dc.Space.binary(3), budget=8, on_error="raise")
    ... except dc.EvaluationError as error:
    ...     print(error, error.result.nfev)
    the evaluation of trial 0 failed: ZeroDivisionError: division by zero 1
    """

    def __init__(self, message: str, result: Result) -> None:
        super().__init__(message)
        self.result = result


def minimize(
    objective: Objective,
    space: Space,
    *,
    budget: int,
    seed: int | None = None,
    strategy: str | Strategy[Any] = "auto",
    x0: Any = None,
    executor: Executor | None = None,
    workers: int | None = None,
    batch_size: int | None = None,
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
    executor : concurrent.futures.Executor or None
        Where to evaluate: threads, processes, a cluster. Only its `submit` is used.
    workers : int or None
        How many evaluations to keep going at once. Without an executor, more than one makes a pool of so many
        processes. None is one, or with an executor the larger of the number of processors and of what the
        strategy waits for.
    batch_size : int or None
        Evaluate in rounds of so many points: the next round begins when all of the last one are told, in
        the order of their ids, so the run does not depend on how long evaluations take. None: a free worker
        gets a new point at once.
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
        Also after KeyboardInterrupt, with what is known by then.

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
    with optimizer:
        return _drive(optimizer, objective, executor, workers, batch_size, progress)


def maximize(
    objective: Objective,
    space: Space,
    *,
    budget: int,
    seed: int | None = None,
    strategy: str | Strategy[Any] = "auto",
    x0: Any = None,
    executor: Executor | None = None,
    workers: int | None = None,
    batch_size: int | None = None,
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
    with optimizer:
        return _drive(optimizer, objective, executor, workers, batch_size, progress)


def evaluate(optimizer: Optimizer, evaluator: Evaluator, n_parallel: int, batch_size: int | None) -> None:
    """Ask, evaluate and tell until the run is over and nothing is running any more.

    Parameters
    ----------
    optimizer : Optimizer
        The run.
    evaluator : Evaluator
        What evaluates the trials.
    n_parallel : int
        How many trials to keep running.
    batch_size : int or None
        How many trials make a round, which begins when the last one is over; None for no rounds.
    """
    asked: deque[Trial] = deque(optimizer.pending)
    while True:
        if optimizer.should_stop() is not None:
            evaluator.cancel()
        elif batch_size is None:
            _keep_busy(optimizer, evaluator, n_parallel, asked)
        elif evaluator.n_running == 0:
            for trial in asked or optimizer.ask(batch_size):
                evaluator.submit(trial)
            asked.clear()
        if evaluator.n_running == 0:
            return
        for trial, (reading, seconds) in evaluator.collect():
            optimizer.tell(trial, reading, seconds=seconds)


def _keep_busy(optimizer: Optimizer, evaluator: Evaluator, n_parallel: int, asked: deque[Trial]) -> None:
    """Submit until `n_parallel` trials are running; one at a time, ask for what the strategy waits for."""
    while (n_free := n_parallel - evaluator.n_running) > 0:
        if not asked:
            asked.extend(optimizer.ask(None if n_parallel == 1 else n_free))
            if not asked:
                return
        evaluator.submit(asked.popleft())


def _drive(
    optimizer: Optimizer,
    objective: Objective,
    executor: Executor | None,
    workers: int | None,
    batch_size: int | None,
    progress: bool | None,
) -> Result:
    """Run the loop to its end, whatever ends it, and return the result."""
    if not callable(objective):
        raise TypeError(f"objective must be callable with a point, got {objective!r}")
    if batch_size is not None:
        batch_size = check_integer("batch_size", batch_size, low=1)
    run = optimizer._run
    with show_progress(optimizer, progress), _pool(executor, workers) as (pool, n_workers):
        is_synchronous = batch_size is not None
        evaluator: Evaluator = InlineEvaluator(objective)
        if pool is not None:
            evaluator = ExecutorEvaluator(pool, objective, is_synchronous)
            n_workers = n_workers or max(os.cpu_count() or 1, run.search.batch_size)
        try:
            evaluate(optimizer, evaluator, n_workers or 1, batch_size)
        except KeyboardInterrupt:
            evaluator.cancel()
            run.halt(StopReason.INTERRUPTED.stop(n_evaluations=run.n_told))
        except Exception as error:
            evaluator.cancel()
            run.halt(StopReason.ERROR.stop(why=f"the run broke off with {describe(error)}"), error)
            raise EvaluationError(run.message(0.0), optimizer.result()) from error
    result = optimizer.result()
    if result.stop_reason is StopReason.ERROR and run.settings.on_error == "raise":
        raise EvaluationError(result.message, result) from run.error
    return result


@contextmanager
def _pool(executor: Executor | None, workers: int | None) -> Iterator[tuple[Executor | None, int | None]]:
    """Give the executor to use, if any, and how many trials to run in it; end it if it was made here."""
    n_workers = None if workers is None else check_integer("workers", workers, low=1)
    if executor is not None:
        if not callable(getattr(executor, "submit", None)):
            raise TypeError(
                f"executor must have a submit method like concurrent.futures.Executor, got {executor!r}"
            )
        yield executor, n_workers
    elif n_workers is None or n_workers == 1:
        yield None, n_workers
    else:
        from concurrent.futures import ProcessPoolExecutor

        pool = ProcessPoolExecutor(n_workers)
        try:
            yield pool, n_workers
        finally:
            # What is still running after an interrupt is not waited for.
            pool.shutdown(wait=False, cancel_futures=True)
