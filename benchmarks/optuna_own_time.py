"""What Optuna's samplers cost per trial, ours among them, and what a worker pays who joins a study late.

A study of 500 trials in memory, a trivial objective over d mixed parameters (integers, logarithmic and
stepped floats, categorical ones); processor time, the median of the last 100 trials and the mean of all. Most
of what a random sampler costs is Optuna itself.

    python benchmarks/optuna_own_time.py            writes benchmarks/results/optuna_own_time.txt
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import optuna

from dcmaes.integrations.optuna import DcmaesSampler

RESULTS = Path(__file__).parent / "results" / "optuna_own_time.txt"
SAMPLERS = {
    "DcmaesSampler": lambda: DcmaesSampler(seed=0),
    "TPESampler(multivariate=True)": lambda: optuna.samplers.TPESampler(seed=0, multivariate=True),
    "RandomSampler": lambda: optuna.samplers.RandomSampler(seed=0),
}


def objective(trial, dimension):
    total = 0.0
    for i in range(dimension):
        kind = i % 4
        if kind == 0:
            total += abs(trial.suggest_int(f"x{i}", 0, 100) - 70)
        elif kind == 1:
            total += abs(np.log10(trial.suggest_float(f"x{i}", 1e-5, 1e-1, log=True)) + 3)
        elif kind == 2:
            total += abs(trial.suggest_float(f"x{i}", -1, 1, step=0.05) - 0.3)
        else:
            total += trial.suggest_categorical(f"x{i}", ["a", "b", "c", "d"]) != "c"
    return total


def run(make, dimension, n_trials):
    """Return the study and the processor time of every trial in milliseconds."""
    study, spent = optuna.create_study(sampler=make()), []
    for _ in range(n_trials):
        begun = time.process_time()
        study.optimize(lambda trial: objective(trial, dimension), n_trials=1)
        spent.append(1e3 * (time.process_time() - begun))
    return study, np.array(spent)


def join_late(study):
    """Return the milliseconds that the first trial of a new worker takes."""
    study.sampler = DcmaesSampler(seed=1)
    distribution = study.get_trials(deepcopy=False)[0].distributions["x0"]
    begun = time.process_time()
    study.ask({"x0": distribution})
    return 1e3 * (time.process_time() - begun)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=500)
    n_trials = parser.parse_args().trials
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    lines = [
        f"| sampler | d | mean of {n_trials} (ms) | last 100 (ms) | best value |",
        "|---|---|---|---|---|",
    ]
    late = ["", "| a new DcmaesSampler joins after | d | first trial (ms) |", "|---|---|---|"]
    for dimension in (10, 50, 100):
        for name, make in SAMPLERS.items():
            study, spent = run(make, dimension, n_trials)
            mean, last = spent.mean(), np.median(spent[-100:])
            lines.append(f"| {name} | {dimension} | {mean:.2f} | {last:.2f} | {study.best_value:.3g} |")
            print(lines[-1], flush=True)
            if name == "RandomSampler":
                late.append(f"| {n_trials} trials | {dimension} | {join_late(study):.0f} |")
                study, _ = run(make, dimension, 10 * n_trials)
                late.append(f"| {10 * n_trials} trials | {dimension} | {join_late(study):.0f} |")
                print("\n".join(late[-2:]), flush=True)
    RESULTS.write_text("\n".join([*lines, *late]) + "\n")


if __name__ == "__main__":
    main()
