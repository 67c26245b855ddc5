"""Problems of the suite `small` that are not in the library: settings of programs, simulations, an estimator.

Every function takes ``instance=`` and draws from that seed what would let a bias find the optimum: constants,
which choice is which, and where the optimum lies. All are deterministic and take a millisecond or less.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from dcmaes.problems import Problem, heat_exchanger
from dcmaes_bench._domain import Domain, FloatArray

Spec = Mapping[str, Any]


def disguised(problem: Problem, instance: int, *, margin: float = 0.0) -> Problem:
    """Return a problem with choices permuted and numbers mirrored by chance, and room around their bounds.

    With a margin, numeric ranges grow by up to that share at both ends; what was outside is as far from
    feasible as it is outside, relative to the old range. So no optimum is at a bound.

    >>> from dcmaes.problems import onemax
    >>> problem = disguised(onemax(1), 3)
    >>> sorted(problem(np.array([x])) for x in (0.0, 1.0))
    [0.0, 1.0]
    """
    rng, old = np.random.default_rng(1_000 + instance), Domain.of(problem)
    specs: tuple[Spec, ...] = tuple(problem.variables)  # type: ignore[arg-type]
    is_category = np.array([spec["type"] == "categorical" for spec in specs])
    order = [rng.permutation(int(n)) for n in np.where(is_category, old.n_states, 1)]
    is_mirrored = (rng.random(old.dimension) < 0.5) & ~is_category & ~old.log
    is_wide = np.array([spec["type"] in ("integer", "float") for spec in specs]) & ~old.log
    extra = rng.uniform(0.2, 1.0, (2, old.dimension)) * margin * (old.high - old.low) * is_wide
    extra = np.where(old.is_discrete, np.rint(extra), extra)
    low, high = old.low - extra[0], old.high + extra[1]

    def original(x: FloatArray) -> tuple[FloatArray, float]:
        x = np.where(is_mirrored, low + high - x, x)
        x = np.array([order[i][int(v)] if is_category[i] else v for i, v in enumerate(x)])
        inside = np.clip(x, old.low, old.high)
        return inside, float((np.abs(x - inside) / np.maximum(old.high - old.low, 1e-12)).sum())

    def function(x: FloatArray) -> float:
        inside, outside = original(np.asarray(x, dtype=np.float64))
        value = problem(inside)
        return value + outside * max(abs(value), 1.0) * 5

    def outcome(x: FloatArray) -> tuple[float, float]:
        inside, outside = original(np.asarray(x, dtype=np.float64))
        value, violation = problem.outcome(inside) if problem.outcome else (problem(inside), 0.0)
        return value, violation + outside

    variables = tuple(_moved(spec, low[i], high[i]) for i, spec in enumerate(specs))
    kept = None if problem.outcome is None else outcome
    return replace(
        problem, variables=variables, function=function, solution=None, instance=instance, outcome=kept
    )


def _moved(spec: Spec, low: float, high: float) -> Spec:
    if spec["type"] == "integer":
        return {**spec, "low": int(low), "high": int(high)}
    return {**spec, "low": float(low), "high": float(high)} if spec["type"] == "float" else spec


def positional_exchanger() -> Problem:
    """Return the heat exchanger of the demo, with points as vectors."""
    named = heat_exchanger()
    specs: Mapping[str, Spec] = named.variables  # type: ignore[assignment]

    def function(x: FloatArray) -> float:
        return named({name: _decoded(spec, v) for (name, spec), v in zip(specs.items(), x, strict=True)})

    return replace(named, variables=tuple(specs.values()), function=function)


def _decoded(spec: Spec, value: float) -> Any:
    states = spec.get("choices", spec.get("values"))
    if states is not None:
        return states[int(value)]
    return float(value) if spec["type"] == "float" else int(value)


def _ordinal(*values: Any) -> Spec:
    return {"type": "ordinal", "values": list(values)}


def _choice(n: int) -> Spec:
    return {"type": "categorical", "choices": list(range(n))}


def _float(low: float, high: float) -> Spec:
    return {"type": "float", "low": low, "high": high}


TILES = (4, 8, 16, 32, 64, 128, 256, 512)


def compiled_loop(*, instance: int = 0) -> Problem:
    """Seconds of a tiled matrix product: three block sizes, unrolling, and three flags; effects multiply.

    Blocks must fit into two caches, unrolled and vectorised loops into the registers, and each order of the
    loops has its own stride. Optimum by enumeration.
    """
    rng = np.random.default_rng(instance)
    caches = 2.0 ** rng.uniform(10, 12), 2.0 ** rng.uniform(14, 16)
    registers, penalty = rng.integers(8, 33), rng.uniform(1.3, 2.5, 2)
    order, level = 1 + 2 * rng.random(6) ** 2, rng.permutation([1.0, 1.15, 1.6, 4.0])
    order[rng.integers(6)] = 1.0
    width = rng.permutation([1, 4, 8])
    wanted = rng.integers(0, 6, 3)  # the stride that suits each block

    def seconds(i: Any, j: Any, k: Any, unroll: Any, vector: Any, loops: Any, flag: Any) -> Any:
        a, b, c = (np.asarray(TILES)[np.asarray(v, int)].astype(float) for v in (i, j, k))
        work = a * b + b * c + a * c
        time = 2.0 + 40 / np.sqrt(a * b) + 20 / c
        for size, factor in zip(caches, penalty, strict=True):
            time = time * np.where(work > size, factor * (work / size) ** 0.15, 1.0)
        lanes = width[np.asarray(vector, int)] * 2.0 ** np.asarray(unroll)
        time = time * (1 + 3 / lanes) * np.where(lanes > registers, 1 + 0.5 * np.log2(lanes / registers), 1.0)
        loops = np.asarray(loops, int)
        time = time * order[loops] * np.where(np.isin(loops, wanted) & (c < 32), 1.4, 1.0)
        return time * level[np.asarray(flag, int)]

    return _enumerated(
        "compiled loop",
        (*(_ordinal(*TILES),) * 3, _ordinal(1, 2, 4, 8, 16), _choice(3), _choice(6), _choice(4)),
        seconds,
        instance,
    )


def server_settings(*, instance: int = 0) -> Problem:
    """Seconds of a batch on a server, where the best is a conjunction that looks bad one step away.

    One of four ways of access to files is good, but only with the right cache, prefetching and pinning.
    Optimum by enumeration.
    """
    rng = np.random.default_rng(instance)
    access, packing = rng.permutation(4), rng.permutation(3)
    cache_size, threads_log, block_log = rng.integers(2, 6), rng.uniform(2, 4), rng.integers(1, 7)
    prefetch_on, pinned_on = rng.integers(0, 2, 2)

    def seconds(cache: Any, threads: Any, block: Any, files: Any, pack: Any, prefetch: Any, pin: Any) -> Any:
        files, pack = access[np.asarray(files, int)], packing[np.asarray(pack, int)]
        distance = np.abs(np.asarray(cache) - cache_size)
        time = (
            20 * (1 + 0.2 * np.abs(np.log2(threads) - threads_log)) * (1 + 0.05 * np.abs(block - block_log))
        )
        time = time * np.where((pack == 0) & (np.asarray(threads) < 8), 1.8, 1.0)
        special = (files == 3) & (prefetch == prefetch_on) & (pin == pinned_on) & (distance == 0)
        plain = np.select([files == 0, files == 1, files == 3], [5.0, 1.4, 1.2 + 0.2 * distance], 1.0)
        plain = plain * np.where(prefetch == prefetch_on, 1.0, 1.3)
        return time * np.where(special, 0.3, plain)

    specs = (
        *(_ordinal(*TILES), {"type": "integer", "low": 1, "high": 32}, _ordinal(*TILES)),
        *(_choice(4), _choice(3), _choice(2), _choice(2)),
    )
    return _enumerated("server settings", specs, seconds, instance)


def _enumerated(name: str, specs: tuple[Spec, ...], seconds: Any, instance: int) -> Problem:
    """Return a problem of discrete variables whose optimum is the smallest value of all points."""
    ranges = [range(s["low"], s["high"] + 1) if "low" in s else range(len(_states(s))) for s in specs]
    grid = np.meshgrid(*(np.array(r) for r in ranges), indexing="ij", sparse=True)
    optimum = float(np.min(seconds(*grid)))

    def function(x: FloatArray) -> float:
        return float(seconds(*np.asarray(x)))

    return Problem(name, specs, function, optimum, "enumeration", instance=instance)


def _states(spec: Spec) -> list[Any]:
    states: list[Any] = spec.get("choices", spec.get("values"))
    return states


def solver_choice(n_methods: int = 4, n_own: int = 3, *, instance: int = 0) -> Problem:
    """A method by category, each with parameters of its own that count only if it is chosen, written flat.

    Two more parameters count for all. The best method has the narrowest valley. Optimum 0 by construction.
    """
    rng = np.random.default_rng(instance)
    floors = rng.permutation(np.linspace(0.0, 1.5, n_methods))
    centres = rng.uniform(0.15, 0.85, (n_methods, n_own + 2))
    widths = np.where(floors == 0, 0.15, 0.4)
    turns = [np.linalg.qr(rng.normal(size=(n_own + 2, n_own + 2)))[0] for _ in range(n_methods)]
    stretch = np.geomspace(1.0, 0.2, n_own + 2)

    def function(x: FloatArray) -> float:
        method = int(x[0])
        own = x[1 + method * n_own : 1 + (method + 1) * n_own]
        z = turns[method] @ (np.concatenate([own, x[-2:]]) - centres[method]) * stretch / widths[method]
        square = float(z @ z)
        return float(floors[method] + 2 * square / (1 + 0.3 * square))

    specs = (_choice(n_methods), *(_float(0.0, 1.0),) * (n_methods * n_own + 2))
    return Problem("solver choice", specs, function, 0.0, instance=instance, tolerance=1e-6)


def inventory(n_products: int = 4, n_days: int = 60, *, instance: int = 0) -> Problem:
    """Yearly cost of ordering: when and how much of each product, with one warehouse and one truck for all.

    Two integers a product; the demand of every day is drawn once and shared by all points.
    """
    rng = np.random.default_rng(instance)
    mean = rng.uniform(3, 15, n_products)
    demand = rng.poisson(mean, (n_days, n_products))
    hold, miss, fixed = rng.uniform(0.2, 0.6, n_products), rng.uniform(4, 12, n_products), 25.0
    delay, room = rng.integers(1, 4, n_products), 9 * mean.sum()

    def function(x: FloatArray) -> float:
        level, size = x[:n_products], x[n_products:]
        stock, cost = np.round(level + size / 2), 0.0
        coming = np.zeros((n_days + 8, n_products))
        for day in range(n_days):
            stock = stock + coming[day]
            sold = np.minimum(stock, demand[day])
            cost += float(miss @ (demand[day] - sold) + hold @ (stock - sold))
            stock = stock - sold
            cost += 0.5 * max(0.0, float(stock.sum()) - room)
            order = (stock + coming[day + 1 :].sum(axis=0) <= level) & (size > 0)
            coming[day + delay[order], np.flatnonzero(order)] += size[order]
            cost += fixed * (float(order.any()) + 0.3 * float(order.sum()))
        return cost

    levels = ({"type": "integer", "low": 0, "high": 60},) * n_products
    sizes = ({"type": "integer", "low": 1, "high": 100},) * n_products
    return Problem("inventory", levels + sizes, function, None, "unknown", instance=instance)


def staffing(n_periods: int = 10, *, instance: int = 0) -> Problem:
    """Wages and waiting of a service desk: how many work in each of ten periods; changes cost extra.

    Arrivals and the work they bring are drawn once and shared by all points.
    """
    rng = np.random.default_rng(instance)
    wave = np.sin(np.linspace(0, 2 * np.pi, n_periods) + rng.uniform(0, 6))
    rate = 2 + rng.uniform(3, 8, n_periods) * (1 + wave)
    load = rng.poisson(rate, (20, n_periods)) * (0.7 + 0.6 * rng.random((20, n_periods)))

    def function(x: FloatArray) -> float:
        backlog, cost = np.zeros(20), 0.0
        for period in range(n_periods):
            backlog = np.maximum(0.0, backlog + load[:, period] - x[period])
            cost += float(x[period]) + 0.8 * float(np.mean(backlog**1.5))
        return cost + 0.7 * float(np.abs(np.diff(x)).sum()) + 5.0 * float(np.mean(backlog))

    specs = ({"type": "integer", "low": 0, "high": 25},) * n_periods
    return Problem("staffing", specs, function, None, "unknown", instance=instance)


KERNELS = ("linear", "polynomial", "gaussian", "laplacian")


@cache
def _diabetes(instance: int) -> tuple[FloatArray, FloatArray]:
    """A random third of scikit-learn's diabetes data."""
    x, y = import_module("sklearn.datasets").load_diabetes(return_X_y=True)
    some = np.random.default_rng(instance).permutation(len(y))[:150]
    return x[some], y[some]


def kernel_ridge(*, instance: int = 0) -> Problem:
    """Leave-one-out error of kernel ridge regression on the diabetes data, relative to the mean's.

    The kernel, and settings of which each kernel uses some: regularisation, width, degree and offset, how
    the columns are scaled, and whether the logarithm of the target is fitted.
    """
    x, y = _diabetes(instance)

    def function(point: FloatArray) -> float:
        kernel, scaling, is_log = KERNELS[int(point[0])], int(point[1]), bool(point[2])
        weight = {0: np.ones(x.shape[1]), 1: 1 / x.std(axis=0), 2: 1 / np.ptp(x, axis=0)}[scaling]
        z = (x - x.mean(axis=0)) * weight / np.sqrt(x.shape[1])
        target = np.log(y) if is_log else y
        gram = _gram(kernel, z, width=point[4], degree=int(point[5]), offset=point[6])
        inverse = np.linalg.inv(gram + point[3] * np.eye(len(y)))
        centre = target.mean()
        left_out = (inverse @ (target - centre)) / np.diag(inverse)
        fitted = target - left_out
        return float(np.mean((y - (np.exp(fitted) if is_log else fitted)) ** 2) / y.var())

    specs = (
        *(_choice(len(KERNELS)), _choice(3), {"type": "binary"}),
        *({**_float(1e-4, 1e2), "log": True}, {**_float(1e-2, 1e2), "log": True}),
        *({"type": "integer", "low": 2, "high": 6}, _float(0.0, 3.0)),
    )
    return Problem("kernel ridge diabetes", specs, function, None, "unknown", instance=instance)


def _gram(kernel: str, z: FloatArray, *, width: float, degree: int, offset: float) -> FloatArray:
    if kernel in ("linear", "polynomial"):
        products: FloatArray = z @ z.T
        return products if kernel == "linear" else (products + offset) ** degree
    if kernel == "gaussian":
        squares = (z**2).sum(axis=1)
        return np.asarray(np.exp(-np.maximum(squares[:, None] + squares - 2 * z @ z.T, 0.0) / (2 * width**2)))
    return np.asarray(np.exp(-np.abs(z[:, None] - z).sum(axis=2) / width))
