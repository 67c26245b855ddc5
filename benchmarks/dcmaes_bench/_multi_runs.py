"""Runs of the suite `multi`: the hypervolume over evaluations, one line of JSON per run."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from dcmaes_bench._multi_peers import MultiOptimizer
from dcmaes_bench._results import path_of
from dcmaes_bench._suite_multi import FloatArray, MultiProblem

SUITE = "multi"
# Where curves begin, and evaluations at which all optimizers are compared.
FIRST, SHOWN = 10, (100, 500)
PER_VARIABLE = 50
# Points of a curve for each factor of ten.
_PER_DECADE = 12


@dataclass(frozen=True)
class MultiRun:
    """A run: `volumes` has the hypervolume relative to the best known front after each of `places`.

    `seconds` is the time of a whole run, the objective included.
    """

    optimizer: str
    problem: str
    family: str
    dimension: int
    seed: int
    budget: int
    seconds: float
    places: list[int]
    volumes: list[float]

    def at(self, n: int) -> float | None:
        """Return the relative hypervolume after `n` evaluations, None if the run is shorter."""
        return self.volumes[self.places.index(n)] if n in self.places else None

    def area(self, last: int) -> float | None:
        """Return the mean from 10 to `last` evaluations on a logarithmic scale, None if the run is shorter.

        >>> MultiRun("a", "b", "c", 2, 0, 100, 1.0, [10, 100], [0.25, 0.75]).area(100)
        0.5
        """
        if last not in self.places:
            return None
        n = self.places.index(last) + 1
        at = np.log(self.places[:n])
        return float(np.trapezoid(self.volumes[:n], at) / (at[-1] - at[0]))


def budget_of(problem: MultiProblem, optimizer: MultiOptimizer) -> int:
    """Return how many evaluations a run has: 50 for each variable, at least 500, as far as it can afford."""
    return min(max(SHOWN[-1], PER_VARIABLE * problem.dimension), optimizer.most)


def make_run(problem: MultiProblem, name: str, optimizer: MultiOptimizer, seed: int, budget: int) -> MultiRun:
    """Run an optimizer on a problem and measure what it found."""
    begun = time.perf_counter()
    values = optimizer.run(problem, budget, seed)
    seconds = round(time.perf_counter() - begun, 1)
    places = curve_places(len(values), problem.dimension)
    volumes = [round(problem.relative_volume(values[:k]), 4) for k in places]
    return MultiRun(
        name, problem.name, problem.family, problem.dimension, seed, budget, seconds, places, volumes
    )


def curve_places(n: int, dimension: int) -> list[int]:
    """Return after how many of `n` evaluations the hypervolume is measured.

    >>> curve_places(20, 2)
    [10, 12, 14, 17, 20]
    """
    steps = round(_PER_DECADE * np.log10(n / FIRST)) + 1
    places = set(np.geomspace(FIRST, n, steps).round().astype(int).tolist())
    places |= {k for k in (*SHOWN, PER_VARIABLE * dimension) if FIRST <= k <= n}
    return sorted(places)


def read_runs(results: Path) -> list[MultiRun]:
    """Return all runs; of those made again, the last."""
    found: dict[tuple[str, str, int], MultiRun] = {}
    for path in sorted((results / SUITE).glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            run = MultiRun(**json.loads(line))
            found[run.optimizer, run.problem, run.seed] = run
    return list(found.values())


def append_run(results: Path, run: MultiRun) -> None:
    """Add a run to the file of its optimizer."""
    path = path_of(results, SUITE, run.optimizer)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(run), separators=(",", ":")) + "\n")


def mean(values: Sequence[float | None]) -> float:
    """Return the mean of what is there, NaN if nothing is."""
    there: FloatArray = np.array([value for value in values if value is not None], dtype=np.float64)
    return float(there.mean()) if len(there) else float("nan")
