"""Assign one of three frequencies to each of 30 radio stations, without knowing which of them interfere.

Only the total interference in the network can be observed. A few hundred observations reveal exactly which
pairs of stations cause it, and hence which assignment is best.
"""

import numpy as np

import dcmaes as dc

rng = np.random.default_rng(7)
place = rng.random((30, 2))
distance = np.linalg.norm(place[:, None] - place, axis=2)
first, second = np.nonzero(np.triu(distance < 0.25, 1))
strength = 1 / distance[first, second]

space = dc.Space({f"station {i}": dc.Categorical([88.1, 95.7, 104.3]) for i in range(30)})


def disturbance(point):
    """Return the interference of all nearby pairs on the same frequency, larger for closer ones."""
    frequency = np.array(list(point.values()))
    return float(strength @ (frequency[first] == frequency[second]))


if __name__ == "__main__":
    at_random = np.mean([disturbance(point) for point in space.sample(rng, 100)])
    result = dc.minimize(disturbance, space, budget=800, seed=0)
    pairs = {(pair.first, pair.second) for pair in result.interactions()}
    true = {(f"station {i}", f"station {j}") for i, j in zip(first, second, strict=True)}
    print(f"at random: {at_random:.2f}")
    print(f"found: {result.fun:.2f}")
    known = len(pairs & true)
    print(f"disturbing pairs: {known} of {len(true)} known, {len(pairs) - known} mistaken")
