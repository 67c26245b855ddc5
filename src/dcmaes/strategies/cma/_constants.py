"""Weights and learning rates as functions of the number of sites and of the population size."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dcmaes._validation import FloatArray, readonly

# CMA-ES's own size is quicker on convex functions by a fifth, this one more often right the first time on
# multimodal and rotated ones (benchmarks/cma_ablation.py).
POPULATION_FACTOR = 1.5
# The correlation is factorized again once this much of it, over the number of latents, has been replaced.
FACTORIZATION_PACE = 1.0


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
