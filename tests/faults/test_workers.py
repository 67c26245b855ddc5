"""Workers that die, hang or cannot be reached: each with a clear record, and the run goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from importlib import import_module
from pathlib import Path

import pytest

import dcmaes as dc
from dcmaes.optimizer._workers import _PATIENCE

SPACE = dc.Space.integers(2, 0, 30)
RUN = {"space": SPACE, "seed": 0, "strategy": "random"}


class Dying:
    """Kills its own process at points with an even first entry: each time, or the first time only."""

    def __init__(self, folder, *, is_mortal_once):
        self.folder = Path(folder)
        self.is_mortal_once = is_mortal_once

    def __call__(self, x):
        mark = self.folder / f"{x[0]}-{x[1]}"
        if x[0] % 2 == 0 and not (self.is_mortal_once and mark.exists()):
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return float(x.sum())


class Hanging:
    """Hangs at points with an even first entry, in a program that it starts."""

    def __init__(self, folder):
        self.folder = Path(folder)

    def __call__(self, x):
        if x[0] % 2 == 0:
            program = subprocess.Popen(["sleep", "600"])
            (self.folder / str(program.pid)).touch()
            program.wait()
        return float(x.sum())


def is_alive(pid):
    try:
        status = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return status != "Z"


def wait_for(condition, seconds=120.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


def test_a_worker_that_dies_is_replaced_and_its_point_evaluated_again(tmp_path):
    store = tmp_path / "run.db"
    objective = Dying(tmp_path, is_mortal_once=True)
    with pytest.warns(RuntimeWarning, match=r"was lost and is made again: .*killed by SIGKILL"):
        result = dc.minimize(objective, **RUN, budget=12, workers=2, store=store)
    assert (result.nfev, result.n_failures) == (12, 0)
    even = {record.id for record in result.history if record.point[0] % 2 == 0}
    losses = dc.store.read(store).losses
    assert even
    assert {loss.id for loss in losses} == even
    assert all("the worker process died (killed by SIGKILL)" in loss.reason for loss in losses)


def test_a_point_that_kills_two_workers_has_failed(tmp_path):
    store = tmp_path / "run.db"
    objective = Dying(tmp_path, is_mortal_once=False)
    with pytest.warns(RuntimeWarning, match="was lost and is made again"):
        result = dc.minimize(objective, **RUN, budget=10, workers=2, store=store)
    assert result.nfev == 10
    assert len(dc.store.read(store).losses) == result.n_failures
    for record in result.history:
        is_even = record.point[0] % 2 == 0
        reason = "the worker process died (killed by SIGKILL), for the second time"
        assert (record.status, record.reason) == (("failed", reason) if is_even else ("ok", None))
    assert 0 < result.n_failures < 10


@pytest.mark.parametrize("workers", [1, 2])
def test_a_worker_that_hangs_is_killed_with_what_it_started(tmp_path, workers):
    # Long enough for a busy machine to start the program; without a limit, each would take ten minutes.
    result = dc.minimize(Hanging(tmp_path), **RUN, budget=4, workers=workers, evaluation_timeout=2)
    failed = [record for record in result.history if record.point[0] % 2 == 0]
    assert result.nfev == 4
    assert 0 < len(failed) == result.n_failures < 4
    assert {record.reason for record in failed} == {"timed out: stopped after 2 s"}
    assert all(record.objective_time >= 2 for record in failed)
    programs = [int(name.name) for name in tmp_path.iterdir()]
    assert len(programs) == len(failed)
    assert wait_for(lambda: not any(map(is_alive, programs)))


def test_threads_that_hang_are_given_up_but_not_used_again():
    release = threading.Event()

    def objective(x):
        if x[0] % 2 == 0 and x[1] % 2 == 0:
            release.wait(600)
        return float(x.sum())

    with ThreadPoolExecutor(8) as pool:
        try:
            result = dc.minimize(
                objective, **RUN, budget=12, executor=pool, workers=8, evaluation_timeout=0.3
            )
        finally:
            release.set()
    assert (result.nfev, result.stop_reason) == (12, dc.StopReason.BUDGET)
    assert 0 < result.n_failures < 8
    reason = "timed out: no answer after 0.3 s, and its worker cannot be stopped"
    assert set(result.history.reasons) == {None, reason}


def test_a_run_ends_when_all_threads_hang():
    release = threading.Event()
    with ThreadPoolExecutor(2) as pool:
        try:
            with pytest.raises(dc.EvaluationError, match=r"all 2 workers .* still hang") as caught:
                dc.minimize(
                    lambda x: release.wait(600) and 1.0,
                    **RUN,
                    budget=9,
                    executor=pool,
                    workers=2,
                    evaluation_timeout=0.2,
                )
        finally:
            release.set()
    assert caught.value.result.nfev == caught.value.result.n_failures == 2


def test_queued_evaluations_do_not_time_out():
    with ThreadPoolExecutor(1) as pool:
        result = dc.minimize(
            lambda x: time.sleep(0.25) or 1.0,
            **RUN,
            budget=8,
            executor=pool,
            workers=8,
            evaluation_timeout=1.5,
        )
    assert (result.nfev, result.n_failures) == (8, 0)


# Whether a loss or the refusal of the next point is seen first depends on the moment.
@pytest.mark.filterwarnings("ignore:the evaluation of trial .* was lost:RuntimeWarning")
def test_a_broken_pool_ends_the_run_and_nothing_is_spent_on_it(tmp_path):
    store = tmp_path / "run.db"
    objective = Dying(tmp_path, is_mortal_once=True)
    with (
        ProcessPoolExecutor(2) as pool,
        pytest.raises(dc.EvaluationError, match="BrokenProcessPool") as caught,
    ):
        dc.minimize(objective, **RUN, budget=20, executor=pool, workers=2, store=store)
    assert caught.value.result.n_failures == 0
    with pytest.warns(RuntimeWarning, match="was lost and is made again"):
        result = dc.resume(store, objective, workers=2)
    assert (result.nfev, result.n_failures) == (20, 0)


def test_a_pool_that_can_be_made_again_is(tmp_path):
    objective = Dying(tmp_path, is_mortal_once=True)
    with pytest.warns(RuntimeWarning, match="was lost and is made again"):
        result = dc.minimize(objective, **RUN, budget=12, executor=lambda: ProcessPoolExecutor(1), workers=1)
    assert (result.nfev, result.n_failures) == (12, 0)


class Hidden:
    """Raises an exception of a module that only the worker finds."""

    def __init__(self, folder):
        self.folder = Path(folder)

    def __call__(self, x):
        sys.path.insert(0, str(self.folder))
        raise import_module("meshing").MeshError(f"element {x[0]}")


@pytest.mark.parametrize("where", ["workers", "executor"])
def test_an_exception_that_only_the_worker_knows_is_a_failure_like_others(tmp_path, where):
    (tmp_path / "meshing.py").write_text("class MeshError(Exception): pass")
    with ProcessPoolExecutor(2) as pool:
        how = {"workers": {"workers": 2}, "executor": {"executor": pool, "workers": 2}}[where]
        result = dc.minimize(Hidden(tmp_path), **RUN, budget=6, **how)
        assert (result.nfev, result.n_failures) == (6, 6)
        assert all(record.reason == f"MeshError: element {record.point[0]}" for record in result.history)
        with pytest.raises(dc.EvaluationError, match="MeshError: element") as caught:
            dc.minimize(Hidden(tmp_path), **RUN, budget=6, on_error="raise", **how)
    assert "MeshError: element" in str(caught.value.__cause__)
    assert "meshing" not in sys.modules


class LeavingPrograms:
    """Dies by itself, each time or the first time, and leaves behind what it started."""

    def __init__(self, folder, is_forking):
        self.folder = Path(folder)
        self.is_forking = is_forking

    def __call__(self, x):
        if self.is_forking:  # what is forked off holds all files open, connections to the main process too
            pid = os.fork()
            if pid == 0:
                time.sleep(600)
                os._exit(0)
        else:
            pid = subprocess.Popen(["sleep", "600"]).pid
        (self.folder / str(pid)).touch()
        os._exit(3)


@pytest.mark.filterwarnings("ignore:the evaluation of trial .* was lost:RuntimeWarning")
@pytest.mark.parametrize("is_forking", [False, True])
def test_a_worker_that_dies_takes_with_it_what_it_started(tmp_path, is_forking):
    result = dc.minimize(LeavingPrograms(tmp_path, is_forking), **RUN, budget=2, workers=2)
    assert set(result.history.reasons) == {"the worker process died (exit code 3), for the second time"}
    programs = [int(name.name) for name in tmp_path.iterdir()]
    assert len(programs) == 4
    assert wait_for(lambda: not any(map(is_alive, programs)))


def _refuse():
    raise ImportError("no module named 'mesh'")


class Unloadable:
    """Can be pickled, but not be rebuilt elsewhere."""

    def __reduce__(self):
        return _refuse, ()

    def __call__(self, x):
        return 1.0


def test_an_objective_that_cannot_be_rebuilt_in_a_worker_is_an_error_before_anything_is_spent():
    with pytest.raises(TypeError, match=r"cannot be used in a worker process: ImportError: no module .*mesh"):
        dc.minimize(Unloadable(), **RUN, budget=4, workers=2)


SCRIPT = """
import os, sys, time
import dcmaes as dc

def objective(x):
    open(sys.argv[1] + f"/begun-{x[0]}-{x[1]}", "w").close()
    end = time.monotonic() + 600
    while time.monotonic() < end and not os.path.exists(sys.argv[1] + "/may-end"):
        time.sleep(0.02)
    return float(x.sum())

if __name__ == "__main__":
    result = dc.minimize(objective, dc.Space.integers(2, 0, 30), budget=1000, seed=0, strategy="random",
                         store=sys.argv[1] + "/run.db", workers=WORKERS, progress=False)
    print(result.nfev, result.stop_reason.name, result.message)
"""


def start(folder, workers):
    """Start a run whose evaluations end when there is a file `may-end`, and wait for the first of them."""
    (folder / "script.py").write_text(SCRIPT.replace("WORKERS", str(workers)))
    command = [sys.executable, str(folder / "script.py"), str(folder)]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert wait_for(lambda: len(list(folder.glob("begun-*"))) >= workers)
    return process


def press_ctrl_c(process):
    """Do what a terminal does: interrupt the whole group of processes."""
    os.killpg(process.pid, signal.SIGINT)


def read_when_free(folder):
    assert wait_for(lambda: not dc.store.read(folder / "run.db").is_running)
    return dc.store.read(folder / "run.db")


def test_ctrl_c_once_waits_for_what_is_under_way(tmp_path):
    process = start(tmp_path, workers=2)
    press_ctrl_c(process)
    said = process.stderr.readline()
    assert "interrupted: waiting for 2 evaluations under way; interrupt again to leave at once" in said
    (tmp_path / "may-end").touch()
    out, _ = process.communicate(timeout=300)
    assert out == "2 INTERRUPTED interrupted after 2 evaluations\n"
    run = read_when_free(tmp_path)
    assert (len(run.history), run.pending, run.stop_reason) == (2, (), dc.StopReason.INTERRUPTED)


def test_ctrl_c_twice_ends_at_once_with_the_store_intact(tmp_path):
    process = start(tmp_path, workers=2)
    press_ctrl_c(process)
    assert "interrupt again" in process.stderr.readline()
    press_ctrl_c(process)
    begun = time.monotonic()
    _, err = process.communicate(timeout=300)
    assert time.monotonic() - begun < 2 * _PATIENCE  # so long if each of the two were let end
    assert process.returncode != 0
    assert "KeyboardInterrupt" in err
    run = read_when_free(tmp_path)
    assert (len(run.history), len(run.pending)) == (0, 2)
    with dc.Optimizer(SPACE, budget=1000, seed=0, strategy="random", store=tmp_path / "run.db") as opt:
        assert len(opt.pending) == 2


def test_the_message_counts_what_was_told_between_two_interrupts(tmp_path):
    store, release = tmp_path / "run.db", threading.Event()
    both, turns = threading.Barrier(2), iter(range(2))

    def objective(x):
        both.wait()
        if next(turns) == 1:
            release.wait(600)
        return float(x.sum())

    def callback(opt):
        release.set()
        raise KeyboardInterrupt

    with ThreadPoolExecutor(2) as pool, pytest.raises(KeyboardInterrupt):
        dc.minimize(objective, **RUN, budget=9, executor=pool, workers=2, callbacks=callback, store=store)
    run = dc.store.read(store)
    assert (len(run.history), run.message) == (2, "interrupted after 2 evaluations")


def test_ctrl_c_in_the_objective_returns_what_is_known(tmp_path):
    process = start(tmp_path, workers=1)
    press_ctrl_c(process)
    out, _ = process.communicate(timeout=300)
    assert out == "0 INTERRUPTED interrupted after 0 evaluations\n"


def test_workers_end_when_the_run_is_killed(tmp_path):
    process = start(tmp_path, workers=2)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    assert len(children) == 2
    process.kill()
    process.communicate()
    assert wait_for(lambda: not any(map(is_alive, children)))
    assert not dc.store.read(tmp_path / "run.db").is_running
