"""The one loop: serial, with executors, in rounds; what the objective gets; callbacks and progress."""

from __future__ import annotations

import copyreg
import threading
import time
from concurrent.futures import Executor, Future, ThreadPoolExecutor

import numpy as np
import pytest

import dcmaes as dc
from dcmaes.optimizer._evaluators import measure_remotely, unpack
from dcmaes.strategies import RandomSearch

SPACE = dc.Space.integers(3, 0, 30)
NAMED = dc.Space({"n": dc.Integer(0, 30), "c": dc.Categorical(["x", "y"])})


def quadratic(x):
    return float(((x - 7) ** 2).sum())


def fail_on_odd(x):
    if x[0] % 2:
        raise Unsendable("odd", x[0])
    return quadratic(x)


class Unsendable(Exception):
    """Cannot be rebuilt from its arguments, which breaks a process pool if it is sent as it is."""

    def __init__(self, what, value):
        super().__init__(f"{what}: {value}")


class Immediate(Executor):
    """An executor with nothing but submit, which calls at once."""

    def submit(self, function, /, *args):
        future = Future()
        future.set_result(function(*args))
        return future


def values_by_id(result):
    return dict(zip(result.history.ids.tolist(), result.history.values.tolist(), strict=True))


def test_the_objective_gets_a_fresh_plain_point_that_it_may_change():
    def objective(point):
        assert type(point) is dict
        point["n"] = -1
        point.clear()
        return 1.0

    result = dc.minimize(objective, NAMED, budget=8, seed=0, strategy="random")
    assert result.n_failures == 0
    assert all(NAMED.contains(record.point) for record in result.history)

    def array_objective(x):
        x[:] = 0
        return 1.0

    result = dc.minimize(array_objective, SPACE, budget=8, seed=0, strategy="random")
    assert result.n_failures == 0
    assert len({tuple(record.point) for record in result.history}) == 8


def test_serial_runs_tell_one_by_one_and_ask_in_batches():
    asked = []
    told = []

    class Watching(RandomSearch):
        def sample(self, state, n, rng, memory):
            asked.append(n)
            return super().sample(state, n, rng, memory)

    dc.minimize(
        quadratic,
        SPACE,
        budget=20,
        seed=0,
        strategy=Watching(5),
        callbacks=lambda o: told.append(len(o.history)),
    )
    assert asked == [5, 5, 5, 5]
    assert told == list(range(1, 21))


@pytest.mark.parametrize("batch_size", [None, 4])
def test_any_executor_will_do(batch_size):
    result = dc.minimize(
        quadratic, SPACE, budget=30, seed=0, executor=Immediate(), batch_size=batch_size, strategy="random"
    )
    assert result.nfev == 30
    assert sorted(result.history.ids.tolist()) == list(range(30))
    assert result.objective_time > 0.0


def test_workers_are_processes():
    result = dc.minimize(fail_on_odd, SPACE, budget=24, seed=0, workers=2, strategy="random")
    assert result.nfev == 24
    assert sorted(result.history.ids.tolist()) == list(range(24))
    for record in result.history:
        if record.point[0] % 2:
            assert (record.status, record.reason) == ("failed", f"Unsendable: odd: {record.point[0]}")
        else:
            assert record.value == quadratic(record.point)


def test_rounds_do_not_depend_on_how_long_evaluations_take():
    def run(delay_seed):
        delays = np.random.default_rng(delay_seed)

        def objective(x):
            time.sleep(delays.random() * 0.005)
            return quadratic(x)

        with ThreadPoolExecutor(4) as pool:
            result = dc.minimize(
                objective, SPACE, budget=40, seed=0, executor=pool, batch_size=4, strategy="random"
            )
        return [(record.id, record.point.tolist(), record.value) for record in result.history]

    assert run(1) == run(2)
    assert [trial_id for trial_id, _, _ in run(3)] == list(range(40))


def test_a_free_worker_gets_a_new_point_at_once():
    release, began, waited = threading.Event(), threading.Lock(), []
    n_done = 0

    def objective(x):
        nonlocal n_done
        if began.acquire(blocking=False):  # the first of all, and no other
            waited.append(release.wait(120))
        n_done += 1
        if n_done == 11:
            release.set()
        return 1.0

    with ThreadPoolExecutor(2) as pool:
        result = dc.minimize(objective, SPACE, budget=12, seed=0, executor=pool, workers=2, strategy="random")
    assert result.nfev == 12
    assert waited
    assert all(waited)


def test_the_number_of_running_evaluations_is_the_number_of_workers():
    running, most = 0, 0
    lock, three = threading.Lock(), threading.Barrier(3)

    def objective(x):
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        three.wait(120)  # breaks if there are never three
        with lock:
            running -= 1
        return 1.0

    with ThreadPoolExecutor(8) as pool:
        result = dc.minimize(objective, SPACE, budget=39, seed=0, executor=pool, workers=3, strategy="random")
    assert (most, result.n_failures) == (3, 0)


def test_what_was_running_at_a_stop_is_still_recorded():
    with ThreadPoolExecutor(4) as pool:
        result = dc.minimize(
            lambda x: time.sleep(0.01) or float(x[0]),
            SPACE,
            budget=1000,
            seed=0,
            executor=pool,
            workers=4,
            target=30.0,
        )
    assert result.stop_reason is dc.StopReason.TARGET
    assert 1 <= result.nfev <= 5


def test_bad_arguments():
    for arguments, message in [
        ({"workers": 0}, "workers must be at least 1"),
        ({"batch_size": 0}, "batch_size must be at least 1"),
        ({"executor": 3}, "executor must have a submit method"),
        ({"progress": "yes"}, "progress must be True, False or None"),
    ]:
        with pytest.raises((TypeError, ValueError), match=message):
            dc.minimize(quadratic, SPACE, budget=5, **arguments)
    with pytest.raises(TypeError, match="objective must be callable"):
        dc.minimize(3, SPACE, budget=5)


def test_progress_writes_lines_and_the_message(capsys):
    dc.minimize(quadratic, SPACE, budget=200, seed=0, progress=True, strategy="random")
    captured = capsys.readouterr()
    lines = captured.err.splitlines()
    assert captured.out == ""
    assert len(lines) == 11
    assert lines[0].split()[0] == "20/200"
    assert lines[-1] == "budget of 200 evaluations used"
    dc.minimize(quadratic, SPACE, budget=200, seed=0, strategy="random")
    assert capsys.readouterr().err == ""


def test_an_exception_is_sent_back_as_it_is_where_it_can_be(monkeypatch):
    # Dask, if some test has loaded it, teaches pickle to send the exceptions that there are at that time.
    monkeypatch.delitem(copyreg.dispatch_table, Unsendable, raising=False)
    reading = unpack(measure_remotely(lambda x: 1 / x, 0))
    assert type(reading.error) is ZeroDivisionError
    assert "lambda x: 1 / x" in reading.traceback
    assert reading.seconds >= 0.0
    reading = unpack(measure_remotely(fail_on_odd, np.array([1])))
    assert type(reading.error) is RuntimeError
    assert str(reading.error) == "Unsendable: odd: 1"


class Dawdling:
    """Takes a time that has nothing to do with the point."""

    def __init__(self, seed):
        self.seed = seed

    def __call__(self, x):
        time.sleep(np.random.default_rng([self.seed, *x]).random() * 0.01)
        return quadratic(x)


def test_rounds_in_worker_processes_do_not_depend_on_speed():
    here = dc.minimize(quadratic, SPACE, budget=60, seed=0, batch_size=6, strategy="cma")
    for seed, workers in ((1, 2), (2, 3)):
        there = dc.minimize(
            Dawdling(seed), SPACE, budget=60, seed=0, batch_size=6, strategy="cma", workers=workers
        )
        assert there.history.ids.tolist() == here.history.ids.tolist()
        assert there.history.points.tolist() == here.history.points.tolist()
        assert there.history.values.tolist() == here.history.values.tolist()
        assert there.distribution.means == here.distribution.means
