"""Population annealing: a population led from independent variables to a law exp(a.x + x'Bx/2).

The couplings are turned on by degrees; after each the population is weighted, resampled and moved by the heat
bath (Hukushima and Iba 2003). Wells keep the share of the population that is due to them, which chains that
start anywhere do not find out, and the weights estimate the log partition function.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special

from dcmaes._validation import FloatArray, IntArray
from dcmaes.distributions._heat_bath import redraw
from dcmaes.distributions._quadratic import Exponent

GROUPS = 16  # independent populations, whose scatter gives the standard error
_EFFECTIVE_SHARE = 0.8  # share of the population that the next degree leaves effective
_MAX_STEPS = 1000


class AnnealedPopulation(NamedTuple):
    """States drawn from a law, and its log partition function with a standard error."""

    states: FloatArray  # (k, n_chains)
    log_partition: float
    error: float


def anneal(
    exponent: Exponent, n_chains: int, rng: np.random.Generator, n_sweeps: int = 1
) -> AnnealedPopulation:
    """Lead `n_chains` chains, in groups, from independent variables to the law.

    >>> exponent = Exponent(np.ones(3, dtype=np.int64), np.zeros(3), np.zeros((3, 3)))
    >>> population = anneal(exponent, 64, np.random.default_rng(0))
    >>> round(float(population.log_partition / np.log(2)), 12), population.error
    (3.0, 0.0)
    """
    n_groups = min(GROUPS, n_chains)
    group = np.arange(n_chains) % n_groups
    coupling = exponent.quadratic - np.diag(exponent.quadratic.diagonal())
    centre = exponent.trials / 2.0  # feels no well more than another
    independent = Exponent(
        exponent.trials, exponent.linear + coupling @ centre, exponent.quadratic - coupling
    )
    states, start = _sample_independent(independent, n_chains, rng)
    log_means = np.full(n_groups, start)
    degree = 0.0
    for _ in range(_MAX_STEPS):
        gain = 0.5 * ((coupling @ states) * states).sum(axis=0) - (coupling @ centre) @ states
        step = _next_step(gain, 1.0 - degree)
        degree = 1.0 if step >= 1.0 - degree else degree + step
        states = _resample(states, step * gain, group, log_means, rng)  # (Y9)
        at = Exponent(
            exponent.trials,
            exponent.linear + (1.0 - degree) * (coupling @ centre),
            exponent.quadratic - (1.0 - degree) * coupling,
        )
        for _ in range(n_sweeps):
            redraw(states, at, rng)
        if degree == 1.0:
            break
    top = float(log_means.max())
    shares = np.exp(log_means - top)
    error = float(shares.std(ddof=1) / shares.mean() / np.sqrt(n_groups)) if n_groups > 1 else np.inf
    return AnnealedPopulation(states, top + float(np.log(shares.mean())), error)


def _sample_independent(exponent: Exponent, n: int, rng: np.random.Generator) -> tuple[FloatArray, float]:
    """Return states (k, n) of independent variables and their log partition function."""
    states = np.empty((exponent.trials.size, n))
    total = 0.0
    for i in range(exponent.trials.size):
        weights = exponent.own(i)
        total += float(special.logsumexp(weights))
        states[i] = rng.choice(weights.size, size=n, p=special.softmax(weights))
    return states, total


def _next_step(gain: FloatArray, rest: float) -> float:
    """Return how far to go so that the share `_EFFECTIVE_SHARE` of the population stays effective."""

    def effective(step: float) -> float:
        weights = special.softmax(step * gain)
        return float(1.0 / (weights @ weights) / gain.size)

    if effective(rest) >= _EFFECTIVE_SHARE:
        return rest
    from scipy import optimize

    return max(
        float(optimize.brentq(lambda step: effective(step) - _EFFECTIVE_SHARE, 0.0, rest, rtol=1e-12)), 1e-6
    )


def _resample(
    states: FloatArray,
    log_weights: FloatArray,
    group: IntArray,
    log_means: FloatArray,
    rng: np.random.Generator,
) -> FloatArray:
    """Return states drawn by weight within each group, adding the log mean weights to `log_means`."""
    chosen = np.empty(states.shape[1], dtype=np.int64)
    for number in range(log_means.size):
        members = np.flatnonzero(group == number)
        own = log_weights[members]
        log_means[number] += float(special.logsumexp(own)) - np.log(members.size)
        # Systematic resampling: one uniform number for all members, the least scatter.
        quantiles = (rng.random() + np.arange(members.size)) / members.size
        places = np.searchsorted(np.cumsum(special.softmax(own)), quantiles)
        chosen[members] = members[np.minimum(places, members.size - 1)]
    return states[:, chosen]
