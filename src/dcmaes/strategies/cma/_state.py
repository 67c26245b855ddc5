"""Everything a run has learned, frozen: the distribution, its paths, how the run is getting on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dcmaes._validation import FloatArray
from dcmaes.strategies._evaluations import WORST, Evaluations, Rank
from dcmaes.strategies.cma._distribution import Distribution

# Guards a division: a site that is active in no point has no step.
SMALLEST_SHARE = 1e-12


@dataclass(frozen=True, eq=False)
class Path:
    """An exponentially fading sum of mean steps, and the variance it has when nothing is selected."""

    vector: FloatArray
    variance: float

    def advance(
        self,
        step: FloatArray,
        rate: float,
        effective_size: float,
        *,
        is_open: bool = True,
        share: FloatArray | None = None,
    ) -> Path:
        """Return the path after one more normalized step (K11).

        With a share of active points for each entry, time passes for it in proportion (K24).
        """
        gain = rate * (2 - rate) if is_open else 0.0
        variance = (1 - rate) ** 2 * self.variance + gain
        if share is None:
            return Path((1 - rate) * self.vector + np.sqrt(gain * effective_size) * step, variance)
        own = rate * share
        own_gain = own * (2 - own) * is_open * effective_size / np.maximum(share, SMALLEST_SHARE)
        return Path((1 - own) * self.vector + np.sqrt(own_gain) * step, variance)

    def in_units_of(self, deviation: FloatArray) -> Path:
        """Return the path measured in new units."""
        return Path(self.vector / deviation, self.variance)

    @staticmethod
    def zero(n: int) -> Path:
        """Return a path that has not moved yet."""
        return Path(np.zeros(n), 0.0)


@dataclass(frozen=True, eq=False)
class Paths:
    """The paths of a run: of the step size (n), the correlation (l, or 0 if diagonal), the scales (n)."""

    step: Path
    correlation: Path
    scale: Path

    @staticmethod
    def zero(n: int, n_latents: int) -> Paths:
        """Return paths that have not moved yet."""
        return Paths(Path.zero(n), Path.zero(n_latents), Path.zero(n))


@dataclass(frozen=True)
class Progress:
    """How a run and the restarts before it have gone, in numbers.

    Attributes
    ----------
    generation : int
        Generations of this run.
    best : Rank
        That of the best point of this run.
    idle : int
        Evaluations paid for since this run last improved.
    n_free : int
        Generations in a row in which every point drawn was known already.
    run : int
        Number of restarts before this run.
    evaluations : int
        Evaluations paid for in this run.
    budgets : tuple of two ints
        Evaluations spent in runs of growing and of small populations before this run.
    """

    generation: int = 0
    best: Rank = WORST
    idle: int = 0
    n_free: int = 0
    run: int = 0
    evaluations: int = 0
    budgets: tuple[int, int] = (0, 0)

    def advance(self, told: Evaluations, best: int) -> Progress:
        """Return the progress after a population whose best point is in row `best`."""
        n_paid = len(told) - int(told.is_repeat.sum())
        found = told.rank(best)
        is_better = found < self.best
        return Progress(
            generation=self.generation + 1,
            best=found if is_better else self.best,
            idle=0 if is_better else self.idle + n_paid,
            n_free=0 if n_paid else self.n_free + 1,
            run=self.run,
            evaluations=self.evaluations + n_paid,
            budgets=self.budgets,
        )


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
    interactions, record : array of shape (d, d), Rank
        Interactions learned by the run that found the best point of all earlier runs, and that point's rank.
    """

    distribution: Distribution
    paths: Paths
    population_size: int
    growing_size: int
    is_small_run: bool
    waiting: Evaluations
    progress: Progress
    interactions: FloatArray
    record: Rank


def no_paths(distribution: Distribution) -> Paths:
    """Return paths for a distribution that has not moved yet."""
    n_latents = 0 if distribution.copula is None else distribution.layout.n_latents
    return Paths.zero(len(distribution.marginals.mean), n_latents)
