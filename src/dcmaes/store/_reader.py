"""Reading the file of a run, also while it is written."""

from __future__ import annotations

import json
import math
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from heapq import merge
from pathlib import Path
from typing import Any

from dcmaes.run._trial import Reading, Trial
from dcmaes.store._schema import (
    Ask,
    Loss,
    Sitting,
    Snapshot,
    connect,
    one_moment,
    store_error,
)

_TRIAL = "id, point, restart, is_again"
_EVALUATION = "trial, value, violation, reason, traceback, seconds, told_at, worker, started_at"


class Reader:
    """What is in the file of a run.

    Trials are as they are stored: their point is in `row` alone.

    Parameters
    ----------
    connection : sqlite3.Connection
        To a store that was checked.
    path : Path
        Where it is, for messages.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self.path = path
        self._connection = connection

    @classmethod
    @contextmanager
    def opened(cls, path: str | os.PathLike[str]) -> Iterator[Reader]:
        """Read the store at `path`, from one moment and without changing it."""
        found = Path(os.fspath(path))
        with closing(connect(found, is_writing=False)) as connection, one_moment(connection):
            yield cls(connection, found)

    def identity(self) -> dict[str, Any]:
        """Return what makes the run this run: space, seed, strategy, ..."""
        return {key: json.loads(value) for key, value in self._query("SELECT key, value FROM run")}

    def sittings(self) -> list[Sitting]:
        """Return all sittings, in their order."""
        rows = self._query("SELECT * FROM sitting ORDER BY id")
        return [Sitting._make([*row[:5], *map(json.loads, row[5:7]), *row[7:]]) for row in rows]

    def optimizer_time(self) -> float:
        """Return the seconds of the optimizer's own work, of the sitting that has told of most."""
        return max(float(sitting.optimizer_time or 0.0) for sitting in self.sittings())

    def snapshot(self) -> Snapshot | None:
        """Return the latest snapshot, if there is one."""
        rows = list(self._query("SELECT seq, data FROM snapshot"))
        return Snapshot(*rows[0]) if rows else None

    def last_seq(self) -> int:
        """Return the number of the last event."""
        query = """SELECT max(coalesce((SELECT max(seq) FROM ask), 0),
            coalesce((SELECT max(seq) FROM evaluation), 0))"""
        return int(next(iter(self._query(query)))[0])

    def events(self, after: int = 0) -> Iterator[Ask | tuple[int, Reading]]:
        """Yield asks, and what was told of which trial, in the order in which it happened after `after`."""
        asks = self._query("SELECT seq, n, first_trial, n_trials FROM ask WHERE seq > ? ORDER BY seq", after)
        query = f"SELECT seq, {_EVALUATION} FROM evaluation WHERE seq > ? ORDER BY seq"
        for row in merge(asks, self._query(query, after), key=lambda row: int(row[0])):
            yield Ask(*row[1:]) if len(row) == 4 else (row[1], _reading(row[2:]))

    def told(self, until: float = math.inf) -> Iterator[tuple[Trial, Reading]]:
        """Yield what was told, in that order, up to event `until`, each with its trial."""
        query = f"""SELECT {_TRIAL}, {_EVALUATION} FROM evaluation
            JOIN trial ON trial.id = evaluation.trial WHERE seq <= ? ORDER BY seq"""
        for row in self._query(query, until):
            yield _trial(*row[:4]), _reading(row[5:])

    def last_write(self) -> float:
        """Return when something was last written, in seconds since 1970."""
        query = """SELECT max((SELECT max(coalesce(ended, started)) FROM sitting),
            coalesce((SELECT asked_at FROM trial ORDER BY id DESC LIMIT 1), 0),
            coalesce((SELECT written_at FROM evaluation ORDER BY seq DESC LIMIT 1), 0))"""
        return float(next(iter(self._query(query)))[0])

    def kept(self) -> dict[int, Reading]:
        """Return results that have come but were not told yet, by trial."""
        rows = self._query(f"SELECT {_EVALUATION} FROM evaluation WHERE seq IS NULL ORDER BY trial")
        return {row[0]: _reading(row[1:]) for row in rows}

    def trials(self, first: int, n: int) -> list[Trial]:
        """Return `n` trials from number `first` on."""
        query = f"SELECT {_TRIAL} FROM trial WHERE id >= ? AND id < ? ORDER BY id"
        return [_trial(*row) for row in self._query(query, first, first + n)]

    def pending_since(self) -> list[float]:
        """Return when the trials that were not told yet were handed out, in seconds since 1970."""
        query = """SELECT asked_at FROM trial
            WHERE id NOT IN (SELECT trial FROM evaluation WHERE seq IS NOT NULL) ORDER BY id"""
        return [asked_at for (asked_at,) in self._query(query)]

    def losses(self) -> list[Loss]:
        """Return evaluations that were begun and lost, in their order."""
        return [
            Loss(*row) for row in self._query("SELECT trial, reason, worker, at FROM loss ORDER BY rowid")
        ]

    def _query(self, query: str, *values: Any) -> Iterator[Any]:
        try:
            for row in self._connection.execute(query, values):  # noqa: UP028 - that would close it twice
                yield row
        except sqlite3.Error as error:
            raise store_error(self.path, error, "read") from error


def _trial(trial_id: int, row: bytes, restart: int, is_again: int) -> Trial:
    return Trial(trial_id, None, row, restart, bool(is_again))


def _reading(row: Any) -> Reading:
    """Return a row of the table of evaluations; with several objectives its value is a JSON list of all."""
    told, violation, reason, traceback, seconds, told_at, worker, started_at = row
    return Reading(
        value=tuple(map(_number, json.loads(told))) if isinstance(told, str) else _number(told),
        violation=violation,
        reason=reason,
        traceback=traceback,
        seconds=_number(seconds),
        worker=worker,
        started_at=_number(started_at),
        told_at=_number(told_at),
    )


def _number(value: float | None) -> float:
    """Turn NULL back into the NaN as which SQLite cannot keep it."""
    return math.nan if value is None else value
