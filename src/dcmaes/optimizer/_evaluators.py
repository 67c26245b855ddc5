"""Calling the objective: one trial at a time here, or several in the workers of an executor."""

from __future__ import annotations

import contextlib
import math
import os
import pickle
import socket
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from typing import Any

from dcmaes._guards import Interrupts
from dcmaes._validation import shown
from dcmaes.run._objectives import Objectives
from dcmaes.run._trial import Reading, Trial, describe, failure, read, thaw

Objective = Callable[[Any], Any]
# Called when an evaluation came to nothing and is begun again: with the trial, why, and the worker if known.
LossListener = Callable[[Trial, str, str | None], None]
# Through no fault of its own an evaluation may be lost so often; the next time it counts as failed.
N_LOSSES = 1
ALL_HANG = "all {} workers of the executor have exceeded evaluation_timeout and still hang"
# How often to look which evaluations in an executor have begun, if they have a time limit (s).
_LOOK = 0.1
# The longest wait in seconds: an interrupt that comes just before a wait begins is only seen after it.
_LONGEST_WAIT = 1.0


def measure(objective: Objective, argument: Any) -> Reading:
    """Call the objective; an exception is a reading like any other, only KeyboardInterrupt passes.

    >>> measure(lambda x: 1 / x, 0).reason
    'ZeroDivisionError: division by zero'
    """
    started_at, begun = time.time(), time.perf_counter()
    told: Any
    try:
        told = objective(argument)
    except (Exception, SystemExit) as error:  # a training script may well call sys.exit
        told = error
    seconds = time.perf_counter() - begun
    return read(told)._replace(seconds=seconds, worker=name_worker(), started_at=started_at)


class CheckedObjective:
    """An objective whose values are counted and checked where it is called, also in another process."""

    def __init__(self, objective: Objective, objectives: Objectives) -> None:
        self._objective = objective
        self._objectives = objectives
        self.takes_trial = getattr(objective, "takes_trial", False)

    def __call__(self, argument: Any) -> Reading:
        return read(self._objective(argument), self._objectives)


def measure_remotely(objective: Objective, argument: Any, token: object = None) -> Reading:
    """Do the same in a worker, for `unpack`: an exception travels in bytes, since not all can be rebuilt.

    The token makes a call different from all others: Dask answers equal calls from its memory.
    """
    reading = measure(objective, argument)
    if reading.error is None:
        return reading
    try:
        packed = pickle.dumps(reading.error)
    except Exception:  # it can hold anything
        packed = b""
    return reading._replace(error=_Packed(packed))


def unpack(reading: Reading) -> Reading:
    """Return what a worker measured; the exception is described if it cannot be rebuilt here."""
    if not isinstance(reading.error, _Packed):
        return reading
    error: Any = None
    with contextlib.suppress(Exception):
        error = pickle.loads(reading.error.args[0])  # noqa: S301 - pickled by a worker of ours
    if not isinstance(error, BaseException):
        error = RuntimeError(reading.reason)
    return reading._replace(error=error)


class _Packed(Exception):
    """An exception on its way from a worker: its only argument is the pickled one."""


def argument_of(objective: Objective, trial: Trial) -> Any:
    """Return what the objective is called with: a point of its own, or the trial if it asks for that."""
    return trial if getattr(objective, "takes_trial", False) else thaw(trial.point)


def name_worker() -> str:
    """Return a name for whoever calls this: machine, process and thread."""
    thread = threading.current_thread()
    process = f"{socket.gethostname()}:{os.getpid()}"
    return process if thread is threading.main_thread() else f"{process}:{thread.name}"


def failed(reason: str, worker: str | None = None, started_at: float = math.nan) -> Reading:
    """Return the reading of an evaluation that never came to an end."""
    seconds = time.time() - started_at
    return failure(reason)._replace(seconds=seconds, worker=worker, started_at=started_at)


class Evaluator(ABC):
    """Something that evaluates trials.

    Parameters
    ----------
    objective : callable
        What to call with each point.
    n_slots : int
        How many trials can be evaluated at the same time.
    interrupts : Interrupts
        What holds back Ctrl-C except while waiting.
    """

    def __init__(self, objective: Objective, n_slots: int, interrupts: Interrupts) -> None:
        self.n_slots = n_slots
        self._objective = objective
        self._interrupts = interrupts
        self._waiting: deque[Trial] = deque()

    @property
    def n_running(self) -> int:
        """How many trials were submitted and not collected yet."""
        return len(self._waiting)

    @property
    def n_free(self) -> int:
        """How many more trials could be evaluated at the same time."""
        return self.n_slots - self.n_running

    def submit(self, trial: Trial) -> None:
        """Take on a trial, at once or when there is a free worker."""
        self._waiting.append(trial)

    def cancel(self) -> None:
        """Give up the evaluations that have not begun."""
        self._waiting.clear()

    @abstractmethod
    def collect(self) -> list[tuple[Trial, Reading]]:
        """Wait for evaluations and return their results.

        An exception loses no result: what has come is returned by the next call.
        """

    @abstractmethod
    def close(self, is_hasty: bool) -> None:
        """Let go of the workers; in haste, without waiting for what they are doing."""


class InlineEvaluator(Evaluator):
    """Evaluate one trial after the other, each when it is collected."""

    def collect(self) -> list[tuple[Trial, Reading]]:
        """Evaluate the next trial."""
        trial = self._waiting.popleft()
        with self._interrupts.allowed():
            return [(trial, measure(self._objective, argument_of(self._objective, trial)))]

    def close(self, is_hasty: bool) -> None:
        """There are no workers to let go of."""


class PoolEvaluator(Evaluator):
    """Evaluate trials several at a time: what executors and worker processes have in common.

    Parameters
    ----------
    objective, n_slots, interrupts
        See `Evaluator`.
    on_loss : callable
        Told of evaluations that are begun again.
    """

    def __init__(
        self, objective: Objective, n_slots: int, on_loss: LossListener, interrupts: Interrupts
    ) -> None:
        super().__init__(objective, n_slots, interrupts)
        self._on_loss = on_loss
        self._n_losses: Counter[int] = Counter()
        self._finished: list[tuple[Trial, Reading]] = []

    @abstractmethod
    def _n_begun(self) -> int:
        """Return how many evaluations are under way."""

    @abstractmethod
    def _start(self) -> None:
        """Begin the evaluations of waiting trials for which there are free workers."""

    @abstractmethod
    def _ended(self) -> Iterator[tuple[Trial, Reading]]:
        """Wait for evaluations that are under way, and yield those that ended, one way or the other."""

    @property
    def n_running(self) -> int:
        """How many trials were submitted and not collected yet."""
        return self._n_begun() + len(self._waiting) + len(self._finished)

    def submit(self, trial: Trial) -> None:
        """Give a trial to a worker, now or when one is free."""
        super().submit(trial)
        self._start()

    def collect(self) -> list[tuple[Trial, Reading]]:
        """Wait for the first evaluations to end, one way or the other."""
        while not self._finished:
            for ended in self._ended():
                self._finished.append(ended)
            self._start()
        finished, self._finished = self._finished, []
        return sorted(finished, key=lambda pair: pair[0].id)

    def _begin_again(self, trial: Trial, reason: str, worker: str | None) -> None:
        """Put a trial whose evaluation was lost in front of those that wait."""
        self._waiting.appendleft(trial)
        self._on_loss(trial, reason, worker)


class ExecutorEvaluator(PoolEvaluator):
    """Evaluate trials in the workers of an executor, of which only `submit` is used.

    An evaluation that the executor lost (its worker died, nothing could be sent) is submitted once more; lost
    again, it has failed. If not one evaluation has come back until then, that is an error: the executor does
    not work, and nothing is spent. One that exceeds the time limit has failed; its worker cannot be stopped
    from here, and is not used again until it is done.

    Parameters
    ----------
    executor : concurrent.futures.Executor, or callable that returns one
        A callable is called again when the executor is broken.
    timeout : float or None
        How many seconds an evaluation may take.
    objective, n_slots, on_loss, interrupts
        As in `PoolEvaluator`.
    """

    def __init__(
        self,
        executor: Executor | Callable[[], Executor],
        objective: Objective,
        n_slots: int,
        timeout: float | None,
        on_loss: LossListener,
        interrupts: Interrupts,
    ) -> None:
        self._make = executor if callable(executor) else None
        self._executor = executor() if callable(executor) else executor
        if not callable(getattr(self._executor, "submit", None)):
            raise TypeError(
                f"executor must return an executor with a submit method, got {shown(self._executor)}"
            )
        super().__init__(objective, n_slots, on_loss, interrupts)
        self._timeout = timeout
        self._has_worked = False
        self._token = os.urandom(8).hex()
        from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

        # Others do not say when an evaluation leaves their queue, so its time counts from when it entered.
        self._says_running = isinstance(self._executor, (ThreadPoolExecutor, ProcessPoolExecutor))
        self._running: dict[Future[Reading], Trial] = {}
        self._begun: dict[Future[Reading], float] = {}
        self._hanging: list[Future[Reading]] = []

    def _n_begun(self) -> int:
        return len(self._running)

    @property
    def n_free(self) -> int:
        """How many more trials could be evaluated at the same time."""
        self._hanging = [future for future in self._hanging if not future.done()]
        return super().n_free - len(self._hanging)

    def _ended(self) -> Iterator[tuple[Trial, Reading]]:
        with self._interrupts.allowed():
            done, _ = wait(self._running, self._patience(), FIRST_COMPLETED)
        for future in sorted(done, key=lambda future: self._running[future].id):
            yield from self._receive(future)
        yield from self._give_up_late()

    def cancel(self) -> None:
        """Give up the evaluations that have not begun."""
        super().cancel()
        self._running = {future: trial for future, trial in self._running.items() if not future.cancel()}

    def close(self, is_hasty: bool) -> None:
        """End the executor if it was made here."""
        if self._make is not None:
            self._executor.shutdown(wait=not is_hasty)

    def _start(self) -> None:
        n_free = self.n_slots - len(self._running) - len(self._hanging)
        for _ in range(min(n_free, len(self._waiting))):
            trial = self._waiting[0]
            try:
                future = self._send(trial)
            except BrokenExecutor:
                if self._make is None:
                    raise
                self._executor = self._make()
                future = self._send(trial)
            self._running[future] = self._waiting.popleft()
        if self._waiting and not (self._running or self._finished):
            raise RuntimeError(ALL_HANG.format(self.n_slots))

    def _send(self, trial: Trial) -> Future[Reading]:
        argument = argument_of(self._objective, trial)
        token = f"{self._token}-{trial.id}-{self._n_losses[trial.id]}"
        return self._executor.submit(measure_remotely, self._objective, argument, token)

    def _receive(self, future: Future[Reading]) -> list[tuple[Trial, Reading]]:
        """Return what came back, or nothing if it was lost and is submitted again."""
        trial = self._running.pop(future)
        self._begun.pop(future, None)
        error = future.exception() if not future.cancelled() else RuntimeError("the executor cancelled it")
        if error is None:
            self._has_worked = True
            return [(trial, unpack(future.result()))]
        if isinstance(error, KeyboardInterrupt):
            raise error
        self._n_losses[trial.id] += 1
        is_lost_again = self._n_losses[trial.id] > N_LOSSES
        if not self._has_worked and (is_lost_again or not isinstance(error, BrokenExecutor)):
            raise RuntimeError(
                f"the executor could not carry out a single evaluation: {describe(error)}. Can the objective "
                "be sent to its workers, and can they import what it needs?"
            ) from error
        if is_lost_again:
            return [(trial, failed(f"lost by the executor, for the second time: {describe(error)}"))]
        self._begin_again(trial, describe(error), None)
        return []

    def _patience(self) -> float:
        """Return how long to wait; what has begun is only seen by looking."""
        if self._timeout is None:
            return _LONGEST_WAIT
        now = time.monotonic()
        for future in self._running:
            if future not in self._begun and (future.running() or not self._says_running):
                self._begun[future] = now
        left = min((begun + self._timeout - now for begun in self._begun.values()), default=_LOOK)
        return min(max(0.0, left), _LONGEST_WAIT if len(self._begun) == len(self._running) else _LOOK)

    def _give_up_late(self) -> list[tuple[Trial, Reading]]:
        """Give up evaluations that took too long; their workers are busy until they return."""
        if self._timeout is None:
            return []
        now = time.monotonic()
        late = [future for future, begun in self._begun.items() if begun + self._timeout <= now]
        given_up = []
        for future in late:
            trial, started_at = self._running.pop(future), time.time() - (now - self._begun.pop(future))
            future.cancel()
            self._hanging.append(future)
            reason = f"timed out: no answer after {self._timeout:g} s, and its worker cannot be stopped"
            given_up.append((trial, failed(reason, None, started_at)))
        return given_up
