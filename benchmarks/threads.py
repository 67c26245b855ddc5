"""What BLAS threads cost, and what limiting them saves: CPU and wall time of the same work in three settings.

"limited" is the library as installed, with no variable set; "not limited" the same without `single_thread`;
"variable" the same with OMP_NUM_THREADS=1. Every figure is the median of some processes, run in turns, once
on the machine as it is and once with a busy process on every core; ratios are to "variable".

    python benchmarks/threads.py [repeats] > benchmarks/results/threads.txt
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import subprocess
import sys
import time
from statistics import median

import numpy as np

SETTINGS = ("limited", "not limited", "variable")
VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def readme():
    """The first example of README: 200 evaluations of four mixed variables."""
    import dcmaes as dc

    space = dc.Space(
        {
            "layers": dc.Integer(1, 8),
            "rate": dc.Float(1e-5, 1e-1, log=True),
            "act": dc.Categorical(["relu", "gelu", "tanh"]),
            "norm": dc.Binary(),
        }
    )

    def train(point):
        misfit = abs(point["layers"] - 3) + (point["act"] != "gelu")
        return misfit + 0.5 * point["norm"] + 20 * point["rate"]

    return lambda: dc.minimize(train, space, budget=200, seed=0)


def bits():
    """200 evaluations of 30 bits."""
    import dcmaes as dc

    return lambda: dc.minimize(np.sum, dc.Space.binary(30), budget=200, seed=0)


WORK = {work.__name__: work for work in (readme, bits)}


def measure(name: str, setting: str) -> None:
    """Print CPU and wall seconds of the work, imports and preparation left out."""
    if setting == "not limited":
        import dcmaes._guards

        class NoLimit:
            @staticmethod
            def limit(limits):
                return contextlib.nullcontext()

        dcmaes._guards._controller = NoLimit
    work = WORK[name]()
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    print(json.dumps([time.process_time() - cpu, time.perf_counter() - wall]))


def run(name: str, setting: str) -> list[float]:
    """Return CPU and wall seconds of the work in a process of its own."""
    environment = {key: value for key, value in os.environ.items() if key not in VARIABLES}
    if setting == "variable":
        environment["OMP_NUM_THREADS"] = "1"
    command = [sys.executable, __file__, "--measure", name, setting]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return json.loads(done.stdout.splitlines()[-1])


def spin() -> None:
    while True:
        pass


@contextlib.contextmanager
def load(n_processes: int):
    """Keep so many cores busy."""
    busy = [multiprocessing.Process(target=spin, daemon=True) for _ in range(n_processes)]
    for process in busy:
        process.start()
    try:
        yield
    finally:
        for process in busy:
            process.kill()


def main() -> None:
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    n_cores = os.cpu_count() or 1
    print(f"medians of {repeats} processes on {n_cores} cores; ratios are to OMP_NUM_THREADS=1\n")
    print(f"{'work':<9}{'busy cores':>11}{'setting':>14}{'CPU s':>9}{'ratio':>8}{'wall s':>9}{'ratio':>8}")
    for name in WORK:
        for n_busy in (0, n_cores):
            with load(n_busy):
                rounds = [{setting: run(name, setting) for setting in SETTINGS} for _ in range(repeats)]
            figures = {s: [median(r[s][i] for r in rounds) for i in (0, 1)] for s in SETTINGS}
            for setting, (cpu, wall) in figures.items():
                ratios = cpu / figures["variable"][0], wall / figures["variable"][1]
                print(
                    f"{name:<9}{n_busy:>11}{setting:>14}{cpu:9.2f}{ratios[0]:8.2f}{wall:9.2f}{ratios[1]:8.2f}"
                )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(*sys.argv[2:])
    else:
        main()
