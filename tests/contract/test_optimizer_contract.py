"""What users of the optimizer rely on: its names and arguments."""

from __future__ import annotations

import inspect

import dcmaes
import dcmaes.optimizer
import dcmaes.strategies

SEARCH = [
    *("x0", "constraints", "store", "time_limit", "target", "patience", "duplicates", "on_error"),
    *("callbacks", "objectives", "reference"),
]


def keywords(function):
    return {name for name, p in inspect.signature(function).parameters.items() if p.kind is p.KEYWORD_ONLY}


def test_what_users_need_is_in_the_package_itself():
    shown = set(dcmaes.optimizer.__all__) - {"Distribution", "Front", "History", "Noise", "Record"}
    for name in shown:
        assert name in dcmaes.__all__
        assert getattr(dcmaes, name) is getattr(dcmaes.optimizer, name)


def test_arguments():
    assert keywords(dcmaes.Optimizer) == {"budget", "seed", "strategy", "direction", *SEARCH}
    for function in (dcmaes.minimize, dcmaes.maximize):
        parallel = {"executor", "workers", "batch_size", "evaluation_timeout", "progress"}
        assert keywords(function) == {"budget", "seed", "strategy", *SEARCH, *parallel}
        assert list(inspect.signature(function).parameters)[:2] == ["objective", "space"]


def test_public_names_of_an_optimizer():
    public = {name for name in vars(dcmaes.Optimizer) if not name.startswith("_")}
    assert public == {
        *("space", "budget", "n_evaluations", "pending", "best", "history"),
        *("ask", "tell", "attach", "fork", "should_stop", "result", "save", "load", "close"),
    }


def test_strategies_by_name_and_by_class():
    names = dcmaes.strategies.strategy_names()
    assert {"cma", "paper", "random"} <= set(names)
    assert dcmaes.strategies.make_strategy("auto").name in names
    for name in ("Cma", "Paper", "RandomSearch"):
        assert getattr(dcmaes.strategies, name).__name__ == name
