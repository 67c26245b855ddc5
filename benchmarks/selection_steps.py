"""When the selection of interactions may be given up: what settles if it never is, and what giving up saves.

Quadratic functions of 40 bits with so many interacting pairs, at random points and at those that a run of
`ising` has evaluated; three functions each.

    python benchmarks/selection_steps.py > benchmarks/results/selection_steps.txt
"""

from __future__ import annotations

import time

import numpy as np

import dcmaes as dc
from dcmaes.models import _interacting

D, N_FUNCTIONS = 40, 3
PAIRS, NUMBER = _interacting.numbered_pairs(D)


def points_of_a_run(value, n, seed):
    history = dc.minimize(value, dc.Space.binary(D), budget=n, seed=seed, strategy="ising").history
    return np.array(history.points, dtype=float)


def selected(part, first_steps):
    """Return which groups are left (None if that does not settle), and the processor time."""
    _interacting.FIRST_STEPS = first_steps
    begun = time.process_time()
    result = _interacting.selected_groups([part], D + len(PAIRS))
    seconds = time.process_time() - begun
    return (None if result is None or not result[1] else result[0]), seconds


def main():
    given_up_after = _interacting.FIRST_STEPS
    print("| points | evaluations | pairs | settle | of these given up | time, relative |")
    print("|---|---|---|---|---|---|")
    for kind in ("random", "of a run"):
        for n in (400, 800):
            for n_pairs in (40, 160, len(PAIRS)):
                row(kind, n, n_pairs, given_up_after)


def row(kind, n, n_pairs, given_up_after):
    n_settled, n_lost, times = 0, 0, np.zeros(2)
    for seed in range(N_FUNCTIONS):
        rng = np.random.default_rng(seed)
        first, second = PAIRS[rng.permutation(len(PAIRS))[:n_pairs]].T
        weight = rng.normal(size=n_pairs)

        def value(x, first=first, second=second, weight=weight):
            return float(weight @ (x[first] * x[second]))

        x = rng.integers(0, 2, size=(n, D)).astype(float)
        if kind != "random":
            x = points_of_a_run(value, n, seed)
        values = np.array([value(point) for point in x])
        part = _interacting._whole(x, values, np.full(D, 2), NUMBER, is_tied=False)
        never, long = selected(part, _interacting.N_STEPS)
        early, short = selected(part, given_up_after)
        n_settled += never is not None
        n_lost += never is not None and (early is None or bool((early != never).any()))
        times += short, long
    ratio = times[0] / times[1]
    print(f"| {kind} | {n} | {n_pairs} | {n_settled} of {N_FUNCTIONS} | {n_lost} | {ratio:.2f} |", flush=True)


if __name__ == "__main__":
    main()
