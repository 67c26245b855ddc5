"""Everything a run has learned, frozen, and its form as plain data."""

from __future__ import annotations

from dataclasses import dataclass

from dcmaes._validation import FloatArray
from dcmaes.strategies._protocol import Evaluations
from dcmaes.strategies.cma._distribution import Distribution
from dcmaes.strategies.cma._paths import Paths
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
