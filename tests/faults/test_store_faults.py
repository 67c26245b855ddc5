"""Stores that are in use, full, read-only, damaged or foreign: a clear error, and nothing overwritten."""

from __future__ import annotations

import os
import pickle
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dcmaes as dc
from dcmaes.journal import SYNCED_SECONDS, Reader, _schema
from dcmaes.optimizer import _persistence
from dcmaes.store import StoreError

SPACE = dc.Space({"n": dc.Integer(-9, 9), "m": dc.Integer(-9, 9), "act": dc.Categorical(["relu", "gelu"])})
RUN = {"space": SPACE, "budget": 100, "seed": 0, "strategy": "cma"}
NEEDS_PROC = pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a place that refuses files")


def objective(point):
    return point["n"] ** 2 + point["m"] ** 2 + (point["act"] == "relu")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.db"


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A store with a snapshot, a failure and points that are out."""
    path = tmp_path_factory.mktemp("stored") / "run.db"
    dc.minimize(objective, **RUN, store=path, callbacks=lambda opt: opt.n_evaluations == 20)
    with dc.Optimizer(**RUN, store=path) as opt:
        trials = opt.ask(4)
        opt.tell(trials[:2], [1.0, ValueError("bad")])
    return path


HOLDER = """
import sys, time, dcmaes as dc
space = dc.Space({"n": dc.Integer(-9, 9), "m": dc.Integer(-9, 9), "act": dc.Categorical(["relu", "gelu"])})
opt = dc.Optimizer(space, budget=100, seed=0, strategy="cma", store=sys.argv[1])
opt.tell(opt.ask(1), [1.0])
print("ready", flush=True)
time.sleep(600)
"""


def test_the_second_process_is_refused_and_a_kill_frees_the_store(path):
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout.readline() == "ready\n"
        with pytest.raises(StoreError, match=f"in use by process {holder.pid} on .* since"):
            dc.minimize(objective, **RUN, store=path)
        assert dc.store.read(path).is_running
    finally:
        holder.send_signal(signal.SIGKILL)
        holder.communicate()
    assert not dc.store.read(path).is_running
    assert dc.minimize(objective, **RUN, store=path).nfev == 100


def test_a_second_optimizer_of_the_same_process_is_refused(path):
    with dc.Optimizer(**RUN, store=path):
        with pytest.raises(StoreError, match=f"in use by process {os.getpid()}"):
            dc.Optimizer(**RUN, store=path)
        assert dc.store.read(path).is_running
    dc.Optimizer(**RUN, store=path).close()


def test_a_closed_store_takes_nothing_more(path):
    opt = dc.Optimizer(**RUN, store=path)
    trials = opt.ask(2)
    opt.close()
    opt.close()
    with pytest.raises(StoreError, match="was closed"):
        opt.tell(trials[0], 1.0)
    assert opt.n_evaluations == 0


def _repeat(calls):
    for call in calls:
        call()


def limit_pages(opt):
    """Let the database grow no more: SQLite says what it says on a full disk."""
    connection = opt._store.journal._connection
    (n_pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {n_pages}")


def test_a_result_that_cannot_be_written_does_not_count(path):
    with dc.Optimizer(**{**RUN, "budget": 10_000}, store=path) as opt:
        trials = opt.ask(50)
        limit_pages(opt)
        tell_all = partial(_repeat, [lambda t=trial: opt.tell(t, ValueError("x" * 400)) for trial in trials])
        with pytest.raises(StoreError, match="cannot be written: the disk is full; what was written before"):
            tell_all()
        n_told = opt.n_evaluations
        assert n_told < 50
        assert [trial.id for trial in opt.pending] == list(range(n_told, 50))
        assert opt.should_stop() is None
        opt._store.journal._connection.execute("PRAGMA max_page_count = 100000")
        opt.tell(trials[n_told], 1.0)
        assert opt.n_evaluations == n_told + 1
    assert len(dc.store.read(path).history) == n_told + 1


def test_points_that_cannot_be_written_are_not_handed_out(path):
    with dc.Optimizer(**{**RUN, "budget": 100_000, "duplicates": "allow"}, store=path) as opt:
        limit_pages(opt)
        asked = []
        with pytest.raises(StoreError, match="the disk is full"):
            _repeat([lambda: asked.extend(opt.ask(50))] * 1000)
        handed_out = len(asked)
        assert opt.should_stop() is dc.StopReason.ERROR
        assert opt.ask() == []
        opt._store.journal._connection.execute("PRAGMA max_page_count = 100000")
    assert len(dc.store.read(path).pending) == handed_out
    with dc.Optimizer(**{**RUN, "budget": 100_000, "duplicates": "allow"}, store=path) as again:
        assert len(again.pending) == handed_out
        assert again.should_stop() is None


LIMITED = """
import resource, signal, sys, dcmaes as dc
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    dc.minimize(lambda x: 1 / 0, dc.Space.integers(5, 0, 99), budget=10_000, seed=0, store=sys.argv[1])
except dc.EvaluationError as error:
    print(error.result.nfev, error)
"""


def test_a_file_that_may_not_grow_ends_the_run_and_it_goes_on_when_it_may(path):
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(path)], capture_output=True, text=True, timeout=120
    )
    n_told, message = done.stdout.split(" ", 1)
    assert "the run broke off with StoreError: the store" in message
    assert "what was written before is intact" in message
    assert 0 < int(n_told) < 10_000
    assert len(dc.store.read(path).history) == int(n_told)
    assert dc.resume(path, lambda x: 1.0, budget=int(n_told) + 20).nfev == int(n_told) + 20
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY


def test_places_where_no_store_can_be(tmp_path):
    with pytest.raises(StoreError, match="there is no folder"):
        dc.Optimizer(**RUN, store=tmp_path / "none" / "run.db")
    with pytest.raises(StoreError, match="is a folder"):
        dc.Optimizer(**RUN, store=tmp_path)
    assert list(tmp_path.iterdir()) == []


@NEEDS_PROC
def test_a_place_that_cannot_be_written():
    with pytest.raises(StoreError, match=r"cannot be used: it cannot be opened; check that the folder"):
        dc.Optimizer(**RUN, store="/proc/run.db")


def say_as_nobody(action):
    """Return what `action` says in a process without special rights, whoever runs this."""
    ours, theirs = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking beside threads
        child = os.fork()
    if child == 0:
        try:
            if os.getuid() == 0:
                os.setuid(65534)  # nobody
            text = str(action())
        except BaseException as error:
            text = f"{type(error).__name__}: {error}"
        os.write(theirs, text.encode())
        os._exit(0)
    os.close(theirs)
    os.waitpid(child, 0)
    with open(ours, "rb") as pipe:
        return pipe.read().decode()


@pytest.mark.parametrize("is_wal", [False, True])
def test_a_folder_that_is_read_only(is_wal):
    with tempfile.TemporaryDirectory() as name:  # not tmp_path, above which nobody may look
        folder = Path(name)
        path = folder / "run.db"
        dc.minimize(objective, **RUN, store=path)
        assert len(dc.store.read(path).history) == 100  # and all modules are loaded that nobody may not read
        if is_wal:  # as left behind when somebody was reading at the end of the run
            connection = sqlite3.connect(path)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.close()
        content = path.read_bytes()
        path.chmod(0o444)
        folder.chmod(0o555)
        try:
            refused = say_as_nobody(lambda: dc.minimize(objective, **RUN, store=path))
            read = say_as_nobody(lambda: len(dc.store.read(path).history))
            new = say_as_nobody(lambda: dc.minimize(objective, **RUN, store=folder / "new.db"))
        finally:
            folder.chmod(0o755)
        assert refused.startswith("StoreError: the store")
        assert "read-only" in refused or "cannot be opened" in refused
        assert read == "100"
        assert "cannot be used: it cannot be opened; check that the folder" in new
        assert path.read_bytes() == content


def test_a_store_that_is_read_only_can_be_read_but_not_gone_on_with(path, monkeypatch):
    dc.minimize(objective, **RUN, store=path)
    content = path.read_bytes()
    really = _schema._connect
    monkeypatch.setattr(_schema, "_connect", lambda uri: really(uri.replace("mode=rwc", "mode=ro")))
    with pytest.raises(StoreError, match="cannot be written: it is read-only; give a path"):
        dc.Optimizer(**RUN, store=path)
    assert len(dc.store.read(path).history) == 100
    assert path.read_bytes() == content


FOREIGN = {
    "text": b"loss,accuracy\n0.5,0.9\n" * 300,
    "short": b"x",
    "png": b"\x89PNG\r\n\x1a\n" + bytes(5000),
    "zeros": bytes(8192),
    "half_a_header": b"SQLite format 3\x00" + bytes(200),
}


@pytest.mark.parametrize("content", FOREIGN.values(), ids=FOREIGN)
def test_a_foreign_file_is_left_alone(path, content):
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"not a store of dcmaes|cannot be used|has nothing in it"):
        dc.minimize(objective, **RUN, store=path)
    with pytest.raises(StoreError, match=r"not a store of dcmaes|cannot be|has nothing in it"):
        dc.store.read(path)
    assert path.read_bytes() == content
    assert [file.name for file in path.parent.iterdir()] == ["run.db"]


def test_another_database_is_left_alone(path):
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE trial (id INTEGER)")
    connection.close()
    content = path.read_bytes()
    with pytest.raises(StoreError, match="some other database: give another path"):
        dc.minimize(objective, **RUN, store=path)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("PRAGMA user_version = 99", "has version 99; this library reads version 1"),
        ("ALTER TABLE sitting ADD COLUMN mood TEXT", "other tables than expected"),
    ],
)
def test_a_store_of_another_version_or_with_other_tables_is_left_alone(path, stored, change, message):
    path.write_bytes(stored.read_bytes())
    with sqlite3.connect(path) as connection:
        connection.execute(change)
    connection.close()
    content = path.read_bytes()
    for use in (lambda: dc.resume(path, objective), lambda: dc.store.read(path)):
        with pytest.raises(StoreError, match=message):
            use()
    assert path.read_bytes() == content


def test_whoever_reads_holds_up_nobody_who_writes(path):
    with dc.Optimizer(**RUN, store=path) as opt:
        reader = Reader.open(path)
        with reader.at_once():
            before = reader.last_seq()
            opt.tell(opt.ask(2), [1.0, 2.0])
            assert reader.last_seq() == before
        assert reader.last_seq() > before
        reader.close()


def test_an_empty_file_becomes_a_store(path):
    path.touch()
    assert dc.minimize(objective, **RUN, store=path).nfev == 100


FUZZ = settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def is_refused_or_used(path, content):
    """Read and go on from a damaged store; tell whether that works or is an error that changes nothing."""
    is_right = []
    for use in (lambda: dc.store.read(path).result(), lambda: dc.Optimizer(**RUN, store=path).close()):
        path.write_bytes(content)
        for suffix in ("-wal", "-shm", "-lock"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        error = _error_of(use)
        is_right.append(error is None or (str(path) in str(error) and path.read_bytes() == content))
    return all(is_right)


def _error_of(use):
    try:
        use()
    except (StoreError, ValueError) as error:
        return error
    return None


@FUZZ
@given(share=st.floats(0.0, 0.999))
def test_a_store_that_was_cut_off_is_refused(path, stored, share):
    content = stored.read_bytes()
    cut = content[: int(share * len(content))]
    path.write_bytes(cut)
    if cut:
        for use in (lambda: dc.store.read(path).result(), lambda: dc.Optimizer(**RUN, store=path)):
            with pytest.raises(StoreError):
                use()
    assert path.read_bytes() == cut


@pytest.mark.parametrize("n_bytes", [1, 100, 2000, 4095])
def test_a_store_whose_last_page_is_cut_off_is_refused(path, n_bytes):
    dc.minimize(objective, **RUN, store=path)
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE filler (x BLOB)")
    connection.execute("INSERT INTO filler VALUES (zeroblob(20000))")
    connection.execute("DROP TABLE filler")  # leaves free pages at the end, which nothing reads
    connection.commit()
    connection.close()
    cut = path.read_bytes()[:-n_bytes]
    path.write_bytes(cut)
    for use in (lambda: dc.store.read(path), lambda: dc.Optimizer(**RUN, store=path)):
        with pytest.raises(StoreError, match="the last page is not whole"):
            use()
    assert path.read_bytes() == cut


def test_a_store_with_a_page_missing_is_not_gone_on_with(path, stored):
    connection = sqlite3.connect(stored)
    connection.execute("VACUUM INTO ?", [str(path)])  # leaves out pages that nothing is in
    connection.close()
    content = path.read_bytes()
    for first in range(4096, len(content), 4096):
        damaged = content[:first] + bytes(4096) + content[first + 4096 :]
        path.write_bytes(damaged)
        with pytest.raises(StoreError, match=r"is damaged"):
            dc.Optimizer(**RUN, store=path)
        assert path.read_bytes() == damaged


@FUZZ
@given(data=st.data())
def test_damaged_stores(path, stored, data):
    content = bytearray(stored.read_bytes())
    for _ in range(data.draw(st.integers(1, 8))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at] ^= data.draw(st.integers(1, 255))
    assert is_refused_or_used(path, bytes(content))


@FUZZ
@given(
    table=st.sampled_from(["run", "sitting", "ask", "trial", "evaluation", "snapshot"]),
    column=st.integers(0, 9),
    value=st.one_of(
        st.none(), st.integers(-(2**63), 2**63 - 1), st.floats(), st.text(max_size=20), st.binary(max_size=40)
    ),
)
def test_stores_with_other_contents(path, stored, table, column, value):
    path.write_bytes(stored.read_bytes())
    connection = sqlite3.connect(path)
    names = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    try:
        with connection:
            connection.execute(
                f"UPDATE {table} SET {names[column % len(names)]} = ? "
                f"WHERE rowid IN (SELECT rowid FROM {table} LIMIT 1)"
                if table != "run"
                else f"UPDATE run SET value = ? WHERE key = '{['space', 'seed', 'starts'][column % 3]}'",
                [value],
            )
    except sqlite3.Error:
        return  # the database itself refuses
    finally:
        connection.close()
    assert is_refused_or_used(path, path.read_bytes())


class Trap:
    """Says so when it is unpickled."""

    def __reduce__(self):
        return exec, ("raise SystemExit('code of a store was run')",)


def test_nothing_in_a_store_is_run(path, stored):
    path.write_bytes(stored.read_bytes())
    array = np.array([Trap()], dtype=object)
    snapshot = path.with_name("snapshot.npz")
    np.savez(snapshot, metadata=array, allow_pickle=True)
    for data in (pickle.dumps(Trap()), snapshot.read_bytes()):
        with sqlite3.connect(path) as connection:
            connection.execute("UPDATE snapshot SET data = ?", [data])
        connection.close()
        for use in (lambda: dc.store.read(path), lambda: dc.resume(path, objective)):
            with pytest.raises(StoreError, match="cannot be read"):
                use()
        with pytest.raises(ValueError, match="not readable"):
            _persistence.loads(data)


@pytest.mark.parametrize(("table", "column"), [("run", "value"), ("sitting", "limits")])
def test_no_text_in_a_store_is_run(path, stored, table, column):
    path.write_bytes(stored.read_bytes())
    mark = path.with_name("mark")
    with sqlite3.connect(path) as connection:
        connection.execute(f"UPDATE {table} SET {column} = ?", [f"open({str(mark)!r}, 'w').close()"])
    connection.close()
    for use in (lambda: dc.store.read(path), lambda: dc.resume(path, objective)):
        with pytest.raises(StoreError, match="cannot be read"):
            use()
    assert not mark.exists()


def test_expensive_results_wait_for_the_disk(path):
    synced = []
    with dc.Optimizer(**RUN, store=path) as opt:
        connection = opt._store.journal._connection

        def level():
            return connection.execute("PRAGMA synchronous").fetchone()[0]

        for seconds in (0.0, SYNCED_SECONDS, 0.0, 0.6 * SYNCED_SECONDS, 0.6 * SYNCED_SECONDS, 0.0):
            (trial,) = opt.ask(1)
            opt.tell(trial, 1.0, seconds=seconds)
            synced.append(level() == 2)
        (trial,) = opt.ask(1)
        time.sleep(SYNCED_SECONDS)
        opt.tell(trial, 1.0)
        synced.append(level() == 2)
    assert synced == [False, True, False, False, True, False, True]
