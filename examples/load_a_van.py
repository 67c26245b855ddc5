"""Load a van with some of 40 parcels; nobody has weighed them, and only the weighbridge tells the total.

What a parcel pays is not known either, but by the sum on the bill. A load that is too heavy has to be
unloaded again: the bridge says by how much. So the search learns where the limit is, and keeps to it.
"""

import numpy as np

import dcmaes as dc

rng = np.random.default_rng(3)
weight = rng.integers(5, 60, 40)
pay = weight + rng.integers(0, 30, 40)
limit = 400


def load(x):
    """Return what a load pays, and by how much it is too heavy."""
    return dc.Outcome(int(pay @ x), violation=int(weight @ x) - limit)


def best_possible():
    """Return what the best load pays, by somebody who knows all weights and prices."""
    best = np.zeros(limit + 1, dtype=int)
    for kilos, price in zip(weight, pay, strict=True):
        best[kilos:] = np.maximum(best[kilos:], best[:-kilos] + price)
    return int(best[-1])


if __name__ == "__main__":
    result = dc.maximize(load, dc.Space.binary(40), budget=300, seed=0)
    too_heavy = sum(record.violation > 0 for record in result.history)
    print(f"found: {result.fun:.0f}, {int(weight @ result.x)} of {limit} kg")
    print(f"best possible: {best_possible()}")
    print(f"loads that were too heavy: {too_heavy} of {result.nfev}")
