"""The suite `multi`: problems with two objectives whose front is known, or of which a very good one is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcmaes.pareto import hypervolume, is_nondominated

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
# Random points whose mean values are where the hypervolume counts from, if the front does not reach as far.
_N_RANDOM = 1000
# How far beyond the worst values of the front the hypervolume counts, as a share of its range.
_MARGIN = 0.1
# Weights for which the best point is looked for, starts for each, and steps of each tabu search.
_N_WEIGHTS, _N_STARTS, _N_STEPS = 41, 3, 400


@dataclass(frozen=True, eq=False)
class MultiProblem:
    """Two objectives to be minimized over variables given as plain data.

    Attributes
    ----------
    name, family : str
        What it is called, and which problems it belongs to.
    variables : dict
        As `Space.from_dict` reads them.
    function : callable
        Takes a point (a dict or an array of shape (d,)) and returns two numbers.
    known_front : callable
        Returns the values of the best known front, shape (k, 2).
    is_exact : bool
        Whether that is the front itself.
    """

    name: str
    family: str
    variables: dict[str, Any]
    function: Callable[[Any], tuple[float, float]]
    known_front: Callable[[], FloatArray]
    is_exact: bool

    def __call__(self, point: Any) -> tuple[float, float]:
        """Return the values of a point."""
        return self.function(point)

    @cached_property
    def front(self) -> FloatArray:
        """The best known front, shape (k, 2)."""
        found = self.known_front()
        return found[is_nondominated(found)]

    @cached_property
    def reference(self) -> FloatArray:
        """Where the hypervolume counts from: typical of random points, and beyond the front."""
        import dcmaes as dc

        space = dc.Space.from_dict(self.variables)
        points = space.sample(np.random.default_rng(0), _N_RANDOM)
        typical = np.mean([self.function(point) for point in points], axis=0)
        low, high = self.front.min(axis=0), self.front.max(axis=0)
        worst: FloatArray = np.maximum(typical, high + _MARGIN * (high - low))
        return worst

    def relative_volume(self, values: FloatArray) -> float:
        """Return the hypervolume of points as a share of that of the best known front."""
        return hypervolume(values, self.reference) / hypervolume(self.front, self.reference)


def _bits(n: int) -> dict[str, Any]:
    return {"array": [{"type": "binary", "repeat": n}]}


def two_qubos(n: int, seed: int, correlation: float = 0.0) -> MultiProblem:
    """Return two random quadratic functions of bits (UBQP) with coefficients from -100 to 100."""
    rng = np.random.default_rng(seed)
    first, other = (np.triu(rng.uniform(-100, 100, (n, n))) for _ in range(2))
    second = correlation * first + np.sqrt(1 - correlation**2) * other
    matrices = np.stack([first, second])

    def function(x: Any) -> tuple[float, float]:
        bits = np.asarray(x, dtype=np.float64)
        return float(bits @ first @ bits), float(bits @ second @ bits)

    return MultiProblem(
        f"UBQP n={n}", "UBQP", _bits(n), function, lambda: _front_by_tabu(matrices, seed), is_exact=False
    )


def _front_by_tabu(matrices: FloatArray, seed: int) -> FloatArray:
    """Return a front of quadratic functions of bits: tabu searches of weighted sums, which know them."""
    n = matrices.shape[1]
    rng = np.random.default_rng(seed + 1)
    symmetric = matrices + matrices.transpose(0, 2, 1)
    found = []
    for weight in np.linspace(0.0, 1.0, _N_WEIGHTS):
        coupling = weight * symmetric[0] + (1 - weight) * symmetric[1]
        field: FloatArray = np.diag(coupling) / 2
        coupling = coupling - np.diag(np.diag(coupling))
        for _ in range(_N_STARTS):
            x: Any = rng.integers(0, 2, n).astype(np.float64)
            gradient: Any = field + coupling @ x
            free_at = np.zeros(n)
            for step in range(_N_STEPS):
                change = (1 - 2 * x) * gradient
                i = int(np.where(free_at > step, np.inf, change).argmin())
                gradient = gradient + coupling[i] * (1 - 2 * x[i])
                x[i] = 1 - x[i]
                free_at[i] = step + n // 10 + rng.integers(1, 4)
                found.append([x @ matrix @ x for matrix in matrices])
    return np.array(found)


def mnk_landscape(n: int, k: int, seed: int) -> MultiProblem:
    """Return two NK landscapes with other neighbours and tables each; the mean contributions, negative."""
    rng = np.random.default_rng(seed)
    neighbours = np.array(
        [[[i, *rng.choice(np.delete(np.arange(n), i), k, replace=False)] for i in range(n)] for _ in range(2)]
    )
    tables = rng.random((2, n, 2 ** (k + 1)))
    powers = 2 ** np.arange(k + 1)
    rows = np.arange(n)

    def evaluate(x: FloatArray) -> FloatArray:
        states = x.astype(np.int64)[..., neighbours] @ powers
        contributions = np.stack([tables[j][rows, states[..., j, :]] for j in range(2)], axis=-2)
        values: FloatArray = -contributions.mean(axis=-1)
        return values

    def function(x: Any) -> tuple[float, float]:
        first, second = evaluate(np.asarray(x)).tolist()
        return first, second

    return MultiProblem(
        f"MNK n={n} k={k}", "MNK", _bits(n), function, lambda: _front_by_flips(evaluate, n, seed), False
    )


def _front_by_flips(evaluate: Callable[[FloatArray], FloatArray], n: int, seed: int) -> FloatArray:
    """Return a front found by climbing weighted sums, one flip at a time, from changed copies of the best."""
    rng = np.random.default_rng(seed + 1)
    flips = np.eye(n)
    found = []
    for weight in np.linspace(0.0, 1.0, _N_WEIGHTS):
        weights = np.array([weight, 1 - weight])
        best, level = rng.integers(0, 2, n).astype(np.float64), np.inf
        for _ in range(20 * _N_STARTS):
            x = np.abs(best - (rng.random(n) < 4 / n))
            while True:
                around = np.abs(x - np.vstack([np.zeros(n), flips]))
                values = evaluate(around)
                found.append(values[is_nondominated(values)])
                lowest = int((values @ weights).argmin())
                if lowest == 0:
                    break
                x = around[lowest]
            reached = float((values @ weights)[0])
            if reached <= level:
                best, level = x, reached
    return np.vstack(found)


def two_knapsacks(n: int, seed: int) -> MultiProblem:
    """Return a knapsack with two profits for each item, negative; beyond the capacity items are paid for.

    Dynamic programming gives the front itself. A load that is too heavy loses the best profit per weight, in
    either profit, for the excess and for the heaviest thing, so it never pays.
    """
    rng = np.random.default_rng(seed)
    profits, weights = rng.integers(10, 101, (2, n)), rng.integers(10, 101, n)
    capacity = int(weights.sum()) // 2
    fine = (profits / weights).max(axis=1)

    def function(x: Any) -> tuple[float, float]:
        load = np.asarray(x)
        excess = max(int(load @ weights) - capacity, 0)
        # At least what is lost by leaving things out until the load is within the capacity.
        total = fine * (excess + weights.max()) if excess else 0.0
        first, second = (-(profits @ load) + total).tolist()
        return first, second

    return MultiProblem(
        f"knapsack n={n}",
        "knapsack",
        _bits(n),
        function,
        lambda: -_best_profits(profits, weights, capacity),
        is_exact=True,
    )


def _best_profits(profits: IntArray, weights: IntArray, capacity: int) -> FloatArray:
    """Return the profits that no load within the capacity dominates, shape (k, 2), by adding item by item."""
    # A load is kept unless another one weighs no more and has no less of both profits.
    states = np.zeros((1, 3))
    for profit, weight in zip(profits.T, weights, strict=True):
        more = states + np.array([weight, *(-profit)])
        states = np.vstack([states, more[more[:, 0] <= capacity]])
        states = states[is_nondominated(states)]
    return -states[:, 1:]


def trap_and_inverse(n: int, size: int) -> MultiProblem:
    """Return deceptive blocks of bits, one objective for ones and one for zeros, negative.

    Every block adds its number of ones, less than `size`, as it leads away from all ones, which give `size`;
    for the second objective zeros and ones change places. On the front every block is all ones or all zeros.
    """
    n_blocks = n // size

    def trap(ones: NDArray[np.int64]) -> float:
        return float(np.where(ones == size, size, size - 1 - ones).sum())

    def function(x: Any) -> tuple[float, float]:
        ones = np.asarray(x).reshape(n_blocks, size).sum(axis=1)
        return -trap(ones), -trap(size - ones)

    blocks = np.arange(n_blocks + 1)
    front = -np.stack(
        [blocks * size + (n_blocks - blocks) * (size - 1), (n_blocks - blocks) * size + blocks * (size - 1)],
        axis=1,
    ).astype(np.float64)
    return MultiProblem(f"trap{size} n={n}", "trap", _bits(n), function, lambda: front, is_exact=True)


def ds_int_lftl(n: int = 3, n_states: int = 5) -> MultiProblem:
    """Return DSIntLFTL of the README of cmaes: spheres of numbers and integers, and runs of choices."""
    last = n_states - 1
    variables: dict[str, Any] = {
        **{f"x{i}": {"type": "float", "low": -5.0, "high": 15.0} for i in range(n)},
        **{f"z{i}": {"type": "integer", "low": -5, "high": 15} for i in range(n)},
        **{f"c{i}": {"type": "categorical", "choices": list(range(n_states))} for i in range(n)},
    }

    def function(point: Any) -> tuple[float, float]:
        x, z = (np.array([point[f"{kind}{i}"] for i in range(n)]) / 10 for kind in "xz")
        c = np.array([point[f"c{i}"] for i in range(n)])
        leading = (n - int((c == 0).cumprod().sum())) / n
        trailing = (n - int((c == last)[::-1].cumprod().sum())) / n
        first = (x**2).mean() + (z**2).mean() + leading
        return float(first), float(((x - 1) ** 2).mean() + ((z - 1) ** 2).mean() + trailing)

    def front() -> FloatArray:
        t = np.linspace(0.0, 1.0, 501)
        parts = [np.stack([t**2, (1 - t) ** 2], axis=1)]
        z = np.array(list(combinations_with_replacement(np.arange(11) / 10, n)))
        parts.append(np.stack([(z**2).mean(axis=1), ((1 - z) ** 2).mean(axis=1)], axis=1))
        a = np.arange(n + 1)
        parts.append(np.stack([(n - a) / n, a / n], axis=1))
        parts = [part[is_nondominated(part)] for part in parts]
        total = np.zeros((1, 2))
        for part in parts:
            total = np.array([left + right for left, right in product(total, part)])
        return total

    return MultiProblem(f"DSIntLFTL {n}+{n}+{n}", "DSIntLFTL", variables, function, front, is_exact=True)


def tree_tuning() -> MultiProblem:
    """Return a decision tree on the wine data: loss in cross-validation against the mean number of leaves.

    The front is that of all 1,584 points, each of which is fitted five times: that takes half a minute.
    """
    variables: dict[str, Any] = {
        "depth": {"type": "integer", "low": 1, "high": 6},
        "leaves": {"type": "integer", "low": 2, "high": 12},
        "least": {"type": "ordinal", "values": [1, 2, 5, 10]},
        "criterion": {"type": "categorical", "choices": ["gini", "entropy"]},
        "features": {"type": "ordinal", "values": [3, 6, 13]},
    }

    @cache
    def fitted(depth: int, leaves: int, least: int, criterion: str, features: int) -> tuple[float, float]:
        from sklearn.datasets import load_wine
        from sklearn.model_selection import KFold
        from sklearn.tree import DecisionTreeClassifier

        inputs, target = load_wine(return_X_y=True)
        losses, sizes = [], []
        for train, test in KFold(5, shuffle=True, random_state=0).split(inputs):
            tree = DecisionTreeClassifier(
                criterion=criterion,
                max_depth=depth,
                max_leaf_nodes=leaves,
                min_samples_leaf=least,
                max_features=features,
                random_state=0,
            ).fit(inputs[train], target[train])
            losses.append(1 - tree.score(inputs[test], target[test]))
            sizes.append(tree.get_n_leaves())
        return float(np.mean(losses)), float(np.mean(sizes))

    def function(point: Any) -> tuple[float, float]:
        return fitted(*(point[name] for name in variables))

    def front() -> FloatArray:
        ranges = [range(1, 7), range(2, 13), (1, 2, 5, 10), ("gini", "entropy"), (3, 6, 13)]
        return np.array([fitted(*point) for point in product(*ranges)])

    return MultiProblem("wine tree", "tuning", variables, function, front, is_exact=True)


def problems() -> list[MultiProblem]:
    """Return the problems of the suite."""
    return [
        two_qubos(32, seed=1),
        two_qubos(64, seed=2),
        mnk_landscape(32, 2, seed=1),
        mnk_landscape(64, 2, seed=2),
        two_knapsacks(32, seed=1),
        trap_and_inverse(30, 5),
        ds_int_lftl(),
        tree_tuning(),
    ]
