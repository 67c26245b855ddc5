"""Hyper-parameters and feature selection of scikit-learn estimators on its bundled data, with fixed folds."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from dcmaes.problems import Problem
from dcmaes_bench._domain import FloatArray
from dcmaes_bench._rows import Row

BUDGET = 200
Specs = Mapping[str, Mapping[str, Any]]


def rows(name: str) -> list[Row]:
    """Five estimators and two feature selections; instance i shuffles the folds with seed i."""
    factories = (support_vectors, forest, boosting, neighbours, network, select_linear, select_logistic)
    labels = (
        "SVC digits",
        "random forest breast cancer",
        "gradient boosting diabetes",
        "neighbours digits",
        "network iris",
        "features diabetes",
        "features wine",
    )
    return [
        Row(name, label, factory, BUDGET, is_quick=label in ("SVC digits", "features diabetes"))
        for label, factory in zip(labels, factories, strict=True)
    ]


@cache
def _data(name: str, n_noise: int = 0, n_rows: int | None = None) -> tuple[Any, Any]:
    x, y = getattr(import_module("sklearn.datasets"), f"load_{name}")(return_X_y=True)
    rng = np.random.default_rng(0)
    if n_rows is not None:
        chosen = rng.permutation(len(y))[:n_rows]
        x, y = x[chosen], y[chosen]
    x = (x - x.mean(axis=0)) / np.maximum(x.std(axis=0), 1e-9)
    return np.hstack([x, rng.normal(size=(len(y), n_noise))]), y


def _loss(estimator: Any, x: Any, y: Any, instance: int, *, classify: bool) -> float:
    """One minus the mean score over three folds; an estimator that cannot be fitted scores 0."""
    selection = import_module("sklearn.model_selection")
    folds = selection.StratifiedKFold if classify else selection.KFold
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # networks that have not converged yet are part of the search
        split = folds(3, shuffle=True, random_state=instance)
        try:
            scores = selection.cross_val_score(estimator, x, y, cv=split, error_score=0.0)
        except ValueError:  # raised in spite of `error_score` if none of the folds could be fitted
            return 1.0
    return float(1 - np.mean(scores))


def _tuned(name: str, specs: Specs, loss: Callable[[dict[str, Any]], float], instance: int) -> Problem:
    """A problem whose vector is decoded into named settings."""

    def value(x: FloatArray) -> float:
        settings = {key: _decode(spec, v) for (key, spec), v in zip(specs.items(), x, strict=True)}
        return loss(settings)

    return Problem(name, tuple(specs.values()), value, None, "unknown", instance=instance)


def _decode(spec: Mapping[str, Any], value: float) -> Any:
    if spec["type"] == "float":
        return float(value)
    if spec["type"] == "binary":
        return bool(value)
    states: Sequence[Any] | None = spec.get("choices", spec.get("values"))
    return int(value) if states is None else states[int(value)]


def _log(low: float, high: float) -> dict[str, Any]:
    return {"type": "float", "low": low, "high": high, "log": True}


def _range(low: int, high: int) -> dict[str, Any]:
    return {"type": "integer", "low": low, "high": high}


def _one_of(*choices: Any) -> dict[str, Any]:
    return {"type": "categorical", "choices": list(choices)}


def support_vectors(*, instance: int = 0) -> Problem:
    """A support vector classifier on 300 digits."""
    x, y = _data("digits", n_rows=300)
    specs = {
        "C": _log(1e-3, 1e3),
        "gamma": _log(1e-5, 1e1),
        "kernel": _one_of("linear", "poly", "rbf", "sigmoid"),
        "degree": _range(2, 5),
        "shrinking": {"type": "binary"},
        "class_weight": _one_of(None, "balanced"),
    }
    svm = import_module("sklearn.svm")
    return _tuned("SVC digits", specs, lambda s: _loss(svm.SVC(**s), x, y, instance, classify=True), instance)


def forest(*, instance: int = 0) -> Problem:
    """A random forest on the breast cancer data."""
    x, y = _data("breast_cancer", n_rows=250)
    specs = {
        "n_estimators": _range(2, 20),
        "max_depth": _range(1, 12),
        "min_samples_leaf": _range(1, 20),
        "max_features": {"type": "ordinal", "values": [0.1, 0.2, 0.4, 0.7, 1.0]},
        "criterion": _one_of("gini", "entropy"),
        "bootstrap": {"type": "binary"},
    }
    ensemble = import_module("sklearn.ensemble")

    def loss(settings: dict[str, Any]) -> float:
        return _loss(
            ensemble.RandomForestClassifier(**settings, random_state=0), x, y, instance, classify=True
        )

    return _tuned("random forest breast cancer", specs, loss, instance)


def boosting(*, instance: int = 0) -> Problem:
    """Gradient boosting on the diabetes data."""
    x, y = _data("diabetes")
    specs = {
        "n_estimators": _range(5, 40),
        "learning_rate": _log(1e-2, 1.0),
        "max_depth": _range(1, 6),
        "subsample": {"type": "float", "low": 0.3, "high": 1.0},
        "min_samples_leaf": _range(1, 40),
        "loss": _one_of("squared_error", "absolute_error", "huber"),
    }
    ensemble = import_module("sklearn.ensemble")

    def loss(settings: dict[str, Any]) -> float:
        estimator = ensemble.GradientBoostingRegressor(**settings, random_state=0)
        return _loss(estimator, x, y, instance, classify=False)

    return _tuned("gradient boosting diabetes", specs, loss, instance)


def neighbours(*, instance: int = 0) -> Problem:
    """Nearest neighbours on 300 digits after a projection."""
    x, y = _data("digits", n_rows=300)
    specs = {
        "n_components": _range(2, 40),
        "whiten": {"type": "binary"},
        "n_neighbors": _range(1, 25),
        "weights": _one_of("uniform", "distance"),
        "metric": _one_of("euclidean", "manhattan", "chebyshev", "cosine"),
    }
    pca = import_module("sklearn.decomposition").PCA
    pipeline, nearest = import_module("sklearn.pipeline"), import_module("sklearn.neighbors")

    def loss(settings: dict[str, Any]) -> float:
        first = pca(settings.pop("n_components"), whiten=settings.pop("whiten"), random_state=0)
        second = nearest.KNeighborsClassifier(**settings)
        return _loss(pipeline.make_pipeline(first, second), x, y, instance, classify=True)

    return _tuned("neighbours digits", specs, loss, instance)


def network(*, instance: int = 0) -> Problem:
    """A small neural network on the iris data, with few iterations."""
    x, y = _data("iris")
    specs = {
        "width": _range(1, 20),
        "layers": _range(1, 3),
        "activation": _one_of("identity", "logistic", "tanh", "relu"),
        "solver": _one_of("sgd", "adam"),
        "learning_rate_init": _log(1e-4, 1.0),
        "alpha": _log(1e-6, 1.0),
        "batch_size": {"type": "ordinal", "values": [8, 16, 32, 64]},
    }
    neural = import_module("sklearn.neural_network")

    def loss(settings: dict[str, Any]) -> float:
        sizes = (settings.pop("width"),) * settings.pop("layers")
        estimator = neural.MLPClassifier(sizes, **settings, max_iter=10, random_state=0)
        return _loss(estimator, x, y, instance, classify=True)

    return _tuned("network iris", specs, loss, instance)


def _selection(name: str, estimator: Any, x: Any, y: Any, instance: int, classify: bool) -> Problem:
    def value(bits: FloatArray) -> float:
        chosen = bits > 0
        return _loss(estimator, x[:, chosen], y, instance, classify=classify) if chosen.any() else 1.0

    variables = tuple({"type": "binary"} for _ in range(x.shape[1]))
    return Problem(name, variables, value, None, "unknown", instance=instance)


def select_linear(*, instance: int = 0) -> Problem:
    """Which of 10 features and 20 columns of noise a linear regression of the diabetes data should use."""
    linear = import_module("sklearn.linear_model")
    return _selection(
        "features diabetes", linear.LinearRegression(), *_data("diabetes", 20), instance, classify=False
    )


def select_logistic(*, instance: int = 0) -> Problem:
    """Which of 13 features and 27 columns of noise a naive Bayes classifier of the wine data should use."""
    bayes = import_module("sklearn.naive_bayes")
    return _selection("features wine", bayes.GaussianNB(), *_data("wine", 27), instance, classify=True)
