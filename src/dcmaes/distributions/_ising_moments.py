"""Mean and covariance of an Ising model by simulation, with their standard errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from dcmaes._validation import FloatArray, readonly
from dcmaes.distributions._heat_bath import HeatBathSettings, MixingMonitor, simulate

# Groups of chains whose scatter gives the standard errors: those are then known to about a fifth.
_GROUPS = 16


@dataclass(frozen=True)
class MomentEstimate:
    """Mean and covariance of {0,1} variables, with what is known of their errors.

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
    field: FloatArray,
    coupling: FloatArray,
    n_draws: int,
    settings: HeatBathSettings,
    rng: np.random.Generator,
) -> MomentEstimate:
    """Estimate the moments of the Ising model with this field and coupling for states in {0,1}.

    >>> settings = HeatBathSettings(n_chains=64)
    >>> estimate_moments(np.zeros(2), np.zeros((2, 2)), 50, settings, np.random.default_rng(0)).mean.round(1)
    array([0.5, 0.5])
    """
    if settings.n_chains < _GROUPS:
        raise ValueError(f"n_chains must be at least {_GROUPS} to tell the error, got {settings.n_chains}")
    groups = [slice(group, None, _GROUPS) for group in range(_GROUPS)]
    sizes = np.array([len(range(settings.n_chains)[group]) for group in groups]) * n_draws
    first = np.zeros((_GROUPS, field.size))
    second = np.zeros((_GROUPS, field.size, field.size))
    monitor = MixingMonitor(settings.burn_in // 2, settings.n_sweeps(n_draws))
    for states in simulate(field, coupling, n_draws, settings, rng, monitor):
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
    np.fill_diagonal(covariance, mean * (1.0 - mean))
    return MomentEstimate(
        mean=readonly(mean),
        covariance=readonly(covariance),
        mean_error=readonly(first.std(axis=0, ddof=1) / np.sqrt(_GROUPS)),  # (I5)
        covariance_error=readonly(second.std(axis=0, ddof=1) / np.sqrt(_GROUPS)),
        r_hat=readonly(monitor.r_hat()),
        method="gibbs",
    )
