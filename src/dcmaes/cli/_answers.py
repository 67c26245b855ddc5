"""What the command line says: results, stored runs and errors, in words, as JSON and as exit codes."""

from __future__ import annotations

import contextlib
import csv
import json
import math
import shlex
import time
from collections.abc import Iterator
from dataclasses import replace
from enum import IntEnum
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click
import numpy as np

import dcmaes as dc
from dcmaes._html import points_text
from dcmaes._validation import ArgumentError
from dcmaes.cli._toml import SpecError
from dcmaes.optimizer import History, Record
from dcmaes.optimizer._progress import standing_of
from dcmaes.progress._display import Standing, describe_duration, describe_point, estimate_left, printable
from dcmaes.run._history import book_names, column_names
from dcmaes.run._objectives import Objectives

if TYPE_CHECKING:
    from dcmaes.store import StoredRun


# How often a live view is drawn, and the part of the time that reading the store may take.
_SECONDS = 1.0
_SHARE = 0.1


class ExitCode(IntEnum):
    """The exit codes of ``dcmaes``.

    >>> int(ExitCode.INTERRUPTED)
    130
    """

    OK = 0
    NO_RESULT = 1
    BAD_INPUT = 2
    BAD_STORE = 3
    INTERRUPTED = 130
    TERMINATED = 143


class Failure(click.ClickException):
    """An error that ends the program with a code of its own."""

    def __init__(self, message: str, code: ExitCode) -> None:
        super().__init__(printable(message))
        self.code = code

    @property
    def exit_code(self) -> int:  # type: ignore[override]
        """The code with which the program ends."""
        return int(self.code)


@contextlib.contextmanager
def reporting() -> Iterator[None]:
    """Turn the errors that users can cause into a line and an exit code."""
    from dcmaes.store import StoreError

    try:
        yield
    except SpecError as error:
        raise Failure(str(error), ExitCode.BAD_INPUT) from error
    except StoreError as error:
        raise Failure(str(error), ExitCode.BAD_STORE) from error
    except ArgumentError as error:  # a run made in Python, with objects that no file can hold
        raise Failure(f"this store can be used from Python only: {error}", ExitCode.BAD_STORE) from error
    except KeyboardInterrupt:
        raise Failure("interrupted", ExitCode.INTERRUPTED) from None


def exit_code(result: dc.Result) -> ExitCode:
    """Return the exit code that a result deserves."""
    if result.stop_reason is dc.StopReason.INTERRUPTED:
        return ExitCode.INTERRUPTED
    return ExitCode.OK if result.success else ExitCode.NO_RESULT


def repeat_command(store: Path, run: StoredRun) -> str | None:
    """Return the command line that repeats a stored run, or None if its specification is not found."""
    from dcmaes.cli._spec import find_spec

    try:
        spec = find_spec(store, None)
    except SpecError:
        return None
    told = run.settings
    options = {"seed": told["seed"], "budget": told["budget"], "strategy": told["strategy"]["name"]}
    pairs = [text for name, value in options.items() for text in (f"--{name}", str(value))]
    return shlex.join(["dcmaes", "minimize", spec.path.name, *pairs, "--no-store"])


def result_to_dict(result: dc.Result, store: Path | None) -> dict[str, Any]:
    """Return a result as data for JSON; numbers that JSON does not have are null."""
    front = {"front": front_to_list(result)} if isinstance(result.fun, tuple) else {}
    return {
        "best": best_to_dict(result),
        **front,
        "n_evaluations": result.nfev,
        "n_failures": result.n_failures,
        "n_restarts": result.n_restarts,
        "success": result.success,
        "stop_reason": None if result.stop_reason is None else result.stop_reason.value,
        "message": result.message,
        "strategy": result.strategy,
        "seed": result.seed,
        "objective_time": result.objective_time,
        "optimizer_time": result.optimizer_time,
        "store": None if store is None else str(store),
    }


def best_to_dict(result: dc.Result) -> dict[str, Any] | None:
    """Return the best point as data for JSON, or None if there is none; of several objectives, the knee."""
    if result.x is None:
        return None
    several = result.objectives if isinstance(result.fun, tuple) else None
    return {
        "value": plain(result.fun if several is None else dict(zip(several, result.fun, strict=True))),
        "violation": plain(result.violation),
        "point": plain(result.x),
    }


def front_to_list(result: dc.Result) -> list[dict[str, Any]]:
    """Return the front of several objectives as data for JSON, in the order of the first."""
    return [
        {
            "value": dict(zip(result.objectives, plain(record.value), strict=True)),
            "point": plain(record.point),
        }
        for record in result.front
    ]


def to_json(data: Any, indent: int | None = 2) -> str:
    """Return JSON that every reader takes."""
    return json.dumps(data, indent=indent, allow_nan=False, default=str)


def plain(value: Any) -> Any:
    """Return a value as JSON has it: no arrays, no infinities.

    >>> plain({"a": np.int64(3), "b": math.inf})
    {'a': 3, 'b': None}
    """
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(entry) for entry in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def describe_result(result: dc.Result, store: Path | None) -> str:
    """Return a result in some lines."""
    lines = []
    if result.x is None:
        lines.append("nothing found: no evaluation gave a value")
    elif isinstance(result.fun, tuple) and len(result.front):
        lines += _describe_front(result)
    else:
        remark = f", infeasible by {result.violation:.6g}" if result.violation > 0.0 else ""
        value = "none" if isinstance(result.fun, tuple) else f"{result.fun:.10g}"
        lines.append(f"best value  {value}{remark}")
        point = result.x if isinstance(result.x, dict) else {f"x{i}": v for i, v in enumerate(result.x)}
        width = max(len(name) for name in point)
        lines += [f"  {name:<{width}}  {value}" for name, value in point.items()]
    failed = f", {result.n_failures} failed" if result.n_failures else ""
    lines.append(f"evaluations {result.nfev}{failed}")
    times = f"{describe_duration(result.objective_time)} objective"
    lines.append(f"time        {times}, {describe_duration(result.optimizer_time)} optimizer")
    lines.append(f"stopped     {result.message}")
    if store is not None:
        lines.append(f"store       {store}")
    return "\n".join(lines)


def _describe_front(result: dc.Result) -> list[str]:
    """Return the points of a front, a line each, the knee marked."""
    names, values = result.objectives, result.front.values
    cells = [list(names), *([f"{value:.6g}" for value in row] for row in values.tolist())]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    knee = result.knee().id
    marks = [" ", *("*" if record.id == knee else " " for record in result.front)]
    points = ["", *(describe_point(record.point) for record in result.front)]
    lines = [f"front       {points_text(len(values))}, the knee marked with *"]
    for mark, row, point in zip(marks, cells, points, strict=True):
        numbers = "  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True))
        lines.append(f"{mark} {numbers}  {point}".rstrip())
    return lines


def write_csv(history: History, file: IO[str]) -> None:
    """Write every evaluation as a line of CSV, variables first."""
    names, book_header = history._space.names, book_names(history._objectives)
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["id", *column_names(history._space, history._objectives), *book_header[1:]])
    for record in history:
        point = record.point
        # Inactive variables have empty cells.
        values = [point.get(name, "") for name in names] if isinstance(point, dict) else point.tolist()
        book = record._asdict()
        if history._objectives is not None:
            book |= dict(zip(history._names, book.pop("value"), strict=True))
        writer.writerow([record.id, *values, *("" if book[k] is None else book[k] for k in book_header[1:])])


def write_json(history: History, file: IO[str]) -> None:
    """Write every evaluation as an object of one JSON array, an object in a line."""
    file.write("[")
    for number, record in enumerate(history):
        file.write((",\n" if number else "\n") + _record_line(record, history._objectives))
    file.write("\n]\n")


def _record_line(record: Record, objectives: Objectives | None) -> str:
    book = record._asdict()
    if objectives is not None:
        book["value"] = dict(zip(objectives.names, record.value, strict=True))
    return to_json(plain(book), indent=None)


def read_standing(run: StoredRun) -> Standing:
    """Return how far a stored run is."""
    result, history = run.result(), run.history
    standing = replace(
        standing_of(run._run, math.nan if run.is_running else result.optimizer_time),
        n_pending=len(run.pending) if run.is_running else 0,
        step_size=_step_size(result),
        elapsed=float(history.told_at[-1]) if len(history) else 0.0,
        last_failure=run.failures[-1].reason if run.failures else "",
    )
    if not run.is_running:
        return standing
    seconds = time.time() - run.sittings[-1].started
    n_before = sum(span.ended < run.sittings[-1].started for span in run.timeline)
    before = float(history.told_at[history.is_given.sum() + n_before - 1]) if n_before else 0.0
    left = estimate_left(standing, n_before, seconds, run.settings["time_limit"])
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


def _step_size(result: Any) -> float:
    try:
        return float(result.distribution.step_size)
    except Exception:  # the state of a strategy that is not at hand
        return math.nan
