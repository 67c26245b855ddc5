"""Ctrl-C between events, never in the middle of one."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Interrupts:
    """Hold back KeyboardInterrupt except where it is allowed; a second one is never held back.

    Used as a context manager around a run. Only the main thread is ever interrupted; a handler of SIGINT that
    is not Python's own is left alone.

    >>> with Interrupts() as interrupts:
    ...     try:
    ...         signal.raise_signal(signal.SIGINT)
    ...         with interrupts.allowed():
    ...             print("not reached")
    ...     except KeyboardInterrupt:
    ...         print("interrupted")
    interrupted
    """

    def __init__(self) -> None:
        self._n_waiting = 0
        self._is_allowed = False
        self._previous: Any = None

    def __enter__(self) -> Interrupts:
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._previous = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)
            self._previous = None

    @contextmanager
    def allowed(self) -> Iterator[None]:
        """Let interrupts through while the body waits or runs user code, one that came before at once."""
        self._is_allowed = True
        try:
            if self._n_waiting:
                self._n_waiting = 0
                raise KeyboardInterrupt
            yield
        finally:
            self._is_allowed = False

    def _handle(self, signum: int, frame: object) -> None:
        if self._is_allowed or self._n_waiting:
            self._n_waiting = 0
            raise KeyboardInterrupt
        self._n_waiting += 1
