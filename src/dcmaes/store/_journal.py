"""Writing the file of a run: one transaction for each event, before the event counts."""

from __future__ import annotations

import json
import math
import os
import socket
import sqlite3
import time
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from dcmaes.run._trial import Reading, Trial
from dcmaes.store._reader import Reader
from dcmaes.store._schema import (
    DIGEST_MASK,
    Lock,
    Loss,
    StoreError,
    can_execute,
    connect,
    create_tables,
    is_empty,
    row_digest,
    store_error,
    sync_folder,
    translated_errors,
)

# Evaluations that took this long together are worth waiting for the disk: it takes a few milliseconds, so
# runs lose a few per cent of their time at most, and a power cut costs at most this much work.
SYNCED_SECONDS = 0.1


class Journal:
    """The file of a run, open for writing; only one process may have it.

    Parameters
    ----------
    path : Path
        Where it is, or is to be made.

    Attributes
    ----------
    reader : Reader
        What is in it.
    is_new : bool
        Whether there is nothing in it yet: `begin` makes it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        # Whatever leads to the file: SQLite names its log, and we our lock, after the file itself.
        self._file = path.resolve()
        self._connection = connect(path, is_writing=True)
        self.reader = Reader(self._connection, path)
        # Closes the file also where nobody does.
        self._finalizer = weakref.finalize(self, _close, self._connection, self._take_lock())
        try:
            with translated_errors(path):
                self.is_new = is_empty(self._connection)
                self._seq = 0 if self.is_new else self.reader.last_seq()
        except StoreError:
            self.close()
            raise
        self._sitting = 0
        self._digest = 0
        self._unsynced = 0.0
        self._last_write = time.monotonic()
        self._files: dict[Path, tuple[int, int]] = {}
        self._note_file(path.absolute())

    def begin(
        self,
        identity: Mapping[str, Any],
        limits: Mapping[str, Any],
        versions: Mapping[str, str],
        snapshot: bytes | None = None,
    ) -> None:
        """Begin a sitting; in a new file, make the tables and write the identity of the run."""
        self._execute("PRAGMA journal_mode = WAL")
        with self._transaction(is_synced=True):
            if self.is_new:
                create_tables(self._connection, has_several="objectives" in identity)
                self._insert("run", [(key, json.dumps(value)) for key, value in identity.items()])
            (last,) = self._connection.execute("SELECT coalesce(max(id), 0) FROM sitting").fetchone()
            texts = (json.dumps(limits), json.dumps(versions))
            self._sitting = last + 1
            process = (os.getpid(), socket.gethostname(), time.time())
            self._insert("sitting", [(self._sitting, *process, None, *texts, None, None, None)])
            if snapshot is not None:
                self._put_snapshot(self._seq, snapshot)
        self._note_file(Path(f"{self._file}-wal"))
        if self.is_new:
            sync_folder(self.path.absolute().parent)
        self.is_new = False

    def write_ask(self, n: int | None, trials: Sequence[Trial], snapshot: bytes | None = None) -> None:
        """Write that `n` trials were asked for and `trials` handed out, and where the run is after that."""
        now = time.time()
        with self._transaction():
            first = trials[0].id if trials else 0
            self._insert("ask", [(self._seq + 1, n, first, len(trials))])
            self._insert("trial", [(t.id, t.row, t.restart, now, int(t.is_again)) for t in trials])
            if snapshot is not None:
                self._put_snapshot(self._seq + 1, snapshot)
        self._seq += 1

    def write_tell(self, told: Mapping[int, Reading]) -> None:
        """Write what was told of trials, by their ids, in this order; results that were kept are told now."""
        with self._transaction(self._is_worth_a_sync(told.values())):
            for trial in told:
                self._delete("evaluation", "trial = ? AND seq IS NULL", trial)
            now = time.time()
            rows = [(*_columns(*one), now, self._seq + i) for i, one in enumerate(told.items(), start=1)]
            self._insert("evaluation", rows)
        self._seq += len(told)

    def keep(self, trial: int, reading: Reading) -> None:
        """Write a result that has come but is to be told later."""
        with self._transaction(self._is_worth_a_sync([reading])):
            self._insert("evaluation", [(*_columns(trial, reading), time.time(), None)])

    def write_loss(self, trial: int, reason: str, worker: str | None) -> None:
        """Write that an evaluation was lost and is begun again."""
        with self._transaction():
            self._insert("loss", [Loss(trial, reason, worker, time.time())])

    def write_snapshot(self, snapshot: bytes) -> None:
        """Write where the run is after the last event."""
        with self._transaction():
            self._put_snapshot(self._seq, snapshot)

    def end(self, stop_reason: str | None, message: str, optimizer_time: float) -> None:
        """Write how the sitting ended."""
        with self._transaction(is_synced=True):
            (row,) = self._delete("sitting", "id = ?", self._sitting)
            how = (stop_reason, message, optimizer_time)
            self._insert("sitting", [(*row[:4], time.time(), *row[5:7], *how)])

    def copy_to(self, path: Path) -> None:
        """Write everything that is in it to another file."""
        try:
            with closing(sqlite3.connect(path)) as other:
                self._connection.backup(other)
        except sqlite3.Error as error:
            raise store_error(path, error, "written") from error

    def check_files(self) -> None:
        """Raise StoreError if the store was deleted, or something else is in its place."""
        for path, identity in self._files.items():
            if _identify(path) != identity:
                raise StoreError(
                    f"the store {str(self.path)!r} was deleted, moved or replaced while the run is going on "
                    f"({path.name} is not the file that was opened): nothing more can be written to it"
                )

    def close(self) -> None:
        """Let go of the file and of the lock; nothing happens the second time."""
        self._finalizer()

    @property
    def is_closed(self) -> bool:
        """Whether the file was let go of."""
        return not self._finalizer.alive

    def _execute(self, statement: str) -> None:
        try:
            self._connection.execute(statement)
        except sqlite3.Error as error:
            raise store_error(self.path, error, "written") from error

    @contextmanager
    def _transaction(self, is_synced: bool = False) -> Iterator[None]:
        """Carry out everything inside, or nothing, and raise StoreError if it cannot be."""
        if self.is_closed:
            raise StoreError(f"the store {str(self.path)!r} was closed: open the run again to go on")
        try:
            self._connection.execute(f"PRAGMA synchronous = {'FULL' if is_synced else 'NORMAL'}")
            self._connection.execute("BEGIN IMMEDIATE")
            self._digest = 0
            yield
            query = "UPDATE digest SET total = (total + ?) & ?"
            self._connection.execute(query, (self._digest & DIGEST_MASK, DIGEST_MASK))
            self.check_files()
            self._connection.execute("COMMIT")
        except BaseException as error:
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
            if isinstance(error, sqlite3.Error):
                raise store_error(self.path, error, "written") from error
            raise
        self._unsynced = 0.0 if is_synced else self._unsynced
        self._last_write = time.monotonic()

    def _insert(self, table: str, rows: Sequence[Sequence[Any]]) -> None:
        """Add rows to a table and to the digest."""
        if not rows:
            return
        read = [tuple(map(_as_read, row)) for row in rows]
        marks = ", ".join("?" * len(rows[0]))
        self._connection.executemany(f"INSERT INTO {table} VALUES ({marks})", read)
        self._digest += sum(row_digest(table, row) for row in read)

    def _delete(self, table: str, where: str, value: int) -> list[Any]:
        """Remove rows from a table and from the digest, and return them."""
        rows = self._connection.execute(f"SELECT * FROM {table} WHERE {where}", (value,)).fetchall()
        if rows:
            self._connection.execute(f"DELETE FROM {table} WHERE {where}", (value,))
            self._digest -= sum(row_digest(table, row) for row in rows)
        return rows

    def _put_snapshot(self, seq: int, snapshot: bytes) -> None:
        self._delete("snapshot", "id = ?", 1)
        self._insert("snapshot", [(1, seq, snapshot)])

    def _note_file(self, path: Path) -> None:
        identity = _identify(path)
        if identity is not None:
            self._files[path] = identity

    def _is_worth_a_sync(self, readings: Iterable[Reading]) -> bool:
        """Add up what a power cut would cost, taking unsaid times for the time since the last event."""
        since = time.monotonic() - self._last_write
        self._unsynced += sum(since if math.isnan(one.seconds) else one.seconds for one in readings)
        return self._unsynced >= SYNCED_SECONDS

    def _take_lock(self) -> Lock:
        try:
            has_lock = Lock.file_of(self._file).exists()
            if not (has_lock or is_empty(self._connection) or self._is_alone()):
                raise StoreError(f"the store {str(self.path)!r} is in use{self._name_holder()}")
            lock = Lock(self._file)
            if lock.acquire():
                return lock
            lock.release()
            raise StoreError(f"the store {str(self.path)!r} is in use{self._name_holder()}")
        except (sqlite3.Error, StoreError) as error:
            self._connection.close()
            raise error if isinstance(error, StoreError) else store_error(self.path, error) from error

    def _is_alone(self) -> bool:
        """Tell, without the lock file, whether nobody else has the database open.

        The file stays behind for good: where it is missing somebody deleted it, perhaps during a run.
        """
        # Only the last one may leave WAL mode.
        return can_execute(self._connection, "PRAGMA journal_mode = DELETE")

    def _name_holder(self) -> str:
        """Say which process is at work, if it has said so already."""
        with suppress(StoreError):
            if sittings := self.reader.sittings():
                last = sittings[-1]
                since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(last.started))
                return (
                    f" by process {last.pid} on {last.host} since {since}; one process at a time may write it"
                )
        return " by another process; one process at a time may write it"


def _close(connection: sqlite3.Connection, lock: Lock) -> None:
    with suppress(sqlite3.Error):  # a reader is looking: its files are tidied up the next time
        connection.execute("PRAGMA busy_timeout = 0")
        connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()
    lock.release()


def _columns(trial: int, reading: Reading) -> tuple[Any, ...]:
    """Return what the table of evaluations has of a reading, in the order of its columns."""
    value, violation, reason, _, traceback, seconds, worker, started_at, told_at = reading
    return trial, value, violation, reason, traceback, seconds, told_at, worker, started_at


def _as_read(value: Any) -> Any:
    """Return a value as SQLite gives it back: no NaN, no negative zero; several values as a JSON list."""
    if isinstance(value, float):
        return None if math.isnan(value) else float(value) + 0.0
    if isinstance(value, tuple):
        return json.dumps([_as_read(one) for one in value])
    return value


def _identify(path: Path) -> tuple[int, int] | None:
    """Return what tells a file from others, or None if there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
