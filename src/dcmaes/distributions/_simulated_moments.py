"""Mean and covariance of a law exp(a.x + x'Bx/2) by simulation, with their standard errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from dcmaes._validation import FloatArray, readonly
from dcmaes.distributions._heat_bath import HeatBathSettings, MixingMonitor, simulate
from dcmaes.distributions._quadratic import Exponent

# Groups of chains whose scatter gives the standard errors: those are then known to about a fifth.
_GROUPS = 16


@dataclass(frozen=True)
class MomentEstimate:
    """Mean and covariance of some variables, with what is known of their errors.

    Attributes
    ----------
    mean, covariance : ndarray, shapes (k,) and (k, k)
    mean_error, covariance_error : ndarray, same shapes
        Standard errors; 0 when exact.
    r_hat : ndarray, shape (k,)
        Split R-hat of each variable; 1 when exact.
    method : "exact" or "gibbs"

    Examples
    --------
    >>> MomentEstimate.exact(np.array([0.5]), np.array([[0.25]])).mean_error
    array([0.])
    """

    mean: FloatArray
    covariance: FloatArray
    mean_error: FloatArray
    covariance_error: FloatArray
    r_hat: FloatArray
    method: str

    @classmethod
    def exact(cls, mean: FloatArray, covariance: FloatArray) -> Self:
        """Wrap moments that are known without error."""
        zeros, ones = np.zeros_like(mean), np.ones_like(mean)
        return cls(
            mean, covariance, readonly(zeros), readonly(np.zeros_like(covariance)), readonly(ones), "exact"
        )


def estimate_moments(
    exponent: Exponent,
    n_draws: int,
    settings: HeatBathSettings,
    rng: np.random.Generator,
    start: FloatArray | None = None,
) -> MomentEstimate:
    """Estimate the moments of the law with this exponent.

    >>> settings = HeatBathSettings(n_chains=64)
    >>> exponent = Exponent(np.ones(2, dtype=np.int64), np.zeros(2), np.zeros((2, 2)))
    >>> estimate_moments(exponent, 50, settings, np.random.default_rng(0)).mean.round(1)
    array([0.5, 0.5])
    """
    k = exponent.trials.size
    if settings.n_chains < _GROUPS:
        raise ValueError(f"n_chains must be at least {_GROUPS} to tell the error, got {settings.n_chains}")
    groups = [slice(group, None, _GROUPS) for group in range(_GROUPS)]
    sizes = np.array([len(range(settings.n_chains)[group]) for group in groups]) * n_draws
    first = np.zeros((_GROUPS, k))
    second = np.zeros((_GROUPS, k, k))
    monitor = MixingMonitor(settings.burn_in // 2, settings.n_sweeps(n_draws))
    for states in simulate(exponent, n_draws, settings, rng, monitor, start):
        for number, group in enumerate(groups):
            part = states[:, group]
            first[number] += part.sum(axis=1)
            second[number] += part @ part.T
    first /= sizes[:, np.newaxis]
    second /= sizes[:, np.newaxis, np.newaxis]
    weights = sizes / sizes.sum()
    mean = weights @ first
    # Products around the common mean: their average is the covariance, their scatter its error (delta
    # method).
    second -= mean[:, np.newaxis] * first[:, np.newaxis, :]
    second -= mean * first[:, :, np.newaxis]
    second += np.outer(mean, mean)
    covariance = np.tensordot(weights, second, axes=1)
    return MomentEstimate(
        mean=readonly(mean),
        covariance=readonly(covariance),
        mean_error=readonly(first.std(axis=0, ddof=1) / np.sqrt(_GROUPS)),  # (I5)
        covariance_error=readonly(second.std(axis=0, ddof=1) / np.sqrt(_GROUPS)),
        r_hat=readonly(monitor.r_hat()),
        method="gibbs",
    )
