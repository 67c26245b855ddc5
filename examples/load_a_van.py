"""Load a van with some of 40 parcels of unknown weight; only a weighbridge shows the total.

The price of a single parcel is unknown as well: only the sum on the bill is seen. A load that is too heavy
has to be unloaded again, and the bridge says by how much. From this the search learns the limit.
"""

import numpy as np

import dcmaes as dc

rng = np.random.default_rng(3)
weight = rng.integers(5, 60, 40)
pay = weight + rng.integers(0, 30, 40)
limit = 400


def load(x):
    """Return the price of a load, and by how much it is too heavy."""
    return dc.Outcome(int(pay @ x), violation=int(weight @ x) - limit)


def best_possible():
    """Return the price of the best load, computed with all weights and prices known."""
    best = np.zeros(limit + 1, dtype=int)
    for kilos, price in zip(weight, pay, strict=True):
        best[kilos:] = np.maximum(best[kilos:], best[:-kilos] + price)
    return int(best[-1])


if __name__ == "__main__":
    results = [dc.maximize(load, dc.Space.binary(40), budget=300, seed=seed) for seed in range(3)]
    result = sorted(results, key=lambda one: one.fun)[1]
    too_heavy = sum(record.violation > 0 for record in result.history)
    print(f"three seeds: {', '.join(f'{one.fun:.0f}' for one in results)}; what follows is of the middle one")
    print(f"found: {result.fun:.0f}, {int(weight @ result.x)} of {limit} kg")
    print(f"best possible: {best_possible()}")
    print(f"loads that were too heavy: {too_heavy} of {result.nfev}")
