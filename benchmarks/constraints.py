"""What a few hundred evaluations are worth where constraints are met by few of the good points.

    python benchmarks/constraints.py > benchmarks/results/constraints.txt

For each problem and search: the median over ten seeds of the gap to the lowest feasible value that any of
them has found for that seed, in percent of its size. "without a model of them" is `auto` with infeasible
points taken for points of high value.
"""

from __future__ import annotations

from unittest import mock

import numpy as np
import optuna

import dcmaes as dc
from ablation import strategy_without
from dcmaes.strategies.ising import _neighbourhood

N_SEEDS = 10


def knapsack(seed):
    """Fifty things, a third of which can be taken: worth about as much as they weigh."""
    rng = np.random.default_rng(seed)
    weight = rng.integers(10, 100, 50)
    worth = weight + rng.integers(-9, 30, 50)
    limit = weight.sum() / 3
    return [dc.Binary()] * 50, 400, lambda x: -(worth @ x), lambda x: max(0.0, weight @ x - limit)


def three_limits(seed):
    """Forty things and three limits, of which only the sum of all excess is told."""
    rng = np.random.default_rng(seed)
    weight, worth = rng.integers(1, 50, (3, 40)), rng.integers(1, 60, 40)
    limit = 0.4 * weight.sum(axis=1)
    return (
        [dc.Binary()] * 40,
        400,
        lambda x: -(worth @ x),
        lambda x: float(np.maximum(weight @ x - limit, 0.0).sum()),
    )


def amounts(seed):
    """How much of each of fifteen things: zero to five."""
    rng = np.random.default_rng(seed)
    weight = rng.integers(10, 100, 15)
    worth = weight + rng.integers(-9, 30, 15)
    limit = 1.7 * weight.sum()
    return [dc.Integer(0, 5)] * 15, 400, lambda x: -(worth @ x), lambda x: max(0.0, weight @ x - limit)


def nearest_allowed(seed):
    """A parabola in ten integers whose minimum is far beyond the limit."""
    middle = np.random.default_rng(seed).uniform(2, 8, 10)
    return (
        [dc.Integer(0, 20)] * 10,
        300,
        lambda x: float(((x - middle - 4) ** 2).sum()),
        lambda x: max(0.0, x.sum() - middle.sum()),
    )


def teams(seed):
    """Twenty jobs for four teams, none loaded with more than 0.3 of the work; some pairs stay together."""
    rng = np.random.default_rng(seed)
    cost, load = rng.uniform(0, 10, (20, 4)), rng.integers(1, 10, 20)
    pairs = rng.choice(20, (15, 2))

    def total(x):
        x = x.astype(int)
        return float(cost[np.arange(20), x].sum() + 5 * (x[pairs[:, 0]] != x[pairs[:, 1]]).sum())

    def overload(x):
        return float(np.maximum(np.bincount(x.astype(int), load, 4) - 0.3 * load.sum(), 0.0).sum())

    return [dc.Categorical([0, 1, 2, 3])] * 20, 400, total, overload


PROBLEMS = {
    "knapsack, 50 bits": knapsack,
    "three limits, 40 bits": three_limits,
    "amounts, 15 integers": amounts,
    "nearest allowed, 10 integers": nearest_allowed,
    "jobs for four teams, 20 choices": teams,
}


def by_dcmaes(make, seed, strategy):
    """Return the lowest feasible value of a run."""
    variables, budget, value, violation = make(seed)

    def objective(point):
        x = np.array(list(point.values()), dtype=np.float64)
        return dc.Outcome(value(x), violation(x))

    space = dc.Space({f"x{i}": variable for i, variable in enumerate(variables)})
    result = dc.minimize(objective, space, budget=budget, seed=seed, strategy=strategy)
    return min((record.value for record in result.history if record.violation <= 0), default=np.inf)


def without_model(make, seed):
    """Return the same for `auto` with infeasible points as high values."""
    no_amounts = mock.patch.object(_neighbourhood, "beyond_constraints", np.zeros_like)
    with no_amounts:
        return by_dcmaes(make, seed, strategy_without("auto", "cliffs"))


def by_optuna(make, seed):
    """Return the same for Optuna's TPE with its constraints."""
    variables, budget, value, violation = make(seed)

    def objective(trial):
        x = np.array([suggested(trial, f"x{i}", variable) for i, variable in enumerate(variables)], float)
        trial.set_user_attr("violation", violation(x))
        return value(x)

    sampler = optuna.samplers.TPESampler(seed=seed, constraints_func=lambda t: [t.user_attrs["violation"]])
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=budget)
    return min((t.value for t in study.trials if t.user_attrs["violation"] <= 0), default=np.inf)


def suggested(trial, name, variable):
    """Return a trial's suggestion for a variable."""
    if isinstance(variable, dc.Categorical):
        return trial.suggest_categorical(name, [0, 1, 2, 3])
    if isinstance(variable, dc.Binary):
        return trial.suggest_int(name, 0, 1)
    return trial.suggest_int(name, int(variable.low), int(variable.high))


SEARCHES = {
    "auto": lambda make, seed: by_dcmaes(make, seed, "auto"),
    "auto, without a model of them": without_model,
    "cma": lambda make, seed: by_dcmaes(make, seed, "cma"),
    "mixing": lambda make, seed: by_dcmaes(make, seed, "mixing"),
    "Optuna TPE": by_optuna,
}


def main():
    """Print the table."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    print("| gap in percent | " + " | ".join(SEARCHES) + " |")
    print("|---" * (len(SEARCHES) + 1) + "|")
    for name, make in PROBLEMS.items():
        found = np.array([[search(make, seed) for seed in range(N_SEEDS)] for search in SEARCHES.values()])
        best = found.min(axis=0)
        gaps = np.median(100 * (found - best) / np.abs(best), axis=1)
        print(f"| {name} | " + " | ".join(f"{gap:.3g}" for gap in gaps) + " |", flush=True)


if __name__ == "__main__":
    main()
