"""How far above the known optimum the demonstration ends, on many seeds.

python benchmarks/demo_seeds.py [--seeds 20] > benchmarks/results/demo_seeds.txt
"""

from __future__ import annotations

import argparse

import numpy as np

import dcmaes as dc
from dcmaes.demo import BUDGET
from dcmaes.problems import heat_exchanger

NEAR = 0.01  # what counts as the optimum


def gaps(n_seeds: int) -> np.ndarray:
    """Return how far above the optimum each seed ends, as a share of it, shape (n_seeds,)."""
    problem = heat_exchanger()
    space = dc.Space.from_dict(problem.variables)
    best = [dc.minimize(problem, space, budget=BUDGET, seed=seed).fun for seed in range(n_seeds)]
    return np.array(best) / problem.optimum - 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    found = gaps(parser.parse_args().seeds)
    print("| seed | above the optimum |\n|---|---|")
    for seed, gap in enumerate(found):
        print(f"| {seed} | {gap:.2%} |")
    near = int((found <= NEAR).sum())
    median = np.median(found)
    print(f"\n{near} of {len(found)} seeds within {NEAR:.0%} after {BUDGET} designs, median {median:.2%}")
