"""Optimizers of other packages, each with its defaults."""

from __future__ import annotations

import warnings
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from dcmaes_bench._domain import CATEGORY, FLOAT, Domain, FloatArray
from dcmaes_bench._recorder import Evaluate, RunEnded
from dcmaes_bench._registry import optimizer


@optimizer("optuna TPE", package="optuna")
def optuna_tpe(domain: Domain, evaluate: Evaluate, budget: int, seed: int) -> None:
    """Tree-structured Parzen estimators, multivariate."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sampler = import_module("optuna").samplers.TPESampler(seed=seed, multivariate=True)
        optuna_study(domain, evaluate, sampler)


@optimizer("optuna TPE group", package="optuna", needs_conditions=True)
def optuna_tpe_group(domain: Domain, evaluate: Evaluate, budget: int, seed: int) -> None:
    """The same with `group=True`, which is for variables that only some trials have."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sampler = import_module("optuna").samplers.TPESampler(seed=seed, multivariate=True, group=True)
        optuna_study(domain, evaluate, sampler, is_flat=False)


def optuna_study(domain: Domain, evaluate: Evaluate, sampler: Any, *, is_flat: bool = True) -> None:
    """Ask and tell a study with one of Optuna's samplers until the run ends.

    Unless it is flat, trials suggest only what counts.
    """
    optuna = import_module("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=sampler)
    while True:
        trial = study.ask()
        x: list[float] = []
        for i, low in enumerate(domain.low):
            x.append(_suggest(trial, domain, i) if is_flat or domain.counts(x, i) else float(low))
        study.tell(trial, evaluate(x))


def _suggest(trial: Any, domain: Domain, i: int) -> float:
    name, low, high, log = f"x{i}", domain.low[i], domain.high[i], bool(domain.log[i])
    if domain.kind[i] == CATEGORY:
        return float(trial.suggest_categorical(name, list(range(int(high) + 1))))
    if domain.kind[i] == FLOAT:
        return float(trial.suggest_float(name, low, high, log=log))
    return float(trial.suggest_int(name, int(low), int(high), log=log))


def _nevergrad(domain: Domain, evaluate: Evaluate, budget: int, seed: int, *, name: str, form: str) -> None:
    """Run a Nevergrad optimizer on one of three forms of the variables.

    "transition": discrete variables as TransitionChoice, Nevergrad's own form for them. Its discrete (1+1)
    optimizers then rank a point by its mean plus a large constant until it has been evaluated twice. "array":
    integer-cast arrays, in which no point is ever seen twice, so that the constant is the same for all.
    "choice": integer-cast numbers and softmax choices, the form the documentation gives for mixed variables.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ng = import_module("nevergrad")
        parameter = _nevergrad_parameter(ng, domain, form)
        parameter.random_state.seed(seed % 2**32)
        search = ng.optimizers.registry[name](parameter, budget=budget)
        for _ in range(budget):
            asked = search.ask()
            x = np.concatenate([np.ravel(part) for part in asked.value]).astype(np.float64)
            search.tell(asked, evaluate(domain.nearest(x)))


def _nevergrad_parameter(ng: Any, domain: Domain, form: str) -> Any:
    """A Tuple with one parameter per stretch of like variables."""
    parts, start, d = [], 0, domain.dimension
    rows = list(zip(domain.kind, domain.low, domain.high, domain.log, strict=True))
    for end in range(1, d + 1):
        if end < d and rows[end] == rows[start]:
            continue
        kind, low, high, log = rows[start]
        n, choices = end - start, list(range(int(low), int(high) + 1))
        if kind == FLOAT:
            parts.append(_nevergrad_floats(ng, n, low, high, log))
        elif form == "transition":
            parts.append(ng.p.TransitionChoice(choices, repetitions=n))
        elif form == "choice" and kind == CATEGORY:
            parts.append(ng.p.Choice(choices, repetitions=n))
        else:
            middle = np.full(n, (low + high) / 2)
            parts.append(ng.p.Array(init=middle, lower=low, upper=high).set_integer_casting())
        start = end
    return ng.p.Tuple(*parts)


def _nevergrad_floats(ng: Any, n: int, low: float, high: float, log: bool) -> Any:
    if not log:
        return ng.p.Array(init=np.full(n, (low + high) / 2), lower=low, upper=high)
    return ng.p.Tuple(*(ng.p.Log(lower=low, upper=high) for _ in range(n)))


for _name in (
    "DiscreteOnePlusOne",
    "DiscreteLenglerOnePlusOne",
    "DoubleFastGADiscreteOnePlusOne",
    "PortfolioDiscreteOnePlusOne",
):
    _run = partial(_nevergrad, name=_name, form="transition")
    optimizer(f"nevergrad {_name}", package="nevergrad", max_states=128)(_run)  # it slows down with states
for _name in ("DiscreteOnePlusOne", "DiscreteLenglerOnePlusOne"):
    optimizer(f"nevergrad {_name} (array)", package="nevergrad")(
        partial(_nevergrad, name=_name, form="array")
    )
optimizer("nevergrad NGOpt", package="nevergrad")(partial(_nevergrad, name="NGOpt", form="choice"))


@optimizer("gomea", kinds="ic", package="gomea", max_states=100, uniform_states=True)
def gomea_discrete(domain: Domain, evaluate: Evaluate, budget: int, seed: int) -> None:
    """Gene-pool optimal mixing with a learned linkage tree; it maximises, with one alphabet for all."""
    gomea = import_module("gomea")
    ended: list[RunEnded] = []
    stop_now = 1e300

    class Fitness(gomea.fitness.BBOFitnessFunctionDiscrete):  # type: ignore[misc, name-defined]
        def objective_function(self, _: int, variables: FloatArray) -> float:
            if ended:
                return stop_now
            try:
                return -evaluate(domain.low + variables)
            except RunEnded as reason:  # exceptions do not survive the way through its compiled code
                ended.append(reason)
                return stop_now

    fitness = Fitness(domain.dimension, alphabet_size=int(domain.n_states[0]), value_to_reach=stop_now)
    linkage = gomea.linkage.LinkageTree()  # kept: the search does not own it
    search = gomea.DiscreteGOMEA(
        fitness=fitness,
        linkage_model=linkage,
        max_number_of_evaluations=budget + 1,
        random_seed=seed % 2**31,
    )
    search.run()
    if ended:
        raise ended[0]


@optimizer("pymoo mixed GA", package="pymoo")
def pymoo_mixed(domain: Domain, evaluate: Evaluate, budget: int, seed: int) -> None:
    """The genetic algorithm for mixed variables."""
    variable, mixed = import_module("pymoo.core.variable"), import_module("pymoo.core.mixed")
    problem, optimize = import_module("pymoo.core.problem"), import_module("pymoo.optimize")
    kinds = {
        f"x{i}": variable.Real(bounds=(low, high))
        if kind == FLOAT
        else variable.Choice(options=list(range(int(high) + 1)))
        if kind == CATEGORY
        else variable.Integer(bounds=(int(low), int(high)))
        for i, (kind, low, high) in enumerate(zip(domain.kind, domain.low, domain.high, strict=True))
    }

    class Adapted(problem.ElementwiseProblem):  # type: ignore[misc, name-defined]
        def _evaluate(self, point: dict[str, Any], out: dict[str, Any], *_: Any, **__: Any) -> None:
            out["F"] = evaluate([point[name] for name in kinds])

    optimize.minimize(
        Adapted(vars=kinds, n_obj=1), mixed.MixedVariableGA(), ("n_evals", budget), seed=seed, verbose=False
    )


@optimizer("scipy DE")
def scipy_de(domain: Domain, evaluate: Evaluate, budget: int, seed: int) -> None:
    """Differential evolution with `integrality`; categories as integers, since it knows nothing else."""
    from scipy.optimize import Bounds, differential_evolution

    log = domain.log & (domain.kind == FLOAT)
    low, high = domain.low.copy(), domain.high.copy()
    low[log], high[log] = np.log(low[log]), np.log(high[log])

    def value(u: FloatArray) -> float:
        return evaluate(domain.nearest(np.where(log, np.exp(np.where(log, u, 0.0)), u)))

    differential_evolution(value, Bounds(low, high), integrality=domain.is_discrete, rng=seed, maxiter=10**9)
