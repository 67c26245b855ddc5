"""The usual constants of CMA-ES, as on the Wikipedia page that the paper refers to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dcmaes._validation import FloatArray, readonly


@dataclass(frozen=True, eq=False)
class Constants:
    """Weights and rates for a number of variables and a population size.

    Attributes
    ----------
    weights : array of shape (population_size // 2,)
        Recombination weights of the better half, best first; they sum to 1.
    effective_size : float
        1 / sum of squared weights.
    sigma_rate, sigma_damping : float
        Cumulation and damping of the step size.
    c_rate : float
        Cumulation of the path of C.
    rank_one, rank_mu : float
        Learning rates of C from its path and from the population.
    expected_length : float
        Expected length of a standard normal vector.
    """

    weights: FloatArray
    effective_size: float
    sigma_rate: float
    sigma_damping: float
    c_rate: float
    rank_one: float
    rank_mu: float
    expected_length: float


def default_population_size(n_variables: int) -> int:
    """Return 4 + 3 log d, rounded down.

    >>> default_population_size(10)
    10
    """
    return 4 + int(3 * np.log(max(n_variables, 1)))


@lru_cache(maxsize=64)
def constants(n_variables: int, population_size: int) -> Constants:
    """Return the constants (A6).

    >>> constants(10, 10).effective_size.__round__(3)
    3.167
    """
    d, half = max(n_variables, 1), population_size // 2
    weights = np.log(population_size / 2 + 0.5) - np.log(np.arange(1, half + 1))
    weights /= weights.sum()
    mu = float(1 / (weights**2).sum())
    sigma_rate = (mu + 2) / (d + mu + 5)
    rank_one = 2 / ((d + 1.3) ** 2 + mu)
    return Constants(
        weights=readonly(weights),
        effective_size=mu,
        sigma_rate=sigma_rate,
        sigma_damping=1 + 2 * max(0.0, float(np.sqrt((mu - 1) / (d + 1))) - 1) + sigma_rate,
        c_rate=(4 + mu / d) / (d + 4 + 2 * mu / d),
        rank_one=rank_one,
        rank_mu=min(1 - rank_one, 2 * (mu - 2 + 1 / mu) / ((d + 2) ** 2 + mu)),
        expected_length=float(np.sqrt(d) * (1 - 1 / (4 * d) + 1 / (21 * d**2))),
    )
