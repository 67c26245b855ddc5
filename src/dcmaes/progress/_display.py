"""A display of the progress of a run: lines, or live in a terminal or a notebook."""

from __future__ import annotations

import contextlib
import math
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from html import escape
from importlib import import_module
from typing import Any, Protocol, TextIO

from dcmaes._validation import shown
from dcmaes.progress._standing import Standing, describe, describe_point, describe_time, printable

Observe = Callable[[], Standing]

_N_LINES = 10
_LINE_SECONDS = 10.0
_REFRESH_SECONDS = 0.25
# The part of the time that looking may take: it holds the run up.
_SHARE = 0.05
# What is over sooner is not worth a display that nobody asked for.
_PATIENCE_SECONDS = 1.0

_BAR = (
    '<div style="width:20em;height:.5em;background:#8884;border-radius:.25em">'
    '<div style="width:{percent:.1f}%;height:100%;background:#0072b2;border-radius:.25em"></div></div>'
)
_PAGE = '<div style="font-family:monospace;white-space:pre-wrap">{bar}{text}</div>'


class Display(Protocol):
    """Something that shows how far a run is."""

    def update(self, n_told: int) -> None:
        """Take note that an evaluation was told."""

    def close(self, message: str) -> None:
        """Show how it ended; nothing is shown any more afterwards."""


class Surface(Protocol):
    """A place that can be drawn over and over again."""

    def draw(self, standing: Standing) -> None:
        """Show a standing in place of the one before."""

    def close(self, message: str) -> None:
        """Leave the last one standing, with a message below it."""


def open_display(
    observe: Observe, budget: int, progress: bool | None, stream: TextIO | None = None
) -> Display | None:
    """Return what shows a run, or None where nothing should.

    Parameters
    ----------
    observe : callable
        Returns the present `Standing`; may be called from another thread.
    budget : int
        How many evaluations may be made.
    progress : bool or None
        True: a live display in a terminal or notebook, plain lines elsewhere. None: the live display after a
        second, nothing elsewhere. False: nothing.
    stream : text stream or None
        Where to write; None is standard error.

    Examples
    --------
    >>> lines = open_display(lambda: Standing(5, 10), 10, True, sys.stdout)
    >>> lines.update(5)
      5/10  nothing found yet  (0.0 s)
    >>> lines.close("done")
    done
    """
    if progress is not None and not isinstance(progress, bool):
        raise TypeError(f"progress must be True, False or None, got {shown(progress)}")
    if progress is False:
        return None
    make = _surface_factory(stream or sys.stderr)
    if make is not None:
        return LiveDisplay(observe, make, 0.0 if progress else _PATIENCE_SECONDS)
    return LineDisplay(observe, budget, stream) if progress else None


class LineDisplay:
    """A line at every tenth of the budget, and after 10 seconds without one."""

    def __init__(self, observe: Observe, budget: int, stream: TextIO | None) -> None:
        self._observe = observe
        self._budget = budget
        self._stream = stream
        self._last = time.monotonic()
        self._n_tenths = 0

    def update(self, n_told: int) -> None:
        """Write a line if it is time for one."""
        n_tenths = n_told * _N_LINES // self._budget
        now = time.monotonic()
        if n_tenths > self._n_tenths or now - self._last >= _LINE_SECONDS:
            self._n_tenths, self._last = n_tenths, now
            self._write(describe(self._observe()))

    def close(self, message: str) -> None:
        """Write the message."""
        self._write(message)

    def _write(self, line: str) -> None:
        # A reader that has gone (`dcmaes ... 2>&1 | head`) must not take the run with it.
        with contextlib.suppress(BrokenPipeError):
            print(printable(line), file=self._stream or sys.stderr, flush=True)


class LiveDisplay:
    """A thread that draws several times a second, also while evaluations take hours."""

    def __init__(self, observe: Observe, make: Callable[[], Surface], patience: float) -> None:
        self._observe = observe
        self._make = make
        self._surface: Surface | None = None
        self._is_over = threading.Event()
        self._patience = patience
        self._thread = threading.Thread(target=self._run, name="dcmaes-progress", daemon=True)
        self._thread.start()

    def update(self, n_told: int) -> None:
        """Do nothing: the thread looks for itself."""

    def close(self, message: str) -> None:
        """Draw a last time, and write the message."""
        self._is_over.set()
        self._thread.join()
        if self._surface is not None:
            with contextlib.suppress(Exception):
                self._surface.draw(replace(self._observe(), seconds_left=math.nan))
            with contextlib.suppress(Exception):
                self._surface.close(message)

    def _run(self) -> None:
        if self._is_over.wait(self._patience):
            return
        # Whatever goes wrong in drawing, the run is worth more than its picture.
        with contextlib.suppress(Exception):
            self._surface = self._make()
            while True:
                begun = time.monotonic()
                self._surface.draw(self._observe())
                cost = time.monotonic() - begun
                if self._is_over.wait(max(_REFRESH_SECONDS, cost / _SHARE)):
                    return


class NotebookSurface:
    """One output of a cell that is replaced again and again; needs nothing but IPython."""

    def __init__(self) -> None:
        display: Any = import_module("IPython.display")
        self._last = Standing(0, 1)
        self._handle = display.display(self._bundle(""), raw=True, display_id=True)

    def draw(self, standing: Standing) -> None:
        """Show a standing in place of the one before."""
        self._last = standing
        self._handle.update(self._bundle(""), raw=True)

    def close(self, message: str) -> None:
        """Leave the last one standing, with a message below it."""
        self._handle.update(self._bundle(message), raw=True)

    def _bundle(self, message: str) -> dict[str, str]:
        standing = self._last
        lines = [describe(standing).strip(), describe_time(standing)]
        if standing.best_point is not None:
            lines.append(describe_point(standing.best_point))
        if standing.last_failure:
            lines.append(f"last failure: {standing.last_failure.splitlines()[0][:200]}")
        text = "\n".join(line for line in (*lines, message) if line)
        bar = _BAR.format(percent=100 * standing.fraction)
        return {"text/plain": text, "text/html": _PAGE.format(bar=bar, text=escape(text))}


def _surface_factory(stream: TextIO) -> Callable[[], Surface] | None:
    """Return what makes a surface to draw on, or None where there is none."""
    find_shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)
    shell = find_shell()
    if shell is not None and hasattr(shell, "kernel"):
        return NotebookSurface
    try:
        is_terminal = stream.isatty()
    except (AttributeError, ValueError):
        is_terminal = False
    if not is_terminal:
        return None
    try:
        from dcmaes.progress._terminal import TerminalSurface, is_capable
    except ImportError:
        return None
    return (lambda: TerminalSurface(stream)) if is_capable(stream) else None
