"""Starting points: what users may pass as `x0`, and tables of points among it, a row each."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dcmaes._validation import FloatArray, check_list, check_path, shown, suggestion
from dcmaes.run._history import STATUSES, History, Record, book_names, column_names
from dcmaes.run._objectives import Objectives
from dcmaes.run._trial import Outcome, Reading, failure, read
from dcmaes.space import Sites, Space, Variable

_WANTED = (
    "a point, a (point, value) tuple, a sequence of these, a DataFrame, the path of a CSV file, or the "
    "history of another run"
)


# A starting point: coded, shape (d,), with what the user knows of its value.
Start = tuple[FloatArray, Reading | None]
# How pandas and spreadsheets call the column of row numbers.
_UNNAMED = ("", "Unnamed: 0")


def read_start(x0: Any, space: Space, objectives: Objectives | None = None) -> list[Start]:
    """Return the starting points in `x0`.

    They are a point, a (point, value) tuple, a sequence of such or of records of a history, a history or what
    has one (a result, a stored run), a pandas DataFrame, or the path of a CSV file.

    >>> import dcmaes as dc
    >>> starts = read_start([([0, 1], 2.5), [1, 1]], dc.Space.binary(2))
    >>> [(x.tolist(), reading and reading.value) for x, reading in starts]
    [([0.0, 1.0], 2.5), ([1.0, 1.0], None)]
    """
    if x0 is None:
        return []
    if _is_point(x0) or _is_pair(x0, objectives) or isinstance(x0, Record):
        return [_read_one("x0", x0, space, objectives)]
    history = getattr(x0, "history", x0)
    if isinstance(history, History):
        return [_read_one(f"x0: evaluation {record.id}", record, space, objectives) for record in history]
    if hasattr(x0, "columns") and hasattr(x0, "iloc"):
        return list(read_frame(x0, space, objectives))
    if isinstance(x0, (str, os.PathLike)):
        return list(read_csv(check_path("x0", x0), space, objectives))
    items = check_list("x0", x0, _WANTED)
    return [_read_one(f"x0[{i}]", item, space, objectives) for i, item in enumerate(items)]


def default_start(space: Space, starts: list[Start]) -> list[Start]:
    """Return the default point of the space as a starting point; none if there is none, or if it is there.

    >>> import dcmaes as dc
    >>> space = dc.Space({"layers": dc.Integer(1, 8, default=3)})
    >>> [x.tolist() for x, _ in default_start(space, [])]
    [[2.0]]
    >>> default_start(space, read_start({"layers": 3}, space))
    []
    """
    point = space.default
    if point is None:
        return []
    x = space.encode(point)
    return [] if any(np.array_equal(x, start) for start, _ in starts) else [(x, None)]


def _read_one(name: str, item: Any, space: Space, objectives: Objectives | None) -> Start:
    if isinstance(item, Record):
        item = (item.point, _reading_of(name, item, objectives))
    point, told = item if _is_pair(item, objectives) else (item, None)
    if not _is_point(point):
        raise TypeError(f"{name} must be a point or a (point, value) tuple, got {shown(item)}")
    try:
        x = space.encode(point)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}: {error}") from error
    if not _is_pair(item, objectives):
        return x, None
    reading = read(told, objectives)
    if reading.reason is not None and not isinstance(told, Reading):
        wanted = "a finite number" if objectives is None else f"{len(objectives)} finite numbers"
        raise ValueError(f"{name}: the known value must be {wanted} or an Outcome, got {shown(told)}")
    return x, reading


def _reading_of(name: str, record: Record, objectives: Objectives | None) -> Reading:
    if record.violation == math.inf:
        return failure(record.reason or "failed before this run")
    reading = read(Outcome(record.value, record.violation), objectives)
    if reading.reason is not None:
        raise ValueError(f"{name} comes from a run with other objectives: its value is {reading.reason}")
    return reading


def _is_point(item: Any) -> bool:
    """Tell a point by its shape: a mapping, or a sequence of scalars."""
    if isinstance(item, Mapping):
        return True
    if isinstance(item, np.ndarray):
        return item.ndim == 1
    if not isinstance(item, (list, tuple)) or not item:
        return False
    return all(isinstance(entry, (int, float, np.generic)) for entry in item)


def _is_pair(item: Any, objectives: Objectives | None) -> bool:
    """Tell whether this is a point with its value; of several objectives, the values look like a point."""
    if not (isinstance(item, tuple) and len(item) == 2 and _is_point(item[0])):
        return False
    return not _is_point(item[1]) or (objectives is not None and read(item[1], objectives).reason is None)


class Row(NamedTuple):
    """One row of a table: where it stands, and its cells by column, None where they are empty."""

    where: str
    cells: Mapping[str, Any]


def read_frame(frame: Any, space: Space, objectives: Objectives | None = None) -> Iterator[Start]:
    """Yield the coded point of each row of a pandas DataFrame, with what is known of its value.

    >>> import pandas as pd
    >>> list(read_frame(pd.DataFrame({"x0": [1, 2], "x1": [3, 4]}), Space.integers(2, 0, 9)))
    [(array([1., 3.]), None), (array([2., 4.]), None)]
    """
    header = [f"x{name}" if isinstance(name, int) else str(name) for name in frame.columns]
    # Objects as they are: numpy would turn a row of integers and floats into floats.
    columns = [_objects(frame.iloc[:, i]) for i in range(len(header))]
    rows = [
        Row(f"x0: row {i}", dict(zip(header, cells, strict=True)))
        for i, cells in enumerate(zip(*columns, strict=True))
    ]
    return _read_rows(header, rows, space, objectives)


def read_csv(path: Path, space: Space, objectives: Objectives | None = None) -> Iterator[Start]:
    """Yield the same of each line of a CSV file, with commas, semicolons or tabs between columns."""
    try:
        content = path.read_bytes()
        if content.startswith(b"SQLite"):
            raise csv.Error("it is a store; give dcmaes.store.read(path) instead")
        text = content.decode("utf-8-sig")
        first = text.partition("\n")[0]
        delimiter = next((mark for mark in ",;\t" if mark in first), ",")
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        lines = [(reader.line_num, line) for line in reader if line]
    except (OSError, UnicodeError, ValueError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise ValueError(f"x0: the file {shown(str(path))} cannot be read: {reason}") from error
    if not lines:
        raise ValueError(f"x0: the file {str(path)!r} is empty: its first line must name the columns")
    (_, header), *body = lines
    rows = []
    for number, cells in body:
        if len(cells) != len(header):
            raise ValueError(
                f"x0: line {number} of {str(path)!r} must have {len(header)} columns, got {len(cells)}"
            )
        rows.append(Row(f"x0: line {number}", dict(zip(header, cells, strict=True))))
    return _read_rows(header, rows, space, objectives)


def _objects(column: Any) -> Any:
    """Return the entries of a column of a frame, None where there is none."""
    return column.astype(object).where(column.notna(), None)


def _read_rows(
    header: Sequence[str], rows: Sequence[Row], space: Space, objectives: Objectives | None
) -> Iterator[Start]:
    columns, book = column_names(space, objectives), book_names(objectives)
    _check_header(header, columns, book)
    pairs = list(zip(columns, space.variables, strict=True))
    for row in rows:
        if space.sites.has_conditions:
            x = _coded_if_active(row, pairs, space.sites)
        else:
            x = np.array([_coded(row, column, variable) for column, variable in pairs])
        yield x, _read_told(row, objectives)


def _check_header(header: Sequence[str], columns: Sequence[str], book: Sequence[str]) -> None:
    known = (*columns, *book)
    for name in header:
        if name not in known and name not in _UNNAMED:
            wanted = f"a variable of the space or one of {', '.join(book)}"
            raise ValueError(f"x0: column {shown(name)} must be {wanted}{suggestion(name, known)}")
        if header.count(name) > 1:
            raise ValueError(f"x0: column {name!r} must be there once, got {header.count(name)} of it")
    for name in columns:
        if name not in header:
            raise ValueError(f"x0: column {name!r} is missing, which has the values of a variable")


def _coded_if_active(row: Row, pairs: Sequence[tuple[str, Variable]], sites: Sites) -> FloatArray:
    """Return the coded point of a row, in which cells of inactive variables may be empty and do not count."""
    is_empty = np.array([row.cells[column] in (None, "") for column, _ in pairs])
    x = sites.rest.copy()
    for i, (column, variable) in enumerate(pairs):
        with suppress(*(TypeError, ValueError) if is_empty[i] else ()):
            x[i] = _coded(row, column, variable)
            is_empty[i] = False
    for place in np.flatnonzero(is_empty & sites.active(x)).tolist():
        _coded(row, *pairs[place])  # says what is wrong
    return sites.canonical(x)


def _coded(row: Row, column: str, variable: Variable) -> float:
    """Return the coded value of a cell, which may be text, as all cells of a file are."""
    cell = row.cells[column]
    name = f"{row.where}, column {column!r}: the value"
    try:
        return variable.encode(name, cell)
    except (TypeError, ValueError):
        if cell is None or isinstance(cell, str):
            return variable.parse(name, cell or "")
        raise


def _read_told(row: Row, objectives: Objectives | None) -> Reading | None:
    """Return what a row says of the value of its point; None if it is still to be evaluated."""
    status = row.cells.get("status")
    if status not in (None, "", *STATUSES):
        wanted = ", ".join(map(repr, STATUSES))
        raise ValueError(f"{row.where}, column 'status': must be one of {wanted}; got {shown(status)}")
    names = ("value",) if objectives is None else objectives.names
    values, violation = [_number(row, name) for name in names], _number(row, "violation")
    if status == "failed" or violation == math.inf:
        return failure(str(row.cells.get("reason") or "failed before this run"))
    if all(map(math.isnan, values)) and (math.isnan(violation) or violation <= 0.0):
        return None
    value = values[0] if objectives is None else values
    reading = read(Outcome(value, 0.0 if math.isnan(violation) else violation), objectives)
    if reading.reason is not None:
        name, wrong = next(pair for pair in zip(names, values, strict=True) if not math.isfinite(pair[1]))
        raise ValueError(f"{row.where}, column {name!r}: must be a finite number, got {wrong}")
    return reading


def _number(row: Row, column: str) -> float:
    """Return a number of the book, NaN if there is none."""
    cell = row.cells.get(column)
    if cell is None or cell == "":
        return math.nan
    try:
        return float(cell)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{row.where}, column {column!r}: must be a number, got {shown(cell)}") from None
