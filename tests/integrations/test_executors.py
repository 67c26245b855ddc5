"""Threads, processes, loky and Dask evaluate alike; on a real cluster a worker may be killed meanwhile."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

import dcmaes as dc

loky = pytest.importorskip("loky")
distributed = pytest.importorskip("distributed")
# Workers cannot import this file.
pytest.importorskip("cloudpickle").register_pickle_by_value(sys.modules[__name__])

SPACE = dc.Space(
    {"n": dc.Integer(-20, 20), "m": dc.Integer(-20, 20), "act": dc.Categorical(["relu", "gelu"])}
)
RUN = {"space": SPACE, "seed": 0, "strategy": "cma"}
# Nothing here is about these: libraries that warn of their own future.
pytestmark = [pytest.mark.filterwarnings("ignore::DeprecationWarning:(distributed|tornado|loky).*")]


def objective(point):
    if point["n"] == 13:
        raise ValueError("unlucky")
    return point["n"] ** 2 + point["m"] ** 2 + (point["act"] == "relu")


class KillOnce:
    """Kills one worker process, once, when five points were begun before."""

    def __init__(self, folder):
        self.folder = Path(folder)

    def __call__(self, point):
        n = len(list(self.folder.glob("*-*")))
        (self.folder / f"{time.time_ns()}-{os.getpid()}").touch()
        if n >= 5:
            with suppress(FileExistsError):  # another one was first
                (self.folder / "killed").touch(exist_ok=False)
                os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.02)
        return objective(point)


@pytest.fixture(scope="module")
def client():
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs="CRITICAL"
    )
    client = distributed.Client(cluster)
    yield client
    client.close()
    cluster.close()


@pytest.fixture(params=["threads", "processes", "loky", "dask"])
def executor(request):
    if request.param == "threads":
        with ThreadPoolExecutor(2) as pool:
            yield pool
    elif request.param == "processes":
        with ProcessPoolExecutor(2) as pool:
            yield pool
    elif request.param == "loky":
        yield loky.get_reusable_executor(2)
    else:
        yield request.getfixturevalue("client").get_executor()


def sendable(function, executor):
    """Return a function that is sent whole, where workers cannot import this file."""
    return function if isinstance(executor, ProcessPoolExecutor) else lambda point: function(point)


def outcome(result):
    return [(r.id, r.point, r.value, r.status, r.reason) for r in result.history]


def test_rounds_give_the_same_run_everywhere(executor):
    here = dc.minimize(objective, **RUN, budget=40, batch_size=6)
    there = dc.minimize(
        sendable(objective, executor), **RUN, budget=40, batch_size=6, executor=executor, workers=2
    )
    assert repr(outcome(there)) == repr(outcome(here))


def test_without_rounds_every_point_is_evaluated_once(executor, tmp_path):
    store = tmp_path / "run.db"
    result = dc.minimize(
        sendable(objective, executor), **RUN, budget=30, executor=executor, workers=2, store=store
    )
    assert sorted(result.history.ids.tolist()) == list(range(30))
    for record in result.history:
        assert record.reason == "ValueError: unlucky" or record.value == objective(record.point)
    timeline = dc.store.read(store).timeline
    assert len(timeline) == 30
    assert len({span.worker for span in timeline}) <= 2
    assert all(span.started <= span.ended for span in timeline)


@pytest.mark.parametrize("executor", ["loky", "dask"], indirect=True)
def test_lambdas_and_functions_of_a_notebook(executor):
    offset = 3
    result = dc.minimize(lambda p: abs(p["n"] - offset), **RUN, budget=20, executor=executor, workers=2)
    assert (result.nfev, result.n_failures) == (20, 0)
    # A notebook defines its functions in a __main__ that no other process has.
    names = {"__name__": "__main__"}
    exec("def f(point):\n    return helper(point)\ndef helper(point):\n    return abs(point['n'])", names)  # noqa: S102
    result = dc.minimize(names["f"], **RUN, budget=20, executor=executor, workers=2)
    assert (result.nfev, result.n_failures) == (20, 0)


def test_a_dask_worker_that_is_killed_costs_nothing(client, tmp_path):
    executor = client.get_executor()
    objective = sendable(KillOnce(tmp_path), executor)
    result = dc.minimize(objective, **RUN, budget=30, executor=executor, workers=2)
    assert (result.nfev, result.n_failures) == (30, 0)
    names = [name.name for name in tmp_path.glob("*-*")]
    # Dask begins again what was running on that worker, and what it had finished but not sent yet.
    assert 31 <= len(names) <= 33
    assert len({name.split("-")[1] for name in names}) >= 2


def test_what_dask_gives_up_is_made_again(client, tmp_path, monkeypatch):
    """By default Dask tries a point on four workers before it gives up; here on one."""
    monkeypatch.setattr(client.cluster.scheduler, "allowed_failures", 0)
    executor = client.get_executor()
    store = tmp_path / "run.db"
    folder = tmp_path / "begun"
    folder.mkdir()
    with pytest.warns(RuntimeWarning, match=r"was lost and is made again: KilledWorker"):
        result = dc.minimize(
            sendable(KillOnce(folder), executor), **RUN, budget=30, executor=executor, workers=2, store=store
        )
    assert (result.nfev, result.n_failures) == (30, 0)
    assert {loss.reason.split(":")[0] for loss in dc.store.read(store).losses} == {"KilledWorker"}


def test_dask_evaluates_a_point_again_if_asked_to(client):
    result = dc.minimize(
        lambda p: time.time_ns() % 10**9,
        dc.Space({"a": dc.Binary()}),
        budget=12,
        seed=0,
        strategy="random",
        duplicates="allow",
        executor=client.get_executor(),
        workers=2,
    )
    assert len(set(result.history.values.tolist())) == 12


def test_a_loky_worker_that_is_killed_is_made_up_for(tmp_path):
    with pytest.warns(RuntimeWarning, match="was lost and is made again"):
        result = dc.minimize(
            sendable(KillOnce(tmp_path), None),
            **RUN,
            budget=20,
            executor=lambda: loky.get_reusable_executor(2),
            workers=2,
        )
    assert (result.nfev, result.n_failures) == (20, 0)


def test_what_dask_cannot_send_is_an_error_before_anything_is_spent(client):
    lock = threading.Lock()
    with pytest.raises(dc.EvaluationError, match=r"broke off with .*serialize") as caught:
        dc.minimize(lambda point: lock.locked(), **RUN, budget=10, executor=client.get_executor(), workers=2)
    assert caught.value.result.nfev == 0
