"""Reading the file of a run, also while it is written: its rows, and the run in the user's terms."""

from __future__ import annotations

import json
import math
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import cached_property
from heapq import merge
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dcmaes._validation import ArgumentError
from dcmaes.run._history import statuses_of
from dcmaes.run._result import Result, result_of
from dcmaes.run._run import Run
from dcmaes.run._settings import StopReason
from dcmaes.run._trial import Reading, Trial
from dcmaes.space import Space
from dcmaes.store._restoring import rebuild
from dcmaes.store._schema import (
    Ask,
    Loss,
    Sitting,
    Snapshot,
    connect,
    is_held,
    one_moment,
    store_error,
    translated_errors,
)
from dcmaes.strategies import Strategy

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


class Pending(NamedTuple):
    """A pending trial; `since` is in seconds since 1970."""

    id: int
    point: Any
    since: float


class Span(NamedTuple):
    """When and by whom an evaluation was made, in seconds since 1970, and its status."""

    id: int
    worker: str
    started: float
    ended: float
    status: str


class Failure(NamedTuple):
    """An evaluation that failed: why in one line, where in the code if that is known, and who made it."""

    id: int
    point: Any
    reason: str
    traceback: str | None
    worker: str | None


class StoredRun:
    """A run as it stands in its store.

    Attributes
    ----------
    path : Path
        The file.
    space : Space
        What is searched.
    settings : dict
        "budget", "seed", "direction", "time_limit", "target", "patience", "duplicates", "on_error",
        "strategy" (a dict of "name" and "options"), "has_constraints", "versions" (of dcmaes, numpy and
        python), "created" (in seconds since 1970), and with several objectives "objectives" (a dict of
        "names", "directions" and "reference"). Limits and versions are those of the last sitting.
    history : History
        Every evaluation.
    pending : tuple of Pending
        The pending trials, oldest first.
    sittings : tuple of Sitting
        The processes that worked on it, one after the other.
    is_running : bool
        Whether one of them is at work.
    started, updated : float
        When the run began, and when something was last written, in seconds since 1970.
    timeline : tuple of Span
        The evaluations of which it is known who made them, in the order in which they were told.
    failures : tuple of Failure
        The evaluations that failed.
    losses : tuple of Loss
        The evaluations that had to be begun again.
    """

    def __init__(self, reader: Reader, space: Space | None, strategy: Strategy[Any] | None) -> None:
        self.path = reader.path
        self.is_running = is_held(reader.path)
        self.sittings: tuple[Sitting, ...] = tuple(reader.sittings())
        self._lacks_strategy = strategy is None and reader.identity()["strategy"]["options"] is None
        self._run: Run = rebuild(reader, space, strategy)
        self._optimizer_time = reader.optimizer_time()
        self.space: Space = self._run.space
        self.history = self._run.history
        self.settings = _settings(reader, self.sittings[-1])
        self.pending = tuple(
            Pending(trial.id, trial.point, since)
            for trial, since in zip(self._run.outstanding.values(), reader.pending_since(), strict=True)
        )
        told = [(trial.id, reading) for trial, reading in reader.told()]
        self.timeline = tuple(_span(*one) for one in told if one[1].worker is not None)
        self.failures = tuple(self._failures(told))
        self.losses = tuple(reader.losses())
        self.started = self.settings["created"]
        self.updated = reader.last_write()

    @property
    def stop_reason(self) -> StopReason | None:
        """Why the run stopped; None if it is running or was killed."""
        stopped = self._stopped
        return None if stopped is None else next(r for r in StopReason if r.value == stopped.stop_reason)

    @property
    def message(self) -> str:
        """The same in one line, with the number that fired, or how far the run is."""
        if self._stopped is not None:
            return str(self._stopped.message)
        return self._run.message(self._run.rank(self._run.best()).violation)

    def result(self) -> Result:
        """Return the run as `minimize` returns it.

        Value, point and history are exact. Distribution and interactions are exact for a run that was ended;
        for one that goes on or was killed, what was evaluated in its last second is learned from once more,
        which may come out slightly differently.
        """
        return self._result

    @cached_property
    def _result(self) -> Result:
        if self._lacks_strategy:
            name = self.settings["strategy"]["name"]
            raise ArgumentError(
                f"the run in {str(self.path)!r} used a strategy of your own, {name!r}: pass strategy= to read"
            )
        with translated_errors(self.path):
            result = result_of(self._run, self._optimizer_time)
            return replace(result, stop_reason=self.stop_reason, message=self.message)

    def _failures(self, told: list[tuple[int, Reading]]) -> Iterator[Failure]:
        n_given = len(self.history) - len(told)
        for i, (trial_id, reading) in enumerate(told, start=n_given):
            if reading.reason is not None:
                point, worker = self.history[i].point, reading.worker
                yield Failure(trial_id, point, reading.reason, reading.traceback, worker)

    @property
    def _stopped(self) -> Sitting | None:
        last = self.sittings[-1]
        return last if last.stop_reason is not None else None

    def __repr__(self) -> str:
        return f"<StoredRun {str(self.path)!r}: {self.message}>"


def read(
    path: str | os.PathLike[str], *, space: Space | None = None, strategy: Strategy[Any] | None = None
) -> StoredRun:
    """Return what is in the store at `path`, as of now; the file is not changed, and no code of it is run.

    Parameters
    ----------
    path : path
        A file that `minimize(..., store=path)` wrote or is writing, or that `Optimizer.save` wrote.
    space : Space
        Needed if the choices of the space are not plain data.
    strategy : strategy
        Needed, for distribution and interactions, if the run used a strategy object of your own.

    Raises
    ------
    StoreError
        If there is no such file, or it is something else or damaged.

    Examples
    --------
    >>> import dcmaes as dc, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "run.db")
    >>> result = dc.minimize(sum, dc.Space.binary(4), budget=8, seed=0, store=path)
    >>> run = dc.store.read(path)
    >>> run.settings["budget"], len(run.history), run.is_running
    (8, 8, False)
    >>> run.result().fun == result.fun
    True
    """
    with Reader.opened(path) as reader, translated_errors(reader.path):
        return StoredRun(reader, space, strategy)


def _settings(reader: Reader, last: Sitting) -> dict[str, Any]:
    identity = reader.identity()
    kept = ("seed", "direction", "duplicates", "strategy", "has_constraints", "created")
    several = {"objectives": identity["objectives"]} if "objectives" in identity else {}
    return {**last.limits, **{key: identity[key] for key in kept}, **several, "versions": last.versions}


def _span(trial_id: int, reading: Reading) -> Span:
    started, status = reading.started_at, str(statuses_of(np.array(reading.violation)))
    return Span(trial_id, str(reading.worker), started, started + reading.seconds, status)
