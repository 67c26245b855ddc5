"""The suite `multi`: problems with two objectives whose front is known, or of which a very good one is."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from importlib.util import find_spec
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcmaes.pareto import hypervolume, is_nondominated
from dcmaes_bench._multi_fronts import best_profits, front_by_flips, front_by_long_runs, front_by_tabu
from dcmaes_bench._results import RESULTS

# Fronts that take long to find, by the name of the problem: `python benchmarks/objectives.py fronts`.
FRONTS = RESULTS / "multi" / "fronts.json"
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
# Random points whose mean values are where the hypervolume counts from, if the front does not reach as far.
_N_RANDOM = 1000
# How far beyond the worst values of the front the hypervolume counts, as a share of its range.
_MARGIN = 0.1


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
    nadir : callable or None
        Returns the values, shape (2,), of which the hypervolume counts what is better, if the problem has its
        own; else random points decide.
    """

    name: str
    family: str
    variables: dict[str, Any]
    function: Callable[[Any], tuple[float, float]]
    known_front: Callable[[], FloatArray]
    is_exact: bool
    nadir: Callable[[], FloatArray] | None = None

    def __call__(self, point: Any) -> tuple[float, float]:
        """Return the values of a point."""
        return self.function(point)

    @cached_property
    def dimension(self) -> int:
        """Number of variables."""
        import dcmaes as dc

        return dc.Space.from_dict(self.variables).dimension

    @cached_property
    def front(self) -> FloatArray:
        """The best known front, shape (k, 2): the stored one, if there is one."""
        stored = _stored_fronts().get(self.name)
        return self.find_front() if stored is None else np.array(stored)

    def find_front(self) -> FloatArray:
        """Return the best known front, shape (k, 2), in the order of the first objective."""
        found = self.known_front()
        found = found[is_nondominated(found)]
        ordered: FloatArray = found[np.argsort(found[:, 0])]
        return ordered

    @cached_property
    def reference(self) -> FloatArray:
        """Where the hypervolume counts from: the nadir or a typical random point, and beyond the front."""
        import dcmaes as dc

        if self.nadir is not None:
            typical = self.nadir()
        else:
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
        f"UBQP n={n}", "UBQP", _bits(n), function, lambda: front_by_tabu(matrices, seed), is_exact=False
    )


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
        f"MNK n={n} k={k}", "MNK", _bits(n), function, lambda: front_by_flips(evaluate, n, seed), False
    )


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
        lambda: -best_profits(profits, weights, capacity),
        is_exact=True,
    )


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

    The front is that of all 1,584 points, each of which is fitted five times.
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


def neighbour_tuning() -> MultiProblem:
    """Return nearest neighbours on the wine data: error with each wine left out against the number of inputs.

    Which of the 13 inputs are used, how many neighbours vote, how distances are measured and whether near
    ones count more. The front is that of all 425,984 points.
    """
    names = [f"input{i}" for i in range(13)]
    most = 13
    variables: dict[str, Any] = {
        **{name: {"type": "binary"} for name in names},
        "neighbours": {"type": "integer", "low": 1, "high": most},
        "power": {"type": "ordinal", "values": [1, 2]},
        "weighted": {"type": "binary"},
    }

    @cache
    def data() -> tuple[FloatArray, FloatArray]:
        from sklearn.datasets import load_wine

        inputs, target = load_wine(return_X_y=True)
        inputs = (inputs - inputs.mean(axis=0)) / inputs.std(axis=0)
        return np.abs(inputs[:, None] - inputs), np.eye(3)[target]

    def errors(chosen: NDArray[np.bool_], power: int) -> FloatArray:
        """Return the share of errors by number of neighbours, without and with weights, shape (2, most)."""
        gaps, target = data()
        distance: FloatArray = (gaps[:, :, chosen] ** power).sum(axis=2)
        np.fill_diagonal(distance, np.inf)
        nearest = np.argpartition(distance, most, axis=1)[:, :most]
        order = np.argsort(np.take_along_axis(distance, nearest, axis=1), axis=1, kind="stable")
        nearest = np.take_along_axis(nearest, order, axis=1)
        own, votes = target.argmax(axis=1), target[nearest]
        closeness = 1 / (np.take_along_axis(distance, nearest, axis=1) ** (1 / power) + 1e-9)
        totals = np.stack([votes.cumsum(axis=1), (closeness[:, :, None] * votes).cumsum(axis=1)])
        wrong: FloatArray = (totals.argmax(axis=3) != own[:, None]).mean(axis=1)
        return wrong

    def function(point: Any) -> tuple[float, float]:
        chosen = np.array([point[name] for name in names], dtype=bool)
        if not chosen.any():
            return 1.0, 0.0
        found = errors(chosen, point["power"])
        return float(found[int(point["weighted"]), point["neighbours"] - 1]), float(chosen.sum())

    def front() -> FloatArray:
        found = [(1.0, 0.0)]
        for bits in product([False, True], repeat=len(names)):
            if any(bits):
                lowest = min(errors(np.array(bits), power).min() for power in (1, 2))
                found.append((float(lowest), float(sum(bits))))
        return np.array(found)

    return MultiProblem("wine neighbours", "tuning", variables, function, front, is_exact=True)


def biobjective_mixint(function: int, dimension: int) -> MultiProblem:
    """Return a pair of functions of COCO's bbob-biobj-mixint: four fifths integers, one fifth continuous.

    The best known front is that of long runs; the hypervolume counts from COCO's nadir.
    """
    name = f"biobj f{function} d={dimension}"
    suite, wrapped = _coco_problem(function, dimension)
    n_integer = wrapped.number_of_integer_variables
    bounds = list(zip(wrapped.lower_bounds, wrapped.upper_bounds, strict=True))
    variables: dict[str, Any] = {
        f"x{i}": {"type": "integer", "low": int(low), "high": int(high)}
        if i < n_integer
        else {"type": "float", "low": float(low), "high": float(high)}
        for i, (low, high) in enumerate(bounds)
    }

    def values(point: Any, _keep: Any = suite) -> tuple[float, float]:  # a problem dies with its suite
        first, second = wrapped([float(point[name]) for name in variables])
        return float(first), float(second)

    def front() -> FloatArray:
        return front_by_long_runs(wrapped, n_integer)

    def nadir() -> FloatArray:
        return np.array(wrapped.largest_fvalues_of_interest)

    return MultiProblem(name, "bbob-biobj-mixint", variables, values, front, False, nadir)


@cache
def _stored_fronts() -> dict[str, list[list[float]]]:
    return dict(json.loads(FRONTS.read_text(encoding="utf-8"))) if FRONTS.exists() else {}


def store_fronts(names: Collection[str] = ()) -> None:
    """Find the fronts of the problems of these names, or of all, and write them to `FRONTS`."""
    stored = _stored_fronts()
    for problem in problems():
        if not names or problem.name in names:
            stored[problem.name] = [[float(f"{v:.10g}") for v in row] for row in problem.find_front()]
    FRONTS.parent.mkdir(parents=True, exist_ok=True)
    text = ",\n".join(f"{json.dumps(name)}: {json.dumps(front)}" for name, front in stored.items())
    FRONTS.write_text(f"{{\n{text}\n}}\n", encoding="utf-8")


def _coco_problem(function: int, dimension: int) -> tuple[Any, Any]:
    cocoex = import_module("cocoex")
    cocoex.log_level("error")
    chosen = f"dimensions:{dimension} function_indices:{function}"
    suite = cocoex.Suite("bbob-biobj-mixint", "instances:1", chosen)
    return suite, suite.get_problem(0)


def biobjective_problems() -> list[MultiProblem]:
    """Return the functions of COCO, of which four pairs are taken; none without its package."""
    if find_spec("cocoex") is None:
        return []
    return [biobjective_mixint(function, d) for d in (5, 10) for function in (1, 24, 47, 70)]


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
        neighbour_tuning(),
        *biobjective_problems(),
    ]
