"""Evaluations in the workers of an executor that the user brings."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)

from dcmaes._guards import Interrupts
from dcmaes._validation import shown
from dcmaes.optimizer._measurement import (
    ALL_HANG,
    N_LOSSES,
    LossListener,
    Objective,
    PoolEvaluator,
    argument_of,
    failed,
    measure_remotely,
    unpack,
)
from dcmaes.run._trial import Reading, Trial, describe

# How often to look which evaluations have begun, if they have a time limit, in seconds.
_LOOK = 0.1
# The longest wait in seconds: an interrupt that comes just before a wait begins is only seen after it.
_LONGEST_WAIT = 1.0


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
