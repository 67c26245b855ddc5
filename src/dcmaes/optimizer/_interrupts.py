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

    Attributes
    ----------
    is_waiting : bool
        Whether an interrupt came and is held back.
    is_urgent : bool
        Whether it was not the only one.

    Examples
    --------
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
        self.is_waiting = False
        self._n = 0
        self._is_allowed = False
        self._previous: Any = None

    @property
    def is_urgent(self) -> bool:
        return self._n > 1

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
            if self.is_waiting:
                self.is_waiting = False
                raise KeyboardInterrupt
            yield
        finally:
            self._is_allowed = False

    def _handle(self, signum: int, frame: object) -> None:
        self._n += 1
        self.is_waiting = not (self._is_allowed or self.is_urgent)
        if not self.is_waiting:
            raise KeyboardInterrupt


@contextmanager
def interrupted_afterwards() -> Iterator[None]:
    """Hold back Ctrl-C until the body is done; a second one is not held back."""
    with Interrupts() as interrupts:
        try:
            yield
        finally:
            interrupts.__exit__()
            if interrupts.is_waiting:
                raise KeyboardInterrupt
