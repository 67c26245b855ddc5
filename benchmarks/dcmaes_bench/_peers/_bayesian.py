"""Bayesian optimizers, each with its defaults; benchmarks/README.md says how to install them.

They are large and slow, so that the benchmark works without them: all imports are late.
"""

from __future__ import annotations

import random
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from importlib import import_module
from io import StringIO
from typing import Any
from unittest.mock import patch

import numpy as np

from dcmaes_bench._domain import CATEGORY, FLOAT, Domain, FloatArray
from dcmaes_bench._peers._packages import optuna_study
from dcmaes_bench._recorder import Evaluate
from dcmaes_bench._registry import optimizer

# Steps of BoTorch's fit of its kernel. With 40 to 60 random points of kernel ridge diabetes, inventory and
# 3sat n=43 the log likelihood per point is then within 0.0005 of where the fit ends by itself.
FIT_STEPS = 200


@contextmanager
def _quiet(seed: int) -> Iterator[None]:
    """Silence warnings, and seed the global generators that these packages use."""
    torch = import_module("torch")
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002  (they draw from it)
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@optimizer("optuna GP", package="torch")
def optuna_gp(domain: Domain, evaluate: Evaluate, budget: int, seed: int) -> None:
    """Optuna's GPSampler: a Gaussian process with one length per variable, log expected improvement."""
    with _quiet(seed):
        sampler = import_module("optuna").samplers.GPSampler(seed=seed)
        optuna_study(domain, evaluate, sampler)


@optimizer("SMAC3", package="smac")
def smac3(domain: Domain, evaluate: Evaluate, budget: int, seed: int) -> None:
    """SMAC3 with a random forest, its facade for hyper-parameters."""
    smac, space = import_module("smac"), import_module("ConfigSpace")
    settings = space.ConfigurationSpace(seed=seed)
    settings.add([_smac_variable(space, domain, i) for i in range(domain.dimension)])
    settings.add([_smac_condition(space, settings, i, when) for i, when in enumerate(domain.when) if when])
    trial_value = import_module("smac.runhistory.dataclasses").TrialValue
    # its forest would start a pool of threads for every prediction, which takes most of the time
    one_thread = import_module("joblib").parallel_config("sequential")
    with warnings.catch_warnings(), one_thread, tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        scenario = smac.Scenario(
            settings, n_trials=budget, seed=seed, deterministic=True, output_directory=folder
        )
        search = smac.HyperparameterOptimizationFacade(
            scenario, target_function=lambda config, seed=0: 0.0, logging_level=False, overwrite=True
        )
        for _ in range(budget):
            asked = search.ask()
            found = dict(asked.config)
            x = [float(found.get(f"x{i}", low)) for i, low in enumerate(domain.low)]
            search.tell(asked, trial_value(cost=evaluate(domain.nearest(np.array(x)))), save=False)


def _smac_condition(space: Any, settings: Any, i: int, when: Mapping[int, Sequence[float]]) -> Any:
    child = settings[f"x{i}"]
    parts = [
        space.InCondition(child, settings[f"x{parent}"], list(states)) for parent, states in when.items()
    ]
    return parts[0] if len(parts) == 1 else space.AndConjunction(*parts)


def _smac_variable(space: Any, domain: Domain, i: int) -> Any:
    name, low, high, log = f"x{i}", domain.low[i], domain.high[i], bool(domain.log[i])
    if domain.kind[i] == CATEGORY or low == high:
        return space.CategoricalHyperparameter(name, list(range(int(low), int(high) + 1)))
    if domain.kind[i] == FLOAT:
        return space.UniformFloatHyperparameter(name, float(low), float(high), log=log)
    return space.UniformIntegerHyperparameter(name, int(low), int(high), log=log)


@optimizer("HEBO", package="hebo")
def hebo(domain: Domain, evaluate: Evaluate, budget: int, seed: int) -> None:
    """HEBO: a Gaussian process with warped inputs and values, and an ensemble of acquisitions."""
    with _quiet(seed), _seeded_pymoo():
        frames, design = import_module("pandas"), import_module("hebo.design_space.design_space")
        settings = design.DesignSpace().parse([_hebo_variable(domain, i) for i in range(domain.dimension)])
        search = import_module("hebo.optimizers.hebo").HEBO(settings, scramble_seed=seed)
        while True:
            with redirect_stdout(StringIO()):  # it prints what it adds to the diagonal of its covariance
                asked = search.suggest(n_suggestions=1)
            x = [float(asked[f"x{i}"].iloc[0]) for i in range(domain.dimension)]
            value = evaluate(domain.nearest(np.array(x)))
            search.observe(frames.DataFrame(asked), np.array([[value]]))


@contextmanager
def _seeded_pymoo() -> Iterator[None]:
    """Let the search for HEBO's next point draw its seed from NumPy's generator, as the older pymoo did."""
    module = import_module("hebo.acq_optimizers.evolution_optimizer")
    minimize = module.minimize

    def seeded(*args: Any, **kwargs: Any) -> Any:
        return minimize(*args, seed=np.random.randint(2**31), **kwargs)  # noqa: NPY002  (HEBO's own source)

    with patch.object(module, "minimize", seeded):
        yield


def _hebo_variable(domain: Domain, i: int) -> dict[str, Any]:
    name, low, high = f"x{i}", float(domain.low[i]), float(domain.high[i])
    if domain.kind[i] == CATEGORY or low == high:
        return {"name": name, "type": "cat", "categories": list(range(int(low), int(high) + 1))}
    if domain.kind[i] == FLOAT:
        return {"name": name, "type": "pow" if domain.log[i] else "num", "lb": low, "ub": high}
    kind = "pow_int" if domain.log[i] else "int"
    return {"name": name, "type": kind, "lb": int(low), "ub": int(high)}


@optimizer("BoTorch mixed", package="botorch")
def botorch_mixed(domain: Domain, evaluate: Evaluate, budget: int, seed: int) -> None:
    """BoTorch's Gaussian process for mixed variables, log expected improvement, alternating search.

    A point that was evaluated before is replaced by the best new one of 256 that differ in one variable.
    """
    torch, rng = import_module("torch"), np.random.default_rng(seed)
    with _quiet(seed):
        sobol = torch.quasirandom.SobolEngine(domain.dimension, scramble=True, seed=seed)
        start = sobol.draw(max(5, min(2 * domain.dimension, 20)), dtype=torch.float64).numpy()
        points = [domain.from_unit(u) for u in start]
        values = [evaluate(point) for point in points]
        while True:
            x = torch.tensor(np.stack([_unit(domain, point) for point in points]), dtype=torch.float64)
            y = torch.tensor(values, dtype=torch.float64).unsqueeze(-1)
            improvement = _botorch_acquisition(domain, x, y)
            found = _from_unit(domain, _botorch_search(domain, improvement))
            if _is_among(found, points):
                others = [x for x in _one_change(domain, found, 256, rng) if not _is_among(x, points)]
                others = others or [domain.sample(rng)]
                coded = torch.tensor(np.stack([_unit(domain, other) for other in others])).unsqueeze(1)
                found = others[int(improvement(coded).argmax())]
            points.append(found)
            values.append(evaluate(points[-1]))


def _is_among(point: FloatArray, points: Sequence[FloatArray]) -> bool:
    return any(np.array_equal(point, other) for other in points)


def _one_change(domain: Domain, point: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
    """Return n copies of a point, shape (n, d), in each of which one variable is drawn again."""
    rows, columns = np.arange(n), rng.integers(domain.dimension, size=n)
    near = np.tile(point, (n, 1))
    near[rows, columns] = np.stack([domain.sample(rng) for _ in rows])[rows, columns]
    return near


def _botorch_acquisition(domain: Domain, x: Any, y: Any) -> Any:
    """Fit the model to all points, as coded by `_unit`, and return its expected improvement."""
    models, categories = import_module("botorch.models"), np.flatnonzero(domain.kind == CATEGORY).tolist()
    mixed, plain = models.MixedSingleTaskGP, models.SingleTaskGP
    model = mixed(x, -y, cat_dims=categories) if categories else plain(x, -y)
    likelihood = import_module("gpytorch.mlls").ExactMarginalLogLikelihood(model.likelihood, model)
    limits = {"options": {"maxiter": FIT_STEPS}}
    import_module("botorch.fit").fit_gpytorch_mll(likelihood, optimizer_kwargs=limits)
    return import_module("botorch.acquisition").LogExpectedImprovement(model, best_f=(-y).max())


def _botorch_search(domain: Domain, improvement: Any) -> FloatArray:
    """Return the best point of an acquisition function, as coded by `_unit`."""
    torch = import_module("torch")
    states = {i: _unit_states(domain, i) for i in np.flatnonzero(domain.is_discrete).tolist()}
    categories = {i: values for i, values in states.items() if domain.kind[i] == CATEGORY}
    top = [states[i][-1] if i in states else 1.0 for i in range(domain.dimension)]
    search = import_module("botorch.optim.optimize_mixed").optimize_acqf_mixed_alternating
    candidate, _ = search(
        improvement,
        bounds=torch.tensor([[0.0] * domain.dimension, top], dtype=torch.float64),
        discrete_dims={i: values for i, values in states.items() if i not in categories},
        cat_dims=categories,
        q=1,
        raw_samples=128,  # 1,024 and 20 restarts, its defaults, find the same maximum in twice the time
        num_restarts=4,
    )
    return np.asarray(candidate.detach().numpy()[0], dtype=np.float64)


def _unit_states(domain: Domain, i: int) -> list[float]:
    """The states of a discrete variable as coded by `_unit`."""
    points = np.tile(domain.low, (int(domain.n_states[i]), 1))
    points[:, i] += np.arange(len(points))
    return [float(_unit(domain, point)[i]) for point in points]


def _unit(domain: Domain, x: FloatArray) -> FloatArray:
    """Numbers in [0, 1], on their own scale; categories as they are."""
    low, high, log = domain.low, domain.high, domain.log
    u = (x - low) / np.where(high > low, high - low, 1.0)
    u[log] = np.log(x[log] / low[log]) / np.log(high[log] / low[log])
    return np.asarray(np.where(domain.kind == CATEGORY, x, u))


def _from_unit(domain: Domain, u: FloatArray) -> FloatArray:
    """The point that `_unit` codes as `u`."""
    low, high, log = domain.low, domain.high, domain.log
    x = low + u * (high - low)
    x[log] = low[log] * (high[log] / low[log]) ** u[log]
    return domain.nearest(np.where(domain.kind == CATEGORY, u, x))
