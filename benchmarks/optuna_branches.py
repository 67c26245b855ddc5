"""How often samplers for Optuna choose the branch of a define-by-run study that is clearly the best.

Four studies whose parameters depend on others: two models, of which the best one has so few settings that its
optimum can be met exactly; two models with more settings; three models, the best one with
two optimizers of its own; a network with as many widths as layers. Ten seeds of 60 trials each: the mean
number of trials in the best branch, and the median of the best value after 20, 40 and 60 (0 is the optimum).

    python benchmarks/optuna_branches.py            writes benchmarks/results/optuna_branches.txt
"""

from __future__ import annotations

import argparse
import math
import warnings
from pathlib import Path

import numpy as np
import optuna

from dcmaes.integrations.optuna import DcmaesSampler

RESULTS = Path(__file__).parent / "results" / "optuna_branches.txt"
N_TRIALS = 60
SAMPLERS = {
    "DcmaesSampler": lambda seed: DcmaesSampler(seed=seed),
    "TPESampler(multivariate=True, group=True)": lambda seed: optuna.samplers.TPESampler(
        seed=seed, multivariate=True, group=True
    ),
    "TPESampler": lambda seed: optuna.samplers.TPESampler(seed=seed),
    "RandomSampler": lambda seed: optuna.samplers.RandomSampler(seed=seed),
}


def two_models(trial):
    """Return the loss of a forest, or of a support vector machine, which is worse by 1 at its best."""
    if trial.suggest_categorical("classifier", ["svm", "forest"]) == "svm":
        c, gamma = (
            trial.suggest_float("C", 1e-3, 1e3, log=True),
            trial.suggest_float("gamma", 1e-4, 1, log=True),
        )
        return 1.0 + 0.2 * (math.log10(c) - 1) ** 2 + 0.2 * (math.log10(gamma) + 2) ** 2
    trees, depth = trial.suggest_int("trees", 10, 500, log=True), trial.suggest_int("depth", 1, 20)
    criterion = trial.suggest_categorical("criterion", ["gini", "entropy", "log_loss"])
    return 0.3 * math.log(300 / trees) ** 2 + ((depth - 12) / 8) ** 2 + 0.2 * (criterion != "entropy")


def boosting(trial):
    """Return the loss of boosted trees, or of a support vector machine, which is worse by 1 at its best."""
    if trial.suggest_categorical("classifier", ["svm", "boosting"]) == "svm":
        c, gamma = (
            trial.suggest_float("C", 1e-3, 1e3, log=True),
            trial.suggest_float("gamma", 1e-4, 1, log=True),
        )
        return 1.0 + 0.2 * (math.log10(c) - 1) ** 2 + 0.2 * (math.log10(gamma) + 2) ** 2
    rate, trees = (
        trial.suggest_float("rate", 1e-3, 1, log=True),
        trial.suggest_int("trees", 10, 500, log=True),
    )
    depth, sample = trial.suggest_int("depth", 1, 12), trial.suggest_float("sample", 0.3, 1.0)
    learned = 0.5 * math.log10(rate * trees / 3) ** 2 + 0.1 * math.log10(rate / 0.03) ** 2
    return learned + ((depth - 6) / 6) ** 2 + 2 * (sample - 0.7) ** 2


def three_models(trial):
    """Return the loss of a network trained by Adam, of other networks, or of two models that are worse."""
    scale = trial.suggest_categorical("scale", [False, True])
    model = trial.suggest_categorical("model", ["linear", "knn", "network"])
    if model == "linear":
        return (
            1.5 + 0.3 * (math.log10(trial.suggest_float("alpha", 1e-5, 10, log=True)) + 1) ** 2 + 0.2 * scale
        )
    if model == "knn":
        p = trial.suggest_int("p", 1, 3)
        return 1.0 + 0.05 * abs(trial.suggest_int("neighbours", 1, 30) - 7) + 0.1 * p + 0.3 * (not scale)
    rate = trial.suggest_float("rate", 1e-5, 1e-1, log=True)
    if trial.suggest_categorical("optimizer", ["sgd", "adam"]) == "sgd":
        momentum = trial.suggest_float("momentum", 0.0, 0.99)
        return 0.6 + 0.3 * (math.log10(rate) + 1.5) ** 2 + (momentum - 0.9) ** 2 + 0.2 * (not scale)
    beta = trial.suggest_float("beta", 0.8, 0.999)
    return 0.3 * (math.log10(rate) + 3) ** 2 + 10 * (beta - 0.95) ** 2 + 0.3 * (not scale)


def layers(trial):
    """Return the loss of a network, which is best with three layers, the middle one wide."""
    n = trial.suggest_int("layers", 1, 5)
    wanted = [64, 256, 64, 64, 64]
    widths = [trial.suggest_int(f"width {i}", 16, 512, log=True) for i in range(n)]
    misfit = sum(math.log2(width / target) ** 2 for width, target in zip(widths, wanted, strict=False))
    return 0.7 * abs(n - 3) + 0.2 * misfit / n


STUDIES = {
    "two models": (two_models, lambda params: params["classifier"] == "forest"),
    "boosting": (boosting, lambda params: params["classifier"] == "boosting"),
    "three models, nested": (three_models, lambda params: params.get("optimizer") == "adam"),
    "layers": (layers, lambda params: params["layers"] == 3),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    n_seeds = parser.parse_args().seeds
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    lines = [
        f"| study | sampler | of {N_TRIALS} trials in the best branch | best after 20 | 40 | 60 |",
        "|---|---|---|---|---|---|",
    ]
    for title, (objective, is_best) in STUDIES.items():
        for name, make in SAMPLERS.items():
            counts, values = [], []
            for seed in range(n_seeds):
                study = optuna.create_study(sampler=make(seed))
                study.optimize(objective, n_trials=N_TRIALS)
                counts.append(sum(is_best(trial.params) for trial in study.trials))
                values.append(np.minimum.accumulate([trial.value for trial in study.trials]))
            best = " | ".join(f"{np.median(values, axis=0)[n - 1]:.3f}" for n in (20, 40, 60))
            lines.append(f"| {title} | {name} | {np.mean(counts):.1f} | {best} |")
            print(lines[-1], flush=True)
    RESULTS.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
