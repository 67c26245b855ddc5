"""A million asks and tells: does memory stay flat?

    python benchmarks/soak.py [--cycles 1000000] > benchmarks/results/soak.txt

One optimizer on 100 integers. What is kept of each evaluation (its point in one byte a variable, its value
and times, and a key by which it is recognised) is the only thing that may grow; the program fails if memory
grows by more than that in the second half.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import dcmaes as dc

DIMENSION = 100
# Row 100, record 46, key and its place in a dict 150 bytes, and what growing blocks leave over.
ALLOWED_BYTES = 420


def resident_bytes() -> int:
    """Return the memory of this process."""
    fields = Path("/proc/self/statm").read_text().split()
    return int(fields[1]) * 4096


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cycles", type=int, default=1_000_000)
    parser.add_argument("--strategy", default="cma")
    arguments = parser.parse_args()
    n = arguments.cycles
    space = dc.Space.integers(DIMENSION, 0, 200)
    opt = dc.Optimizer(space, budget=n, seed=0, strategy=arguments.strategy)
    begun, measured = time.perf_counter(), {}
    print(f"{'evaluations':>11}  {'MiB':>7}  seconds")
    while opt.should_stop() is None:
        for trial in opt.ask():
            opt.tell(trial, float(((trial.point - 60) ** 2).sum()))
            if opt.n_evaluations % (n // 10) == 0:
                measured[opt.n_evaluations] = resident_bytes()
                seconds = time.perf_counter() - begun
                print(f"{opt.n_evaluations:>11}  {resident_bytes() / 2**20:7.1f}  {seconds:7.1f}", flush=True)
    first, last = measured[n // 2], measured[n]
    growth = (last - first) / (n / 2)
    print(f"{growth:.0f} bytes for each evaluation in the second half ({ALLOWED_BYTES} allowed)")
    if growth > ALLOWED_BYTES:
        sys.exit("memory grows by more than what is kept")


if __name__ == "__main__":
    main()
