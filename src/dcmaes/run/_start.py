"""Starting points: what users may pass as `x0`."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from dcmaes._validation import FloatArray, check_list, check_path, shown
from dcmaes.run._history import History, Record
from dcmaes.run._objectives import Objectives
from dcmaes.run._trial import Outcome, Reading, failure, read
from dcmaes.space import Space

_WANTED = (
    "a point, a (point, value) tuple, a sequence of these, a DataFrame, the path of a CSV file, or the "
    "history of another run"
)


# A starting point: coded, shape (d,), with what the user knows of its value.
Start = tuple[FloatArray, Reading | None]


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
        from dcmaes.run._tables import read_frame

        return [(np.array(x), reading) for x, reading in read_frame(x0, space, objectives)]
    if isinstance(x0, (str, os.PathLike)):
        from dcmaes.run._tables import read_csv

        rows = read_csv(check_path("x0", x0), space, objectives)
        return [(np.array(x), reading) for x, reading in rows]
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
    reading = _read(told, objectives)
    if reading.reason is not None and not isinstance(told, Reading):
        wanted = "a finite number" if objectives is None else f"{len(objectives)} finite numbers"
        raise ValueError(f"{name}: the known value must be {wanted} or an Outcome, got {shown(told)}")
    return x, reading


def _read(told: Any, objectives: Objectives | None) -> Reading:
    return read(told) if objectives is None else objectives.read(told)


def _reading_of(name: str, record: Record, objectives: Objectives | None) -> Reading:
    if record.violation == math.inf:
        return failure(record.reason or "failed before this run")
    reading = _read(Outcome(record.value, record.violation), objectives)
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
    return not _is_point(item[1]) or (objectives is not None and objectives.read(item[1]).reason is None)
