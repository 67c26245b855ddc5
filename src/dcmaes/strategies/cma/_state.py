"""Everything a run has learned, frozen, and its form as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from dcmaes._validation import FloatArray
from dcmaes.space import Sites
from dcmaes.strategies._protocol import Evaluations
from dcmaes.strategies.cma._copula import Copula
from dcmaes.strategies.cma._distribution import Distribution
from dcmaes.strategies.cma._layout import Layout
from dcmaes.strategies.cma._marginals import Marginals
from dcmaes.strategies.cma._paths import Path, Paths
from dcmaes.strategies.cma._progress import Progress


@dataclass(frozen=True, eq=False)
class CmaState:
    """State of the `cma` strategy.

    Attributes
    ----------
    distribution : Distribution
        Where the search looks.
    paths : Paths
        Fading sums of the steps taken.
    population_size : int
        Evaluations in a generation of this run.
    growing_size : int
        Population size of the last run whose size was doubled.
    is_small_run : bool
        Whether this is one of BIPOP's small runs.
    waiting : Evaluations
        Results that do not make a whole population yet.
    progress : Progress
        How the run is getting on.
    memory, memory_best : array of shape (d, d), tuple of two floats
        Interactions learned by the run that found the best point of all earlier runs, and that point's
        violation and value.
    """

    distribution: Distribution
    paths: Paths
    population_size: int
    growing_size: int
    is_small_run: bool
    waiting: Evaluations
    progress: Progress
    memory: FloatArray
    memory_best: tuple[float, float]


def no_paths(distribution: Distribution) -> Paths:
    """Return paths for a distribution that has not moved yet."""
    n_latents = 0 if distribution.copula is None else distribution.layout.n_latents
    return Paths.zero(len(distribution.marginals.mean), n_latents)


def state_to_dict(state: CmaState) -> dict[str, Any]:
    """Return the state as numbers, arrays, None, and dicts and lists of those."""
    marginals = _attributes(state.distribution.marginals)
    del marginals["layout"]
    copula, progress = state.distribution.copula, state.progress
    return {
        "marginals": marginals,
        "copula": None if copula is None else _attributes(copula),
        "paths": {name: _attributes(path) for name, path in _attributes(state.paths).items()},
        "population_size": state.population_size,
        "growing_size": state.growing_size,
        "is_small_run": state.is_small_run,
        "waiting": _attributes(state.waiting),
        "progress": {
            **_attributes(progress),
            "best": list(progress.best),
            "budgets": list(progress.budgets),
        },
        "memory": state.memory,
        "memory_best": list(state.memory_best),
    }


def state_from_dict(data: Mapping[str, Any], sites: Sites) -> CmaState:
    """Return the state that `state_to_dict` described."""
    progress, copula = dict(data["progress"]), data["copula"]
    best, budgets = progress.pop("best"), progress.pop("budgets")
    return CmaState(
        distribution=Distribution(
            Marginals(layout=Layout(sites), **data["marginals"]),
            None if copula is None else Copula(**copula),
        ),
        paths=Paths(**{name: Path(**path) for name, path in data["paths"].items()}),
        population_size=data["population_size"],
        growing_size=data["growing_size"],
        is_small_run=data["is_small_run"],
        waiting=Evaluations(**data["waiting"]),
        progress=Progress(**progress, best=(best[0], best[1]), budgets=(budgets[0], budgets[1])),
        memory=data["memory"],
        memory_best=(data["memory_best"][0], data["memory_best"][1]),
    )


def _attributes(instance: Any) -> dict[str, Any]:
    return {field.name: getattr(instance, field.name) for field in fields(instance)}
