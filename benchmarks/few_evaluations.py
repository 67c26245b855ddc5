"""What 60 evaluations of a function with several valleys are worth, as when each of them takes an hour.

    python benchmarks/few_evaluations.py > benchmarks/results/few_evaluations.txt

For each problem and search, among them the default with and without its Gaussian process: the median over
thirty seeds of the gap to the optimum after 60 evaluations.
"""

from __future__ import annotations

from unittest import mock

import numpy as np
import optuna

import dcmaes as dc
from dcmaes.strategies.gaussian_process import GaussianProcess

N_SEEDS, BUDGET = 30, 60


def branin(x, y):
    """Three equal valleys in the plane, lowest value 0."""
    valley = y - 5.1 / (4 * np.pi**2) * x**2 + 5 / np.pi * x - 6
    return valley**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(x) + 10 - 0.397887


def hartmann(u):
    """Four valleys in six dimensions, lowest value 0."""
    steepness = np.array(
        [
            [10, 3, 17, 3.5, 1.7, 8],
            [0.05, 10, 17, 0.1, 8, 14],
            [3, 3.5, 1.7, 10, 17, 8],
            [17, 8, 0.05, 10, 0.1, 14],
        ]
    )
    middle = 1e-4 * np.array(
        [
            [1312, 1696, 5569, 124, 8283, 5886],
            [2329, 4135, 8307, 3736, 1004, 9991],
            [2348, 1451, 3522, 2883, 3047, 6650],
            [4047, 8828, 8732, 5743, 1091, 381],
        ]
    )
    depth = np.exp(-(steepness * (u - middle) ** 2).sum(axis=1))
    return 3.32237 - float(np.array([1, 1.2, 3, 3.2]) @ depth)


def schwefel(x):
    """A valley far from all other low ones, lowest value 0."""
    return float(418.9829 * len(x) - (x * np.sin(np.sqrt(np.abs(x)))).sum())


def ackley(x):
    """Many shallow valleys in one funnel, lowest value 0 at ones."""
    z = x - 1
    return float(
        20 - 20 * np.exp(-0.2 * np.sqrt((z**2).mean())) + np.e - np.exp(np.cos(2 * np.pi * z).mean())
    )


KINDS = {"a": (1.0, 0.0), "b": (1.5, 1.0), "c": (0.7, 2.0)}


def branin_of_a_kind(point):
    scale, level = KINDS[point["kind"]]
    return scale * branin(point["x"], point["y"] / 4) + level


def numbers(function, scale):
    return lambda point: function(np.array(list(point.values()), dtype=np.float64) / scale)


def named(*variables):
    return dc.Space({f"x{i}": variable for i, variable in enumerate(variables)})


PROBLEMS = {
    "Branin, three kinds": (
        dc.Space({"kind": dc.Categorical(list(KINDS)), "x": dc.Float(-5, 10), "y": dc.Integer(0, 60)}),
        branin_of_a_kind,
    ),
    "Hartmann, 6 integers": (named(*[dc.Integer(0, 40)] * 6), numbers(hartmann, 40)),
    "Schwefel, 3 integers": (named(*[dc.Integer(-50, 50)] * 3), numbers(schwefel, 0.1)),
    "Ackley, 3 floats, 3 integers": (
        named(*[dc.Float(-5, 5)] * 3, *[dc.Integer(-10, 10)] * 3),
        numbers(ackley, 1),
    ),
}


def own(strategy):
    """Return a search by one of the strategies."""
    return lambda space, function, seed: (
        dc.minimize(function, space, budget=BUDGET, seed=seed, strategy=strategy).fun
    )


def without_process(space, function, seed):
    """Search with the default strategy while its Gaussian process proposes nothing."""
    with mock.patch.object(GaussianProcess, "is_useful", return_value=False):
        return own("auto")(space, function, seed)


def suggested(trial, name, variable):
    if isinstance(variable, dc.Categorical):
        return trial.suggest_categorical(name, list(variable.choices))
    suggest = trial.suggest_int if isinstance(variable, dc.Integer) else trial.suggest_float
    return suggest(name, variable.low, variable.high)


def tpe(space, function, seed):
    """Search with Optuna's multivariate TPE."""
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed, multivariate=True))
    pairs = list(zip(space.names, space.variables, strict=True))
    study.optimize(lambda trial: function({n: suggested(trial, n, v) for n, v in pairs}), n_trials=BUDGET)
    return study.best_value


SEARCHES = {
    "auto": own("auto"),
    "auto, without the process": without_process,
    "ising": own("ising"),
    "cma": own("cma"),
    "Optuna TPE": tpe,
}


def main() -> None:
    print(f"| {' | '.join(['gap after 60 evaluations', *SEARCHES])} |")
    print("|---" * (len(SEARCHES) + 1) + "|")
    for name, (space, function) in PROBLEMS.items():
        gaps = [[search(space, function, seed) for seed in range(N_SEEDS)] for search in SEARCHES.values()]
        print(f"| {' | '.join([name, *(f'{np.median(gap):.3g}' for gap in gaps)])} |", flush=True)


if __name__ == "__main__":
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    main()
