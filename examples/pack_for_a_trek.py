"""Several objectives: what to carry on a trek, weight against usefulness, when some things help each other.

A stove is of no use without fuel, a second rope adds little to the first. No single answer is right: the
result is the front, the most useful packing of every weight. It is compared with taking things in the order
of usefulness per weight.
"""

import numpy as np

import dcmaes as dc
from dcmaes.pareto import hypervolume

N = 30
rng = np.random.default_rng(4)
WEIGHT = rng.integers(1, 20, N) / 10
WORTH = rng.integers(1, 10, N)
TOGETHER = np.zeros((N, N))  # what two things add to each other; negative if one replaces the other
for _ in range(40):
    i, j = rng.choice(N, 2, replace=False)
    TOGETHER[i, j] = rng.choice([-4, 8])


def pack(taken):
    """Weight in kilograms, and usefulness."""
    return {"weight": float(WEIGHT @ taken), "usefulness": float(WORTH @ taken + taken @ TOGETHER @ taken)}


def in_order():
    """Return the packings that take one more thing at a time, the best for its weight first."""
    order = np.argsort(-WORTH / WEIGHT)
    packings = np.tril(np.ones((N, N), dtype=np.int64))
    taken = np.zeros((N, N), dtype=np.int64)
    taken[:, order] = packings
    return [pack(one) for one in taken]


def search():
    directions = {"weight": "minimize", "usefulness": "maximize"}
    return dc.minimize(pack, dc.Space.binary(N), budget=600, seed=0, objectives=directions)


def describe(result):
    heaviest = WEIGHT.sum()
    simple = np.array([[one["weight"], one["usefulness"]] for one in in_order()])
    by_order = hypervolume(simple * [1, -1], [heaviest, 0])
    print(f"front: {len(result.front)} packings from {result.front[0].value[0]:.1f} kg on")
    print(f"hypervolume, in the order of worth per weight: {by_order:.0f}")
    print(f"hypervolume, found: {result.hypervolume((heaviest, 0)):.0f}")
    weight, usefulness = result.knee().value
    print(f"knee: {weight:.1f} kg for {usefulness:.0f}, things {np.flatnonzero(result.x).tolist()}")
    light = result.knee({"weight": 3, "usefulness": 1})
    print(f"if weight counts three times as much: {light.value[0]:.1f} kg for {light.value[1]:.0f}")


if __name__ == "__main__":
    describe(search())
