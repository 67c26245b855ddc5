"""Calling the objective: here, or in the workers of an executor."""

from __future__ import annotations

import pickle
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ALL_COMPLETED, FIRST_COMPLETED, Executor, Future, wait
from typing import Any, NamedTuple, Protocol

from dcmaes.optimizer._trial import Reading, Trial, describe, read, thaw

Objective = Callable[[Any], Any]


class Measurement(NamedTuple):
    """What came of calling the objective, and how long that took in seconds."""

    reading: Reading
    seconds: float


def _argument(objective: Objective, trial: Trial) -> Any:
    """Return what the objective is called with: a point of its own, or the trial if it asks for that."""
    return trial if getattr(objective, "takes_trial", False) else thaw(trial.point)


def measure(objective: Objective, point: Any) -> Measurement:
    """Call the objective; an exception is a reading like any other, only KeyboardInterrupt passes.

    >>> measure(lambda x: 1 / x, 0).reading.reason
    'ZeroDivisionError: division by zero'
    """
    begun = time.perf_counter()
    told: Any
    try:
        told = objective(point)
    except (Exception, SystemExit) as error:  # a training script may well call sys.exit
        told = error
    seconds = time.perf_counter() - begun
    return Measurement(read(told), seconds)


def measure_remotely(objective: Objective, point: Any) -> Measurement:
    """Do the same in a worker: the reading holds nothing that cannot be sent back."""
    reading, seconds = measure(objective, point)
    if reading.error is not None:
        reading = reading._replace(error=_sendable(reading.error))
    return Measurement(reading, seconds)


def _sendable(error: BaseException) -> BaseException:
    """Return the exception, or its description where it cannot be pickled and rebuilt."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - what was pickled in this line
    except Exception:
        return RuntimeError(describe(error))
    return error


class Evaluator(Protocol):
    """Something that evaluates trials."""

    @property
    def n_running(self) -> int:
        """How many trials were submitted and not collected yet."""

    def submit(self, trial: Trial) -> None:
        """Begin the evaluation of a trial."""

    def collect(self) -> list[tuple[Trial, Measurement]]:
        """Wait for evaluations and return what came of them."""

    def cancel(self) -> None:
        """Give up the evaluations that have not begun."""


class InlineEvaluator:
    """Evaluate one trial after the other, each when it is collected."""

    def __init__(self, objective: Objective) -> None:
        self._objective = objective
        self._trials: deque[Trial] = deque()

    @property
    def n_running(self) -> int:
        """How many trials were submitted and not collected yet."""
        return len(self._trials)

    def submit(self, trial: Trial) -> None:
        """Put a trial in the queue."""
        self._trials.append(trial)

    def collect(self) -> list[tuple[Trial, Measurement]]:
        """Evaluate the next trial."""
        trial = self._trials.popleft()
        return [(trial, measure(self._objective, _argument(self._objective, trial)))]

    def cancel(self) -> None:
        """Empty the queue."""
        self._trials.clear()


class ExecutorEvaluator:
    """Evaluate trials in the workers of an executor, of which only `submit` is used.

    Parameters
    ----------
    executor : concurrent.futures.Executor
        Anything with its `submit`.
    objective : callable
        What to call with each point.
    is_synchronous : bool
        Whether to collect all evaluations together, in the order of their ids, instead of as they finish.
    """

    def __init__(self, executor: Executor, objective: Objective, is_synchronous: bool) -> None:
        self._executor = executor
        self._objective = objective
        self._is_synchronous = is_synchronous
        self._running: dict[Future[Measurement], Trial] = {}

    @property
    def n_running(self) -> int:
        """How many trials were submitted and not collected yet."""
        return len(self._running)

    def submit(self, trial: Trial) -> None:
        """Send a trial to the executor."""
        argument = _argument(self._objective, trial)
        future = self._executor.submit(measure_remotely, self._objective, argument)
        self._running[future] = trial

    def collect(self) -> list[tuple[Trial, Measurement]]:
        """Wait for the first evaluations to finish, or for all of them."""
        done, _ = wait(self._running, return_when=ALL_COMPLETED if self._is_synchronous else FIRST_COMPLETED)
        finished = sorted(
            ((self._running.pop(future), future) for future in done), key=lambda pair: pair[0].id
        )
        return [(trial, _outcome(future)) for trial, future in finished]

    def cancel(self) -> None:
        """Give up the evaluations that have not begun."""
        self._running = {future: trial for future, trial in self._running.items() if not future.cancel()}


def _outcome(future: Future[Measurement]) -> Measurement:
    error = future.exception()
    if isinstance(error, KeyboardInterrupt):
        raise error
    return future.result() if error is None else Measurement(read(error), float("nan"))
