"""How long does a stored run take to go on: after it ended, and after it was killed at a random moment?

    python benchmarks/resume_time.py > benchmarks/results/resume_time.txt

The objective costs nothing, so all is the library's own time: running, with every ask and every result
written, then opening the store until the run could ask for its next point. A kill leaves no last snapshot:
what happened after the one before is done again. `read` is `dcmaes.store.read`.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path

import numpy as np

import dcmaes as dc

SPACE = dc.Space.integers(20, 0, 99)
RUNS = (("random", 100_000), ("cma", 100_000), ("ising", 2_000), ("auto", 2_000))
N_KILLS = 5


def open_run(path, strategy, budget):
    # More than is used: a run that is over has nothing to go on with.
    return dc.Optimizer(SPACE, budget=2 * budget, seed=0, strategy=strategy, store=path)


def carry_on(opt, n):
    while opt.n_evaluations < n:
        trials = opt.ask()
        opt.tell(trials, [float(((trial.point - 40) ** 2).sum()) for trial in trials])


def time_of(action):
    begun = time.perf_counter()
    action()
    return time.perf_counter() - begun


def measure(folder, strategy, n):
    """Return the seconds of the run, of going on after its end, after kills (mean, worst), and of reading."""
    path, killed = folder / f"{strategy}.db", folder / "killed.db"
    kills = np.sort(np.random.default_rng(0).integers(n * 9 // 10, n, N_KILLS)).tolist()
    opt = open_run(path, strategy, n)
    running, after_kills = 0.0, []
    for kill in [*kills, n]:
        running += time_of(lambda kill=kill: carry_on(opt, kill))
        if kill < n:
            # What a killed process leaves behind: the file and its log.
            for suffix in ("", "-wal"):
                shutil.copy(f"{path}{suffix}", f"{killed}{suffix}")
            after_kills.append(time_of(lambda: open_run(killed, strategy, n).close()))
    opt.close()
    after_end = time_of(lambda: open_run(path, strategy, n).close())
    reading = time_of(lambda: dc.store.read(path))
    return running, after_end, np.mean(after_kills), max(after_kills), reading, path.stat().st_size / 2**20


def main() -> None:
    print("strategy  evaluations  running  ended  killed  killed, worst of 5  read     MiB   (seconds)")
    with tempfile.TemporaryDirectory() as folder:
        for strategy, n in RUNS:
            running, ended, killed, worst, reading, size = measure(Path(folder), strategy, n)
            print(
                f"{strategy:8}  {n:11}  {running:7.1f}  {ended:5.2f}  {killed:6.2f}  {worst:18.2f}  "
                f"{reading:4.2f}  {size:6.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
