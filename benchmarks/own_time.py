"""Own time of `cma` beside its peers: microseconds per evaluation spent in ask and tell, in one run.

Every optimizer is driven through its normal ask and tell on an integer ellipsoid (condition 1e6) over
0..1000, with the population size it chooses itself; the time of the objective is taken off. dcmaes is driven
through `Optimizer`, so that recording, recognising known points and stopping are included. The 70 evaluations
a site end before `cma` settles on a point: after that it redraws known ones, which cost no evaluation but
time, about as much again for each evaluation counted. Processor time, the least of some repeats.

    OMP_NUM_THREADS=1 python benchmarks/own_time.py > benchmarks/results/cma/own_time.txt
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np

LOW, HIGH = 0, 1000


def dcmaes_ask_tell(dimension, covariance):
    import dcmaes as dc
    from dcmaes.strategies.cma import Cma

    space = dc.Space.integers(dimension, LOW, HIGH)
    optimizer = dc.Optimizer(space, budget=10**7, seed=1, strategy=Cma(covariance=covariance))

    def generation(objective):
        trials = optimizer.ask()
        optimizer.tell(trials, [objective(trial.point) for trial in trials])
        return len(trials)

    return generation


def cmawm(dimension):
    from cmaes import CMAwM

    bounds = np.tile([float(LOW), float(HIGH)], (dimension, 1))
    optimizer = CMAwM(
        mean=np.full(dimension, 500.0), sigma=250.0, bounds=bounds, steps=np.ones(dimension), seed=1
    )

    def generation(objective):
        told = []
        for _ in range(optimizer.population_size):
            x, x_to_tell = optimizer.ask()
            told.append((x_to_tell, objective(x)))
        optimizer.tell(told)
        return len(told)

    return generation


def catcmawm(dimension):
    from cmaes import CatCMAwM

    optimizer = CatCMAwM(z_space=[np.arange(LOW, HIGH + 1)] * dimension, seed=1)

    def generation(objective):
        told = []
        for _ in range(optimizer.population_size):
            solution = optimizer.ask()
            told.append((solution, objective(solution.z)))
        optimizer.tell(told)
        return len(told)

    return generation


def pycma(dimension):
    import cma

    options = {
        "integer_variables": list(range(dimension)),
        "bounds": [LOW - 0.5, HIGH + 0.5],
        "verbose": -9,
        "seed": 1,
    }
    optimizer = cma.CMAEvolutionStrategy(np.full(dimension, 500.0), 250.0, options)

    def generation(objective):
        x = optimizer.ask()
        optimizer.tell(x, [objective(row) for row in x])
        return len(x)

    return generation


def own_microseconds(make, dimension, seconds):
    """Return microseconds per evaluation and the number of evaluations behind them."""
    target = np.random.default_rng(0).integers(LOW + 1, HIGH, dimension)
    factors = 10 ** np.linspace(0, 6, dimension)

    def objective(x):
        nonlocal spent
        begun = time.process_time()
        difference = x - target
        value = float(factors @ (difference * difference))
        spent += time.process_time() - begun
        return value

    generation = make(dimension)
    spent = 0.0
    generation(objective)  # imports, first calls and caches
    spent, n = 0.0, 0
    begun = time.process_time()
    while n < 70 * dimension and time.process_time() - begun < seconds:
        n += generation(objective)
    return (time.process_time() - begun - spent) / n * 1e6, n


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dimensions", type=int, nargs="+", default=[10, 100, 1000])
    parser.add_argument("--seconds", type=float, default=4.0, help="longest time for one optimizer")
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    rows = {
        "dcmaes cma (auto)": lambda d: dcmaes_ask_tell(d, "auto"),
        "dcmaes cma (full)": lambda d: dcmaes_ask_tell(d, "full"),
        "dcmaes cma (diagonal)": lambda d: dcmaes_ask_tell(d, "diagonal"),
        "cmaes.CMAwM": cmawm,
        "cmaes.CatCMAwM": catcmawm,
        "pycma": pycma,
    }
    for dimension in arguments.dimensions:
        measured = {}
        for name, make in rows.items():
            # The least of some repeats: whatever else the machine does only adds.
            n_repeats = arguments.repeats if dimension < 1000 else 1
            runs = [own_microseconds(make, dimension, arguments.seconds) for _ in range(n_repeats)]
            measured[name] = min(runs)
        own = measured["dcmaes cma (auto)"][0]
        print(f"d = {dimension}", flush=True)
        for name, (microseconds, n) in measured.items():
            ratio = own / microseconds
            print(f"  {name:22s} {microseconds:9.1f} us   auto / this {ratio:5.2f}   ({n} evaluations)")


if __name__ == "__main__":
    main()
