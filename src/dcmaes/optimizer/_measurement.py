"""Calling the objective, and what can do that."""

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
from typing import Any

from dcmaes._guards import Interrupts
from dcmaes.run._objectives import Objectives
from dcmaes.run._trial import Reading, Trial, failure, read, thaw

Objective = Callable[[Any], Any]
# Called when an evaluation came to nothing and is begun again: with the trial, why, and the worker if known.
LossListener = Callable[[Trial, str, str | None], None]
# Through no fault of its own an evaluation may be lost so often; the next time it counts as failed.
N_LOSSES = 1
ALL_HANG = "all {} workers of the executor have exceeded evaluation_timeout and still hang"


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
