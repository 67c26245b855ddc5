"""Feature selection against scikit-learn's, at equal numbers of fits, on its bundled data.

Each data set is split in two at random, `--repeats` times. On one half features are selected by the score on
3 splits of it, on the other half the model is scored with them. `FeatureSelector` gets as many fits as
`RFECV` took, and as `SequentialFeatureSelector` took, which selects ten features where there are over 40.

    python benchmarks/feature_selection.py                 writes benchmarks/results/feature_selection.txt
    python benchmarks/feature_selection.py --only wine     writes the rows of some problems anew
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.feature_selection import RFECV, SequentialFeatureSelector
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from dcmaes.integrations.sklearn import FeatureSelector

RESULTS = Path(__file__).parent / "results" / "feature_selection.txt"
N_SPLITS = 3
N_FITS = [0]


def counted(model):
    """Return a class of models that count their fits."""

    class Counted(model):
        def fit(self, X, y):
            N_FITS[0] += 1
            return super().fit(X, y)

    return Counted


def problems():
    """Return data, model and whether it ranks features for each problem."""
    X, y = load_breast_cancer(return_X_y=True)
    yield (
        "breast cancer (30), logistic",
        StandardScaler().fit_transform(X),
        y,
        counted(LogisticRegression)(tol=1e-2),
        True,
    )
    X, y = load_diabetes(return_X_y=True)
    X = StandardScaler().fit_transform(PolynomialFeatures(2, include_bias=False).fit_transform(X))
    yield "diabetes, squares (65), ridge", X, y, counted(Ridge)(), True
    X, y = load_wine(return_X_y=True)
    yield (
        "wine (13), 5 neighbours",
        StandardScaler().fit_transform(X),
        y,
        counted(KNeighborsClassifier)(),
        False,
    )
    X, y = load_digits(return_X_y=True)
    model = counted(GaussianNB)(var_smoothing=1e-3)
    yield "digits (64, 600 samples), naive Bayes", X[:600], y[:600], model, False


def select(selector, X, y):
    """Return which features are selected, and how many fits that took."""
    N_FITS[0] = 0
    support = selector.fit(X, y).get_support()
    return support, N_FITS[0]


def repeat(X, y, model, has_ranking, seed):
    """Return name, fits, features, score on the splits and on the other half of every selector."""
    is_class = y.dtype.kind == "i"
    halves = train_test_split(X, y, test_size=0.5, random_state=seed, stratify=y if is_class else None)
    X_here, X_there, y_here, y_there = halves
    folds = StratifiedKFold if is_class else KFold
    cv = folds(N_SPLITS, shuffle=True, random_state=seed)

    def score(support):
        chosen = clone(model).fit(X_here[:, support], y_here)
        return chosen.score(X_there[:, support], y_there)

    def inner(support):
        return cross_val_score(model, X_here[:, support], y_here, cv=cv).mean()

    def ours(n_fits):
        # One fit of them ranks the features.
        n_iter = (n_fits - 1) // N_SPLITS
        selector = FeatureSelector(model, n_iter=n_iter, cv=cv, random_state=seed, strategy="cma")
        return select(selector, X_here, y_here)

    everything = np.ones(X.shape[1], dtype=bool)
    rows = [("all features", 0, everything)]
    n_wanted = 10 if X.shape[1] > 40 else "auto"
    sequential = SequentialFeatureSelector(model, cv=cv, n_features_to_select=n_wanted)
    peers = {"SequentialFeatureSelector": sequential}
    if has_ranking:
        peers = {"RFECV": RFECV(model, cv=cv)} | peers
    for name, peer in peers.items():
        support, n_fits = select(peer, X_here, y_here)
        rows.append((name, n_fits, support))
        support, n_used = ours(n_fits)
        rows.append(("FeatureSelector", n_used, support))
    return [(name, n_fits, support.sum(), inner(support), score(support)) for name, n_fits, support in rows]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=6)
    parser.add_argument("--only", default="", help="problems whose names contain this")
    options = parser.parse_args()
    n_repeats = options.repeats
    warnings.simplefilter("ignore")
    head = ["data, model", "selector", "fits", "features", "score on the splits", "score elsewhere", "+-"]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    known = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    for name, X, y, model, has_ranking in problems():
        if options.only not in name:
            lines += [line for line in known if line.startswith(f"| {name} ")]
            continue
        runs = [repeat(X, y, model, has_ranking, seed) for seed in range(n_repeats)]
        for row in zip(*runs, strict=True):
            fits, features, inner, scores = (np.array(column) for column in list(zip(*row, strict=True))[1:])
            error = scores.std(ddof=1) / np.sqrt(n_repeats)
            numbers = f"{fits.mean():.0f} | {features.mean():.1f} | {inner.mean():.3f} | "
            numbers += f"{scores.mean():.3f} | {error:.3f}"
            lines.append(f"| {name} | {row[0][0]} | {numbers} |")
            print(lines[-1], flush=True)
    RESULTS.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
