"""What does patience with known draws cost, and what is it worth?

    python benchmarks/small_spaces.py > benchmarks/results/small_spaces.txt

In a space that is nearly known, or where constraints exclude much, a strategy draws mostly points that are
known already. It is told their values for nothing, `KNOWN_BATCHES` times in a row, before a new point is
looked for without it. Shown are the CPU seconds of a run and the mean over its evaluations of the best value
so far (lower is better, with its standard error), for strategy cma.
"""

from __future__ import annotations

import time

import numpy as np

import dcmaes as dc
from dcmaes.run import _search

N_SEEDS = 16
PATIENCE = (20, 10, 5, 2)


def distance(x):
    return float(((x - 7) ** 2 * np.arange(1, len(x) + 1)).sum())


def rippled(x):
    z = 0.7 * (x - 6)
    return float((z * z - 5 * np.cos(2 * z)).sum())


def trap(x):
    ones = x.reshape(-1, 4).sum(axis=1)
    return -float(np.where(ones == 4, 4, 3 - ones).sum())


PROBLEMS = {
    "4 integers, sum <= 14": (dc.Space.integers(4, 0, 9), distance, lambda x: float(x.sum() - 14), 500),
    "4 integers, sum 19 to 21": (dc.Space.integers(4, 0, 9), rippled, lambda x: abs(x.sum() - 20) - 1.0, 500),
    "3 integers, ordered": (dc.Space.integers(3, 0, 7), rippled, lambda x: float(x[0] - x[1]), 250),
    "4 integers": (dc.Space.integers(4, 0, 9), rippled, None, 500),
    "12 binary, traps": (dc.Space.binary(12), trap, None, 1500),
}


def measure(space, objective, constraint, budget):
    """Return the CPU seconds of a run, the mean of the best value so far, and the error of that."""
    begun, means = time.process_time(), []
    for seed in range(N_SEEDS):
        result = dc.minimize(
            objective, space, budget=budget, seed=seed, strategy="cma", constraints=constraint, progress=False
        )
        means.append(np.minimum.accumulate(result.history.values).mean())
    seconds = (time.process_time() - begun) / N_SEEDS
    return seconds, float(np.mean(means)), float(np.std(means) / np.sqrt(N_SEEDS))


def main() -> None:
    print(f"{'problem':24}  patience  seconds  mean of the best value")
    for name, problem in PROBLEMS.items():
        for patience in PATIENCE:
            _search.KNOWN_BATCHES = patience
            seconds, mean, error = measure(*problem)
            print(f"{name:24}  {patience:8}  {seconds:7.2f}  {mean:8.3f} +- {error:.3f}", flush=True)


if __name__ == "__main__":
    main()
