"""Writing the file of a run: one transaction for each event, before the event counts."""

from __future__ import annotations

import json
import math
import os
import socket
import sqlite3
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from dcmaes.journal._lock import Lock
from dcmaes.journal._reader import Reader
from dcmaes.journal._rows import EvaluationRow, LossRow, TrialRow
from dcmaes.journal._schema import (
    StoreError,
    connect,
    create_tables,
    intelligible,
    is_empty,
    sync_folder,
    unusable,
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
        self._connection = connect(path, is_writing=True)
        self.reader = Reader(self._connection, path)
        # Closes the file also where nobody does.
        self._finalizer = weakref.finalize(self, _close, self._connection, self._take_lock())
        try:
            with intelligible(path):
                self.is_new = is_empty(self._connection)
                self._seq = 0 if self.is_new else self.reader.last_seq()
        except StoreError:
            self.close()
            raise
        self._sitting = 0
        self._unsynced = 0.0
        self._last_write = time.monotonic()

    def begin(
        self,
        identity: Mapping[str, Any],
        limits: Mapping[str, Any],
        versions: Mapping[str, str],
        snapshot: bytes | None = None,
    ) -> None:
        """Begin a sitting; in a new file, make the tables and write the identity of the run."""
        self._execute("PRAGMA journal_mode = WAL")
        with self._transaction(is_synced=True) as execute:
            if self.is_new:
                create_tables(self._connection)
                for key, value in identity.items():
                    execute("INSERT INTO run VALUES (?, ?)", (key, json.dumps(value)))
            texts = (json.dumps(limits), json.dumps(versions))
            row = (os.getpid(), socket.gethostname(), time.time(), *texts)
            query = "INSERT INTO sitting (pid, host, started, limits, versions) VALUES (?, ?, ?, ?, ?)"
            self._sitting = execute(query, row).lastrowid or 0
            if snapshot is not None:
                execute("REPLACE INTO snapshot VALUES (1, ?, ?)", (self._seq, snapshot))
        if self.is_new:
            sync_folder(self.path.absolute().parent)
        self.is_new = False

    def write_ask(self, n: int | None, trials: Sequence[TrialRow], snapshot: bytes | None = None) -> None:
        """Write that `n` trials were asked for and `trials` handed out, and where the run is after that."""
        with self._transaction() as execute:
            first = trials[0].id if trials else 0
            execute("INSERT INTO ask VALUES (?, ?, ?, ?)", (self._seq + 1, n, first, len(trials)))
            self._connection.executemany("INSERT INTO trial VALUES (?, ?, ?, ?)", trials)
            if snapshot is not None:
                execute("REPLACE INTO snapshot VALUES (1, ?, ?)", (self._seq + 1, snapshot))
        self._seq += 1

    def write_tell(self, evaluations: Sequence[EvaluationRow]) -> None:
        """Write what was told, in this order; results that were kept are told now."""
        with self._transaction(self._is_worth_a_sync(evaluations)):
            many = self._connection.executemany
            many("DELETE FROM evaluation WHERE trial = ? AND seq IS NULL", [row[:1] for row in evaluations])
            now = time.time()
            rows = [(*row, now, self._seq + i) for i, row in enumerate(evaluations, start=1)]
            many("INSERT INTO evaluation VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
        self._seq += len(evaluations)

    def keep(self, evaluation: EvaluationRow) -> None:
        """Write a result that has come but is to be told later."""
        with self._transaction(self._is_worth_a_sync([evaluation])) as execute:
            query = "INSERT INTO evaluation VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL)"
            execute(query, (*evaluation, time.time()))

    def write_loss(self, loss: LossRow) -> None:
        """Write that an evaluation was lost and is begun again."""
        with self._transaction() as execute:
            execute("INSERT INTO loss VALUES (?, ?, ?, ?)", loss)

    def write_snapshot(self, snapshot: bytes) -> None:
        """Write where the run is after the last event."""
        with self._transaction() as execute:
            execute("REPLACE INTO snapshot VALUES (1, ?, ?)", (self._seq, snapshot))

    def end(self, stop_reason: str | None, message: str, optimizer_time: float) -> None:
        """Write how the sitting ended."""
        with self._transaction(is_synced=True) as execute:
            query = (
                "UPDATE sitting SET ended = ?, stop_reason = ?, message = ?, optimizer_time = ? WHERE id = ?"
            )
            execute(query, (time.time(), stop_reason, message, optimizer_time, self._sitting))

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
            raise unusable(self.path, error, "written") from error

    @contextmanager
    def _transaction(self, is_synced: bool = False) -> Iterator[Any]:
        """Carry out everything inside, or nothing, and raise StoreError if it cannot be."""
        if self.is_closed:
            raise StoreError(f"the store {str(self.path)!r} was closed: open the run again to go on")
        try:
            self._connection.execute(f"PRAGMA synchronous = {'FULL' if is_synced else 'NORMAL'}")
            self._connection.execute("BEGIN IMMEDIATE")
            yield self._connection.execute
            self._connection.execute("COMMIT")
        except BaseException as error:
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
            if isinstance(error, sqlite3.Error):
                raise unusable(self.path, error, "written") from error
            raise
        self._unsynced = 0.0 if is_synced else self._unsynced
        self._last_write = time.monotonic()

    def _is_worth_a_sync(self, evaluations: Sequence[EvaluationRow]) -> bool:
        """Add up what a power cut would cost, taking unsaid times for the time since the last event."""
        since = time.monotonic() - self._last_write
        self._unsynced += sum(since if math.isnan(row.seconds) else row.seconds for row in evaluations)
        return self._unsynced >= SYNCED_SECONDS

    def _take_lock(self) -> Lock:
        try:
            lock = Lock(self.path)
            if lock.acquire():
                return lock
            lock.release()
            raise StoreError(f"the store {str(self.path)!r} is in use{self._name_holder()}")
        except (sqlite3.Error, StoreError) as error:
            self._connection.close()
            raise error if isinstance(error, StoreError) else unusable(self.path, error) from error

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
