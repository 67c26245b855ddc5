"""The ask-and-tell optimizer."""

from __future__ import annotations

import copy
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np

from dcmaes._guards import interrupted_afterwards
from dcmaes._html import points_text
from dcmaes._validation import check_callables, check_duration, check_integer, check_path, shown
from dcmaes.optimizer._progress import RunLog
from dcmaes.run._constraints import Constraint, Constraints
from dcmaes.run._history import BOOK, History, Record
from dcmaes.run._objectives import read_objectives
from dcmaes.run._result import Result, result_of
from dcmaes.run._run import Run
from dcmaes.run._settings import LIMITS, Settings, StopReason, choose_seed
from dcmaes.run._trial import Reading, Trial
from dcmaes.space import Space
from dcmaes.store._reader import Reader
from dcmaes.store._restoring import arguments_of, rebuild
from dcmaes.store._run_store import RunStore, save
from dcmaes.store._schema import StoreError
from dcmaes.strategies import Strategy
from dcmaes.strategies._protocol import strategy_for

# Trials that go out at once are all kept in memory; more of them are a mistake.
MAX_ASK = 2**20
Callback = Callable[["Optimizer"], Any]


class Optimizer:
    """Search a space by asking for points and telling their values.

    All methods may be called from several threads.

    Parameters
    ----------
    space : Space
        The variables to search over.
    budget : int
        The maximum number of evaluations.
    seed : int or None
        Seed of all randomness: the same seed and the same values told in the same order give the same points.
        None draws one, which the result reports.
    strategy : str or strategy
        "auto", the name of another strategy, or an object that follows the strategy protocol.
    direction : {"minimize", "maximize"}
        Which values are good.
    x0 : point, (point, value), sequence of these, DataFrame, path, History or Result
        Where to start: see `minimize`. Points without a value are handed out first; known values are learned
        from and cost no evaluation.
    constraints : callable, str, or sequence of these
        See `minimize`: points that violate one are never handed out. For constraints that come out of the
        evaluation itself, tell an `Outcome`.
    time_limit : float or str
        Time after which to stop, counted from here (or from loading): see `minimize`.
    target : float
        Value at which to stop; with several objectives, the hypervolume of the front.
    patience : int
        How many evaluations without an improvement to bear before stopping.
    duplicates : {"cache", "reevaluate", "allow"}
        See `minimize`. With "cache", a strategy that draws a known point is told its value for nothing.
    on_error : {"penalize", "continue", "raise"}
        What to do when an evaluation fails (told an exception, NaN, an infinite value or no number). It costs
        one evaluation and is recorded with its reason in any case. "penalize" ranks it last, and stops if ten
        evaluations in a row failed for the same reason before any gave a value; "continue" ranks it last and
        never stops; "raise" stops at the first failure.
    objectives : int, sequence of str, or dict of str
        If there are several: how many, their names, or names and directions (see `minimize`).
    reference : sequence or dict of numbers
        The worst value of each of several objectives that is of interest (see `minimize`).
    callbacks : callable or sequence of callables
        Each is called with the optimizer after every tell; one that returns True stops the run.
    store : path
        A file to which every ask and every result is written before it counts: see `minimize`. Trials that
        had not been told are in `pending`. One process at a time; see `close`.

    Examples
    --------
    >>> import dcmaes as dc
    >>> opt = dc.Optimizer(dc.Space.integers(2, -5, 5), budget=300, seed=0, target=0.0)
    >>> while opt.should_stop() is None:
    ...     trials = opt.ask()
    ...     opt.tell(trials, [float((trial.point**2).sum()) for trial in trials])
    >>> opt.result().x
    array([0, 0])
    """

    def __init__(
        self,
        space: Space,
        *,
        budget: int,
        seed: int | None = None,
        strategy: str | Strategy[Any] = "auto",
        direction: str = "minimize",
        x0: Any = None,
        constraints: Constraint | Iterable[Constraint] | None = None,
        time_limit: float | str | None = None,
        target: float | None = None,
        patience: int | None = None,
        duplicates: str = "cache",
        on_error: str = "penalize",
        objectives: int | Sequence[str] | Mapping[str, str] | None = None,
        reference: Any = None,
        callbacks: Callback | Iterable[Callback] = (),
        store: str | os.PathLike[str] | None = None,
    ) -> None:
        if not isinstance(space, Space):
            raise TypeError(f"space must be a Space, got {shown(space)}")
        limit = None if time_limit is None else check_duration("time_limit", time_limit)
        several = read_objectives(objectives, reference, direction, BOOK)
        settings = Settings(
            budget, choose_seed(seed), direction, limit, target, patience, duplicates, on_error, several
        )
        self._lock = threading.RLock()
        self._callbacks = check_callables("callbacks", callbacks, "take the optimizer")
        self._own_time = 0.0
        self._is_broken = False
        self._is_looping = False
        self._log = RunLog()
        chosen = strategy_for(strategy, 1 if several is None else len(several))
        made = chosen, Constraints(constraints, space, on_error == "raise"), x0
        self._store = None if store is None else RunStore(check_path("store", store))
        if self._store is None:
            self._run = Run(space, settings, *made)
            return
        try:
            self._run = Run(space, self._store.first_settings(settings, seed is not None), *made)
            self._store.begin(self._run, settings)
        except BaseException:
            self._store.journal.close()
            raise

    @property
    def space(self) -> Space:
        """The space that is searched."""
        return self._run.space

    @property
    def budget(self) -> int:
        """The maximum number of evaluations."""
        return self._run.settings.budget

    @property
    def n_evaluations(self) -> int:
        """The number of evaluations told so far."""
        return self._run.n_told

    @property
    def pending(self) -> tuple[Trial, ...]:
        """Trials that were handed out and not told yet, oldest first."""
        with self._lock:
            return tuple(self._run.outstanding.values())

    @property
    def best(self) -> Record | None:
        """The best evaluation so far, or None; feasible points first, infeasible ones by their violation.

        With several objectives, of which no point is the best, the knee of the front.
        """
        with self._lock:
            index = self._run.best()
            return None if index is None else self.history[index]

    @property
    def history(self) -> History:
        """All evaluations so far."""
        return self._run.history

    def ask(self, n: int | None = None) -> list[Trial]:
        """Return new trials to evaluate.

        Pending trials count towards the budget. The list is empty when there is nothing to hand out: the run
        has stopped, the rest of the budget is pending, or every unknown point is pending.

        Parameters
        ----------
        n : int or None
            How many. None: as many as the strategy waits for before it learns, at least one; fewer if what it
            draws is known already.
        """
        n = None if n is None else check_integer("n", n, low=1)
        with self._lock:
            if not self._run.is_asking():
                return []
            self._check_whole()
            n = None if n is None else check_integer("n", min(n, self._run.room), high=MAX_ASK)
            self._log.begin(self._run)
            with self._changing():
                trials = self._run.ask(n)
                if self._store is not None:
                    self._store.write_ask(self._run, n, trials, self._own_time)
            return trials

    def tell(self, trials: Trial | Sequence[Trial], values: Any, *, seconds: Any = None) -> None:
        """Record the results of trials: all or some of those asked for, in any order, at any time, once each.

        Parameters
        ----------
        trials : Trial or sequence of Trial
            What was evaluated.
        values : number, Outcome, exception or sequence of these
            The result of each. An exception, NaN, infinity or anything that is not a number is a failure.
            With several objectives, a tuple or dict of numbers takes the place of a number.
        seconds : float or sequence of float
            How long the objective took, for the record.

        Raises
        ------
        ValueError
            For a trial that is not out for evaluation here, or lengths that differ; nothing is recorded then.
        """
        with self._lock:
            self._check_whole()
            self._record(self._run.match(trials, values, seconds))

    def attach(self, point: Any) -> Trial:
        """Return a trial of a point of your own, pending like one that `ask` returned until it is told.

        So the optimizer learns what was evaluated without being asked for, and leaves alone what others are
        evaluating. It counts towards the budget, but is not refused when that is used up.

        Parameters
        ----------
        point : dict or array of shape (d,)
            A point of the space that satisfies the constraints.

        Raises
        ------
        ValueError
            For any other point; nothing has changed then.

        Examples
        --------
        >>> import dcmaes as dc
        >>> opt = dc.Optimizer(dc.Space.integers(2, 0, 9), budget=20, seed=0)
        >>> trial = opt.attach([3, 4])
        >>> opt.tell(trial, 7.0)
        >>> opt.best.point
        array([3, 4])
        """
        with self._lock:
            self._check_whole()
            found = self._run.check_point(point)
            with self._changing():
                trial = self._run.attach(*found)
                if self._store is not None:
                    self._store.write_ask(self._run, None, [trial], self._own_time, is_repeatable=False)
            return trial

    def fork(self, seed: int | None = None, *, budget: int | None = None) -> Optimizer:
        """Return an optimizer that is where this one is, and goes its own way without changing this one.

        It has the same trials pending and the same constraints, and neither a store nor callbacks. So one can
        look ahead: which points would be asked for, and which after some more results.

        Parameters
        ----------
        seed : int or None
            Seed of its randomness from here on. None draws one.
        budget : int or None
            A new limit; None leaves the budget as it is.

        Examples
        --------
        >>> import dcmaes as dc
        >>> opt = dc.Optimizer(dc.Space.integers(2, 0, 9), budget=20, seed=0)
        >>> ahead = opt.fork(seed=1)
        >>> ahead.tell(ahead.ask(3), [1.0, 2.0, 3.0])
        >>> ahead.n_evaluations, opt.n_evaluations, opt.pending
        (3, 0, ())
        """
        with self._lock:
            self._check_whole()
            run = self._run.copy(choose_seed(seed))
            if budget is not None:
                run.relimit({"budget": budget})
            other = copy.copy(self)
            other._run, other._store, other._callbacks, other._log = run, None, (), RunLog()
            other._lock, other._is_looping = threading.RLock(), False
            return other

    def should_stop(self) -> StopReason | None:
        """Return why the run is over, or None while it is not. Pending trials may be told afterwards."""
        with self._lock:
            self._run.is_over()
            self._log.end(self._run)
            return None if self._run.stop is None else self._run.stop.reason

    def result(self) -> Result:
        """Return what is known so far."""
        with self._lock:
            return result_of(self._run, self._own_time)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the whole run to a store, at once: the old file stays until the new one is complete.

        Constraints and callbacks are code and are not saved. The optimizer itself does not write to it: see
        `load`, or continue it by `resume` or with `store=path`.

        Raises
        ------
        StoreError
            If it cannot be written, or a process is using it.
        """
        with self._lock:
            self._check_whole()
            save(self._run, check_path("path", path), self._own_time, self._store)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        space: Space | None = None,
        strategy: Strategy[Any] | None = None,
        constraints: Constraint | Iterable[Constraint] | None = None,
        callbacks: Callback | Iterable[Callback] = (),
        budget: int | None = None,
        time_limit: float | str | None = None,
    ) -> Optimizer:
        """Return a saved optimizer: its next ask is the one that the saved one would have made.

        Parameters
        ----------
        path : path
            A store, as `save` or `minimize(..., store=path)` writes it. It is only read, and nothing in it is
            ever executed.
        space : Space
            Needed if the choices of the space are not plain data; otherwise only compared.
        strategy : strategy
            Needed if the saved run used a strategy object of your own.
        constraints, callbacks
            As in the saved run: they are code and not in the file.
        budget, time_limit
            New limits; the time counts from here. Left out, they are those of the saved run.

        Raises
        ------
        StoreError
            If there is no such file, or it is something else or damaged.
        """
        limits = {"budget": budget, "time_limit": time_limit}
        with Reader.opened(check_path("path", path)) as reader:
            arguments = arguments_of(reader, space, strategy, limits, constraints is not None)
            optimizer = cls(constraints=constraints, callbacks=callbacks, **arguments)
            fresh = optimizer._run
            run = rebuild(reader, fresh.space, fresh.strategy, fresh.constraints)
            run.relimit({name: getattr(fresh.settings, name) for name in LIMITS})
            optimizer._run, optimizer._own_time = run, reader.optimizer_time()
        return optimizer

    def close(self) -> None:
        """Write how the run stands to its store and let go of it; without a store nothing happens.

        A run that is not closed loses nothing, only the store stays locked until the process ends.
        """
        with self._lock:
            if self._store is not None:
                self._store.close(self._run, not self._is_broken, self._own_time)

    def __repr__(self) -> str:
        with self._lock:
            run, best = self._run, self.best
            told = f"{run.n_told} of {self.budget} evaluations told, {len(self.pending)} out"
            if run.settings.objectives is not None:
                found = f"{points_text(len(run.memory.front))} on the front"
            else:
                found = "nothing found yet" if best is None else f"best value {best.value:.6g}"
            over = "" if run.stop is None else f"; over: {run.stop.message}"
            search = f"{self.space.dimension} variables by {run.strategy.name}"
            return f"<Optimizer of {search}: {told}, {found}{over}>"

    def __enter__(self) -> Optimizer:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            self.close()
        except StoreError:
            if kind is None:  # otherwise there is an error already, perhaps this one
                raise

    def _record(self, told: Mapping[int, Reading]) -> None:
        """Write what was told to the store, then let it count; with the lock held."""
        told_at = self._run.elapsed
        told = {trial_id: reading._replace(told_at=told_at) for trial_id, reading in told.items()}
        with self._changing():
            if self._store is not None:
                try:
                    self._store.journal.write_tell(told)
                except StoreError:
                    self._is_broken = False  # nothing has changed
                    raise
            for trial_id, reading in told.items():
                self._run.record(trial_id, reading)
        self._log.tell(self._run, len(told))
        self._call_callbacks()

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Add up the time, and let nothing but a second interrupt or an error break a change off half-way.

        A run whose change broke off is broken for good: nothing more is written of it, and its store, which
        has every event from before, is where it goes on.
        """
        # The loop holds interrupts back by itself, once for the whole run.
        with nullcontext() if self._is_looping else interrupted_afterwards():
            begun = time.perf_counter()
            self._is_broken = True  # until the change is whole
            yield
            self._is_broken = False
            self._own_time += time.perf_counter() - begun

    def _check_whole(self) -> None:
        if self._is_broken:
            where = "what was last saved" if self._store is None else f"its store {str(self._store.path)!r}"
            raise RuntimeError(
                f"this optimizer was interrupted in the middle of a change and cannot go on: load {where}"
            )

    def _call_callbacks(self) -> None:
        for callback in self._callbacks:
            answer = callback(self)
            if isinstance(answer, (bool, np.bool_)) and answer:
                name = getattr(callback, "__name__", type(callback).__name__)
                self._run.halt(StopReason.CALLBACK.stop(callback=name, n_evaluations=self._run.n_told))
