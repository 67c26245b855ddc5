"""Stores that are in use, full or read-only: a clear error, and nothing lost."""

from __future__ import annotations

import os
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

import dcmaes as dc
from dcmaes.store import StoreError, _schema
from dcmaes.store._journal import SYNCED_SECONDS
from dcmaes.store._reader import Reader

SPACE = dc.Space({"n": dc.Integer(-9, 9), "m": dc.Integer(-9, 9), "act": dc.Categorical(["relu", "gelu"])})
RUN = {"space": SPACE, "budget": 100, "seed": 0, "strategy": "cma"}
NEEDS_PROC = pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a place that refuses files")


def objective(point):
    return point["n"] ** 2 + point["m"] ** 2 + (point["act"] == "relu")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.db"


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


def test_a_symbolic_link_is_the_store_itself(path):
    link = path.with_name("link.db")
    link.symlink_to(path)
    with dc.Optimizer(**RUN, store=link):
        with pytest.raises(StoreError, match=f"in use by process {os.getpid()}"):
            dc.Optimizer(**RUN, store=path)
        assert dc.store.read(path).is_running
    with dc.Optimizer(**RUN, store=path):
        with pytest.raises(StoreError, match=f"in use by process {os.getpid()}"):
            dc.Optimizer(**RUN, store=link)
        assert dc.store.read(link).is_running


def test_a_store_with_two_names_is_refused(path):
    with dc.Optimizer(**RUN, store=path) as opt:
        opt.tell(opt.ask(1), [1.0])
        link = path.with_name("link.db")
        link.hardlink_to(path)
        with pytest.raises(StoreError, match=r"link\.db' has other names \(hard links\).*such as a copy"):
            dc.Optimizer(**RUN, store=link)
        opt.tell(opt.ask(1), [2.0])
    link.unlink()
    assert dc.minimize(objective, **RUN, store=path).nfev == 100


def test_a_deleted_lock_lets_nobody_in(path):
    with dc.Optimizer(**RUN, store=path) as opt:
        path.with_name("run.db-lock").unlink()
        with pytest.raises(StoreError, match=f"in use by process {os.getpid()}"):
            dc.Optimizer(**RUN, store=path)
        opt.tell(opt.ask(1), [1.0])
    assert dc.minimize(objective, **RUN, store=path).nfev == 100


def test_a_store_may_be_moved_after_the_run(path):
    dc.minimize(objective, **RUN, store=path)
    moved = path.with_name("moved.db")
    path.rename(moved)
    assert dc.resume(moved, objective, budget=120).nfev == 120


def _delete(path):
    path.unlink()


def _replace(path):
    other = path.with_name("other.db")
    dc.Optimizer(**RUN, store=other).close()
    other.replace(path)


def _move(path):
    path.rename(path.with_name("moved.db"))


@pytest.mark.parametrize("n_before", [40, 99])
@pytest.mark.parametrize("spoil", [_delete, _replace, _move, lambda p: p.with_name("run.db-wal").unlink()])
def test_a_store_that_is_gone_during_the_run_is_an_error(path, spoil, n_before):
    def spoiling(point):
        calls.append(point)
        if len(calls) == n_before:
            spoil(path)
        return objective(point)

    calls = []
    with pytest.raises(dc.EvaluationError, match="was deleted, moved or replaced while the run") as caught:
        dc.minimize(spoiling, **RUN, store=path)
    assert isinstance(caught.value.__cause__, StoreError)
    assert caught.value.result.nfev == n_before - 1
    assert len(calls) == n_before


def test_a_store_that_is_gone_after_the_last_evaluation_is_an_error(path):
    def callback(opt):
        if opt.n_evaluations == 100:
            path.unlink()

    with pytest.raises(dc.EvaluationError, match="was deleted, moved or replaced") as caught:
        dc.minimize(objective, **RUN, store=path, callbacks=callback)
    assert caught.value.result.nfev == 100


def test_the_working_folder_may_change_during_the_run(path, monkeypatch):
    monkeypatch.chdir(path.parent)
    with dc.Optimizer(**RUN, store="run.db") as opt:
        monkeypatch.chdir("/")
        opt.tell(opt.ask(1), [1.0])
    assert len(dc.store.read(path).history) == 1


def test_numbers_are_read_as_they_were_written(path):
    """Each would be written otherwise than it is read, and taken for damage."""
    with dc.Optimizer(**RUN, store=path) as opt:
        values = [1, np.float32(0.1), True, dc.Outcome(2, 3)]
        opt.tell(opt.ask(4), values, seconds=[1, -0.0, np.int64(2), 0.5])
    with dc.Optimizer(**RUN, store=path) as again:
        assert again.history.objective_times.tolist() == [1.0, 0.0, 2.0, 0.5]


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
    space = dc.Space.integers(5, 0, 99)
    dc.minimize(lambda x: 1 / 0, space, budget=10_000, seed=0, store=sys.argv[1], on_error="continue")
except dc.EvaluationError as error:
    print(error.result.nfev, error)
"""


def test_a_file_that_may_not_grow_ends_the_run_and_it_goes_on_when_it_may(path):
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(path)], capture_output=True, text=True, timeout=600
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


def test_whoever_reads_holds_up_nobody_who_writes(path):
    with dc.Optimizer(**RUN, store=path) as opt:
        with Reader.opened(path) as reader:
            before = reader.last_seq()
            opt.tell(opt.ask(2), [1.0, 2.0])
            assert reader.last_seq() == before
        with Reader.opened(path) as reader:
            assert reader.last_seq() > before


def test_an_empty_file_becomes_a_store(path):
    path.touch()
    assert dc.minimize(objective, **RUN, store=path).nfev == 100


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
