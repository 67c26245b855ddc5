"""The database of a run: its tables and rows, how it is opened (never over something else), and its lock."""

from __future__ import annotations

import os
import sqlite3
import struct
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from dcmaes._validation import ArgumentError

# "dcma" in ASCII: says in the header of the database whose it is.
APPLICATION_ID = 0x64636D61
VERSION = 14
# Added to the version of a store with several objectives, which libraries that know only one refuse: there
# the column `value` holds text, a JSON list of all values.
SEVERAL = 100
# How long a reader or writer waits for another one's transaction.
_PATIENCE = 10.0
# How long a writer waits for the lock: a reader that looks whether it is held holds it for an instant itself.
_LOCK_PATIENCE = 1.0
_SMALLEST = 512
# What reading contents that make no sense may raise.
_DECODING_ERRORS = (
    *(ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError, MemoryError),
    struct.error,
)

TABLES = """
CREATE TABLE run (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE sitting (
    id INTEGER PRIMARY KEY, pid INTEGER NOT NULL, host TEXT NOT NULL, started REAL NOT NULL, ended REAL,
    limits TEXT NOT NULL, versions TEXT NOT NULL, stop_reason TEXT, message TEXT, optimizer_time REAL
);
CREATE TABLE ask (
    seq INTEGER PRIMARY KEY, n INTEGER, first_trial INTEGER NOT NULL, n_trials INTEGER NOT NULL
);
CREATE TABLE trial (
    id INTEGER PRIMARY KEY, point BLOB NOT NULL, restart INTEGER NOT NULL, asked_at REAL NOT NULL,
    is_again INTEGER NOT NULL
);
CREATE TABLE evaluation (
    trial INTEGER PRIMARY KEY REFERENCES trial (id), value REAL, violation REAL NOT NULL, reason TEXT,
    traceback TEXT, seconds REAL, told_at REAL, worker TEXT, started_at REAL, written_at REAL NOT NULL,
    seq INTEGER UNIQUE
);
CREATE TABLE loss (trial INTEGER NOT NULL, reason TEXT NOT NULL, worker TEXT, at REAL NOT NULL);
CREATE TABLE snapshot (id INTEGER PRIMARY KEY CHECK (id = 1), seq INTEGER NOT NULL, data BLOB NOT NULL);
CREATE TABLE digest (total INTEGER NOT NULL);
"""
_STATEMENTS = [statement.strip() for statement in TABLES.split(";") if statement.strip()]
# What the digest is over.
_CONTENTS = ("run", "sitting", "ask", "trial", "evaluation", "loss", "snapshot")
# Digests of rows are added up in this many bits: SQLite's integers have one more, so no sum overflows.
DIGEST_MASK = 2**62 - 1


class Loss(NamedTuple):
    """An evaluation that came to nothing because its worker did, and was begun again."""

    id: int
    reason: str
    worker: str | None
    at: float


class Ask(NamedTuple):
    """A call of ask: how many were wanted, and which trials were handed out."""

    n: int | None
    first_trial: int
    n_trials: int


class Sitting(NamedTuple):
    """A session: one process using the store, from opening to closing it; times in seconds since 1970.

    `ended`, `stop_reason`, `message` and `optimizer_time` are None for one that is at work or was killed.
    """

    id: int
    pid: int
    host: str
    started: float
    ended: float | None
    limits: dict[str, Any]
    versions: dict[str, str]
    stop_reason: str | None
    message: str | None
    optimizer_time: float | None


class Snapshot(NamedTuple):
    """Where the run was after event `seq`, without the evaluations, which are in their table."""

    seq: int
    data: bytes


class StoreError(RuntimeError):
    """A store that cannot be used: in use by another process, not readable, or not writable.

    >>> import dcmaes as dc
    >>> dc.store.read("no-such-run.db")
    Traceback (most recent call last):
    dcmaes.store._schema.StoreError: the store 'no-such-run.db' does not exist
    """


def connect(path: Path, *, is_writing: bool) -> sqlite3.Connection:
    """Return a connection to the database at `path`, or raise StoreError; readers never change it.

    A writer gets a new database if there is none, or an empty file; tables are made by `create_tables`.
    """
    if not is_writing and not path.exists():
        raise StoreError(f"the store {str(path)!r} does not exist")
    if path.is_dir():
        raise StoreError(f"the store {str(path)!r} is a folder; give the path of a file in it")
    if is_writing and not path.parent.is_dir():
        raise StoreError(
            f"the store {str(path)!r} cannot be made: there is no folder {str(path.absolute().parent)!r}"
        )
    if is_writing and path.exists() and path.stat().st_nlink > 1:
        raise StoreError(
            f"the store {str(path)!r} has other names (hard links), under which another process may "
            "write it: give a file that has one name, such as a copy of it"
        )
    # SQLite takes a file shorter than any database for an empty one.
    if path.exists() and 0 < path.stat().st_size < _SMALLEST:
        raise StoreError(f"{str(path)!r} is not a store of dcmaes but some other file: give another path")
    try:
        connection = _open(path, is_writing)
    except sqlite3.Error as error:
        raise store_error(path, error) from error
    try:
        with translated_errors(path):
            _check(connection, path, is_writing)
    except BaseException:
        connection.close()
        raise
    return connection


def create_tables(connection: sqlite3.Connection, has_several: bool) -> None:
    """Make all tables; inside a transaction, so that there are all of them or none.

    `has_several` says whether it is for a run with several objectives.
    """
    for statement in _STATEMENTS:
        connection.execute(statement)
    connection.execute("INSERT INTO digest VALUES (0)")
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {VERSION + SEVERAL * has_several}")


def row_digest(table: str, row: Sequence[Any]) -> int:
    """Return a number that stands for one row of a table as it is read from the database.

    Added up over all rows, these notice one that is changed, missing or there twice.
    """
    text = f"{table}{tuple(row)!r}".encode(errors="surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "big") & DIGEST_MASK


def content_digest(connection: sqlite3.Connection) -> int:
    """Return the sum over all rows."""
    total = 0
    for table in _CONTENTS:
        for row in connection.execute(f"SELECT * FROM {table}"):
            total += row_digest(table, row)
    return total & DIGEST_MASK


def is_empty(connection: sqlite3.Connection) -> bool:
    """Tell whether the database has no tables yet."""
    (n_tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return int(n_tables) == 0


@contextmanager
def translated_errors(path: Path) -> Iterator[None]:
    """Raise StoreError where the body cannot make sense of what it reads, and pass what it says itself."""
    try:
        yield
    except (StoreError, ArgumentError):
        raise
    except sqlite3.Error as error:
        raise store_error(path, error, "read") from error
    except _DECODING_ERRORS as error:
        raise StoreError(f"the store {str(path)!r} cannot be read: it is damaged ({error!r})") from error


def store_error(path: Path, error: Exception, doing: str = "used") -> StoreError:
    """Return the error that says what is wrong with a store in words."""
    text = str(error)
    hints = {
        "disk is full": "the disk is full; what was written before is intact, make room and resume",
        "readonly": "it is read-only; give a path that can be written",
        "disk i/o error": "the disk refused (full, over quota, or gone); what was written before is intact",
        "unable to open": "it cannot be opened; check that the folder and the file can be read and written",
        "not a database": "it is not a store of dcmaes but some other file; give another path",
        "malformed": "it is damaged (cut off or overwritten); restore a copy of it",
        "locked": "another process has locked it",
    }
    hint = next((hint for sign, hint in hints.items() if sign in text.lower()), text)
    return StoreError(f"the store {str(path)!r} cannot be {doing}: {hint} (SQLite: {text})")


def _open(path: Path, is_writing: bool) -> sqlite3.Connection:
    uri = path.absolute().as_uri()
    connection = _connect(f"{uri}?mode={'rwc' if is_writing else 'ro'}")
    try:
        connection.execute("PRAGMA schema_version").fetchone()
    except sqlite3.OperationalError:
        connection.close()
        # Without the right to write beside the file, it can be read only if no log is left beside it.
        if is_writing or Path(f"{path}-wal").exists():
            raise
        connection = _connect(f"{uri}?immutable=1")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _connect(uri: str) -> sqlite3.Connection:
    return sqlite3.connect(uri, uri=True, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)


def _check(connection: sqlite3.Connection, path: Path, is_writing: bool) -> None:
    """Raise StoreError unless this is a whole store of ours, or (for a writer) nothing at all yet."""
    try:
        if is_empty(connection):
            if _pragma(connection, "application_id") not in (0, APPLICATION_ID) or not is_writing:
                raise StoreError(f"the store {str(path)!r} has nothing in it")
            return
        application, version = _pragma(connection, "application_id"), _pragma(connection, "user_version")
        if application != APPLICATION_ID:
            raise StoreError(
                f"{str(path)!r} is not a store of dcmaes but some other database: give another path"
            )
        if version not in (VERSION, VERSION + SEVERAL):
            raise StoreError(
                f"the store {str(path)!r} has version {version}; this library reads version {VERSION}"
            )
        # Anything else, such as a trigger, would be carried out by the next write.
        if _definitions(connection) != sorted(_STATEMENTS):
            raise sqlite3.DatabaseError("malformed: other tables, indices, views or triggers than expected")
        # SQLite takes what is missing of the last page for zeros.
        has_log = Path(f"{path}-wal").exists()
        if not has_log and path.stat().st_size % _pragma(connection, "page_size"):
            raise sqlite3.DatabaseError("malformed: the last page is not whole")
        if is_writing and (found := _pragma(connection, "quick_check(1)")) != "ok":
            raise sqlite3.DatabaseError(f"malformed: {found}")
        _check_digest(connection)
    except sqlite3.Error as error:
        raise store_error(path, error) from error


def _check_digest(connection: sqlite3.Connection) -> None:
    with one_moment(connection):
        found = content_digest(connection)
        if connection.execute("SELECT total FROM digest").fetchall() != [(found,)]:
            raise sqlite3.DatabaseError("malformed: rows were changed, lost or added")


@contextmanager
def one_moment(connection: sqlite3.Connection) -> Iterator[None]:
    """Read everything inside from one and the same moment, whatever is written meanwhile."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        # Nothing was written; and in a damaged file ending a transaction can fail as reading does.
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")


def _definitions(connection: sqlite3.Connection) -> list[str]:
    """Return everything that the database defines, but what SQLite makes by itself for a UNIQUE column."""
    query = "SELECT coalesce(sql, '') FROM sqlite_master WHERE NOT (type = 'index' AND sql IS NULL)"
    return sorted(sql for (sql,) in connection.execute(query))


def _pragma(connection: sqlite3.Connection, name: str) -> Any:
    return connection.execute(f"PRAGMA {name}").fetchone()[0]


class Lock:
    """The lock of the store at `path`: an SQLite transaction held open on a file beside it.

    One process at a time may write. SQLite's locks belong to a process and end with it, also by SIGKILL;
    worker processes that were forked off do not hold them; and they work on every system on which SQLite
    does. The file stays behind, empty.
    """

    def __init__(self, path: Path) -> None:
        self._connection = _connect_lock(path, _LOCK_PATIENCE)

    @staticmethod
    def file_of(path: Path) -> Path:
        """Return where the lock of the store at `path` is."""
        return path.with_name(f"{path.name}-lock")

    def acquire(self) -> bool:
        """Take the lock if it is free, and tell whether it was."""
        return can_execute(self._connection, "BEGIN EXCLUSIVE")

    def release(self) -> None:
        """Give the lock back."""
        self._connection.close()


def can_execute(connection: sqlite3.Connection, statement: str) -> bool:
    """Carry out a statement unless the database is locked, and tell whether it was carried out."""
    try:
        connection.execute(statement)
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            return False
        raise
    return True


def is_held(path: Path) -> bool:
    """Tell whether some process holds the lock of the store at `path`; makes no file."""
    path = path.resolve()
    if not Lock.file_of(path).exists():
        return False
    try:
        with closing(_connect_lock(path, 0.0)) as connection:
            return not can_execute(connection, "SELECT count(*) FROM sqlite_master")
    except sqlite3.OperationalError:
        return False


def _connect_lock(path: Path, timeout: float) -> sqlite3.Connection:
    return sqlite3.connect(Lock.file_of(path), timeout=timeout, isolation_level=None, check_same_thread=False)


def sync_folder(folder: Path) -> None:
    """Make the name of a new file survive a power cut, where the system can."""
    if os.name == "posix":
        with suppress(OSError):
            handle = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
