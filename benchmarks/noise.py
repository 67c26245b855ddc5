"""How good is the point that is recommended under noise, and how much should be evaluated again?

    python benchmarks/noise.py > benchmarks/results/noise.txt

For each problem: the true value (the optimum has 0, mean over seeds) of the point that is recommended, of the
one with the best mean, and of the one with the luckiest single evaluation, when a share of the evaluations
makes sure of points that may be the best.
"""

from __future__ import annotations

import numpy as np

import dcmaes as dc
from dcmaes.optimizer import _noise

N_SEEDS = 40
BUDGET = 400
SHARES = (0.0, 0.05, 0.1, 0.2, 0.4)


def binary(dimension, seed):
    rng = np.random.default_rng(seed)
    optimum, weights = rng.integers(0, 2, dimension), rng.uniform(0.5, 1.5, dimension)
    return dc.Space.binary(dimension), lambda x: float(weights @ (x != optimum))


def integer(dimension, seed):
    optimum = np.random.default_rng(seed).integers(-8, 9, dimension)
    return dc.Space.integers(dimension, -10, 10), lambda x: float((((x - optimum) / 4) ** 2).sum())


PROBLEMS = {
    "20 binary, deviation 2": (binary, 20, 2.0),
    "10 binary, deviation 2.5": (binary, 10, 2.5),
    "6 integers, deviation 3": (integer, 6, 3.0),
    "6 integers, deviation 0.5": (integer, 6, 0.5),
}


def run(make, dimension, deviation, strategy, seed):
    """Return the true value of the recommended point, of the best mean, and of the luckiest evaluation."""
    space, true = make(dimension, seed)
    rng = np.random.default_rng(seed + 10_000)
    opt = dc.Optimizer(space, budget=BUDGET, seed=seed, strategy=strategy, duplicates="reevaluate")
    while opt.should_stop() is None:
        trials = opt.ask()
        opt.tell(trials, [true(trial.point) + deviation * rng.normal() for trial in trials])
    points, values = opt.history.points, opt.history.values
    distinct, group = np.unique(points, axis=0, return_inverse=True)
    means = np.bincount(group.ravel(), values) / np.bincount(group.ravel())
    return true(opt.result().x), true(distinct[np.argmin(means)]), true(points[np.argmin(values)])


def main() -> None:
    print(f"{'problem':<26} {'strategy':<8} {'share':>5}  recommended  best mean  luckiest")
    for name, problem in PROBLEMS.items():
        for strategy in ("cma", "random"):
            for share in SHARES:
                _noise.AGAIN_SHARE = share
                regret = np.mean([run(*problem, strategy, seed) for seed in range(N_SEEDS)], axis=0)
                row = f"{regret[0]:11.2f}  {regret[1]:9.2f}  {regret[2]:8.2f}"
                print(f"{name:<26} {strategy:<8} {share:5.2f}  {row}", flush=True)


if __name__ == "__main__":
    main()
