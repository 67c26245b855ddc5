"""What a few hundred evaluations are worth where constraints are told by penalties in the value, or refusals.

    python benchmarks/penalties.py > benchmarks/results/penalties.txt

For each problem and search: the median over ten seeds of the gap to the lowest feasible value that any of
them has found for that seed, in percent of its size. The problems are those of `constraints.py`. "without
cliffs" is `auto` with values beyond a cliff taken for high values like others; "told violations" is `auto`
with `Outcome(value, violation)` instead of a penalty. "refused" points are infeasible, by nobody knows how
much. Words after the command choose the rows that have one of them.
"""

from __future__ import annotations

import sys

import numpy as np
import optuna

import dcmaes as dc
from ablation import strategy_without
from constraints import by_dcmaes, knapsack, nearest_allowed, suggested, teams, three_limits

N_SEEDS = 10
PENALTIES = {
    "added to the value": lambda value, violation: value + 500 + 5 * violation,
    "instead of the value": lambda value, violation: 500 + 5 * violation,
    "a constant": lambda value, violation: 10_000.0,
    "refused": lambda value, violation: dc.Outcome(value, violation=1.0),
}
ROWS = [
    ("knapsack", knapsack, "added to the value"),
    ("knapsack", knapsack, "instead of the value"),
    ("knapsack", knapsack, "a constant"),
    ("three limits", three_limits, "added to the value"),
    ("three limits", three_limits, "refused"),
    ("nearest allowed", nearest_allowed, "refused"),
    ("jobs for four teams", teams, "added to the value"),
]


class Penalized:
    """A function of arrays that remembers the lowest feasible value."""

    def __init__(self, value, violation, penalty):
        self.value, self.violation, self.penalty = value, violation, penalty
        self.lowest = np.inf

    def __call__(self, x):
        """Return the value, or the penalty where the constraints are violated."""
        value, violation = float(self.value(x)), self.violation(x)
        if violation > 0:
            return self.penalty(value, violation)
        self.lowest = min(self.lowest, value)
        return value


def penalized(make, seed, penalty, strategy="auto"):
    """Return the lowest feasible value of a run."""
    variables, budget, value, violation = make(seed)
    function = Penalized(value, violation, penalty)
    space = dc.Space({f"x{i}": variable for i, variable in enumerate(variables)})
    dc.minimize(
        lambda point: function(np.array(list(point.values()), dtype=np.float64)),
        space,
        budget=budget,
        seed=seed,
        strategy=strategy,
    )
    return function.lowest


def without_cliffs(make, seed, penalty):
    """Return the same for `auto` that looks for no cliffs."""
    return penalized(make, seed, penalty, strategy_without("auto", "cliffs"))


def by_optuna(make, seed, penalty):
    """Return the same for Optuna's TPE."""
    variables, budget, value, violation = make(seed)
    function = Penalized(value, violation, penalty)

    def objective(trial):
        told = function(np.array([suggested(trial, f"x{i}", v) for i, v in enumerate(variables)]))
        trial.set_user_attr("violation", told.violation if isinstance(told, dc.Outcome) else 0.0)
        return told.value if isinstance(told, dc.Outcome) else told

    is_refusing = penalty is PENALTIES["refused"]
    constraints = (lambda trial: [trial.user_attrs["violation"]]) if is_refusing else None
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed, constraints_func=constraints))
    study.optimize(objective, n_trials=budget)
    return function.lowest


SEARCHES = {
    "auto": penalized,
    "auto, without cliffs": without_cliffs,
    "cma": lambda make, seed, penalty: penalized(make, seed, penalty, "cma"),
    "mixing": lambda make, seed, penalty: penalized(make, seed, penalty, "mixing"),
    "Optuna TPE": by_optuna,
    "auto, told violations": lambda make, seed, _: by_dcmaes(make, seed, "auto"),
}


def main():
    """Print the table."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    print("| gap in percent | " + " | ".join(SEARCHES) + " |")
    print("|---" * (len(SEARCHES) + 1) + "|")
    for problem, make, how in ROWS:
        name, penalty = f"{problem}, {how}", PENALTIES[how]
        if sys.argv[1:] and not any(word in name for word in sys.argv[1:]):
            continue
        runs = [[search(make, seed, penalty) for seed in range(N_SEEDS)] for search in SEARCHES.values()]
        found = np.array(runs)
        best = found.min(axis=0)
        gaps = np.median(100 * (found - best) / np.abs(best), axis=1)
        print(f"| {name} | " + " | ".join(f"{gap:.3g}" for gap in gaps) + " |", flush=True)


if __name__ == "__main__":
    main()
