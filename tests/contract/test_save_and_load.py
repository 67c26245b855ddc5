"""A saved run goes on exactly, from every moment of it; nothing in the file is code."""

from __future__ import annotations

import os
import pickle
import sqlite3
import zipfile
from contextlib import closing

import numpy as np
import pytest

import dcmaes as dc
from dcmaes.store import StoreError
from dcmaes.strategies import RandomSearch, strategy_names
from dcmaes.testing import conformance_spaces


def value_of(space, point):
    x = space.sites.coordinate(space.encode(point))
    return float((x**2).sum())


def step(opt, space, seed):
    """Ask for some, tell some of those that are out, one of them as a failure now and then."""
    rng = np.random.default_rng(seed)
    asked = opt.ask(int(rng.integers(1, 6)))
    out = [opt.pending[i] for i in rng.permutation(len(opt.pending))[: rng.integers(0, 6)]]
    values = [None if rng.random() < 0.1 else value_of(space, trial.point) for trial in out]
    opt.tell(out, values)
    return [(trial.id, repr(trial.point)) for trial in asked]


def records(opt):
    return [repr(record._replace(told_at=0.0)) for record in opt.history]


@pytest.mark.parametrize(
    ("strategy", "name"),
    [
        (strategy, name)
        for strategy in strategy_names()
        for name in ("integers", "one_binary", "all_kinds", "single_values", "conditional")
        if strategy != "paper" or name in ("integers", "one_binary")
    ],
)
def test_the_loaded_run_goes_on_exactly(tmp_path, strategy, name):
    space = conformance_spaces()[name]
    start = space.sample(np.random.default_rng(0), 3)
    opt = dc.Optimizer(space, budget=60, seed=3, strategy=strategy, x0=[start[0], (start[1], 0.5), start[2]])
    for seed in range(12):
        opt.save(tmp_path / "run")
        again = dc.Optimizer.load(tmp_path / "run")
        assert records(again) == records(opt)
        assert [(t.id, repr(t.point)) for t in again.pending] == [(t.id, repr(t.point)) for t in opt.pending]
        assert again.should_stop() == opt.should_stop()
        assert again.result().message == opt.result().message
        for ahead in range(3):
            assert step(again, space, seed + ahead) == step(opt, space, seed + ahead)


def test_trials_that_are_out_can_be_told_after_loading(tmp_path):
    opt = dc.Optimizer(dc.Space.integers(2, 0, 9), budget=10, seed=0, strategy="random")
    trials = opt.ask(3)
    opt.save(tmp_path / "run")
    again = dc.Optimizer.load(tmp_path / "run")
    again.tell(trials[1], 5.0)
    again.tell(again.pending[0], 6.0)
    assert again.history.ids.tolist() == [1, 0]


def test_constraints_excluded_points_and_the_list_of_the_unknown_are_kept(tmp_path):
    space = dc.Space.integers(2, 0, 9)
    calls = []

    def constraint(x):
        calls.append(tuple(x))
        return x.sum() - 9

    opt = dc.Optimizer(space, budget=500, seed=0, constraints=constraint, strategy="random")
    for _ in range(45):
        opt.tell(opt.ask(1), [1.0])
    opt.save(tmp_path / "run")
    with pytest.raises(ValueError, match="had constraints, which are not in the store"):
        dc.Optimizer.load(tmp_path / "run")
    again = dc.Optimizer.load(tmp_path / "run", constraints=constraint)
    while again.should_stop() is None:
        again.tell(again.ask(1), [1.0])
    while opt.should_stop() is None:
        opt.tell(opt.ask(1), [1.0])
    assert records(again) == records(opt)
    assert again.n_evaluations == 55
    assert (
        again.result().message == "all 100 points of the space are known, 45 of them excluded by constraints"
    )


def test_choices_that_are_not_plain_data_need_the_space(tmp_path):
    choices = [object(), object()]
    space = dc.Space({"a": dc.Categorical(choices), "b": dc.Integer(0, 99)})
    opt = dc.Optimizer(space, budget=10, seed=0, strategy="random")
    opt.tell(opt.ask(2), [1.0, 2.0])
    opt.save(tmp_path / "run")
    with pytest.raises(ValueError, match="not plain data: pass space="):
        dc.Optimizer.load(tmp_path / "run")
    again = dc.Optimizer.load(tmp_path / "run", space=space)
    assert again.ask(1)[0].point == opt.ask(1)[0].point
    assert again.ask(1)[0].point["a"] in choices


def test_a_different_space_is_named(tmp_path):
    dc.Optimizer(dc.Space({"a": dc.Integer(0, 3)}), budget=10, strategy="random").save(tmp_path / "run")
    with pytest.raises(
        ValueError, match=r"space differs .*'a' is Integer\(0, 4\) as given and Integer\(0, 3\) in the file"
    ):
        dc.Optimizer.load(tmp_path / "run", space=dc.Space({"a": dc.Integer(0, 4)}))


class Own(RandomSearch):
    @property
    def name(self):
        return "own"


def test_an_own_strategy_must_be_passed_again(tmp_path):
    dc.Optimizer(dc.Space.binary(9), budget=10, strategy=Own()).save(tmp_path / "run")
    with pytest.raises(ValueError, match="strategy of your own, 'own': pass strategy="):
        dc.Optimizer.load(tmp_path / "run")
    with pytest.raises(ValueError, match="strategy differs"):
        dc.Optimizer.load(tmp_path / "run", strategy=RandomSearch())
    assert len(dc.Optimizer.load(tmp_path / "run", strategy=Own()).ask(2)) == 2


def test_options_of_a_strategy_are_kept(tmp_path):
    dc.Optimizer(dc.Space.binary(64), budget=10, strategy=RandomSearch(3)).save(tmp_path / "run")
    assert len(dc.Optimizer.load(tmp_path / "run").ask()) == 3
    with pytest.raises(ValueError, match="strategy differs"):
        dc.Optimizer.load(tmp_path / "run", strategy=RandomSearch(4))


def test_a_run_goes_on_after_loading_with_more_budget(tmp_path):
    space = dc.Space.integers(2, 0, 99)
    opt = dc.Optimizer(space, budget=3, seed=0, strategy="random", callbacks=lambda o: o.n_evaluations == 2)
    opt.tell(opt.ask(2), [1.0, 2.0])
    assert opt.should_stop() is dc.StopReason.CALLBACK
    opt.save(tmp_path / "run")
    again = dc.Optimizer.load(tmp_path / "run")
    assert again.should_stop() is None
    again.tell(again.ask(), [3.0])
    assert again.should_stop() is dc.StopReason.BUDGET
    again.save(tmp_path / "run")
    assert dc.Optimizer.load(tmp_path / "run").ask() == []
    more = dc.Optimizer.load(tmp_path / "run", budget=5)
    more.tell(more.ask(9), [4.0, 5.0])
    assert more.result().message == "budget of 5 evaluations used"


def test_directions_settings_and_times_are_kept(tmp_path):
    space = dc.Space.integers(2, 0, 99)
    opt = dc.Optimizer(
        space, budget=30, direction="maximize", target=50.0, duplicates="allow", on_error="raise"
    )
    opt.tell(opt.ask(2), [1.0, 20.0], seconds=[0.5, 1.5])
    opt.save(tmp_path / "run")
    again, result = dc.Optimizer.load(tmp_path / "run"), opt.result()
    assert (again.result().fun, again.result().objective_time) == (20.0, 2.0)
    assert again.result().seed == result.seed
    assert again.result().optimizer_time == result.optimizer_time
    again.tell(again.ask(1), [60.0])
    assert again.should_stop() is dc.StopReason.TARGET


def test_the_file_is_a_store_like_any_other(tmp_path):
    space, path = conformance_spaces()["all_kinds"], tmp_path / "run"
    opt = dc.Optimizer(space, budget=10, seed=0, strategy="random")
    opt.tell(opt.ask(4)[:3], [1.0, ValueError("bad"), 3.0])
    opt.save(path)
    assert os.listdir(tmp_path) == ["run"]
    run = dc.store.read(path)
    assert [repr(record) for record in run.history] == [repr(record) for record in opt.history]
    assert ([pending.id for pending in run.pending], run.is_running) == ([3], False)
    again = dc.resume(path, lambda point: value_of(space, point))
    while opt.should_stop() is None:
        trial = next(iter(opt.pending), None) or opt.ask()[0]
        opt.tell(trial, value_of(space, trial.point))
    assert [repr(record.point) for record in again.history] == [repr(record.point) for record in opt.history]


def test_a_run_with_a_store_is_saved_with_all_that_is_known_of_it(tmp_path):
    def failing(x):
        raise ValueError("bad")

    space, store, path = dc.Space.integers(2, 0, 99), tmp_path / "run.db", tmp_path / "copy"
    dc.minimize(failing, space, budget=5, seed=0, strategy="random", store=store, on_error="penalize")
    with dc.Optimizer(space, budget=9, seed=0, strategy="random", store=store) as opt:
        opt.tell(opt.ask(2)[:1], [1.0])
        opt.save(path)
        with pytest.raises(StoreError, match=r"run\.db' is in use by a process: save to another file"):
            opt.save(store)
        opt.tell(opt.pending[0], 2.0)
        again = dc.Optimizer.load(path)
        again.tell(again.pending[0], 2.0)
        assert records(again) == records(opt)
        assert again.ask(1)[0].point.tolist() == opt.ask(1)[0].point.tolist()
    assert "raise ValueError" in dc.store.read(path).failures[0].traceback
    assert len(dc.store.read(path).history) == 6


def test_a_store_is_loaded_without_being_written(tmp_path):
    path = tmp_path / "run.db"
    dc.minimize(sum, dc.Space.binary(9), budget=9, seed=0, strategy="random", store=path)
    content = path.read_bytes()
    again = dc.Optimizer.load(path, budget=12)
    again.tell(again.ask(3), [1.0, 2.0, 3.0])
    assert again.n_evaluations == 12
    assert path.read_bytes() == content


def _truncate(path):
    path.write_bytes(path.read_bytes()[:-200])


def _zip(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("metadata.npy", b"x" * 10_000)


def _foreign_arrays(path):
    with open(path, "wb") as file:
        np.savez(file, a=np.zeros(3))


def _pickled(path):
    path.write_bytes(pickle.dumps({"format": "dcmaes.optimizer"}))


def _folder(path):
    path.unlink()
    path.mkdir()


@pytest.fixture
def saved(tmp_path):
    opt = dc.Optimizer(dc.Space.integers(3, 0, 99), budget=100, seed=0, strategy="cma")
    opt.tell(trials := opt.ask(50), [1.0] * len(trials))
    opt.save(tmp_path / "run")
    return tmp_path / "run"


@pytest.mark.parametrize(
    "spoil",
    [
        _truncate,
        _zip,
        _foreign_arrays,
        _pickled,
        _folder,
        lambda path: path.unlink(),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_text("not a run"),
    ],
)
def test_a_damaged_or_foreign_file_is_named(saved, spoil):
    spoil(saved)
    with pytest.raises(StoreError, match=r"run'"):
        dc.Optimizer.load(saved)


def test_another_version_is_named(saved):
    with closing(sqlite3.connect(saved)) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreError, match=r"has version 99; this library reads version"):
        dc.Optimizer.load(saved)


def test_a_folder_that_is_missing_is_named(tmp_path):
    with pytest.raises(StoreError, match="there is no folder"):
        dc.Optimizer(dc.Space.binary(3), budget=10, strategy="random").save(tmp_path / "nowhere" / "run")


def test_a_failed_save_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "run"
    opt = dc.Optimizer(dc.Space.binary(9), budget=10, seed=0, strategy="random")
    opt.save(path)
    before = path.read_bytes()
    opt.tell(opt.ask(1), [1.0])

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(StoreError, match="No space left"):
        opt.save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["run"]
