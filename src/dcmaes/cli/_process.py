"""Running a program to its end, or to its time limit, together with everything that it started."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

# How long a program may take to end after it was asked to, and how long the output of its children is read.
GRACE_SECONDS = 2.0
_DRAIN_SECONDS = 0.5
_TICK_SECONDS = 0.1
_CHUNK = 65536


class InterruptedProcessError(KeyboardInterrupt):
    """The program was ended because the run is over: no failure of its own, and never recorded as one."""


class CappedOutput:
    """The beginning and the end of a stream of bytes, of any length, in bounded memory.

    >>> output = CappedOutput(8)
    >>> for _ in range(10):
    ...     output.add(b"abc")
    >>> output.text()
    'ab\\n[... 22 bytes left out ...]\\nabcabc'
    """

    def __init__(self, limit: int) -> None:
        self._n_head = limit // 4
        self._n_tail = limit - self._n_head
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self._n_lost = 0

    def add(self, chunk: bytes) -> None:
        """Take in what comes next."""
        n_free = self._n_head - len(self._head)
        self._head += chunk[:n_free]
        rest = chunk[n_free:] if n_free > 0 else chunk
        if rest:
            self._tail.append(rest)
            self._tail_size += len(rest)
        while self._tail_size > self._n_tail:
            excess = self._tail_size - self._n_tail
            first = self._tail.popleft()
            lost = min(excess, len(first))
            if lost < len(first):
                self._tail.appendleft(first[lost:])
            self._tail_size -= lost
            self._n_lost += lost

    def text(self) -> str:
        """Return what was kept, with a line that says how much was not."""
        gap = f"\n[... {self._n_lost} bytes left out ...]\n".encode() if self._n_lost else b""
        return (bytes(self._head) + gap + b"".join(self._tail)).decode("utf-8", errors="replace")


@dataclass(frozen=True)
class Finished:
    """A program that has ended: exit code (negative: the signal), output, whether it was late."""

    code: int
    stdout: str
    stderr: str
    is_late: bool


class ProcessGroups:
    """The programs that are running; each leads a process group of its own, so that none of it outlives it.

    Closing ends all of them at once, and every later start.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self.is_closed = False

    def run(
        self,
        arguments: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        timeout: float | None,
        output_limit: int,
    ) -> Finished:
        """Run a program and wait for it.

        Raises
        ------
        OSError
            If there is no such program, or it cannot be started.
        InterruptedProcessError
            If the groups were closed.
        """
        with self._lock:
            if self.is_closed:
                raise InterruptedProcessError("the run is over")
            process = subprocess.Popen(
                list(arguments),
                cwd=folder,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
            self._running.add(process)
        try:
            return self._attend(process, timeout, output_limit)
        finally:
            with self._lock:
                self._running.discard(process)

    def close(self) -> None:
        """End all programs, and let no other start."""
        with self._lock:
            self.is_closed = True
            for process in self._running:
                _signal_group(process, signal.SIGKILL)

    def _attend(self, process: subprocess.Popen[bytes], timeout: float | None, output_limit: int) -> Finished:
        stdout, stderr = CappedOutput(output_limit), CappedOutput(output_limit)
        deadline = None if timeout is None else time.monotonic() + timeout
        try:
            is_late = _read(process, {process.stdout: stdout, process.stderr: stderr}, deadline)
        finally:
            # The leader has ended, or is late, or this thread is being interrupted: what is left of it goes.
            _signal_group(process, signal.SIGKILL)
            process.wait()
            for stream in (process.stdout, process.stderr):
                if stream is not None:
                    stream.close()
        if self.is_closed:
            raise InterruptedProcessError("the run is over")
        return Finished(process.returncode, stdout.text(), stderr.text(), is_late)


def _read(
    process: subprocess.Popen[bytes],
    outputs: Mapping[IO[bytes] | None, CappedOutput],
    deadline: float | None,
) -> bool:
    """Read until the program has ended; return whether it was ended for being late."""
    is_late = False
    ended_at = None
    with selectors.DefaultSelector() as selector:
        for stream, output in outputs.items():
            if stream is not None:
                selector.register(stream, selectors.EVENT_READ, output)
        while True:
            has_ended = _wait_or_read(process, selector)
            now = time.monotonic()
            if has_ended:
                ended_at = now if ended_at is None else ended_at
                # A background process may hold the output open for ever.
                if not selector.get_map() or now - ended_at > _DRAIN_SECONDS:
                    return is_late
            elif deadline is not None and now >= deadline:
                if is_late:
                    return True
                is_late, deadline = True, now + GRACE_SECONDS
                _signal_group(process, signal.SIGTERM)


def _wait_or_read(process: subprocess.Popen[bytes], selector: selectors.DefaultSelector) -> bool:
    """Wait for a moment for output or for the end; return whether the program has ended."""
    if selector.get_map():
        for key, _ in selector.select(_TICK_SECONDS):
            chunk = os.read(key.fd, _CHUNK)
            if chunk:
                key.data.add(chunk)
            else:
                selector.unregister(key.fileobj)
    else:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_TICK_SECONDS)
    return process.poll() is not None


def _signal_group(process: subprocess.Popen[bytes], number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
