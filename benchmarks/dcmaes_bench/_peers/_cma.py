"""The CMA-ES relatives with integer handling, all with increasing-population restarts (IPOP).

One restart ends when the package's own rule fires or when its best value has not improved for ``10 + 10
d**1.5 / population`` generations: the packages' own rules rarely fire on discrete variables, because a margin
keeps values varied. (The exponent is that of pycma's `tolstagnation`, the factor a tenth of it. Less patience
costs pycma half of its speed on ellipsoids with d = 40, more costs all three on multimodal problems.) The
next restart has twice the population and a random start.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from dcmaes_bench._domain import CATEGORY, FLOAT, INTEGER, Domain, FloatArray
from dcmaes_bench._recorder import Evaluate
from dcmaes_bench._registry import optimizer


class Stagnation:
    """Whether the best value of a restart has stood still for too many generations."""

    def __init__(self, dimension: int, population: int) -> None:
        self._patience = 10 + math.ceil(10 * math.pow(dimension, 1.5) / population)
        self._best, self._idle = math.inf, 0

    def __call__(self, values: list[float]) -> bool:
        """Take a generation's values and tell whether to give up."""
        best = min(values)
        self._idle = 0 if best < self._best else self._idle + 1
        self._best = min(best, self._best)
        return self._idle >= self._patience


class Relaxation:
    """Vectors for optimizers that know numbers only: a number per choice of a category, the largest wins."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        width = np.where(domain.kind == CATEGORY, domain.n_states, 1)
        self.start = np.cumsum(width) - width
        self.owner = np.repeat(np.arange(domain.dimension), width)
        one_hot = domain.kind[self.owner] == CATEGORY
        self.low = np.where(one_hot, 0.0, domain.low[self.owner])
        self.high = np.where(one_hot, 1.0, domain.high[self.owner])
        log = domain.log[self.owner] & (domain.kind[self.owner] == FLOAT)
        self.low[log], self.high[log] = np.log(self.low[log]), np.log(self.high[log])
        self.log = log
        self.is_integer = domain.kind[self.owner] == INTEGER

    def decode(self, u: FloatArray) -> FloatArray:
        """Return the point that a vector stands for."""
        u = np.where(self.log, np.exp(np.where(self.log, u, 0.0)), u)
        x = u[self.start]
        for i in np.flatnonzero(self.domain.kind == CATEGORY):
            x[i] = np.argmax(u[self.start[i] : self.start[i] + self.domain.n_states[i]])
        return self.domain.nearest(x)


def _restarts(run_one: Callable[[int, int], None], population: int) -> None:
    """Run with the population doubled each time."""
    for k in range(10**6):
        run_one(population * 2**k, k)


@optimizer("cmaes.CMAwM", package="cmaes")
def cmawm(domain: Domain, evaluate: Evaluate, budget: int, seed: int) -> None:
    """CMA-ES with margin, started as Optuna does: in the middle, deviations a sixth of the range."""
    cmaes, rng = import_module("cmaes"), np.random.default_rng(seed)
    relaxed = Relaxation(domain)
    low, high = relaxed.low, relaxed.high
    bounds, steps = np.stack([low, high], axis=1), np.where(relaxed.is_integer, 1.0, 0.0)
    d = len(low)

    def run_one(population: int, restart: int) -> None:
        mean = (low + high) / 2 if restart == 0 else rng.uniform(low, high)
        es = cmaes.CMAwM(
            mean=mean,
            sigma=1.0,
            cov=np.diag(((high - low) / 6) ** 2),
            bounds=bounds,
            steps=steps,
            population_size=population,
            seed=int(rng.integers(2**31)),
        )
        stagnates = Stagnation(d, population)
        while True:
            asked = [es.ask() for _ in range(population)]
            values = [evaluate(relaxed.decode(x)) for x, _ in asked]
            es.tell([(raw, value) for (_, raw), value in zip(asked, values, strict=True)])
            if es.should_stop() or stagnates(values):
                return

    _restarts(run_one, 4 + int(3 * math.log(d)))


@optimizer("cmaes.CatCMAwM", package="cmaes")
def catcmawm(domain: Domain, evaluate: Evaluate, budget: int, seed: int) -> None:
    """CatCMA with margin, its own start; binary variables as two categories, as it recommends."""
    cmaes, rng = import_module("cmaes"), np.random.default_rng(seed)
    is_float = domain.kind == FLOAT
    is_category = (domain.kind == CATEGORY) | (domain.n_states == 2)
    is_integer = ~is_float & ~is_category
    log = domain.log & is_float
    low, high = domain.low.copy(), domain.high.copy()
    low[log], high[log] = np.log(low[log]), np.log(high[log])
    spaces: dict[str, Any] = {
        "x_space": list(zip(low[is_float], high[is_float], strict=True)) or None,
        "z_space": [np.arange(domain.low[i], domain.high[i] + 1) for i in np.flatnonzero(is_integer)] or None,
        "c_space": domain.n_states[is_category].tolist() or None,
    }
    numeric = np.concatenate([np.flatnonzero(is_float), np.flatnonzero(is_integer)])

    def decode(solution: Any) -> FloatArray:
        x = np.empty(domain.dimension)
        if is_float.any():
            x[is_float] = solution.x
            x[log] = np.exp(x[log])
        if is_integer.any():
            x[is_integer] = solution.z
        if is_category.any():
            x[is_category] = domain.low[is_category] + np.argmax(solution.c, axis=1)
        return np.clip(x, domain.low, domain.high)

    def run_one(population: int, restart: int) -> None:
        mean = None
        if restart and len(numeric):
            mean = rng.uniform(low[numeric], high[numeric])
        es = cmaes.CatCMAwM(
            **spaces,
            population_size=population,
            mean=mean,
            cov=None if mean is None else _catcma_covariance(low, high, is_float, numeric),
            seed=int(rng.integers(2**31)),
        )
        stagnates = Stagnation(domain.dimension, population)
        while True:
            asked = [es.ask() for _ in range(population)]
            values = [evaluate(decode(solution)) for solution in asked]
            es.tell(list(zip(asked, values, strict=True)))
            if (len(numeric) and es.should_stop()) or stagnates(values):
                return

    _restarts(run_one, 4 + int(3 * math.log(domain.dimension)))


def _catcma_covariance(low: FloatArray, high: FloatArray, is_float: Any, numeric: Any) -> FloatArray:
    """The package's own initial spread for a central mean, kept for random ones (its rule shrinks it)."""
    half = (high - low)[numeric] / 2
    return np.asarray(np.diag((half / np.where(is_float[numeric], 6, 5)) ** 2))


@optimizer("pycma", package="cma")
def pycma(domain: Domain, evaluate: Evaluate, budget: int, seed: int) -> None:
    """pycma with `integer_variables`; start in the middle, deviations a quarter of the range (its advice)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cma = import_module("cma")
        _pycma(cma, domain, evaluate, np.random.default_rng(seed))


def _pycma(cma: Any, domain: Domain, evaluate: Evaluate, rng: np.random.Generator) -> None:
    relaxed = Relaxation(domain)
    low, high = relaxed.low, relaxed.high

    def run_one(population: int, restart: int) -> None:
        start = (low + high) / 2 if restart == 0 else rng.uniform(low, high)
        options = {
            "integer_variables": np.flatnonzero(relaxed.is_integer).tolist(),
            "bounds": [low.tolist(), high.tolist()],
            "CMA_stds": high - low,
            "popsize": population,
            "seed": int(rng.integers(1, 2**31)),
            "verbose": -9,
            "verb_log": 0,
            "verb_disp": 0,
        }
        es = cma.CMAEvolutionStrategy(start, 0.25, options)
        stagnates = Stagnation(len(low), population)
        while True:
            asked = es.ask()
            values = [evaluate(relaxed.decode(x)) for x in asked]
            es.tell(asked, values)
            if es.stop() or stagnates(values):
                return

    _restarts(run_one, 4 + int(3 * math.log(len(low))))
