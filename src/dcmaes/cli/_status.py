"""A stored run as it stands."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dcmaes.cli._answers import best_to_dict, plain
from dcmaes.progress import Standing, describe_duration, estimate_left

if TYPE_CHECKING:
    from dcmaes.store import StoredRun

_SECONDS = 1.0
# The part of the time that reading the store may take.
_SHARE = 0.1


def read_standing(run: StoredRun) -> Standing:
    """Return how far a stored run is."""
    result, settings, history = run.result(), run.settings, run.history
    best = _best_record(run)
    n_given = int(history.is_given.sum())
    standing = Standing(
        n_told=result.nfev,
        budget=settings["budget"],
        n_pending=len(run.pending) if run.is_running else 0,
        n_failures=result.n_failures,
        n_restarts=result.n_restarts,
        best_value=result.fun,
        best_violation=0.0 if result.x is None else result.violation,
        best_point=result.x,
        best_number=0 if best is None else max(best + 1 - n_given, 0),
        best_at=math.nan if best is None or history[best].is_given else history[best].told_at,
        step_size=_step_size(result),
        elapsed=float(history.told_at[-1]) if len(history) else 0.0,
        objective_time=result.objective_time,
        own_time=math.nan if run.is_running else result.optimizer_time,
        strategy=result.strategy,
        last_failure=run.failures[-1].reason if run.failures else "",
    )
    if not run.is_running:
        return standing
    seconds = time.time() - run.sittings[-1].started
    n_before = sum(span.ended < run.sittings[-1].started for span in run.timeline)
    before = float(history.told_at[n_given + n_before - 1]) if n_before else 0.0
    left = estimate_left(standing, n_before, seconds, settings["time_limit"])
    return replace(standing, elapsed=before + seconds, seconds_left=left)


def describe_state(run: StoredRun) -> str:
    """Return a line that says whether the run is in progress, or why it is not."""
    if run.is_running:
        return f"running, last written {describe_duration(max(time.time() - run.updated, 0.0))} ago"
    if run.stop_reason is None:
        return "not running: it was killed; continue it with dcmaes resume"
    return f"not running: {run.message}"


def status_to_dict(run: StoredRun) -> dict[str, Any]:
    """Return the standing as data for JSON."""
    standing = read_standing(run)
    data = {name: plain(value) for name, value in vars(standing).items() if not name.startswith("best_")}
    return {
        "store": str(run.path),
        "is_running": run.is_running,
        "stop_reason": None if run.stop_reason is None else run.stop_reason.value,
        "message": run.message,
        "best": best_to_dict(run.result()),
        "best_number": standing.best_number,
        "pending": [{"id": out.id, "point": plain(out.point), "since": out.since} for out in run.pending],
        **data,
    }


def follow(path: Path) -> None:
    """Show a run in the terminal until it is over, or Ctrl-C."""
    from rich.console import Console, Group
    from rich.live import Live
    from rich.text import Text

    from dcmaes import store
    from dcmaes.progress._terminal import render

    with Live(console=Console(), auto_refresh=False) as live:
        while True:
            begun = time.monotonic()
            run = store.read(path)
            title = Text(f"{path}: {describe_state(run)}")
            live.update(Group(title, render(read_standing(run))), refresh=True)
            if not run.is_running:
                return
            time.sleep(max(_SECONDS, (time.monotonic() - begun) / _SHARE))


def _best_record(run: StoredRun) -> int | None:
    """Return the index of the first evaluation of the best point."""
    if run.result().x is None:
        return None
    best = run.space.encode(run.result().x)
    encoded = run.space.encode_many(run.history.points)
    return int((encoded == best).all(axis=1).argmax())


def _step_size(result: Any) -> float:
    try:
        return float(result.distribution.step_size)
    except Exception:  # the state of a strategy that is not at hand
        return math.nan
