"""One process that calls the objective: it can be killed and replaced without harm to others."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import socket
import threading
import time
import warnings
from multiprocessing.connection import Connection
from typing import Any

from dcmaes.optimizer._measurement import Objective, measure_remotely, unpack
from dcmaes.run._trial import Reading, describe

_IS_POSIX = os.name == "posix"
# How often a worker looks whether the process that started it is still there, in seconds.
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
