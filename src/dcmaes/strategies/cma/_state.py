"""The state of `cma` between generations, and its weights and learning rates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dcmaes._validation import FloatArray, readonly
from dcmaes.strategies._evaluations import WORST, Evaluations, Rank
from dcmaes.strategies.cma._distribution import Distribution

# CMA-ES's own size is quicker on convex functions by a fifth, this one more often right the first time on
# multimodal and rotated ones (benchmarks/cma_ablation.py).
POPULATION_FACTOR = 1.5
# The correlation is factorized again once this much of it, over the number of latents, has been replaced.
FACTORIZATION_PACE = 1.0
# Guards a division: a site that is active in no point has no step.
SMALLEST_SHARE = 1e-12


@dataclass(frozen=True)
class Rates:
    """Learning rates of one second-order quantity: its path, the path's weight, the population's weight."""

    path: float
    rank_one: float
    rank_mu: float
    weights: FloatArray


@dataclass(frozen=True)
class Constants:
    """Everything that depends only on the number of sites and on the population size.

    Attributes
    ----------
    weights : array of shape (population_size,)
        Recombination weights of the mean, best first: they sum to 1, the worse half has none.
    effective_size : float
        1 / sum of squared weights.
    step_path, step_damping : float
        Cumulation and damping of the step-size control.
    correlation, scale : Rates
        Learning rates for the full correlation matrix and for the scale of each site.
    factorization_interval : int
        Generations from one factorization of the correlation to the next.
    """

    weights: FloatArray
    effective_size: float
    step_path: float
    step_damping: float
    correlation: Rates
    scale: Rates
    factorization_interval: int


def default_population_size(n_sites: int) -> int:
    """Return the population size of a first run: half as large again as CMA-ES's 4 + 3 log d.

    >>> default_population_size(10)
    15
    """
    return int(POPULATION_FACTOR * (4 + int(3 * np.log(max(n_sites, 1)))))


@lru_cache(maxsize=64)
def constants(n_sites: int, n_latents: int, population_size: int) -> Constants:
    """Return the constants for `n_sites` sites with `n_latents` latent normals.

    >>> round(float(constants(10, 10, 10).weights.sum()), 12)
    1.0
    """
    # A space of one point has no site at all; its one update is that of a single site that never moves.
    n_sites, n_latents = max(n_sites, 1), max(n_latents, 1)
    raw = np.log((population_size + 1) / 2) - np.log(np.arange(1, population_size + 1))  # (K1)
    positive = np.where(raw > 0, raw, 0.0)
    positive /= positive.sum()
    effective = float(1 / (positive**2).sum())
    negative = np.where(raw > 0, 0.0, raw)
    step_path = (effective + 2) / (n_sites + effective + 5)  # (K3)
    correlation = _rates(n_latents, positive, negative, is_matrix=True)
    pace = n_latents * (correlation.rank_one + correlation.rank_mu)
    return Constants(
        weights=readonly(positive),
        effective_size=effective,
        step_path=step_path,
        step_damping=1 + step_path + 2 * max(0.0, float(np.sqrt((effective - 1) / (n_sites + 1))) - 1),
        correlation=correlation,
        scale=_rates(n_sites, positive, negative, is_matrix=False),
        factorization_interval=max(1, int(FACTORIZATION_PACE / pace)),
    )


def _rates(n_sites: int, positive: FloatArray, negative: FloatArray, *, is_matrix: bool) -> Rates:
    n_parameters = n_sites * (n_sites + 1) / 2 if is_matrix else n_sites
    population_size = len(positive)
    effective = float(1 / (positive**2).sum())
    surplus = effective + 1 / effective - 2 + 0.5 * population_size / (population_size + 5)
    rank_one = 1 / (2 * (n_parameters / n_sites + 1) * (n_sites + 1) ** 0.75 + effective / 2)  # (K4)
    rank_mu = min(surplus * rank_one, 1 - rank_one)  # (K5)
    effective_negative = float(negative.sum() ** 2 / (negative**2).sum())
    # (K2): the negative weights take away at most what the positive ones and the path bring in, and from a
    # matrix never so much that it could lose its definiteness (scales are multiplied, which cannot happen).
    total = min(1 + rank_one / rank_mu, 1 + 2 * effective_negative / (effective + 2))
    if is_matrix:
        total = min(total, (1 - rank_one - rank_mu) / (n_sites * rank_mu))
    weights = positive + negative / abs(negative.sum()) * total
    return Rates(float(np.sqrt(effective * rank_one / 2)), rank_one, rank_mu, readonly(weights))


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
