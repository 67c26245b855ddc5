"""What holds for the whole process while own code runs: one thread of linear algebra, Ctrl-C afterwards."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import FrameType
from typing import Any


@cache
def _controller() -> Any:
    """Return threadpoolctl's handle on the linear algebra that numpy and scipy use."""
    # Each of the two brings its own library, and one that is not loaded yet would not be found.
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


@contextmanager
def single_thread() -> Iterator[None]:
    """Run a block, or a decorated function, with one BLAS thread, then restore the number there was before.

    More threads only get in each other's way on matrices as small as those of this library
    (`benchmarks/threads.py`). User code never runs inside.

    >>> from threadpoolctl import threadpool_info
    >>> with single_thread():
    ...     {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}
    {1}
    """
    with _controller().limit(limits=1):
        yield


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
    """Hold back Ctrl-C until the body is done, then hand it to whoever handles it; a second one at once.

    >>> try:
    ...     with interrupted_afterwards():
    ...         signal.raise_signal(signal.SIGINT)
    ...         print("done")
    ... except KeyboardInterrupt:
    ...     print("interrupted")
    done
    interrupted
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    held: list[tuple[int, FrameType | None]] = []

    def hold(signum: int, frame: FrameType | None) -> None:
        held.append((signum, frame))
        if len(held) > 1:
            handler(signum, frame)

    signal.signal(signal.SIGINT, hold)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if len(held) == 1:
            handler(*held[0])
