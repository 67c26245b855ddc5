"""Stores that are damaged, foreign or made up: a clear error, nothing overwritten, nothing in them run."""

from __future__ import annotations

import pickle
import sqlite3

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dcmaes as dc
from dcmaes.store import StoreError
from dcmaes.store._restoring import loads
from dcmaes.store._schema import content_digest

SPACE = dc.Space({"n": dc.Integer(-9, 9), "m": dc.Integer(-9, 9), "act": dc.Categorical(["relu", "gelu"])})
RUN = {"space": SPACE, "budget": 100, "seed": 0, "strategy": "cma"}


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


OTHER = "other tables, indices, views or triggers than expected"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("PRAGMA user_version = 99", "has version 99; this library reads version 14"),
        ("ALTER TABLE sitting ADD COLUMN mood TEXT", OTHER),
        ("CREATE TABLE more (x)", OTHER),
        ("CREATE VIEW more AS SELECT * FROM trial", OTHER),
        ("CREATE INDEX more ON trial (asked_at)", OTHER),
        ("CREATE TRIGGER more AFTER INSERT ON ask BEGIN DELETE FROM evaluation; END", OTHER),
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


FUZZ = settings(
    max_examples=40,
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


TABLES = ["run", "sitting", "ask", "trial", "evaluation", "snapshot", "loss"]


def is_changed(path, statement, *values):
    """Change a store behind its back; tell whether that made a difference."""
    connection = sqlite3.connect(path)
    before = list(connection.iterdump())
    try:
        with connection:
            connection.execute(statement, values)
        return list(connection.iterdump()) != before
    except sqlite3.Error:
        return False  # the database itself refuses
    finally:
        connection.close()


def assert_refused(path):
    content = path.read_bytes()
    uses = (lambda: dc.store.read(path), lambda: dc.Optimizer(**RUN, store=path))
    for use in (*uses, lambda: dc.resume(path, objective)):
        with pytest.raises(StoreError, match=r"run\.db' cannot be (used|read): it is damaged"):
            use()
        assert path.read_bytes() == content


@FUZZ
@given(
    table=st.sampled_from(TABLES),
    column=st.integers(0, 9),
    value=st.one_of(
        st.none(), st.integers(-(2**63), 2**63 - 1), st.floats(), st.text(max_size=20), st.binary(max_size=40)
    ),
)
def test_a_store_with_other_contents_is_refused(path, stored, table, column, value):
    path.write_bytes(stored.read_bytes())
    connection = sqlite3.connect(path)
    names = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    connection.close()
    key = names[0] if table != "loss" else "rowid"
    first = f"WHERE {key} IN (SELECT {key} FROM {table} LIMIT 1)"
    if is_changed(path, f"UPDATE {table} SET {names[column % len(names)]} = ? {first}", value):
        assert_refused(path)


@pytest.mark.parametrize("end", ["ASC", "DESC"])
@pytest.mark.parametrize("table", TABLES)
def test_a_store_with_a_row_missing_is_refused(path, stored, table, end):
    path.write_bytes(stored.read_bytes())
    key = {"run": "key", "ask": "seq", "evaluation": "trial", "loss": "rowid"}.get(table, "id")
    first = f"WHERE {key} IN (SELECT {key} FROM {table} ORDER BY {key} {end} LIMIT 1)"
    assert is_changed(path, f"DELETE FROM {table} {first}") == (table != "loss")  # none was lost there
    if table != "loss":
        assert_refused(path)


def reseal(connection):
    """Make a store that was changed look right again, as only somebody who means it could."""
    connection.execute("UPDATE digest SET total = ?", [content_digest(connection)])


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
            reseal(connection)
        connection.close()
        for use in (lambda: dc.store.read(path), lambda: dc.resume(path, objective)):
            with pytest.raises(StoreError, match="cannot be read"):
                use()
        with pytest.raises(ValueError, match="not readable"):
            loads(data)


@pytest.mark.parametrize(("table", "column"), [("run", "value"), ("sitting", "limits")])
def test_no_text_in_a_store_is_run(path, stored, table, column):
    path.write_bytes(stored.read_bytes())
    mark = path.with_name("mark")
    with sqlite3.connect(path) as connection:
        connection.execute(f"UPDATE {table} SET {column} = ?", [f"open({str(mark)!r}, 'w').close()"])
        reseal(connection)
    connection.close()
    for use in (lambda: dc.store.read(path), lambda: dc.resume(path, objective)):
        with pytest.raises(StoreError, match="cannot be read"):
            use()
    assert not mark.exists()
