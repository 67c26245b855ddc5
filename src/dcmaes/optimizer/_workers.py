"""Evaluations in worker processes of our own, each of which can die, hang or be killed alone."""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import os
import pickle
import signal
import socket
import threading
import time
import warnings
from collections.abc import Iterator
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

from dcmaes._guards import Interrupts
from dcmaes.optimizer._evaluators import (
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

_IS_POSIX = os.name == "posix"
# How often workers and the process that started them look whether the other is there, in seconds: the end of
# a process is not always heard of.
_LOOK = 1.0
# How long a worker that is told to end may take, in seconds.
_PATIENCE = 5.0


class WorkerDied(Exception):
    """A worker process ended without an answer."""


class WorkerProcess:
    """A process of its own, in a process group of its own, that evaluates one trial at a time.

    The objective is sent once, when the process starts. The group lets Ctrl-C reach the main process alone,
    and lets programs that the objective started be killed together with it.

    Parameters
    ----------
    objective : bytes
        The pickled objective.
    """

    def __init__(self, objective: bytes) -> None:
        ours, theirs = multiprocessing.Pipe()
        self.connection: Connection[Any, Any] = ours
        self._process = multiprocessing.Process(target=_work, args=(theirs, ours, objective, os.getpid()))
        with warnings.catch_warnings():
            # Python 3.12 and later warn of forking beside threads; the child touches none of their locks.
            warnings.simplefilter("ignore", DeprecationWarning)
            self._process.start()
        theirs.close()
        self.name = f"{socket.gethostname()}:{self._process.pid}"

    def wait_until_ready(self) -> None:
        """Wait for the objective to arrive, or raise TypeError if it cannot be rebuilt there."""
        try:
            problem = self.connection.recv()
        except (EOFError, OSError):
            problem = f"the process ended at once ({self._end()})"
        if problem is not None:
            self.kill()
            raise TypeError(
                f"the objective cannot be used in a worker process: {problem}. Define it at the top level of "
                'a module (and start the program under if __name__ == "__main__"), or pass '
                "executor=loky.get_reusable_executor(n), which can send lambdas and notebook functions"
            )

    @property
    def has_ended(self) -> bool:
        """Whether the process is gone."""
        return self._process.exitcode is not None

    def send(self, argument: Any) -> None:
        """Begin an evaluation."""
        with contextlib.suppress(OSError):  # a process that is gone says so when it is asked for the answer
            self.connection.send(argument)

    def receive(self) -> Reading:
        """Return the answer; raise WorkerDied if there is none, KeyboardInterrupt if that is the answer."""
        try:
            if self.has_ended and not self.connection.poll():
                raise EOFError  # what it has forked off holds its end of the connection open
            answer = self.connection.recv()
        except (EOFError, OSError) as error:
            raise WorkerDied(f"the worker process died ({self._end()})") from error
        if isinstance(answer, KeyboardInterrupt):
            raise answer
        return unpack(answer)

    def kill(self) -> None:
        """End the process and what it started, at once, also when it has died by itself."""
        pid = self._process.pid
        if _IS_POSIX and pid is not None:
            # Its number is given to no other process as long as anything of its group is left. It may not
            # have got as far as making the group, or nothing is left.
            with contextlib.suppress(OSError):
                os.killpg(pid, signal.SIGKILL)
        self._process.kill()
        self._process.join()
        self.connection.close()

    def end(self) -> None:
        """Let the process end."""
        self.send(None)
        self._process.join(_PATIENCE)
        if self._process.exitcode is None:
            self.kill()
        self.connection.close()

    def _end(self) -> str:
        self._process.join(_PATIENCE)
        code = self._process.exitcode
        if code is not None and code < 0:
            with contextlib.suppress(ValueError):
                return f"killed by {signal.Signals(-code).name}"
        return f"exit code {code}"


def _work(
    connection: Connection[Any, Any], other: Connection[Any, Any], objective: bytes, parent: int
) -> None:
    """Evaluate what comes until that is None."""
    other.close()
    if _IS_POSIX:
        os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    try:
        function: Objective = pickle.loads(objective)  # noqa: S301 - pickled by the process that started this one
    except Exception as error:
        connection.send(describe(error))
        return
    with contextlib.suppress(EOFError, OSError):  # the main process is gone
        connection.send(None)
        while (argument := connection.recv()) is not None:
            try:
                connection.send(measure_remotely(function, argument))
            except KeyboardInterrupt:
                connection.send(KeyboardInterrupt())


def _end_with(parent: int) -> None:
    """End this process, and what the objective started, when the process that started it is gone."""
    # What forks on behalf of that process, if anything, ends with it.
    ancestor = os.getppid() if multiprocessing.get_start_method() == "forkserver" else parent
    while os.getppid() == ancestor:
        time.sleep(_LOOK)
    if _IS_POSIX:
        os.killpg(0, signal.SIGKILL)


class _Job(NamedTuple):
    """What a worker does, since when (seconds since 1970), and until when it may (on the monotonic clock)."""

    trial: Trial
    started_at: float
    deadline: float


class WorkersEvaluator(PoolEvaluator):
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
    on_loss, interrupts
        As in `PoolEvaluator`.
    """

    def __init__(
        self,
        objective: Objective,
        n_workers: int,
        timeout: float | None,
        on_loss: LossListener,
        interrupts: Interrupts,
    ) -> None:
        super().__init__(objective, n_workers, on_loss, interrupts)
        self._pickled = _pickle(objective)
        self._timeout = math.inf if timeout is None else timeout
        self._busy: dict[WorkerProcess, _Job] = {}
        self._idle = [WorkerProcess(self._pickled) for _ in range(n_workers)]
        try:
            with interrupts.allowed():
                for worker in self._idle:
                    worker.wait_until_ready()
        except BaseException:
            self.close(is_hasty=True)
            raise

    def _n_begun(self) -> int:
        return len(self._busy)

    def _ended(self) -> Iterator[tuple[Trial, Reading]]:
        first = min(job.deadline for job in self._busy.values())
        patience = min(_LOOK, max(0.0, first - time.monotonic()))
        with self._interrupts.allowed():
            ready = wait([worker.connection for worker in self._busy], patience)
        for worker in list(self._busy):
            if worker.connection in ready or worker.has_ended:
                yield from self._receive(worker)
        yield from self._stop_late()

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
            self._n_losses[trial.id] += 1
            if self._n_losses[trial.id] > N_LOSSES:
                return [(trial, failed(f"{death}, for the second time", worker.name, started_at))]
            self._begin_again(trial, str(death), worker.name)
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
