"""Tables of points, a row each: data frames and CSV files, in the columns that `History.to_frame` has."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dcmaes._validation import shown
from dcmaes.run._history import STATUSES, book_names, column_names
from dcmaes.run._objectives import Objectives
from dcmaes.run._trial import Outcome, Reading, failure, read
from dcmaes.space import Sites, Space, Variable
from dcmaes.space._layouts import suggestion

# How pandas and spreadsheets call the column of row numbers.
_UNNAMED = ("", "Unnamed: 0")


class Row(NamedTuple):
    """One row of a table: where it stands, and its cells by column, None where they are empty."""

    where: str
    cells: Mapping[str, Any]


def read_frame(
    frame: Any, space: Space, objectives: Objectives | None = None
) -> Iterator[tuple[list[float], Reading | None]]:
    """Yield the coded point of each row of a pandas DataFrame, with what is known of its value.

    >>> import pandas as pd
    >>> list(read_frame(pd.DataFrame({"x0": [1, 2], "x1": [3, 4]}), Space.integers(2, 0, 9)))
    [([1.0, 3.0], None), ([2.0, 4.0], None)]
    """
    header = [f"x{name}" if isinstance(name, int) else str(name) for name in frame.columns]
    # Objects as they are: numpy would turn a row of integers and floats into floats.
    columns = [_objects(frame.iloc[:, i]) for i in range(len(header))]
    rows = [
        Row(f"x0: row {i}", dict(zip(header, cells, strict=True)))
        for i, cells in enumerate(zip(*columns, strict=True))
    ]
    return _read_rows(header, rows, space, objectives)


def read_csv(
    path: Path, space: Space, objectives: Objectives | None = None
) -> Iterator[tuple[list[float], Reading | None]]:
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
) -> Iterator[tuple[list[float], Reading | None]]:
    columns, book = column_names(space, objectives), book_names(objectives)
    _check_header(header, columns, book)
    pairs = list(zip(columns, space.variables, strict=True))
    for row in rows:
        if space.sites.has_conditions:
            x = _coded_if_active(row, pairs, space.sites)
        else:
            x = [_coded(row, column, variable) for column, variable in pairs]
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


def _coded_if_active(row: Row, pairs: Sequence[tuple[str, Variable]], sites: Sites) -> list[float]:
    """Return the coded point of a row, in which cells of inactive variables may be empty and do not count."""
    is_empty = np.array([row.cells[column] in (None, "") for column, _ in pairs])
    x = sites.rest.copy()
    for i, (column, variable) in enumerate(pairs):
        with suppress(*(TypeError, ValueError) if is_empty[i] else ()):
            x[i] = _coded(row, column, variable)
            is_empty[i] = False
    for place in np.flatnonzero(is_empty & sites.active(x)).tolist():
        _coded(row, *pairs[place])  # says what is wrong
    coded: list[float] = sites.canonical(x).tolist()
    return coded


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
    total = 0.0 if math.isnan(violation) else violation
    if objectives is not None:
        reading = objectives.read(Outcome(values, total))
    else:
        reading = read(Outcome(values[0], total))
    if reading.reason is not None:
        name, value = next(pair for pair in zip(names, values, strict=True) if not math.isfinite(pair[1]))
        raise ValueError(f"{row.where}, column {name!r}: must be a finite number, got {value}")
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
