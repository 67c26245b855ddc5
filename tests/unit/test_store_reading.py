"""A store is read in the user's terms, also while a run writes it, and never changed by that."""

from __future__ import annotations

import math
import os
import sqlite3
import time

import numpy as np
import pytest

import dcmaes as dc
from dcmaes.strategies import RandomSearch

SPACE = dc.Space({"n": dc.Integer(-9, 9), "act": dc.Categorical(["relu", "gelu"]), "lr": dc.Float(0.1, 1.0)})


def objective(point):
    if point["n"] == 3:
        raise ValueError("three")
    return point["n"] ** 2 + (point["act"] == "relu") + point["lr"]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.db"


def records(history):
    return [repr(record) for record in history]


def test_a_finished_run_reads_as_minimize_returned_it(path):
    before = time.time()
    result = dc.maximize(objective, SPACE, budget=120, seed=4, store=path, strategy="cma", target=1e9)
    run = dc.store.read(path)
    assert run.space == SPACE
    assert records(run.history) == records(result.history)
    again = run.result()
    assert (again.x, again.fun, again.nfev, again.n_failures) == (
        *(result.x, result.fun, result.nfev, result.n_failures),
    )
    assert (again.stop_reason, again.message) == (dc.StopReason.BUDGET, result.message)
    assert (run.stop_reason, run.message) == (dc.StopReason.BUDGET, result.message)
    assert again.optimizer_time == pytest.approx(result.optimizer_time)
    assert again.interactions() == result.interactions()
    np.testing.assert_array_equal(again.distribution.correlations, result.distribution.correlations)
    assert not run.is_running
    assert before <= run.started <= run.updated <= time.time()
    settings = run.settings
    assert (settings["budget"], settings["seed"], settings["direction"]) == (120, 4, "maximize")
    assert (settings["target"], settings["duplicates"]) == (1e9, "cache")
    assert settings["strategy"]["name"] == "cma"
    assert settings["versions"]["dcmaes"] == dc.__version__


def test_failures_are_read_with_reason_and_traceback(path):
    dc.minimize(objective, SPACE, budget=60, seed=0, store=path, strategy="random")
    failures = dc.store.read(path).failures
    assert failures
    assert all((f.point["n"], f.reason) == (3, "ValueError: three") for f in failures)
    assert all('raise ValueError("three")' in f.traceback for f in failures)


def test_a_run_that_goes_on_is_read_as_it_stands(path):
    opt = dc.Optimizer(SPACE, budget=50, seed=0, store=path, x0=[({"n": 1, "act": "gelu", "lr": 0.5}, 1.5)])
    trials = opt.ask(5)
    opt.tell(trials[:2], [2.5, math.nan])
    run = dc.store.read(path)
    assert run.is_running
    assert run.stop_reason is None
    assert run.message == "still running: 2 of 50 evaluations told"
    assert run.result().fun == 1.5
    assert run.history.is_given.tolist() == [True, False, False]
    assert [(p.id, p.point) for p in run.pending] == [(t.id, t.point) for t in trials[2:]]
    assert all(time.time() - 60 < p.since <= time.time() for p in run.pending)
    opt.tell(trials[2], 0.5)
    assert len(run.history) == 3
    assert dc.store.read(path).result().fun == 0.5
    opt.close()
    assert not dc.store.read(path).is_running


def test_reading_changes_nothing(path):
    dc.minimize(objective, SPACE, budget=20, seed=0, store=path)
    content, names = path.read_bytes(), sorted(os.listdir(path.parent))
    dc.store.read(path)
    assert path.read_bytes() == content
    assert sorted(os.listdir(path.parent)) == names


def test_a_strategy_of_ones_own(path):
    class Own(RandomSearch):
        @property
        def name(self):
            return "own"

    dc.minimize(objective, SPACE, budget=20, seed=0, store=path, strategy=Own())
    run = dc.store.read(path)
    assert len(run.history) == 20
    with pytest.raises(ValueError, match="strategy of your own, 'own': pass strategy="):
        run.result()
    assert dc.store.read(path, strategy=Own()).result().nfev == 20


def test_choices_that_are_not_plain_data_need_the_space(path):
    space = dc.Space({"a": dc.Categorical([object(), object(), object()])})
    dc.minimize(lambda p: 1.0, space, budget=3, seed=0, store=path)
    with pytest.raises(ValueError, match="pass space="):
        dc.store.read(path)
    assert len(dc.store.read(path, space=space).history) == 3


def test_constraints_are_not_needed_to_read(path):
    start = [({"n": -9, "act": "gelu", "lr": 0.5}, 1.0), {"n": 2, "act": "gelu", "lr": 0.5}]
    result = dc.minimize(
        objective, SPACE, budget=40, seed=0, store=path, constraints=lambda p: -p["n"], x0=start
    )
    run = dc.store.read(path)
    assert records(run.history) == records(result.history)
    assert run.history.statuses[0] == "infeasible"
    assert run.result().fun == result.fun


def test_no_store(path):
    with pytest.raises(dc.store.StoreError, match=r"run\.db' does not exist"):
        dc.store.read(path)
    path.touch()
    with pytest.raises(dc.store.StoreError, match="has nothing in it"):
        dc.store.read(path)
    sqlite3.connect(path).execute("CREATE TABLE guests (name TEXT)").connection.close()
    with pytest.raises(dc.store.StoreError, match="some other database"):
        dc.store.read(path)
