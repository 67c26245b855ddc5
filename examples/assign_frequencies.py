"""Give 30 radio stations one of three frequencies each; which of them disturb each other nobody has measured.

All that can be observed is the disturbance in the whole network. A few hundred observations tell which pairs
of stations are behind it, exactly, and so which assignment is best.
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
    """Return what all pairs of near stations on one frequency disturb each other, the nearer the more."""
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
