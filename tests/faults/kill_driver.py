"""Kill a stored run with SIGKILL at random moments, resume it each time, and let it finish in the end.

    python tests/faults/kill_driver.py FOLDER --kills 50 --mode serial

Each sitting is a process of its own. What the store held after each kill is noted, together with every
evaluation that came to its end, and written to FOLDER/summary.json for whoever checks.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np

import dcmaes as dc
from dcmaes.optimizer import _run_store

SPACE = dc.Space({"n": dc.Integer(-40, 40), "m": dc.Integer(-40, 40), "c": dc.Categorical(["a", "b", "c"])})
BUDGETS = {"serial": 600, "rounds": 400, "async": 300}
SECONDS = 0.002


class Objective:
    """A function of the point alone, which notes each evaluation that it finishes."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "finished.txt"

    def __call__(self, point):
        time.sleep(SECONDS)
        value = (point["n"] - 7) ** 2 + abs(point["m"]) + 10 * (point["c"] != "b")
        with open(self.log, "a") as file:
            file.write(f"{json.dumps(point)}\n")
        if point["n"] % 11 == 0:
            raise ValueError("eleven")
        return value


def run(folder: Path, mode: str, store: Path | None) -> dc.Result:
    """Begin or go on with the run, and finish it if nothing comes in between."""
    workers = {} if mode == "serial" else {"workers": 2}
    rounds = {"batch_size": 5} if mode == "rounds" else {}
    return dc.minimize(
        Objective(folder),
        SPACE,
        budget=BUDGETS[mode],
        seed=5,
        strategy="cma",
        store=store,
        x0=[{"n": 3, "m": 3, "c": "a"}, ({"n": 30, "m": 3, "c": "a"}, 400.0)],
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
        "message": result.message,
        "mean": [repr(mean) for mean in result.distribution.means.values()],
    }


def read_told(store: Path) -> dict[int, list]:
    """Return what the store holds of each told trial."""
    try:
        run = dc.store.read(store)
    except dc.store.StoreError:  # killed before anything was written
        return {}
    return {span.id: [span.worker, span.started, span.ended] for span in run.timeline}


def kill_and_resume(folder: Path, mode: str, n_kills: int, rng: np.random.Generator) -> list[dict]:
    """Return what the store held after each kill."""
    store, held = folder / "run.db", []
    while len(held) < n_kills:
        child = os.fork()
        if child == 0:
            run(folder, mode, store)
            os._exit(0)
        _wait(folder, int(rng.integers(BUDGETS[mode] // n_kills)))
        time.sleep(rng.uniform(0.0, 2 * SECONDS))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if os.WIFEXITED(status):
            sys.exit(f"the run ended by itself, with exit code {os.WEXITSTATUS(status)}")
        held.append(read_told(store))
    return held


def _wait(folder: Path, n: int) -> None:
    """Wait for `n` more evaluations to be finished; a sixth of the time for less than it takes to begin."""
    if n % 6 == 0:
        time.sleep(n / 1000)
        return
    log = folder / "finished.txt"
    n_before, begun = _count_lines(log), time.monotonic()
    while _count_lines(log) < n_before + n:
        time.sleep(SECONDS)
        if time.monotonic() > begun + 60:
            sys.exit("the run makes no progress")


def _count_lines(path: Path) -> int:
    return path.read_text().count("\n") if path.exists() else 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--mode", choices=tuple(BUDGETS), default="serial")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    folder, mode = arguments.folder, arguments.mode
    undisturbed = folder / "undisturbed"
    undisturbed.mkdir()
    _run_store._SNAPSHOT_SECONDS = 0.02  # so that kills hit replays with snapshots and without
    expected = describe(run(undisturbed, mode, None))
    held = kill_and_resume(folder, mode, arguments.kills, np.random.default_rng(arguments.seed))
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
