"""Own time of the default strategy on dense QUBOs, beside peers in the same run.

Processor time per evaluation outside the objective, the least of some repeats, and what share of it goes into
the search for sparse interactions, which a dense problem does not have.

    python benchmarks/qubo_own_time.py > benchmarks/results/qubo_own_time.txt
"""

from __future__ import annotations

import argparse
import time

from dcmaes.models import _interacting
from dcmaes.problems import qubo
from dcmaes_bench import Domain, RunEnded, optimizers

NAMES = ("dcmaes auto", "dcmaes ising", "cmaes.CatCMAwM", "optuna TPE")


class Clock:
    """Processor time spent inside functions that it wraps."""

    def __init__(self):
        self.spent = 0.0

    def around(self, function):
        def timed(*arguments):
            begun = time.process_time()
            try:
                return function(*arguments)
            finally:
                self.spent += time.process_time() - begun

        return timed


def own_time(name, problem, budget):
    """Return seconds per evaluation outside the objective, and those in the selection of interactions."""
    objective, selection, n = Clock(), Clock(), 0

    def evaluate(x):
        nonlocal n
        if n >= budget:
            raise RunEnded("budget")
        n += 1
        return value(x)

    value = objective.around(problem)
    plain = _interacting.selected_groups
    _interacting.selected_groups = selection.around(plain)
    begun = time.process_time()
    try:
        optimizers()[name].run(Domain.of(problem), evaluate, budget, 0)
    except RunEnded:
        pass
    finally:
        _interacting.selected_groups = plain
    return (time.process_time() - begun - objective.spent) / n, selection.spent / n


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--bits", type=int, default=64)
    parser.add_argument("--budget", type=int, default=800)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--optimizers", default=",".join(NAMES))
    options = parser.parse_args()
    print(f"dense QUBO, {options.bits} bits, {options.budget} evaluations")
    print("| optimizer | ms per evaluation | of which selection | relative to the first |\n|---|---|---|---|")
    first = None
    for name in options.optimizers.split(","):
        own_time(name, qubo(options.bits), 50)  # imports, first calls and caches
        repeats = options.repeats if name.startswith("dcmaes") else 1
        total, selection = min(own_time(name, qubo(options.bits), options.budget) for _ in range(repeats))
        first = first or total
        print(f"| {name} | {1e3 * total:.2f} | {1e3 * selection:.2f} | {total / first:.2f} |", flush=True)


if __name__ == "__main__":
    main()
