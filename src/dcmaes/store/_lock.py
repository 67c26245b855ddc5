"""One writer at a time: a lock that the operating system releases when its holder is gone."""

from __future__ import annotations

import sqlite3
from pathlib import Path

# A reader that looks whether the lock is held holds it for an instant itself.
_PATIENCE = 1.0


class Lock:
    """The lock of the store at `path`: an SQLite transaction held open on a file beside it.

    SQLite's locks belong to a process and end with it, also by SIGKILL; worker processes that were forked off
    do not hold them; and they work on every system on which SQLite does. The file stays behind, empty.
    """

    def __init__(self, path: Path) -> None:
        self._connection = _connect(path, _PATIENCE)

    @staticmethod
    def file_of(path: Path) -> Path:
        """Return where the lock of the store at `path` is."""
        return path.with_name(f"{path.name}-lock")

    def acquire(self) -> bool:
        """Take the lock if it is free, and tell whether it was."""
        try:
            self._connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                return False
            raise
        return True

    def release(self) -> None:
        """Give the lock back."""
        self._connection.close()


def is_held(path: Path) -> bool:
    """Tell whether some process holds the lock of the store at `path`; makes no file."""
    path = path.resolve()
    if not Lock.file_of(path).exists():
        return False
    try:
        connection = _connect(path, 0.0)
        try:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        finally:
            connection.close()
    except sqlite3.OperationalError as error:
        return "locked" in str(error)
    return False


def _connect(path: Path, timeout: float) -> sqlite3.Connection:
    return sqlite3.connect(Lock.file_of(path), timeout=timeout, isolation_level=None, check_same_thread=False)
