"""Sixty-four threads ask and tell one optimizer at once: each call is carried out whole."""

from __future__ import annotations

import sys
import threading
import time

import pytest

import dcmaes as dc

N_THREADS = 64
N_EACH = 20


@pytest.fixture(autouse=True)
def _switch_often():
    """Let threads come between each other's steps far more often than every 5 ms."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.parametrize(
    ("has_store", "duplicates"), [(False, "cache"), (True, "cache"), (False, "reevaluate")]
)
def test_64_threads_tell_one_optimizer(tmp_path, has_store, duplicates):
    budget = N_THREADS * N_EACH
    store = tmp_path / "run.db" if has_store else None
    run = {"space": dc.Space.integers(6, 0, 99), "budget": budget, "seed": 0, "strategy": "cma"}
    opt = dc.Optimizer(**run, duplicates=duplicates, store=store)
    barrier = threading.Barrier(N_THREADS)
    told, errors = [], []

    def work():
        try:
            barrier.wait()
            for _ in range(N_EACH):
                (trial,) = opt.ask(1)
                value = float(trial.point.sum())
                opt.tell(trial, value)
                told.append((trial.id, value))
                best = opt.best
                assert duplicates == "reevaluate" or best.value <= value
                assert opt.result().x is not None
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(N_THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert opt.n_evaluations == budget
    assert opt.should_stop() is dc.StopReason.BUDGET
    history = opt.history
    assert sorted(history.ids.tolist()) == list(range(budget))
    assert dict(told) == dict(zip(history.ids.tolist(), history.values.tolist(), strict=True))
    assert history.points.sum(axis=1).tolist() == history.values.tolist()
    opt.close()
    if has_store:
        again = dc.Optimizer(**run, store=store)
        assert again.history.ids.tolist() == history.ids.tolist()
        again.close()


def test_trials_told_by_64_threads_count_once(monkeypatch):
    opt = dc.Optimizer(dc.Space.binary(9), budget=100, seed=0, strategy="random")
    match = opt._run.match

    def dawdle(*told):
        found = match(*told)
        time.sleep(1e-5)  # long enough for others to come between
        return found

    monkeypatch.setattr(opt._run, "match", dawdle)
    trials = opt.ask(50)
    barrier = threading.Barrier(N_THREADS)
    refused, errors = [], []

    def work():
        barrier.wait()
        for trial in trials:
            try:
                opt.tell(trial, 1.0)
            except ValueError as error:
                refused.append(str(error))
            except BaseException as error:
                errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(N_THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert opt.n_evaluations == 50
    expected = [f"trial {trial.id} was told already" for trial in trials] * (N_THREADS - 1)
    assert sorted(refused) == sorted(expected)
