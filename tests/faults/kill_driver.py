"""End a stored run in rough ways at random moments, resume it each time, and let it finish in the end.

    python tests/faults/kill_driver.py FOLDER --ends 30 --mode serial

Each sitting is a process of its own with a number of BLAS threads of its own. It is killed with SIGKILL, or
interrupted as Ctrl-C does it: once, twice, or twice with nothing between. What the store held after each end
is noted, together with every evaluation that came to its end, and written to FOLDER/summary.json for whoever
checks.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
import traceback
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

import dcmaes as dc
from dcmaes.store import _run_store

SPACE = dc.Space(
    {
        "n": dc.Integer(-40, 40),
        "m": dc.Integer(-40, 40),
        "c": dc.Categorical(["a", "b", "c"]),
        "k": dc.Integer(0, 9, when={"c": "b"}),
    }
)
BUDGETS = {"serial": 360, "rounds": 240, "async": 180, "front": 150, "noisy": 150}
SECONDS = 0.002
# How many interrupts of which kind, and how long after each other in seconds; no interrupt is SIGKILL.
WAYS = {"killed": [], "interrupted": [0.0], "twice": [0.0, 0.004], "at_once": [0.0, 0.0]}


class Objective:
    """A function of the point alone, which notes each evaluation that it finishes.

    In the mode "noisy" a function of the trial: another one of the same point has other values. When `most`
    evaluations are finished it waits until the sitting is being ended: a run must not come to its end because
    whoever ends it is slow.
    """

    takes_trial = True

    def __init__(self, folder: Path, mode: str, most: int | None) -> None:
        self.log = folder / "finished.txt"
        self.mode = mode
        self.most = most

    def __call__(self, trial):
        time.sleep(SECONDS)
        while (
            self.most is not None and _count_lines(self.log) >= self.most and not _ending(self.log).exists()
        ):
            time.sleep(SECONDS)
        point = dict(trial.point)
        value = (point["n"] - 7) ** 2 + abs(point["m"]) + 10 * (point["c"] != "b") + point.get("k", 0)
        with open(self.log, "a") as file:
            file.write(f"{json.dumps(point)}\n")
        if point["n"] % 11 == 0:
            raise ValueError("eleven")
        if self.mode == "noisy":
            noise = np.random.default_rng(trial.id).normal(size=2).tolist()
            return value + 9 * noise[0], abs(point["n"] + point["m"]) + noise[1]
        return (value, abs(point["n"] + point["m"])) if self.mode == "front" else value


def run(folder: Path, mode: str, store: Path | None, most: int | None = None) -> dc.Result:
    """Begin or go on with the run, and finish it if nothing comes in between and no more than `most` do."""
    workers = {"workers": 2} if mode in ("rounds", "async") else {}
    rounds = {"batch_size": 5} if mode == "rounds" else {}
    known = 400.0
    strategy = {"strategy": "cma"}
    if mode in ("front", "noisy"):
        known, strategy = (400.0, 33.0), {"objectives": ["loss", "size"]}
        strategy |= {"duplicates": "reevaluate"} if mode == "noisy" else {}
    return dc.minimize(
        Objective(folder, mode, most),
        SPACE,
        budget=BUDGETS[mode],
        seed=5,
        store=store,
        x0=[{"n": 3, "m": 3, "c": "a"}, ({"n": 30, "m": 3, "c": "a"}, known)],
        **strategy,
        **workers,
        **rounds,
    )


def describe(result: dc.Result) -> dict:
    """Return what must be the same whatever happened in between."""
    return {
        "ids": result.history.ids.tolist(),
        "points": result.history.points,
        "values": [repr(value) for value in result.history.values.tolist()],
        "reasons": result.history.reasons,
        "x": result.x,
        "fun": repr(result.fun),
        "noise": repr(result.noise),
        "front": [(record.id, repr(record.value)) for record in result.front],
        "message": result.message,
        "mean": [repr(mean) for mean in result.distribution.means.values()],
    }


def read_told(store: Path) -> dict[int, list]:
    """Return what the store holds of each told trial."""
    try:
        run = dc.store.read(store)
    except dc.store.StoreError:  # ended before anything was written
        return {}
    return {span.id: [span.worker, span.started, span.ended] for span in run.timeline}


def end_and_resume(folder: Path, mode: str, n_ends: int, rng: np.random.Generator) -> list[dict]:
    """Return what the store held after each end, and the way of it."""
    store, held = folder / "run.db", []
    while len(held) < n_ends:
        n_threads, way = int(rng.integers(1, 5)), str(rng.choice(list(WAYS)))
        n_each = BUDGETS[mode] // n_ends
        n, log = int(rng.integers(n_each)), folder / "finished.txt"
        _ending(log).unlink(missing_ok=True)
        # An interrupt that comes while the fork is under way is ignored by Python: it waits for its end.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        child = os.fork()
        if child == 0:
            _sit(folder, mode, store, n_threads, _count_lines(log) + n + n_each // 2 - 1)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        _wait(log, n)
        time.sleep(rng.uniform(0.0, 2 * SECONDS))
        _end(child, WAYS[way], log)
        held.append({"way": way, "told": read_told(store)})
    return held


def _sit(folder: Path, mode: str, store: Path, n_threads: int, most: int) -> None:
    """Work on the run in this process, and end it: with exit code 1 unless it was interrupted."""
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        with threadpool_limits(n_threads):
            is_interrupted = run(folder, mode, store, most).stop_reason is dc.StopReason.INTERRUPTED
        code = 0 if is_interrupted else 1
    except KeyboardInterrupt:
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _end(child: int, interrupts: list[float], log: Path) -> None:
    """End a sitting, and see that it ends by that and in no other way."""
    for pause in interrupts:
        time.sleep(pause)
        os.kill(child, signal.SIGINT)
    if interrupts:
        _ending(log).touch()
    else:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status) and not (interrupts and os.WEXITSTATUS(status) == 0):
        sys.exit(f"the run ended by itself, with exit code {os.WEXITSTATUS(status)}")


def _wait(log: Path, n: int) -> None:
    """Wait for `n` more evaluations to be finished; a sixth of the time for less than it takes to begin."""
    if n % 6 == 0:
        time.sleep(n / 1000)
        return
    n_before, begun = _count_lines(log), time.monotonic()
    while _count_lines(log) < n_before + n:
        time.sleep(SECONDS)
        if time.monotonic() > begun + 300:
            sys.exit("the run makes no progress")


def _ending(log: Path) -> Path:
    """Return what is there while a sitting is being ended by an interrupt."""
    return log.with_name("ending")


def _count_lines(path: Path) -> int:
    return path.read_text().count("\n") if path.exists() else 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--ends", type=int, default=30)
    parser.add_argument("--mode", choices=tuple(BUDGETS), default="serial")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    folder, mode = arguments.folder, arguments.mode
    undisturbed = folder / "undisturbed"
    undisturbed.mkdir()
    _run_store._SNAPSHOT_SECONDS = 0.02  # so that ends hit replays with snapshots and without
    expected = describe(run(undisturbed, mode, None))
    held = end_and_resume(folder, mode, arguments.ends, np.random.default_rng(arguments.seed))
    result = run(folder, mode, folder / "run.db")
    summary = {
        "expected": expected,
        "found": describe(result),
        "held": held,
        "told": read_told(folder / "run.db"),
        "n_finished": len((folder / "finished.txt").read_text().splitlines()),
        "n_sittings": len(dc.store.read(folder / "run.db").sittings),
    }
    (folder / "summary.json").write_text(json.dumps(summary))


if __name__ == "__main__":
    main()
