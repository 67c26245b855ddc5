"""Hyperparameter search against scikit-learn's, at equal numbers of fits, on its bundled data.

Each search has 60 candidates on 3 splits of one half of the data; successive halving makes as many fits, most
of them on fewer samples. Every search's choice is then scored on the same splits of all of that half, and on
the other half; `--repeats` times with other halves and seeds.

    python benchmarks/search_cv.py                  writes benchmarks/results/search_cv.txt
    python benchmarks/search_cv.py --only wine      writes the rows of some problems anew
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
from scipy import stats
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import (
    HalvingRandomSearchCV,
    KFold,
    RandomizedSearchCV,
    StratifiedKFold,
    cross_val_score,
    train_test_split,
)
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from dcmaes.integrations.sklearn import DiscreteSearchCV

RESULTS = Path(__file__).parent / "results" / "search_cv.txt"
N_ITER, N_SPLITS, FACTOR = 60, 3, 3


def problems():
    """Return name, data, model and space of each problem."""
    X, y = load_digits(return_X_y=True)
    space = {
        "C": stats.loguniform(1e-3, 1e3),
        "gamma": stats.loguniform(1e-6, 1e1),
        "kernel": ["rbf", "poly", "sigmoid"],
        "degree": [1, 2, 3, 4, 5],
        "coef0": stats.uniform(0, 1),
        "shrinking": [True, False],
    }
    yield "digits (400 samples), SVC, 6 parameters", X[:400], y[:400], SVC(max_iter=1000), space
    X, y = load_breast_cancer(return_X_y=True)
    pipeline = Pipeline(
        [
            ("scale", StandardScaler()),
            ("k", SelectKBest()),
            ("model", SGDClassifier(max_iter=200, random_state=0)),
        ]
    )
    space = {
        "scale": [StandardScaler(), MinMaxScaler(), RobustScaler(), "passthrough"],
        "k__k": stats.randint(1, 31),
        "model__loss": ["hinge", "log_loss", "modified_huber", "squared_hinge", "perceptron"],
        "model__penalty": ["l2", "l1", "elasticnet"],
        "model__alpha": stats.loguniform(1e-7, 1e-1),
        "model__learning_rate": ["optimal", "constant", "invscaling", "adaptive"],
        "model__eta0": stats.loguniform(1e-4, 1e1),
        "model__average": [False, True],
    }
    yield "breast cancer, pipeline with SGD, 8 parameters", X, y, pipeline, space
    X, y = load_diabetes(return_X_y=True)
    pipeline = Pipeline([("scale", StandardScaler()), ("model", KNeighborsRegressor())])
    space = {
        "scale": [StandardScaler(), MinMaxScaler(), RobustScaler(), "passthrough"],
        "model__n_neighbors": stats.randint(1, 60),
        "model__weights": ["uniform", "distance"],
        "model__p": [1, 1.5, 2, 3, 5],
        "model__leaf_size": stats.randint(5, 60),
    }
    yield "diabetes, pipeline with neighbours, 5 parameters", X, y, pipeline, space
    X, y = load_wine(return_X_y=True)
    space = {
        "criterion": ["gini", "entropy"],
        "splitter": ["best", "random"],
        "max_depth": stats.randint(1, 20),
        "min_samples_split": stats.randint(2, 40),
        "min_samples_leaf": stats.randint(1, 20),
        "max_features": stats.randint(1, 14),
        "ccp_alpha": stats.loguniform(1e-5, 1e-1),
    }
    yield "wine, tree, 7 parameters", X, y, DecisionTreeClassifier(random_state=0), space


def searches(model, space, cv, seed):
    n_halving = round(N_ITER / (1 + 1 / FACTOR + 1 / FACTOR**2))
    return {
        "RandomizedSearchCV": RandomizedSearchCV(model, space, n_iter=N_ITER, cv=cv, random_state=seed),
        "HalvingRandomSearchCV": HalvingRandomSearchCV(
            model, space, n_candidates=n_halving, factor=FACTOR, cv=cv, random_state=seed
        ),
        "DiscreteSearchCV": DiscreteSearchCV(
            model, space, n_iter=N_ITER, cv=cv, random_state=seed, strategy="cma"
        ),
    }


def repeat(X, y, model, space, seed):
    """Return (name, fits, score on the splits, score on the other half) of every search on one split."""
    is_class = y.dtype.kind == "i"
    halves = train_test_split(X, y, test_size=0.5, random_state=seed, stratify=y if is_class else None)
    X_here, X_there, y_here, y_there = halves
    cv = (StratifiedKFold if is_class else KFold)(N_SPLITS, shuffle=True, random_state=seed)
    rows = []
    for name, search in searches(model, space, cv, seed).items():
        search.fit(X_here, y_here)
        chosen = clone(model).set_params(**clone(search.best_params_, safe=False))
        score = cross_val_score(chosen, X_here, y_here, cv=cv).mean()
        n_fits = N_SPLITS * len(search.cv_results_["params"])
        rows.append((name, n_fits, score, search.best_estimator_.score(X_there, y_there)))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--only", default="", help="problems whose names contain this")
    options = parser.parse_args()
    n_repeats = options.repeats
    warnings.simplefilter("ignore")
    head = ["data, model", "search", "fits", "score on the splits", "+-", "score elsewhere", "+-", "best in"]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    known = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    for problem, X, y, model, space in problems():
        if options.only not in problem:
            lines += [line for line in known if line.startswith(f"| {problem} ")]
            continue
        runs = [repeat(X, y, model, space, seed) for seed in range(n_repeats)]
        scores = np.array([[row[2] for row in run] for run in runs])
        there = np.array([[row[3] for row in run] for run in runs])
        error = np.sqrt(n_repeats)
        is_best = (scores >= scores.max(axis=1, keepdims=True)).sum(axis=0)
        for i, (name, n_fits, _, _) in enumerate(runs[0]):
            numbers = f"{scores[:, i].mean():.4f} | {scores[:, i].std(ddof=1) / error:.4f} | "
            numbers += f"{there[:, i].mean():.4f} | {there[:, i].std(ddof=1) / error:.4f}"
            lines.append(f"| {problem} | {name} | {n_fits} | {numbers} | {is_best[i]} of {n_repeats} |")
            print(lines[-1], flush=True)
    RESULTS.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
