"""How busy are workers when evaluation times vary tenfold?

    python benchmarks/worker_utilisation.py > benchmarks/results/worker_utilisation.txt

Evaluations sleep for 0.1 to 1 s (log-uniform), so that any number of workers fits on any machine. A worker
is busy from the start to the end of an evaluation, as the store has it; the share is from the first start
to the last one, when the budget is used up.
"""

from __future__ import annotations

import os
import tempfile
import time

import numpy as np

import dcmaes as dc

BUDGET = 160
SPACE = dc.Space.integers(20, 0, 9)


def objective(x):
    fraction = np.random.default_rng(x.astype(np.uint32)).random()
    time.sleep(0.1 * 10**fraction)
    return float(((x - 4) ** 2).sum())


def measure(workers, batch_size):
    """Return the share of their time in which workers were busy, and the seconds of the whole run."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "run.db")
        begun = time.perf_counter()
        dc.minimize(
            objective,
            SPACE,
            budget=BUDGET,
            seed=0,
            workers=workers,
            batch_size=batch_size,
            store=path,
            progress=False,
        )
        seconds = time.perf_counter() - begun
        timeline = dc.store.read(path).timeline
    first = min(span.started for span in timeline)
    last = max(span.started for span in timeline)
    busy = sum(min(span.ended, last) - span.started for span in timeline)
    return busy / (workers * (last - first)), seconds


def main() -> None:
    print(f"{'workers':>7}  {'rounds of':>9}  busy    seconds")
    for workers in (2, 4, 8):
        for batch_size in (None, workers):
            share, seconds = measure(workers, batch_size)
            print(f"{workers:>7}  {batch_size or '-':>9}  {share:6.1%}  {seconds:7.1f}", flush=True)


if __name__ == "__main__":
    main()
