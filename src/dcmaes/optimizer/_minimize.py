"""`minimize`, `maximize` and `resume`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from typing import Any

from dcmaes._validation import check_path
from dcmaes.optimizer._evaluators import Objective
from dcmaes.optimizer._loop import Execution, optimize
from dcmaes.optimizer._optimizer import Callback, Optimizer
from dcmaes.run._constraints import Constraint
from dcmaes.run._result import Result
from dcmaes.space import Space
from dcmaes.store._reader import Reader
from dcmaes.store._restoring import arguments_of
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
    evaluation_timeout: float | str | None = None,
    constraints: Constraint | Iterable[Constraint] | None = None,
    store: str | os.PathLike[str] | None = None,
    time_limit: float | str | None = None,
    target: float | None = None,
    patience: int | None = None,
    duplicates: str = "cache",
    on_error: str = "penalize",
    objectives: int | Sequence[str] | Mapping[str, str] | None = None,
    reference: Any = None,
    callbacks: Callback | Iterable[Callback] = (),
    progress: bool | None = None,
) -> Result:
    """Find a point at which the objective is small.

    Parameters
    ----------
    objective : callable
        Takes a point (a fresh dict or array) and returns a number, or an `Outcome` with a violation; with
        several `objectives`, a tuple or a dict of numbers in the place of the number. An objective with a
        true attribute `takes_trial` is called with the `Trial` instead of its point.
    space : Space
        The variables to search over.
    budget : int
        The maximum number of evaluations.
    seed : int or None
        Seed of all randomness: the same seed and the same values told in the same order give the same points.
        None draws one, which the result reports.
    strategy : str or Strategy
        "auto", the name of another strategy, or an object that follows the strategy protocol.
    x0 : point, (point, value), sequence of these, DataFrame, path, History or Result
        Where to start. Points without a value are evaluated first, then the point made of the defaults of
        variables, if they have any. Known values are learned from and cost no evaluation. A DataFrame, or the
        CSV file at a path, has a column for each variable and, where values are known, one called `value`, as
        `history.to_frame()` has. The history of another run (or its result) tells all its evaluations,
        failures included.
    executor : concurrent.futures.Executor, callable that returns one, or None
        Where to evaluate: threads, processes, a cluster. Only its `submit` is used. A callable is called
        again if the executor breaks; the last executor it returned is shut down at the end.
    workers : int or None
        The number of evaluations to run at the same time. Without an executor, more than one starts that many
        processes; one that dies is replaced, and its point is evaluated once more. None means one or, with an
        executor, the larger of the number of processors and the strategy's own batch size.
    batch_size : int or None
        Evaluate in rounds of this many points: the next round begins when all results of the last one have
        been told, in the order of their ids, so the run does not depend on how long evaluations take. None: a
        free worker gets a new point at once.
    evaluation_timeout : float, str or None
        Time after which an evaluation counts as failed: seconds, or text such as "90s", "30m" or "1h30m".
        Worker processes that take longer are killed and replaced; setting a timeout starts a worker process
        even for `workers=1`. The workers of an executor cannot be killed: they are not waited for, and not
        used again until they are done.
    constraints : callable, str, or sequence of these
        Functions of a point, of which a positive value is a violation, or conditions as text such as
        "a + 2*b <= 10" or "act == 'relu' or layers < 4". They must be cheap: points that violate one are
        never evaluated. For constraints that only the evaluation reveals, return an `Outcome`.
    store : path
        An SQLite file to which every ask and every result is written before it counts. If the file already
        holds this run, it continues where it stopped. Arguments that would make it a different run (space,
        seed, strategy, duplicates, x0) raise ValueError; the limits and `on_error` may change.
    time_limit : float or str
        Time after which to stop: seconds, or text such as "90s", "30m" or "1h30m". It is checked between
        evaluations.
    target : float
        Stop as soon as a feasible value is at least this good; with several objectives, as soon as the front
        has this hypervolume.
    patience : int
        Stop after this many evaluations without an improvement (of the hypervolume, with several objectives).
    duplicates : {"cache", "reevaluate", "allow"}
        "cache": no point is evaluated twice, and the run stops when every point of the space is known.
        "reevaluate": for noisy objectives; points may come again, and the mean of their values counts (of
        each objective, if there are several).
        "allow": points may be evaluated again.
    on_error : {"penalize", "continue", "raise"}
        "penalize": an evaluation that raises or returns no finite number costs one evaluation, is recorded
        with its reason and ranks last. If ten evaluations in a row fail for the same reason (apart from the
        numbers in it) before any has given a value, the objective is taken to be broken: the run ends with an
        `EvaluationError` that carries the last traceback and the result so far. "continue": the same, but the
        run never ends because of failures. "raise": the first failure ends it with an `EvaluationError`.
    objectives : int, sequence of str, or dict of str
        If there are several objectives: how many, their names, or their names and directions, such as
        `{"loss": "minimize", "accuracy": "maximize"}`. The objective then returns a tuple of that many
        numbers, or a dict with these names (or an `Outcome` with either); any other number of values is a
        failure. The result has a `front`.
    reference : sequence or dict of numbers
        With several objectives, the worst value of each that is of interest: the search looks for points
        better than that in all of them, and the hypervolume counts up to it. By default what is found says
        what is of interest.
    callbacks : callable or sequence of callables
        Each is called with the `Optimizer` after every tell; one that returns True stops the run.
    progress : bool or None
        Whether to show progress on standard error. True: a live display in a terminal or notebook, plain
        lines elsewhere. None: the live display, for runs of more than a second. False: nothing.

    Returns
    -------
    Result
        Also after KeyboardInterrupt, with everything evaluated so far: evaluations that workers have begun
        are waited for. A second interrupt raises KeyboardInterrupt.

    Raises
    ------
    EvaluationError
        For failures of the objective as described under `on_error`, for errors in a constraint with
        `on_error="raise"`, and for anything else that ends the run, such as an exception in a callback; its
        `result` holds everything evaluated until then.

    Examples
    --------
    >>> import dcmaes as dc
    >>> space = dc.Space({"n": dc.Integer(-5, 5), "act": dc.Categorical(["relu", "gelu"])})
    >>> result = dc.minimize(lambda p: p["n"] ** 2 + (p["act"] == "relu"), space, budget=100, seed=0)
    >>> result.x, result.fun
    ({'n': 0, 'act': 'gelu'}, 0.0)
    """
    return _optimize(direction="minimize", **locals())


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
    evaluation_timeout: float | str | None = None,
    constraints: Constraint | Iterable[Constraint] | None = None,
    store: str | os.PathLike[str] | None = None,
    time_limit: float | str | None = None,
    target: float | None = None,
    patience: int | None = None,
    duplicates: str = "cache",
    on_error: str = "penalize",
    objectives: int | Sequence[str] | Mapping[str, str] | None = None,
    reference: Any = None,
    callbacks: Callback | Iterable[Callback] = (),
    progress: bool | None = None,
) -> Result:
    """Find a point at which the objective is large.

    It takes the arguments of `minimize`. Everything is in the objective's own sign: `target`, known values in
    `x0`, messages, `result.fun` and `result.history`.

    >>> import dcmaes as dc
    >>> dc.maximize(sum, dc.Space.binary(4), budget=16, seed=0).fun
    4.0
    """
    return _optimize(direction="maximize", **locals())


def _optimize(
    objective: Objective,
    executor: Executor | Callable[[], Executor] | None,
    workers: int | None,
    batch_size: int | None,
    evaluation_timeout: float | str | None,
    progress: bool | None,
    **arguments: Any,
) -> Result:
    """Carry out `minimize` or `maximize`: `arguments` are all that an `Optimizer` takes."""
    execution = Execution(executor, workers, batch_size, evaluation_timeout, progress)
    return optimize(Optimizer(**arguments), objective, execution)


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
    constraints : callable, str, or sequence of these
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
    execution = Execution(executor, workers, batch_size, evaluation_timeout, progress)
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
    return optimize(optimizer, objective, execution)
