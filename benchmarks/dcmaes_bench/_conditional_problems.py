"""Problems whose variables depend on each other's values: estimators with settings of their own, branches.

A variable with ``"when": {i: [states]}`` counts only if variable i, which comes before it and counts itself,
has one of these states. The functions take whole vectors and ignore what does not count, so that optimizers
which know nothing of conditions can search the flat version.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

from dcmaes.problems import Problem
from dcmaes_bench._domain import FloatArray
from dcmaes_bench._suite_hpo import _data, _decode, _log, _loss, _one_of, _range

Spec = Mapping[str, Any]


def _if(parent: int, states: list[int], spec: Spec) -> Spec:
    return {**spec, "when": {parent: states}}


def estimators(*, instance: int = 0) -> Problem:
    """Error of a classifier of 300 digits in three folds: which of three kinds, and its own settings."""
    x, y = _data("digits", n_rows=300)
    order = np.random.default_rng(instance).permutation(3)
    svm, near, tree = (int(np.flatnonzero(order == k)[0]) for k in range(3))
    specs: dict[str, Spec] = {
        "model": _one_of(*range(3)),
        "svm.kernel": _if(0, [svm], _one_of("linear", "rbf", "poly")),
        "svm.C": _if(0, [svm], _log(1e-3, 1e3)),
        "svm.gamma": _if(1, [1, 2], _log(1e-5, 1e1)),
        "svm.degree": _if(1, [2], _range(2, 5)),
        "near.n_neighbors": _if(0, [near], {**_range(1, 50), "log": True}),
        "near.weights": _if(0, [near], _one_of("uniform", "distance")),
        "near.p": _if(0, [near], {"type": "float", "low": 1.0, "high": 4.0}),
        "tree.max_depth": _if(0, [tree], _range(1, 20)),
        "tree.min_samples_leaf": _if(0, [tree], {**_range(1, 50), "log": True}),
        "tree.criterion": _if(0, [tree], _one_of("gini", "entropy")),
        "scale": {"type": "binary"},
    }

    def value(point: FloatArray) -> float:
        settings = {key: _decode(spec, v) for (key, spec), v in zip(specs.items(), point, strict=True)}
        kind = {svm: "svm", near: "near", tree: "tree"}[settings["model"]]
        own = {key.partition(".")[2]: v for key, v in settings.items() if key.startswith(f"{kind}.")}
        data = x if settings["scale"] else np.clip(x, -1.0, 1.0)
        return _loss(_estimator(kind, own), data, y, instance, classify=True)

    return Problem("estimators digits", tuple(specs.values()), value, None, "unknown", instance=instance)


def _estimator(kind: str, own: dict[str, Any]) -> Any:
    if kind == "svm":
        return import_module("sklearn.svm").SVC(**own)
    if kind == "near":
        return import_module("sklearn.neighbors").KNeighborsClassifier(**own)
    return import_module("sklearn.tree").DecisionTreeClassifier(random_state=0, **own)


def phased_solver(*, instance: int = 0) -> Problem:
    """Seconds of a solver in three phases: presolving, one of three methods, polishing; two may be left out.

    Each phase has settings of its own. Presolving pays only if it is set well, polishing only after the best
    method. Optimum 0 by construction.
    """
    rng = np.random.default_rng(instance)
    centre = rng.uniform(0.15, 0.85, 12)
    order, width = rng.permutation(3), rng.uniform(0.2, 0.35, 12)
    on = int(rng.integers(2))

    def bowl(x: FloatArray, *sites: int) -> float:
        square = sum(((x[i] - centre[i]) / width[i]) ** 2 for i in sites)
        return float(square / (1 + 0.3 * square))

    def seconds(x: FloatArray) -> float:
        method = int(order[int(x[3])])
        presolved = 0.3 * bowl(x, 1, 2) if int(x[0]) == on else 0.8
        solved = [0.0 + 0.6 * bowl(x, 4, 5), 0.7 + 0.4 * bowl(x, 6, 7), 1.0 + 0.3 * bowl(x, 8)][method]
        polished = 0.5
        if int(x[9]) == 1:
            polished = 0.3 * bowl(x, 10, 11) if method == 0 else 0.7
        return float(presolved + solved + polished)

    unit: Spec = {"type": "float", "low": 0.0, "high": 1.0}
    state = {int(method): i for i, method in enumerate(order)}
    specs = (
        *({"type": "binary"}, _if(0, [on], unit), _if(0, [on], unit), _one_of(*range(3))),
        *(_if(3, [state[0]], unit), _if(3, [state[0]], unit)),
        *(_if(3, [state[1]], unit), _if(3, [state[1]], unit), _if(3, [state[2]], unit)),
        *({"type": "binary"}, _if(9, [1], unit), _if(9, [1], unit)),
    )
    return Problem("phased solver", specs, seconds, 0.0, instance=instance, tolerance=1e-6)


def nested_branches(*, instance: int = 0) -> Problem:
    """Three branches of three branches each, with a number and a count of their own in every one of the nine.

    The branches differ by steps that are smaller than what the numbers in them do. Optimum 0 by construction.
    """
    rng = np.random.default_rng(instance)
    floors = np.add.outer(rng.permutation([0.0, 0.5, 1.0]), np.zeros(3))
    floors = floors + np.stack([rng.permutation([0.0, 0.3, 0.6]) for _ in range(3)])
    centre, wanted = rng.uniform(0.1, 0.9, (3, 3)), rng.integers(3, 28, (3, 3))

    def function(x: FloatArray) -> float:
        top = int(x[0])
        low = int(x[1 + top])
        site = 4 + 2 * (3 * top + low)
        number, count = x[site], x[site + 1]
        return float(
            floors[top, low]
            + 3 * (number - centre[top, low]) ** 2
            + 2 * ((count - wanted[top, low]) / 30) ** 2
        )

    specs: list[Spec] = [_one_of(*range(3)), *(_if(0, [top], _one_of(*range(3))) for top in range(3))]
    for top in range(3):
        for low in range(3):
            specs.append(_if(1 + top, [low], {"type": "float", "low": 0.0, "high": 1.0}))
            specs.append(_if(1 + top, [low], _range(0, 30)))
    return Problem("nested branches", tuple(specs), function, 0.0, instance=instance, tolerance=1e-6)
