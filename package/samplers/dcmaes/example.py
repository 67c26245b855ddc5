"""Tune a small mixed space with the sampler loaded from OptunaHub."""

from __future__ import annotations

import optuna
import optunahub


def objective(trial: optuna.Trial) -> float:
    """Return what the parameters are worth; the best are 3, 256, 0.0 and "gelu"."""
    layers = trial.suggest_int("layers", 1, 8)
    width = trial.suggest_int("width", 16, 1024, log=True)
    dropout = trial.suggest_float("dropout", 0.0, 0.5, step=0.05)
    act = trial.suggest_categorical("act", ["relu", "gelu", None])
    return abs(layers - 3) + abs(width - 256) / 256 + dropout + (act != "gelu")


if __name__ == "__main__":
    sampler = optunahub.load_module("samplers/dcmaes").DcmaesSampler(seed=0)
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=100)
    print(study.best_params)
