"""The parameter-less population pyramid (Goldman & Punch, GECCO 2014), for any number of states."""

from __future__ import annotations

import numpy as np

from dcmaes_bench._domain import Domain, FloatArray
from dcmaes_bench._recorder import Evaluate
from dcmaes_bench._registry import optimizer


class Level:
    """One population of the pyramid with its linkage tree."""

    def __init__(self) -> None:
        self.points: list[FloatArray] = []
        self.tree: list[list[int]] = []

    def add(self, x: FloatArray, rng: np.random.Generator) -> None:
        """Add a point and learn the tree anew."""
        self.points.append(x)
        self.tree = linkage_tree(np.array(self.points), rng)

    def mix(
        self, x: FloatArray, value: float, evaluate: Evaluate, rng: np.random.Generator
    ) -> tuple[FloatArray, float]:
        """For each subset of the tree, copy it from a member that differs there; keep it if not worse."""
        for subset in self.tree:
            for k in rng.permutation(len(self.points)):
                donor = self.points[k]
                if (donor[subset] == x[subset]).all():
                    continue
                y = x.copy()
                y[subset] = donor[subset]
                new = evaluate(y)
                if new <= value:
                    x, value = y, new
                break
        return x, value


def linkage_tree(points: FloatArray, rng: np.random.Generator) -> list[list[int]]:
    """Subsets of variables that depend on each other, by average linkage of normalised mutual information.

    The smallest subsets come first; the full set, and subsets that always agree with their parent, are left
    out.
    """
    from scipy.cluster.hierarchy import average
    from scipy.spatial.distance import squareform

    d = points.shape[1]
    subsets = [[i] for i in range(d)]
    if d == 1 or len(points) < 2:
        return [subsets[i] for i in rng.permutation(d)] if d > 1 else subsets
    distance = dependence_distance(points)
    merges = average(squareform(distance, checks=False))
    useful = [True] * d
    for first, second, height, _ in merges:
        a, b = int(first), int(second)
        subsets.append(subsets[a] + subsets[b])
        useful.append(True)
        if height < 1e-12:  # the two always change together: moving one alone is wasted
            useful[a] = useful[b] = False
    chosen = [subsets[i] for i in range(len(subsets) - 1) if useful[i]]
    order = rng.permutation(len(chosen))
    return sorted((chosen[i] for i in order), key=len)


def dependence_distance(points: FloatArray) -> FloatArray:
    """One minus mutual information over joint entropy, for every pair of columns, shape (d, d).

    >>> dependence_distance(np.array([[0., 0., 1.], [1., 1., 1.]])).round(6).tolist()
    [[0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [1.0, 1.0, 0.0]]
    """
    n, d = points.shape
    states = np.unique(points)
    one_hot = (points[:, :, None] == states).astype(np.float64).reshape(n, -1)
    joint = (one_hot.T @ one_hot / n).reshape(d, len(states), d, len(states))
    entropy_joint = -np.where(joint > 0, joint * np.log(np.where(joint > 0, joint, 1.0)), 0.0).sum(
        axis=(1, 3)
    )
    single = np.diag(entropy_joint)
    information = single[:, None] + single[None, :] - entropy_joint
    distance = np.where(entropy_joint > 1e-12, 1 - information / np.maximum(entropy_joint, 1e-12), 1.0)
    np.fill_diagonal(distance, 0.0)
    return np.asarray(np.clip((distance + distance.T) / 2, 0.0, 1.0))


def climb(
    domain: Domain, x: FloatArray, evaluate: Evaluate, rng: np.random.Generator
) -> tuple[FloatArray, float]:
    """First-improvement hill climbing over all single changes, until none helps."""
    value, idle = evaluate(x), 0
    order = rng.permutation(domain.dimension)
    at = 0
    while idle < domain.dimension:
        i = order[at % domain.dimension]
        at += 1
        idle += 1
        for state in rng.permutation(domain.n_states[i]):
            y = x.copy()
            y[i] = domain.low[i] + state
            if y[i] == x[i]:
                continue
            new = evaluate(y)
            if new < value:
                x, value, idle = y, new, 1
                break
    return x, value


@optimizer("P3", kinds="ic", max_states=100)
def p3(domain: Domain, evaluate: Evaluate, budget: int, seed: int) -> None:
    """Climb from a random point, then mix with every level, rising a level at each improvement."""
    rng = np.random.default_rng(seed)
    levels, seen = [Level()], set[bytes]()
    while True:
        x, value = climb(domain, domain.sample(rng), evaluate, rng)
        if x.tobytes() not in seen:
            seen.add(x.tobytes())
            levels[0].add(x, rng)
        at = 0
        while at < len(levels):
            before = value
            x, value = levels[at].mix(x, value, evaluate, rng)
            if value < before and x.tobytes() not in seen:
                seen.add(x.tobytes())
                if at + 1 == len(levels):
                    levels.append(Level())
                levels[at + 1].add(x, rng)
            at += 1
