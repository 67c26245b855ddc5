"""Optimizers for several objectives on the problems of the suite `multi`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

import dcmaes as dc
from dcmaes_bench._domain import CATEGORY, FLOAT, Domain, FloatArray
from dcmaes_bench._suite_multi import MultiProblem

# A problem, the number of evaluations and a seed, to the values in the order of evaluation, shape (n, 2).
Run = Callable[[MultiProblem, int, int], FloatArray]


class MultiOptimizer(NamedTuple):
    """An optimizer, the package it needs, and after how many evaluations a run of it takes too long."""

    run: Run
    package: str = "dcmaes"
    most: int = 10_000

    @property
    def is_installed(self) -> bool:
        """Whether its package is there."""
        return find_spec(self.package) is not None


class _Ended(Exception):
    """The budget is used up."""


class _Coded:
    """A problem as a function of vectors: integers, indices of choices and floats; it keeps all values."""

    def __init__(self, problem: MultiProblem, budget: int) -> None:
        self.problem, self.budget = problem, budget
        self.values: list[tuple[float, float]] = []
        listed: Sequence[Any] = problem.variables.get("array", ())
        self.is_array = bool(listed)
        named = {k: v for k, v in problem.variables.items() if k != "array"}
        self.entries = [entry for entry in listed for _ in range(entry.get("repeat", 1))]
        self.entries += list(named.values())
        self.names = list(named)
        self.domain = Domain.of_specs(self.entries)

    def __call__(self, x: Sequence[float] | FloatArray) -> tuple[float, float]:
        if len(self.values) >= self.budget:
            raise _Ended
        states = [_state(entry, value) for entry, value in zip(self.entries, x, strict=True)]
        point = np.array(states) if self.is_array else dict(zip(self.names, states, strict=True))
        self.values.append(self.problem(point))
        return self.values[-1]

    def until_the_end(self, search: Callable[[], Any]) -> FloatArray:
        """Run a search until the budget is used up, and return the values."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with suppress(_Ended):
                search()
        return np.array(self.values)


def _state(entry: Any, value: float) -> Any:
    listed = entry.get("choices") or entry.get("values")
    if listed:
        return listed[int(value)]
    return float(value) if entry["type"] == "float" else int(value)


def _dcmaes(problem: MultiProblem, budget: int, seed: int, *, strategy: str) -> FloatArray:
    space = dc.Space.from_dict(problem.variables)
    result = dc.minimize(
        problem, space, budget=budget, seed=seed, objectives=2, strategy=strategy, progress=False
    )
    return np.array(result.history.values)


def _optuna(problem: MultiProblem, budget: int, seed: int, *, sampler: str) -> FloatArray:
    optuna = import_module("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    coded = _Coded(problem, budget)
    domain = coded.domain

    def values(trial: Any) -> tuple[float, float]:
        x = []
        for i, (kind, low, high) in enumerate(zip(domain.kind, domain.low, domain.high, strict=True)):
            if kind == CATEGORY:
                x.append(trial.suggest_categorical(f"x{i}", list(range(int(high) + 1))))
            elif kind == FLOAT:
                x.append(trial.suggest_float(f"x{i}", low, high, log=bool(domain.log[i])))
            else:
                x.append(trial.suggest_int(f"x{i}", int(low), int(high)))
        return coded(x)

    def search() -> None:
        chosen = getattr(optuna.samplers, sampler)(seed=seed)
        study = optuna.create_study(directions=["minimize"] * 2, sampler=chosen)
        study.optimize(values, n_trials=budget)

    return coded.until_the_end(search)


def _pymoo_mixed(problem: MultiProblem, budget: int, seed: int) -> FloatArray:
    """NSGA-II on variables of their own types, with a population of 20."""
    variable, mixed = import_module("pymoo.core.variable"), import_module("pymoo.core.mixed")
    survival = import_module("pymoo.algorithms.moo.nsga2").RankAndCrowdingSurvival
    coded = _Coded(problem, budget)
    domain = coded.domain
    kinds = {
        f"x{i}": variable.Real(bounds=(low, high))
        if kind == FLOAT
        else variable.Choice(options=list(range(int(high) + 1)))
        if kind == CATEGORY
        else variable.Integer(bounds=(int(low), int(high)))
        for i, (kind, low, high) in enumerate(zip(domain.kind, domain.low, domain.high, strict=True))
    }

    class Adapted(import_module("pymoo.core.problem").ElementwiseProblem):  # type: ignore[misc]
        def _evaluate(self, point: dict[str, Any], out: dict[str, Any], *_: Any, **__: Any) -> None:
            out["F"] = coded([point[name] for name in kinds])

    search = partial(
        import_module("pymoo.optimize").minimize,
        Adapted(vars=kinds, n_obj=2),
        mixed.MixedVariableGA(pop_size=20, survival=survival()),
        ("n_evals", 2 * budget),
        seed=seed,
    )
    return coded.until_the_end(search)


def _pymoo_moead(problem: MultiProblem, budget: int, seed: int) -> FloatArray:
    """MOEA/D with 50 weights; it is for floats, so every discrete state is an interval."""
    directions = import_module("pymoo.util.ref_dirs").get_reference_directions("uniform", 2, n_partitions=49)
    coded = _Coded(problem, budget)
    d = coded.domain.dimension

    class Adapted(import_module("pymoo.core.problem").ElementwiseProblem):  # type: ignore[misc]
        def _evaluate(self, u: FloatArray, out: dict[str, Any], *_: Any, **__: Any) -> None:
            out["F"] = coded(coded.domain.from_unit(u))

    search = partial(
        import_module("pymoo.optimize").minimize,
        Adapted(n_var=d, n_obj=2, xl=np.zeros(d), xu=np.ones(d)),
        import_module("pymoo.algorithms.moo.moead").MOEAD(directions),
        ("n_evals", 2 * budget),
        seed=seed,
    )
    return coded.until_the_end(search)


def _como(problem: MultiProblem, budget: int, seed: int) -> FloatArray:
    """COMOCatCMAwM of cmaes, as its README uses it; bits are choices of two."""
    coded = _Coded(problem, budget)
    domain = coded.domain
    is_choice = (domain.kind == CATEGORY) | (domain.n_states == 2)
    is_float = domain.kind == FLOAT
    is_integer = ~(is_choice | is_float)
    spans = list(zip(domain.low.tolist(), domain.high.tolist(), strict=True))
    spaces: dict[str, Any] = {
        "x_space": [list(spans[i]) for i in np.flatnonzero(is_float)],
        "z_space": [range(int(spans[i][0]), int(spans[i][1]) + 1) for i in np.flatnonzero(is_integer)],
        "c_space": domain.n_states[is_choice].tolist(),
    }

    def search() -> None:
        optimizer = import_module("cmaes").COMOCatCMAwM(
            **{name: space for name, space in spaces.items() if space}, seed=seed
        )
        while True:
            told = []
            for solution in optimizer.ask_iter():
                x = np.empty(domain.dimension)
                if is_float.any():
                    x[is_float] = solution.x
                if is_integer.any():
                    x[is_integer] = solution.z
                if is_choice.any():
                    x[is_choice] = solution.c.argmax(axis=1) + domain.low[is_choice]
                told.append((solution, list(coded(x))))
            optimizer.tell(told)

    return coded.until_the_end(search)


def multi_optimizers() -> dict[str, MultiOptimizer]:
    """Return the optimizers by name; slow ones have a limit on their evaluations."""
    return {
        "dcmaes": MultiOptimizer(partial(_dcmaes, strategy="auto")),
        "optuna GP": MultiOptimizer(partial(_optuna, sampler="GPSampler"), "torch", most=100),
        "optuna TPE": MultiOptimizer(partial(_optuna, sampler="TPESampler"), "optuna", most=500),
        "optuna NSGA-II": MultiOptimizer(partial(_optuna, sampler="NSGAIISampler"), "optuna"),
        "pymoo NSGA-II": MultiOptimizer(_pymoo_mixed, "pymoo"),
        "pymoo MOEA/D": MultiOptimizer(_pymoo_moead, "pymoo"),
        "cmaes COMOCatCMAwM": MultiOptimizer(_como, "cmaes"),
        "random": MultiOptimizer(partial(_dcmaes, strategy="random")),
    }
