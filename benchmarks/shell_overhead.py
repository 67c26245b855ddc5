"""What the optimizer costs around a strategy: microseconds per evaluation beyond the strategy's own time.

Random search is driven once bare (sample and update only) and once by the whole shell, in the strategy's own
batches, on spaces of d variables; the difference is what asking, telling, recording and recognising cost.

    python benchmarks/shell_overhead.py [--budget 100000] [--dimension 10]
    python benchmarks/shell_overhead.py --memory        10^6 evaluations at d = 100
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

import dcmaes as dc
from dcmaes.strategies import Evaluations, Memory, RandomSearch

BATCH = 10


def bare(space, budget):
    strategy, rng = RandomSearch(BATCH), np.random.default_rng(0)
    memory, values, violations = Memory(space.sites), np.zeros(BATCH), np.zeros(BATCH)
    state = strategy.init(space.sites, memory, budget, rng)
    begun = time.process_time()
    for _ in range(budget // BATCH):
        x = strategy.sample(state, BATCH, rng, memory)
        state = strategy.update(state, Evaluations(x, values, violations), memory)
    return (time.process_time() - begun) / budget


def ask_and_tell(space, budget):
    opt = dc.Optimizer(space, budget=budget, seed=0, strategy=RandomSearch(BATCH))
    values = [1.0] * BATCH
    begun = time.process_time()
    while opt.should_stop() is None:
        trials = opt.ask()
        opt.tell(trials, values[: len(trials)])
    return (time.process_time() - begun) / budget


def loop(space, budget):
    begun = time.process_time()
    dc.minimize(lambda point: 1.0, space, budget=budget, seed=0, strategy=RandomSearch(BATCH))
    return (time.process_time() - begun) / budget


def spaces(dimension):
    named = {f"x{i}": dc.Integer(0, 1000) if i % 2 else dc.Float(0, 1) for i in range(dimension)}
    return {
        "integers, array": dc.Space.integers(dimension, 0, 1000),
        "binary, array": dc.Space.binary(max(dimension, 40)),
        "mixed, dict": dc.Space(named),
    }


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--budget", type=int, default=100_000)
    parser.add_argument("--dimension", type=int, default=10)
    parser.add_argument("--memory", action="store_true")
    options = parser.parse_args()
    if options.memory:
        space = dc.Space.array([dc.Float(0, 1)] * 100)
        seconds = ask_and_tell(space, 1_000_000)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(f"10^6 evaluations, 100 continuous variables: {peak:.2f} GiB peak, {seconds * 1e6:.1f} us each")
        return
    print(f"d = {options.dimension}, {options.budget} evaluations, batches of {BATCH}; us per evaluation")
    print(f"{'space':<18}{'strategy':>10}{'ask + tell':>12}{'beyond':>10}{'minimize':>10}{'beyond':>10}")
    for name, space in spaces(options.dimension).items():
        alone, told, looped = (f(space, options.budget) * 1e6 for f in (bare, ask_and_tell, loop))
        print(f"{name:<18}{alone:10.2f}{told:12.2f}{told - alone:10.2f}{looped:10.2f}{looped - alone:10.2f}")


if __name__ == "__main__":
    main()
