"""The one evaluation loop, with workers, interrupts and errors."""

from __future__ import annotations

import os
import sys
import warnings
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial

from dcmaes._guards import Interrupts
from dcmaes._validation import check_duration, check_integer, shown
from dcmaes.optimizer._evaluators import (
    ALL_HANG,
    CheckedObjective,
    Evaluator,
    ExecutorEvaluator,
    InlineEvaluator,
    Objective,
)
from dcmaes.optimizer._optimizer import Optimizer
from dcmaes.optimizer._progress import show_progress
from dcmaes.run._result import Result
from dcmaes.run._run import Run
from dcmaes.run._settings import StopReason
from dcmaes.run._trial import Reading, Trial, describe


class EvaluationError(RuntimeError):
    """A run that ended in an error: what was evaluated until then is in `result`.

    Attributes
    ----------
    result : Result
        What is known, with the full history.
    traceback : str or None
        Where in the objective the failure behind it happened, if that is known.

    Examples
    --------
    >>> import dcmaes as dc
    >>> try:
    ...     dc.minimize(lambda x: 1 / 0, dc.Space.binary(3), budget=8, on_error="raise")
    ... except dc.EvaluationError as error:
    ...     print(error, error.result.nfev)
    the evaluation of trial 0 failed: ZeroDivisionError: division by zero 1
    """

    def __init__(self, message: str, result: Result, traceback: str | None = None) -> None:
        super().__init__(message)
        self.result = result
        self.traceback = traceback


@dataclass(frozen=True)
class Execution:
    """How to evaluate: where, how many at once, in rounds or not, and how long at most (see `minimize`)."""

    executor: Executor | Callable[[], Executor] | None = None
    workers: int | None = None
    batch_size: int | None = None
    evaluation_timeout: float | str | None = None
    progress: bool | None = None

    def __post_init__(self) -> None:
        for name in ("workers", "batch_size"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, check_integer(name, getattr(self, name), low=1))
        if self.evaluation_timeout is not None:
            check_duration("evaluation_timeout", self.evaluation_timeout)
        has_submit = callable(getattr(self.executor, "submit", None))
        if self.executor is not None and not has_submit and not callable(self.executor):
            raise TypeError(
                "executor must have a submit method like concurrent.futures.Executor, or be a callable that "
                f"returns such an executor, got {shown(self.executor)}"
            )

    def make_evaluator(self, optimizer: Optimizer, objective: Objective, interrupts: Interrupts) -> Evaluator:
        """Return what evaluates: here, in worker processes, or in the user's executor."""
        given = self.evaluation_timeout
        timeout = None if given is None else check_duration("evaluation_timeout", given)
        common = (timeout, partial(note_loss, optimizer), interrupts)
        if self.executor is not None:
            least = self.batch_size or optimizer._run.search.batch_size
            n_slots = self.workers or max(os.cpu_count() or 1, least)
            return ExecutorEvaluator(self.executor, objective, n_slots, *common)
        if self.evaluation_timeout is None and (self.workers or 1) == 1:
            return InlineEvaluator(objective, 1, interrupts)
        from dcmaes.optimizer._workers import WorkersEvaluator

        return WorkersEvaluator(objective, self.workers or 1, *common)


def optimize(optimizer: Optimizer, objective: Objective, execution: Execution) -> Result:
    """Run the loop to its end, whatever ends it, close the store and return the result."""
    run = optimizer._run
    with optimizer, show_progress(optimizer, execution.progress) as observer, Interrupts() as interrupts:
        if not callable(objective):
            raise TypeError(f"objective must be callable with a point, got {shown(objective)}")
        if run.settings.objectives is not None:
            objective = CheckedObjective(objective, run.settings.objectives)
        evaluator = observer.evaluator = execution.make_evaluator(optimizer, objective, interrupts)
        is_hasty = optimizer._is_looping = True
        try:
            try:
                _evaluate_or_stop(optimizer, evaluator, execution.batch_size, interrupts)
                is_hasty = False
            finally:
                optimizer._is_looping = False
                evaluator.close(is_hasty)
            optimizer.close()
        except Exception as error:
            if interrupts.is_urgent:  # leaving in the middle of anything, one error can turn into another
                raise KeyboardInterrupt from error
            stop = StopReason.ERROR.stop(why=f"the run broke off with {describe(error)}")
            run.halt(stop, error)
            raise EvaluationError(stop.message, optimizer.result()) from error
    result = optimizer.result()
    is_strict = run.settings.on_error == "raise"
    if result.stop_reason is StopReason.FAILURES or (result.stop_reason is StopReason.ERROR and is_strict):
        raise _failure(run, result) from run.error
    return result


def note_loss(optimizer: Optimizer, trial: Trial, reason: str, worker: str | None) -> None:
    """Say that the evaluation of a trial was lost and is made again."""
    with optimizer._lock:
        if optimizer._store is not None:
            optimizer._store.journal.write_loss(trial.id, reason, worker)
    message = f"the evaluation of trial {trial.id} was lost and is made again: {reason}"
    optimizer._log.lose(message)
    warnings.warn(message, RuntimeWarning, stacklevel=2)


def _failure(run: Run, result: Result) -> EvaluationError:
    """Return the error to raise; with a note of where, if the exception comes from another process."""
    error = EvaluationError(result.message, result, run.traceback)
    if run.traceback and run.error is not None and run.error.__traceback__ is None:
        error.add_note(run.traceback)
    return error


def _evaluate_or_stop(
    optimizer: Optimizer, evaluator: Evaluator, batch_size: int | None, interrupts: Interrupts
) -> None:
    """Run the loop; once interrupted, wait for what is under way; interrupted again, pass that on."""
    loop = _Loop(optimizer, evaluator, batch_size)
    try:
        loop.run()
    except KeyboardInterrupt:
        run = optimizer._run
        run.halt(StopReason.INTERRUPTED.stop(n_evaluations=run.n_told))
        if interrupts.is_urgent or optimizer._is_broken:
            raise
        evaluator.cancel()
        if evaluator.n_running:
            message = f"interrupted: waiting for {evaluator.n_running} evaluations under way"
            print(f"{message}; interrupt again to leave at once", file=sys.stderr, flush=True)
        try:
            loop.run()
        finally:
            if run.stop is not None and run.stop.reason is StopReason.INTERRUPTED:
                run.stop = StopReason.INTERRUPTED.stop(n_evaluations=run.n_told)


class _Loop:
    """Ask, evaluate and tell until the run is over and nothing is running any more.

    Parameters
    ----------
    optimizer : Optimizer
        The run.
    evaluator : Evaluator
        What evaluates the trials.
    batch_size : int or None
        How many trials make a round, which begins when all of the last one are told, in the order of their
        ids; None for no rounds.
    """

    def __init__(self, optimizer: Optimizer, evaluator: Evaluator, batch_size: int | None) -> None:
        self._optimizer = optimizer
        self._evaluator = evaluator
        self._batch_size = batch_size
        # What was out when an earlier sitting ended comes first, unless its result has come already.
        kept = {} if optimizer._store is None else optimizer._store.journal.reader.kept()
        self._round = {trial: kept[trial.id] for trial in optimizer.pending if trial.id in kept}
        self._asked = deque(trial for trial in optimizer.pending if trial not in self._round)

    def run(self) -> None:
        """Go on until the end."""
        optimizer, evaluator = self._optimizer, self._evaluator
        while True:
            is_over = optimizer.should_stop() is not None
            if self._batch_size is None or (evaluator.n_running == 0 and (is_over or not self._asked)):
                self._tell_round()
            if is_over or optimizer.should_stop() is not None:
                evaluator.cancel()
            elif self._batch_size is None:
                self._keep_busy()
            elif evaluator.n_running == 0:
                self._begin_round(self._batch_size)
            if evaluator.n_running == 0:
                return
            for trial, reading in evaluator.collect():
                self._take(trial, reading)

    def _keep_busy(self) -> None:
        """Submit until no worker is free; one at a time, ask for what the strategy waits for."""
        evaluator = self._evaluator
        if evaluator.n_running == 0 and evaluator.n_free <= 0:
            raise RuntimeError(ALL_HANG.format(evaluator.n_slots))
        while (n_free := evaluator.n_free) > 0:
            if not self._asked:
                self._asked.extend(self._optimizer.ask(None if evaluator.n_slots == 1 else n_free))
                if not self._asked:
                    return
            evaluator.submit(self._asked.popleft())

    def _begin_round(self, batch_size: int) -> None:
        for trial in self._asked or self._optimizer.ask(batch_size):
            self._evaluator.submit(trial)
        self._asked.clear()

    def _take(self, trial: Trial, reading: Reading) -> None:
        """Tell the result of a trial; in a round, keep it until all of the round can be told in order."""
        if self._batch_size is None:
            self._tell(trial, reading)
            return
        with self._optimizer._lock:
            if self._optimizer._store is not None:
                self._optimizer._store.journal.keep(trial.id, reading)
        self._round[trial] = reading

    def _tell(self, trial: Trial, reading: Reading) -> None:
        with self._optimizer._lock:
            self._optimizer._record({trial.id: reading})

    def _tell_round(self) -> None:
        """Tell what has come; if the round goes on in another sitting, nothing before its turn."""
        optimizer = self._optimizer
        is_to_go_on = optimizer._store is not None and optimizer.should_stop() is StopReason.INTERRUPTED
        for trial in sorted(self._round, key=lambda trial: trial.id):
            if is_to_go_on and optimizer.pending[0].id < trial.id:
                return
            self._tell(trial, self._round.pop(trial))
