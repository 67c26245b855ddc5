"""How far a run is: as numbers, in words, and displayed in lines or live in a terminal or a notebook."""

from __future__ import annotations

import contextlib
import math
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from html import escape
from importlib import import_module
from typing import Any, Protocol, TextIO

from dcmaes._html import points_text
from dcmaes._validation import shown

_N_POINT = 300

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


@dataclass(frozen=True)
class Standing:
    """How far a run is.

    Attributes
    ----------
    n_told, budget, n_running, n_pending, n_failures, n_restarts : int
        Evaluations finished, allowed, running, pending where it is not known which of them are running, and
        failed; restarts of the strategy.
    best_value, best_violation : float
        The best value, NaN if there is none, and its constraint violation.
    best_point : dict, array or None
        Where it was found.
    best_number : int
        The number of the evaluation that gave it; 0 for a value that came with a starting point.
    best_at : float
        Seconds from the start of the run to when it was told.
    step_size : float
        How far the search is looking, as a fraction of the range; NaN if not known.
    elapsed, seconds_left : float
        Seconds since the start of the run, and until its end as far as can be told; NaN if not known.
    objective_time, own_time : float
        Seconds spent in the objective over all workers, and by the optimizer; NaN if not known.
    strategy : str
        Name of the strategy.
    last_failure : str
        Why the last evaluation that failed did so; empty if none did.
    n_front : int
        With several objectives, how many points are on the front; 0 if there is one objective.

    Examples
    --------
    >>> Standing(n_told=3, budget=10).fraction
    0.3
    """

    n_told: int
    budget: int
    n_running: int = 0
    n_failures: int = 0
    n_restarts: int = 0
    best_value: float = math.nan
    best_violation: float = 0.0
    best_point: Any = None
    best_number: int = 0
    best_at: float = math.nan
    step_size: float = math.nan
    elapsed: float = 0.0
    seconds_left: float = math.nan
    objective_time: float = math.nan
    own_time: float = math.nan
    strategy: str = ""
    last_failure: str = ""
    n_pending: int = 0
    n_front: int = 0

    @property
    def fraction(self) -> float:
        """The part of the budget that is used."""
        return self.n_told / self.budget


Observe = Callable[[], Standing]


def describe(standing: Standing) -> str:
    """Return how far a run is, in one line.

    >>> describe(Standing(n_told=0, budget=300))
    '    0/300  nothing found yet  (0.0 s)'
    >>> describe(Standing(20, 300, 4, 1, best_value=0.5, best_number=7, step_size=0.1, seconds_left=90.0))
    '   20/300  best 0.5 at 7, step size 0.1, 4 running, 1 failed  (0.0 s, 1:30 left)'
    """
    parts = [describe_best(standing)]
    if not math.isnan(standing.step_size):
        parts.append(f"step size {standing.step_size:.3g}")
    if standing.n_restarts:
        parts.append(f"{standing.n_restarts} restart{'s' if standing.n_restarts > 1 else ''}")
    parts += describe_counts(standing)
    time = describe_duration(standing.elapsed)
    if not math.isnan(standing.seconds_left):
        time += f", {describe_duration(standing.seconds_left)} left"
    width = len(str(standing.budget)) + 2
    return f"{standing.n_told:>{width}}/{standing.budget}  {', '.join(parts)}  ({time})"


def describe_counts(standing: Standing) -> list[str]:
    """Return how many evaluations are running, pending and failed, leaving out what is zero.

    >>> describe_counts(Standing(n_told=3, budget=10, n_running=2, n_failures=1))
    ['2 running', '1 failed']
    """
    counts = {"running": standing.n_running, "pending": standing.n_pending, "failed": standing.n_failures}
    return [f"{n} {what}" for what, n in counts.items() if n]


def describe_best(standing: Standing) -> str:
    """Return what was found and when, in a few words.

    >>> describe_best(Standing(20, 300, best_value=0.5, best_number=7))
    'best 0.5 at 7'
    >>> describe_best(Standing(20, 300, best_point={"a": 1}, n_front=5))
    '5 points on the front'
    """
    if standing.best_point is None and math.isnan(standing.best_value):
        return "nothing found yet"
    if standing.n_front:
        return f"{points_text(standing.n_front)} on the front"
    where = f" at {standing.best_number}" if standing.best_number else ""
    found = f"best {standing.best_value:.6g}{where}"
    if standing.best_violation > 0.0:
        found += f", infeasible by {standing.best_violation:.3g}"
    return found


def describe_duration(seconds: float) -> str:
    """Return a length of time in as few characters as make sense.

    >>> describe_duration(0.25), describe_duration(75), describe_duration(7384)
    ('0.2 s', '1:15', '2:03:04')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def describe_time(standing: Standing) -> str:
    """Return the time that has passed and is left, and who used it.

    >>> describe_time(Standing(1, 2, elapsed=4.0, seconds_left=4.0, objective_time=3.0, own_time=1.0))
    '4.0 s, about 4.0 s left; objective 3.0 s, optimizer 1.0 s (25.0%)'
    """
    text = describe_duration(standing.elapsed)
    if not math.isnan(standing.seconds_left) and standing.n_told < standing.budget:
        text += f", about {describe_duration(standing.seconds_left)} left"
    if not math.isnan(standing.objective_time):
        text += f"; objective {describe_duration(standing.objective_time)}"
        if not math.isnan(standing.own_time):
            total = standing.objective_time + standing.own_time
            share = standing.own_time / total if total > 0.0 else 0.0
            text += f", optimizer {describe_duration(standing.own_time)} ({share:.1%})"
    return text


def describe_point(point: Any) -> str:
    """Return a point in at most 300 characters.

    >>> describe_point({"lr": 0.123456789, "act": "relu"})
    'lr=0.123457  act=relu'
    """
    if isinstance(point, Mapping):
        text = "  ".join(f"{name}={_describe_value(value)}" for name, value in point.items())
    else:
        text = "  ".join(_describe_value(value) for value in point.tolist())
    text = printable(text).replace("\n", "\\n")
    return text if len(text) <= _N_POINT else text[: _N_POINT - 3] + "..."


def printable(text: str) -> str:
    """Return text that does nothing to a terminal: control characters are spelled out, lines stay.

    >>> printable("a\\x1b[31mb")
    'a\\\\x1b[31mb'
    """
    return "".join(
        character if character.isprintable() or character == "\n" else repr(character)[1:-1]
        for character in text.expandtabs()
    )


def estimate_left(standing: Standing, n_before: int, seconds: float, time_limit: float | None) -> float:
    """Return the seconds until the budget or the time is used up, from the pace of this sitting.

    Parameters
    ----------
    standing : Standing
        How far the run is.
    n_before : int
        How many evaluations had been told when the sitting began, `seconds` ago.
    seconds : float
        The duration of the current session.
    time_limit : float or None
        How long it may go on.

    >>> estimate_left(Standing(n_told=30, budget=100), n_before=10, seconds=40.0, time_limit=None)
    140.0
    """
    n = standing.n_told - n_before
    left = (standing.budget - standing.n_told) * seconds / n if n > 0 else math.nan
    if time_limit is None:
        return left
    until_limit = max(time_limit - seconds, 0.0)
    return until_limit if math.isnan(left) else min(left, until_limit)


def _describe_value(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


class Surface(Protocol):
    """A place that can be drawn over and over again."""

    def draw(self, standing: Standing) -> None:
        """Show a standing in place of the one before."""

    def close(self, message: str) -> None:
        """Leave the last one standing, with a message below it."""


def open_display(
    observe: Observe, budget: int, progress: bool | None, stream: TextIO | None = None
) -> LineDisplay | LiveDisplay | None:
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
        """Take note that an evaluation was told: write a line if it is time for one."""
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
        """Take no note that an evaluation was told: the thread looks for itself."""

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
