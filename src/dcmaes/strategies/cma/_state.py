"""Everything a run has learned, frozen, and its form as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from dcmaes._validation import FloatArray
from dcmaes.space import Sites
from dcmaes.strategies._protocol import Evaluations
from dcmaes.strategies.cma._distribution import Distribution
from dcmaes.strategies.cma._layout import Layout
from dcmaes.strategies.cma._update import Path, Paths


@dataclass(frozen=True, eq=False)
class Progress:
    """How a run and the restarts before it have gone, in numbers.

    Attributes
    ----------
    generation : int
        Generations of this run.
    best : tuple of two floats
        Violation and value of the best point of this run; smaller is better.
    idle : int
        Evaluations paid for since this run last improved.
    n_free : int
        Generations in a row in which every point drawn was known already.
    run : int
        Number of restarts before this run.
    evaluations : int
        Evaluations paid for in this run.
    budgets : tuple of two ints
        Evaluations spent in runs of growing and of small populations.
    """

    generation: int = 0
    best: tuple[float, float] = (np.inf, np.inf)
    idle: int = 0
    n_free: int = 0
    run: int = 0
    evaluations: int = 0
    budgets: tuple[int, int] = (0, 0)


@dataclass(frozen=True, eq=False)
class CmaState:
    """State of the `cma` strategy: the distribution, its paths, and results waiting for a full population.

    `memory` is the interaction matrix of the run that found the best point so far, and `memory_best` that
    point's violation and value.
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


def state_to_dict(state: CmaState) -> dict[str, Any]:
    """Return the state as numbers, arrays, and dicts and lists of those."""
    distribution, progress = state.distribution, state.progress
    return {
        "distribution": {
            f.name: getattr(distribution, f.name) for f in fields(distribution) if f.name != "layout"
        },
        "paths": {
            f.name: {
                "vector": getattr(state.paths, f.name).vector,
                "variance": getattr(state.paths, f.name).variance,
            }
            for f in fields(state.paths)
        },
        "population_size": state.population_size,
        "growing_size": state.growing_size,
        "is_small_run": state.is_small_run,
        "waiting": {f.name: getattr(state.waiting, f.name) for f in fields(state.waiting)},
        "progress": {**vars(progress), "best": list(progress.best), "budgets": list(progress.budgets)},
        "memory": state.memory,
        "memory_best": list(state.memory_best),
    }


def state_from_dict(data: Mapping[str, Any], sites: Sites) -> CmaState:
    """Return the state that `state_to_dict` described."""
    progress = dict(data["progress"])
    best, budgets = progress.pop("best"), progress.pop("budgets")
    return CmaState(
        distribution=Distribution(layout=Layout(sites), **data["distribution"]),
        paths=Paths(**{name: Path(path["vector"], path["variance"]) for name, path in data["paths"].items()}),
        population_size=data["population_size"],
        growing_size=data["growing_size"],
        is_small_run=data["is_small_run"],
        waiting=Evaluations(**data["waiting"]),
        progress=Progress(**progress, best=(best[0], best[1]), budgets=(budgets[0], budgets[1])),
        memory=data["memory"],
        memory_best=(data["memory_best"][0], data["memory_best"][1]),
    )
