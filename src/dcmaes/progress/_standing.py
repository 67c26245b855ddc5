"""How far a run is, as numbers and in words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_N_POINT = 300


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
        return f"{standing.n_front} point{'s' if standing.n_front > 1 else ''} on the front"
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


def describe_point(point: Any, n: int = _N_POINT) -> str:
    """Return a point in at most `n` characters.

    >>> describe_point({"lr": 0.123456789, "act": "relu"})
    'lr=0.123457  act=relu'
    """
    if isinstance(point, Mapping):
        text = "  ".join(f"{name}={_describe_value(value)}" for name, value in point.items())
    else:
        text = "  ".join(_describe_value(value) for value in point.tolist())
    text = printable(text).replace("\n", "\\n")
    return text if len(text) <= n else text[: n - 3] + "..."


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
