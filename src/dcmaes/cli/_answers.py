"""Results in words and as JSON."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

import dcmaes as dc
from dcmaes.cli._errors import ExitCode
from dcmaes.optimizer import History, Record
from dcmaes.progress import describe_duration


def exit_code(result: dc.Result) -> ExitCode:
    """Return the exit code that a result deserves."""
    if result.stop_reason is dc.StopReason.INTERRUPTED:
        return ExitCode.INTERRUPTED
    return ExitCode.OK if result.success else ExitCode.NO_RESULT


def result_to_dict(result: dc.Result, store: Path | None) -> dict[str, Any]:
    """Return a result as data for JSON; numbers that JSON does not have are null."""
    return {
        "best": best_to_dict(result),
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
    """Return the best point as data for JSON, or None if there is none."""
    if result.x is None:
        return None
    return {
        "value": plain(result.fun),
        "violation": plain(result.violation),
        "point": plain(result.x),
    }


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
    else:
        remark = f", infeasible by {result.violation:.6g}" if result.violation > 0.0 else ""
        lines.append(f"best value  {result.fun:.10g}{remark}")
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


def write_csv(history: History, names: tuple[str | int, ...], file: IO[str]) -> None:
    """Write every evaluation as a line of CSV, variables first."""
    columns = [name if isinstance(name, str) else f"x{name}" for name in names]
    taken = set(_BOOK)
    header = [f"point.{name}" if name in taken else name for name in columns]
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["id", *header, *_BOOK[1:]])
    for record in history:
        values = record.point.values() if isinstance(record.point, dict) else record.point.tolist()
        book = record._asdict()
        writer.writerow([record.id, *values, *("" if book[k] is None else book[k] for k in _BOOK[1:])])


def write_json(history: History, file: IO[str]) -> None:
    """Write every evaluation as an object of one JSON array, an object in a line."""
    file.write("[")
    for separator, line in zip(_separators(), map(_record_line, history), strict=False):
        file.write(separator + line)
    file.write("\n]\n")


_BOOK = tuple(field for field in Record._fields if field != "point")


def _record_line(record: Record) -> str:
    return to_json(plain(record._asdict()), indent=None)


def _separators() -> Iterator[str]:
    yield "\n"
    while True:
        yield ",\n"
