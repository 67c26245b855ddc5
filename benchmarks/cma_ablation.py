"""What the constants of `cma` are worth: evaluations to the optimum with one of them changed at a time.

Each variant replaces one constant or leaves one part out. Points drawn again cost nothing, as in the
optimizer. The table gives, for each problem, the evaluations spent in all runs over the number of runs that
reached the optimum; the last column is the geometric mean of its ratio to that of the strategy as it is.

    OMP_NUM_THREADS=1 python benchmarks/cma_ablation.py > benchmarks/results/cma/ablation.txt
"""

from __future__ import annotations

import argparse
import contextlib
from dataclasses import replace
from unittest import mock

import numpy as np

import dcmaes as dc
from dcmaes.strategies import Evaluations, Memory, Rank
from dcmaes.strategies.cma import Cma, _cma, _distribution, _marginals, _state, _update


def integer_problem(name, d, low, high):
    factors = 10 ** np.linspace(0, 1.5, d)

    def make(seed):
        rng = np.random.default_rng(seed)
        z = rng.integers(1, high - low, d)
        axes = np.linalg.qr(rng.normal(size=(d, d)))[0]
        return {
            "sphere": lambda x: ((x - z) ** 2).sum(),
            "ellipsoid": lambda x: ((factors * (x - z)) ** 2).sum(),
            "rotated": lambda x: ((factors * (axes @ (x - z))) ** 2).sum(),
            "rastrigin": lambda x: ((x - z) ** 2 + 10 * (1 - np.cos(np.pi * (x - z) / 2))).sum(),
        }[name]

    return dc.Space.integers(d, low, high), make


def leading_ones(n):
    def make(seed):
        rng = np.random.default_rng(seed)
        z, order = rng.integers(0, 2, n), rng.permutation(n)
        return lambda x: n - np.cumprod((x == z)[order]).sum()

    return dc.Space.binary(n), make


def categorical(d, c):
    def make(seed):
        z = np.random.default_rng(seed).integers(0, c, d)
        return lambda x: (x != z).sum()

    return dc.Space({f"c{i}": dc.Categorical(list(range(c))) for i in range(d)}), make


def mixed(d):
    variables = [dc.Integer(-10, 10)] * (d // 2) + [dc.Float(-10, 10)] * (d // 2)

    def make(seed):
        rng = np.random.default_rng(seed)
        # Coded integers count from 0.
        z = np.concatenate([rng.integers(1, 20, d // 2), rng.uniform(-8, 8, d // 2)])
        factors = 10 ** np.linspace(0, 1.5, d)[rng.permutation(d)]
        return lambda x: ((factors * (x - z)) ** 2).sum()

    return dc.Space.array(variables), make


PROBLEMS = {
    "sphere": (*integer_problem("sphere", 10, -50, 50), 3000),
    "ellipsoid": (*integer_problem("ellipsoid", 20, -50, 50), 6000),
    "rastrigin": (*integer_problem("rastrigin", 10, -50, 50), 4000),
    "rotated": (*integer_problem("rotated", 10, 0, 1000), 6000),
    "leading ones": (*leading_ones(40), 3000),
    "categorical": (*categorical(20, 5), 2000),
    "mixed": (*mixed(10), 5000),
}


def population(factor):
    return mock.patch.object(_state, "POPULATION_FACTOR", factor)


def without_negative_weights():
    rates = _state._rates

    def positive_only(*arguments, **options):
        found = rates(*arguments, **options)
        return replace(found, weights=np.maximum(found.weights, 0.0))

    return mock.patch.object(_state, "_rates", positive_only)


def patience(factor):
    neighbours = _cma.convergence

    def scaled(state):
        progress = replace(state.progress, idle=int(state.progress.idle / factor))
        return neighbours(replace(state, progress=progress))

    return mock.patch("dcmaes.strategies.cma._cma.convergence", scaled)


def always_elsewhere():
    ordinary = _cma.next_run

    def next_run(state, rng, **options):
        unbeatable = replace(state, record=Rank(-np.inf, -np.inf))
        return replace(ordinary(unbeatable, rng, **options), record=state.record)

    return mock.patch("dcmaes.strategies.cma._cma.next_run", next_run)


def independent(n_points, n_latents, rng):
    return rng.standard_normal((n_points, n_latents))


def largest_residual(value):
    stack = contextlib.ExitStack()
    for module in (_marginals, _update):
        stack.enter_context(mock.patch.object(module, "LARGEST_RESIDUAL", value))
    return stack


VARIANTS = {
    "as it is": (contextlib.nullcontext, {}),
    "independent latents": (lambda: mock.patch.object(_distribution, "even_normals", independent), {}),
    "no negative weights": (without_negative_weights, {}),
    "no run near the best": (always_elsewhere, {}),
    "population factor 1": (lambda: population(1.0), {}),
    "population factor 2": (lambda: population(2.0), {}),
    "first step 0.15": (contextlib.nullcontext, {"step_size": 0.15}),
    "first step 0.4": (contextlib.nullcontext, {"step_size": 0.4}),
    "stay-or-jump below 0.3": (lambda: mock.patch.object(_marginals, "RARE_DEVIATION", 0.3), {}),
    "stay-or-jump below 0.9": (lambda: mock.patch.object(_marginals, "RARE_DEVIATION", 0.9), {}),
    "floor never thaws": (lambda: mock.patch.object(_update, "THAW_RATE", 0.0), {}),
    "new points 0.1": (lambda: mock.patch.object(_update, "FRESH_SHARE", 0.1), {}),
    "new points 0.6": (lambda: mock.patch.object(_update, "FRESH_SHARE", 0.6), {}),
    "residuals to 1.5": (lambda: largest_residual(1.5), {}),
    "residuals to 6": (lambda: largest_residual(6.0), {}),
    "half the patience": (lambda: patience(0.5), {}),
    "twice the patience": (lambda: patience(2.0), {}),
    "diagonal": (contextlib.nullcontext, {"covariance": "diagonal"}),
}


def run(space, objective, budget, seed, options):
    """Return evaluations paid for and whether the optimum was among them."""
    strategy, rng = Cma(**options), np.random.default_rng(seed)
    memory = Memory(space.sites)
    state = strategy.init(space.sites, memory, budget, rng)
    known: dict[bytes, float] = {}
    while len(known) < budget:
        x = strategy.sample(state, strategy.batch_size(state), rng, memory)
        is_repeat = np.zeros(len(x), dtype=bool)
        for i, row in enumerate(x):
            key = row.tobytes()
            is_repeat[i] = key in known
            if not is_repeat[i]:
                known[key] = float(objective(row))
                if known[key] <= 1e-8:
                    return len(known), True
        value = np.array([known[row.tobytes()] for row in x])
        told = memory.tell(Evaluations(x, value, np.zeros(len(x)), is_repeat))
        state = strategy.update(state, told, memory)
        if strategy.convergence(state, memory) is not None:
            state = strategy.restart(state, rng, memory)
    return budget, False


def expected_evaluations(name, seeds, options):
    space, make, budget = PROBLEMS[name]
    spent, solved = zip(*(run(space, make(seed), budget, seed, options) for seed in seeds), strict=True)
    return sum(spent) / max(sum(solved), 0.5)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=11)
    seeds = range(parser.parse_args().seeds)
    print(f"{'':24s}" + "".join(f"{name:>13s}" for name in PROBLEMS) + "    mean ratio")
    base = None
    for label, (change, options) in VARIANTS.items():
        _state.constants.cache_clear()
        with change():
            needed = np.array([expected_evaluations(name, seeds, options) for name in PROBLEMS])
        base = needed if base is None else base
        ratio = np.exp(np.log(needed / base).mean())
        print(f"{label:24s}" + "".join(f"{n:13.0f}" for n in needed) + f"{ratio:14.2f}", flush=True)


if __name__ == "__main__":
    main()
