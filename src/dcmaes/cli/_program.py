"""Running a program to its end, with everything that it started, and reading the value it left behind."""

from __future__ import annotations

import contextlib
import json
import os
import re
import selectors
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

from dcmaes._guards import interrupted_afterwards
from dcmaes.cli._template import Template

# How long a program may take to end after it was asked to, and how long the output of its children is read.
GRACE_SECONDS = 2.0
_DRAIN_SECONDS = 0.5
_TICK_SECONDS = 0.1
_CHUNK = 65536
# Not part of a word ("v2", "12ms"); NaN and infinity count, or a number printed before them would be taken.
# Digits are never given back ("++"): matching takes time proportional to the length of the text.
_NUMBER = re.compile(
    r"(?<![\w.])[-+]?(?:(?:\d++(?:\.\d*+)?|\.\d++)(?:e[-+]?\d++)?+|nan|inf(?:inity)?+)(?!\w|\.\d)",
    re.IGNORECASE,
)
# Separators inside a number: thousands, a decimal comma or a list, which cannot be told apart.
_SEPARATORS = ",'\u2019"
_N_SHOWN = 200
_N_AROUND = 20


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
        self._tail = bytearray()
        self._n_lost = 0

    def add(self, chunk: bytes) -> None:
        """Take in what comes next."""
        n_free = self._n_head - len(self._head)
        self._head += chunk[:n_free]
        self._tail += chunk[n_free:]
        n_excess = max(len(self._tail) - self._n_tail, 0)
        del self._tail[:n_excess]
        self._n_lost += n_excess

    def text(self) -> str:
        """Return what was kept, with a line that says how much was not."""
        gap = f"\n[... {self._n_lost} bytes left out ...]\n".encode() if self._n_lost else b""
        return (self._head + gap + self._tail).decode("utf-8", errors="replace")


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
        stdout, stderr = CappedOutput(output_limit), CappedOutput(output_limit)
        process = None
        try:
            # An interrupt in the middle of a start would leave a program that nobody knows of.
            with interrupted_afterwards():
                process = self._started(arguments, folder, environment)
            deadline = None if timeout is None else time.monotonic() + timeout
            is_late = _read(process, {process.stdout: stdout, process.stderr: stderr}, deadline)
        finally:
            # The leader has ended, or is late, or this thread is being interrupted: what is left of it goes.
            if process is not None:
                self._end(process)
        if self.is_closed:
            raise InterruptedProcessError("the run is over")
        return Finished(process.returncode, stdout.text(), stderr.text(), is_late)

    def close(self) -> None:
        """End all programs, and let no other start."""
        with self._lock:
            self.is_closed = True
            for process in self._running:
                _signal_group(process, signal.SIGKILL)

    def _started(
        self, arguments: Sequence[str], folder: Path, environment: Mapping[str, str]
    ) -> subprocess.Popen[bytes]:
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
        return process

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        _signal_group(process, signal.SIGKILL)
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()
        with self._lock:
            self._running.discard(process)


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


class NoValueError(ValueError):
    """A program that ended well, but whose value cannot be found."""


@dataclass(frozen=True)
class Printed:
    """What a program left behind: its output, where it ran, and how files looked before."""

    stdout: str
    stderr: str
    folder: Path
    before: tuple[int, int, int] | None = None

    def stream(self, name: str) -> str:
        """Return what was written to "stdout" or "stderr"."""
        return self.stdout if name == "stdout" else self.stderr


class ValueReader(Protocol):
    """A way to read a value."""

    def read(self, printed: Printed, values: Mapping[str, Any]) -> float:
        """Return the value, or raise `NoValueError`."""


@dataclass(frozen=True)
class LastNumber:
    """The last number that was printed.

    >>> LastNumber().read(Printed("epoch 3 loss=1.5e-3 (12ms)", "", Path()), {})
    0.0015
    """

    stream: str = "stdout"

    def read(self, printed: Printed, values: Mapping[str, Any]) -> float:
        """Return the value, or raise `NoValueError`."""
        text = printed.stream(self.stream)
        matches = deque(_NUMBER.finditer(text), maxlen=1)
        if not matches:
            raise NoValueError(f"no number on {self.stream}{_tail(text)}")
        found = matches[0]
        if _is_separator(text, found.start() - 1) or _is_separator(text, found.end()):
            around = text[max(found.start() - _N_AROUND, 0) : found.end() + _N_AROUND].strip()
            raise NoValueError(
                f"the last number on {self.stream} is part of {around!r}: one number, or several? "
                'Print it without separators, or say what to read with value = { regex = "..." }'
            )
        return float(found.group())


@dataclass(frozen=True)
class LastMatch:
    """The last match of a regular expression: its group ``value``, its first group, or all of it.

    >>> LastMatch(re.compile("loss=(.*)")).read(Printed("loss=2\\nloss=1\\n", "", Path()), {})
    1.0
    """

    pattern: re.Pattern[str]
    stream: str = "stdout"

    def read(self, printed: Printed, values: Mapping[str, Any]) -> float:
        """Return the value, or raise `NoValueError`."""
        text = printed.stream(self.stream)
        matches = deque(self.pattern.finditer(text), maxlen=1)
        if not matches:
            raise NoValueError(f"{self.pattern.pattern!r} does not match on {self.stream}{_tail(text)}")
        group: str | int = "value" if "value" in self.pattern.groupindex else min(self.pattern.groups, 1)
        return _number(matches[0][group], f"the match of {self.pattern.pattern!r}")


@dataclass(frozen=True)
class JsonKey:
    """A key of a JSON file that the program writes, or of the last line it prints (file ``-``).

    >>> reader = JsonKey(Template.parse("-"), ("test", "loss"))
    >>> reader.read(Printed('training...\\n{"test": {"loss": 0.5}}\\n', "", Path()), {})
    0.5
    """

    file: Template
    key: tuple[str, ...]

    def read(self, printed: Printed, values: Mapping[str, Any]) -> float:
        """Return the value, or raise `NoValueError`."""
        name = self.file.fill(values)
        text = _last_line(printed.stdout) if name == "-" else self._text(name, printed)
        where = "the last line on stdout" if name == "-" else name
        try:
            data = json.loads(text)
        except ValueError as error:
            raise NoValueError(f"{where} is no JSON: {error}") from None
        for i, part in enumerate(self.key):
            data = _enter(data, part, f"{where} has no key {'.'.join(self.key[: i + 1])!r}")
        return _number(data, f"{'.'.join(self.key) or 'the content'!r} of {where}")

    @property
    def is_apart(self) -> bool:
        """Whether evaluations that run at the same time read from different places."""
        names = {placeholder.name for placeholder in self.file.placeholders}
        return bool(names & {"trial", "folder"}) or self.file.parts == ("-",)

    def state(self, folder: Path, values: Mapping[str, Any]) -> tuple[int, int, int] | None:
        """Return what tells a file written now from one that was there before; None if there is none."""
        try:
            found = (folder / self.file.fill(values)).stat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size

    def _text(self, name: str, printed: Printed) -> str:
        try:
            path = printed.folder / name
            found = path.stat()
            if (found.st_ino, found.st_mtime_ns, found.st_size) == printed.before:
                raise NoValueError(f"{name} was there before and has not been written")
            return path.read_text(encoding="utf-8")
        except OSError as error:
            raise NoValueError(f"{name} cannot be read: {error.strerror}") from None
        except UnicodeDecodeError as error:
            raise NoValueError(f"{name} is no UTF-8 text: {error}") from None


def _is_separator(text: str, at: int) -> bool:
    """Tell whether a character stands between two digits and separates them."""
    return 0 < at < len(text) - 1 and text[at] in _SEPARATORS and (text[at - 1] + text[at + 1]).isdecimal()


def _enter(data: Any, part: str, message: str) -> Any:
    if isinstance(data, dict) and part in data:
        return data[part]
    if isinstance(data, list) and re.fullmatch(r"-?\d+", part) and -len(data) <= int(part) < len(data):
        return data[int(part)]
    raise NoValueError(message)


def _number(found: Any, what: str) -> float:
    if isinstance(found, bool) or not isinstance(found, (str, int, float)):
        raise NoValueError(f"{what} is no number: {found!r}")
    try:
        return float(found)
    except (ValueError, OverflowError):
        raise NoValueError(f"{what} is no number: {found!r}") from None


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else ""


def _tail(text: str) -> str:
    text = text.strip()
    if not text:
        return ", which is empty"
    return f", which ends with {text[-_N_SHOWN:]!r}"
