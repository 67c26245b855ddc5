"""Starting from what other runs and tables know: histories, data frames and CSV files."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import dcmaes as dc
from dcmaes.run._start import read_start

SPACE = dc.Space(
    {
        "layers": dc.Integer(1, 8),
        "norm": dc.Binary(),
        "act": dc.Categorical(["relu", None, "1", 16, (1, 2)]),
        "batch": dc.Ordinal([16, 32, 64]),
        "drop": dc.Float(0, 0.5, step=0.1),
        "lr": dc.Float(1e-5, 1e-1, log=True),
        "value": dc.Integer(0, 2**53 - 1),
    }
)


def objective(point):
    if point["layers"] == 8:
        raise ValueError("too deep, and\nno good")
    if point["layers"] == 1:
        return dc.Outcome(point["lr"], violation=0.5)
    return point["lr"] + point["batch"]


@pytest.fixture(scope="module")
def result():
    found = dc.minimize(objective, SPACE, budget=60, seed=3, strategy="random", on_error="continue")
    assert set(found.history.statuses) == {"ok", "infeasible", "failed"}
    return found


def as_told(history):
    """What a history says of its points, without what is particular to the run."""
    return [(SPACE.encode(r.point).tolist(), repr(r.value), r.violation, r.reason) for r in history]


def forms(result, folder):
    frame = result.history.to_frame()
    frame.to_csv(folder / "frame.csv")
    frame.to_csv(folder / "semicolons.csv", index=False, sep=";")
    yield "result", result
    yield "history", result.history
    yield "records", result.history[:]
    yield "frame", frame
    yield "csv", folder / "frame.csv"
    yield "csv by name", str(folder / "semicolons.csv")
    yield "frame of a csv", pd.read_csv(folder / "frame.csv")


def test_every_form_tells_the_same_for_free(result, tmp_path):
    for form, x0 in forms(result, tmp_path):
        opt = dc.Optimizer(SPACE, budget=5, seed=0, x0=x0, strategy="random")
        assert as_told(opt.history) == as_told(result.history), form
        assert opt.history.is_given.all(), form
        assert (opt.n_evaluations, opt.result().n_failures) == (0, 0), form
        assert opt.best.value == result.fun, form


def test_stores_and_saved_runs_keep_what_they_started_with(result, tmp_path):
    path = tmp_path / "run.db"
    x0 = result.history.to_frame()
    with dc.Optimizer(SPACE, budget=20, seed=0, x0=x0, store=path) as opt:
        trials = opt.ask(3)
        expected = as_told(opt.history)
    with dc.Optimizer(SPACE, budget=20, seed=0, x0=x0, store=path) as opt:
        assert [t.point for t in opt.pending] == [t.point for t in trials]
        assert as_told(opt.history) == expected
        opt.save(tmp_path / "saved")
    stored = dc.store.read(path)
    assert as_told(stored.history) == expected
    assert as_told(dc.Optimizer.load(tmp_path / "saved").history) == expected
    again = dc.Optimizer(SPACE, budget=20, seed=0, x0=stored)
    assert as_told(again.history) == expected
    with pytest.raises(ValueError, match=r"x0 has 59 points .* 60 "):
        dc.Optimizer(SPACE, budget=20, seed=0, x0=x0[1:], store=path)


def test_rows_without_a_value_are_evaluated_first():
    space = dc.Space({"a": dc.Integer(0, 9)})
    frame = pd.DataFrame({"a": [1, 2, 3], "value": [0.5, math.nan, 1.5]})
    opt = dc.Optimizer(space, budget=9, seed=0, x0=frame)
    assert [record.point["a"] for record in opt.history] == [1, 3]
    assert opt.ask(1)[0].point == {"a": 2}
    assert dc.Optimizer(space, budget=9, seed=0, x0=frame[["a"]]).ask(3)[2].point == {"a": 3}


def test_another_space_takes_what_fits():
    old = dc.minimize(sum, dc.Space.integers(2, 0, 3), budget=9, seed=0, strategy="random")
    wider = dc.Optimizer(dc.Space.integers(2, -5, 5), budget=9, x0=old)
    np.testing.assert_array_equal(wider.history.points, old.history.points)
    with pytest.raises(ValueError, match=r"x0: evaluation \d: point\[\d\] must be False or True"):
        dc.Optimizer(dc.Space.binary(2), budget=9, x0=old)


def test_arrays_have_numbered_columns(tmp_path):
    space = dc.Space.array([dc.Integer(0, 9), dc.Float(0, 1)])
    expected = [([1.0, 0.25], 3.0), ([2.0, 0.5], 4.0)]
    (tmp_path / "x.csv").write_text("value\tx1\tx0\n3\t0.25\t1\n\n4\t0.5\t2\n")
    frame = pd.DataFrame([[1, 0.25], [2, 0.5]])
    for x0 in (tmp_path / "x.csv", frame.assign(value=[3, 4])):
        assert [(x.tolist(), reading.value) for x, reading in read_start(x0, space)] == expected


def test_values_are_in_the_sign_of_the_objective():
    space = dc.Space.integers(2, 0, 3)
    first = dc.maximize(sum, space, budget=8, seed=0, strategy="random")
    second = dc.maximize(sum, space, budget=1, seed=0, x0=first)
    assert second.fun == max(first.fun, second.history[-1].value)
    np.testing.assert_array_equal(second.history.values[:8], first.history.values)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "x0: the file '.*table.csv' is empty: its first line must name the columns"),
        ("a\n1\n", "x0: column 'b' is missing"),
        ("a,b,vaule\n", "x0: column 'vaule' must be a variable of the space or .*; did you mean 'value'"),
        ("a,b,a\n", "x0: column 'a' must be there once, got 2 of it"),
        ("a,b\n1,x\n2\n", "x0: line 3 of '.*table.csv' must have 2 columns, got 1"),
        ("a,b\n1,x\n10,x\n", "x0: line 3, column 'a': the value must be an integer from 0 to 9, got 10"),
        ("a,b\n1,x\n,x\n", "x0: line 3, column 'a': the value must be an integer from 0 to 9, got ''"),
        ("a,b\none,x\n", "x0: line 2, column 'a': the value must be an integer from 0 to 9, got 'one'"),
        ("a,b\n1,z\n", "x0: line 2, column 'b': the value must be one of 'x', 'y'; got 'z'"),
        ("a,b,value\n1,x,low\n", "x0: line 2, column 'value': must be a number, got 'low'"),
        ("a,b,value\n1,x,inf\n", "x0: line 2, column 'value': must be a finite number, got inf"),
        ("a,b,status\n1,x,good\n", "x0: line 2, column 'status': must be one of 'ok', .* got 'good'"),
        ('a,b\n1,"x\n', "x0: the file '.*table.csv' cannot be read: unexpected end of data"),
    ],
)
def test_mistakes_in_a_file_are_named_with_line_and_column(text, message, tmp_path):
    (tmp_path / "table.csv").write_text(text)
    with pytest.raises((ValueError, TypeError), match=message):
        read_start(tmp_path / "table.csv", dc.Space({"a": dc.Integer(0, 9), "b": dc.Categorical(["x", "y"])}))


def test_mistakes_in_a_frame_are_named_with_row_and_column():
    space = dc.Space({"a": dc.Integer(0, 9), "b": dc.Categorical(["x", "y"])})
    with pytest.raises(ValueError, match=r"x0: row 1, column 'a': the value must be an integer .* got 2.5"):
        read_start(pd.DataFrame({"a": [1, 2.5], "b": ["x", "y"]}), space)
    with pytest.raises(ValueError, match="x0: row 0, column 'b': the value must be one of 'x', 'y'; got ''"):
        read_start(pd.DataFrame({"a": [1], "b": [None]}), space)
    with pytest.raises(ValueError, match="x0: column 'b' is missing"):
        read_start(pd.DataFrame({"a": [1]}), space)


def test_files_that_are_not_there_or_no_text(tmp_path):
    with pytest.raises(ValueError, match=r"x0: the file '.*none.csv' cannot be read: No such file"):
        read_start(tmp_path / "none.csv", SPACE)
    dc.minimize(objective, SPACE, budget=2, seed=0, store=tmp_path / "run.db")
    with pytest.raises(ValueError, match=r"x0: the file '.*run.db' cannot be read: it is a store"):
        read_start(tmp_path / "run.db", SPACE)
    (tmp_path / "binary.csv").write_bytes(bytes(range(256)))
    with pytest.raises(ValueError, match=r"x0: the file '.*binary.csv' cannot be read: .*utf-8"):
        read_start(tmp_path / "binary.csv", SPACE)


@pytest.mark.parametrize("strategy", ["auto", "ising"])
def test_the_model_learns_from_what_is_known(strategy):
    """Random points of a quadratic function of 12 bits say where its minimum is."""
    n_found = 0
    for seed in range(6):
        q = np.random.default_rng(seed).normal(size=(12, 12))
        space = dc.Space.binary(12)
        points = space.sample(np.random.default_rng(100 + seed), 150)
        known = [(point, float(point @ q @ point)) for point in points]
        every = (np.arange(2**12)[:, np.newaxis] >> np.arange(12)) & 1
        least = np.einsum("ni,ij,nj->n", every, q, every).min()
        # The regression proposes four points at a time; in `auto` it has half of the evaluations.
        budget = {"auto": 8, "ising": 4}[strategy]
        found = dc.minimize(
            lambda x, q=q: float(x @ q @ x), space, budget=budget, seed=seed, strategy=strategy, x0=known
        )
        n_found += found.fun < least + 1e-9
    assert n_found >= 5
