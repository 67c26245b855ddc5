"""Evaluations in worker processes of our own, each of which can die, hang or be killed alone."""

from __future__ import annotations

import math
import pickle
import time
from collections import Counter, deque
from multiprocessing.connection import wait
from typing import NamedTuple

from dcmaes.optimizer._interrupts import Interrupts
from dcmaes.optimizer._measurement import (
    N_LOSSES,
    LossListener,
    Objective,
    argument_of,
    failed,
)
from dcmaes.optimizer._worker_process import WorkerDied, WorkerProcess
from dcmaes.run._trial import Reading, Trial, describe

# How often to look whether workers are there, in seconds: the end of one is not always heard of.
_LOOK = 1.0


class _Job(NamedTuple):
    """What a worker does, since when (seconds since 1970), and until when it may (on the monotonic clock)."""

    trial: Trial
    started_at: float
    deadline: float


class WorkersEvaluator:
    """Evaluate trials in worker processes.

    A worker that dies is replaced, and its trial is evaluated once more; if that worker dies too, the trial
    has failed. One that exceeds the time limit is killed and replaced, and its trial has failed.

    Parameters
    ----------
    objective : callable
        What to call with each point; must be picklable.
    n_workers : int
        How many processes.
    timeout : float or None
        How many seconds an evaluation may take.
    on_loss : callable
        Told of evaluations that are begun again.
    interrupts : Interrupts
        What holds back Ctrl-C except while waiting.
    """

    def __init__(
        self,
        objective: Objective,
        n_workers: int,
        timeout: float | None,
        on_loss: LossListener,
        interrupts: Interrupts,
    ) -> None:
        self._objective = objective
        self._pickled = _pickle(objective)
        self.n_slots = n_workers
        self._timeout = math.inf if timeout is None else timeout
        self._on_loss = on_loss
        self._interrupts = interrupts
        self._losses: Counter[int] = Counter()
        self._waiting: deque[Trial] = deque()
        self._busy: dict[WorkerProcess, _Job] = {}
        self._finished: list[tuple[Trial, Reading]] = []
        self._idle = [WorkerProcess(self._pickled) for _ in range(n_workers)]
        try:
            with interrupts.allowed():
                for worker in self._idle:
                    worker.wait_until_ready()
        except BaseException:
            self.close(is_hasty=True)
            raise

    @property
    def n_running(self) -> int:
        """How many trials were submitted and not collected yet."""
        return len(self._busy) + len(self._waiting) + len(self._finished)

    @property
    def n_free(self) -> int:
        """How many more trials could be evaluated at the same time."""
        return self.n_slots - self.n_running

    def submit(self, trial: Trial) -> None:
        """Give a trial to a worker, now or when one is free."""
        self._waiting.append(trial)
        self._start()

    def collect(self) -> list[tuple[Trial, Reading]]:
        """Wait for the first evaluations to end, one way or the other."""
        while not self._finished:
            first = min(job.deadline for job in self._busy.values())
            patience = min(_LOOK, max(0.0, first - time.monotonic()))
            with self._interrupts.allowed():
                ready = wait([worker.connection for worker in self._busy], patience)
            for worker in list(self._busy):
                if worker.connection in ready or worker.has_ended:
                    self._finished += self._receive(worker)
            self._finished += self._stop_late()
            self._start()
        finished, self._finished = self._finished, []
        return sorted(finished, key=lambda pair: pair[0].id)

    def cancel(self) -> None:
        """Give up the evaluations that have not begun."""
        self._waiting.clear()

    def close(self, is_hasty: bool) -> None:
        """End all workers; in haste, kill them."""
        for worker in [*self._idle, *self._busy]:
            if is_hasty:
                worker.kill()
            else:
                worker.end()
        self._idle, self._busy = [], {}

    def _start(self) -> None:
        while self._waiting and self._idle:
            worker, trial = self._idle.pop(0), self._waiting.popleft()
            worker.send(argument_of(self._objective, trial))
            self._busy[worker] = _Job(trial, time.time(), time.monotonic() + self._timeout)

    def _receive(self, worker: WorkerProcess) -> list[tuple[Trial, Reading]]:
        """Return what a worker answered, or nothing if it died and the trial is begun again."""
        trial, started_at, _ = self._busy.pop(worker)
        try:
            reading = worker.receive()
        except WorkerDied as death:
            self._replace(worker)
            self._losses[trial.id] += 1
            if self._losses[trial.id] > N_LOSSES:
                return [(trial, failed(f"{death}, for the second time", worker.name, started_at))]
            self._waiting.appendleft(trial)
            self._on_loss(trial, str(death), worker.name)
            return []
        except KeyboardInterrupt:
            self._idle.append(worker)
            raise
        self._idle.append(worker)
        return [(trial, reading)]

    def _stop_late(self) -> list[tuple[Trial, Reading]]:
        """Kill and replace the workers that took too long."""
        now = time.monotonic()
        stopped = []
        for worker, (trial, started_at, deadline) in list(self._busy.items()):
            if deadline <= now:
                self._busy.pop(worker)
                self._replace(worker)
                reason = f"timed out: stopped after {self._timeout:g} s"
                stopped.append((trial, failed(reason, worker.name, started_at)))
        return stopped

    def _replace(self, worker: WorkerProcess) -> None:
        worker.kill()
        fresh = WorkerProcess(self._pickled)
        fresh.wait_until_ready()
        self._idle.append(fresh)


def _pickle(objective: Objective) -> bytes:
    try:
        return pickle.dumps(objective)
    except Exception as error:
        raise TypeError(
            f"the objective cannot be sent to worker processes ({describe(error)}). Define it at the top "
            "level of a module, or pass executor=loky.get_reusable_executor(n), which can send lambdas and "
            "functions of a notebook, or a ThreadPoolExecutor, which sends nothing"
        ) from error
