"""The inverse Ising problem: field and coupling from means and covariances."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from scipy import linalg

from dcmaes._validation import FloatArray, check_generator
from dcmaes.distributions._heat_bath import sweep
from dcmaes.distributions._quadratic_fit import NotConvergedError, fit_binary_moments

# Refinement is stochastic approximation with averaged iterates (Polyak and Juditsky 1992), whose theory wants
# the exponent between 1/2 and 1. Rates of 0.1 to 0.3 did equally well on random laws of strength 1 to 4 as in
# benchmarks/inverse_ising_error.py.
_REFINE_RATE = 0.2
_REFINE_DECAY = 0.6
_REFINE_CONSTANT_ROUNDS = 10
_REFINE_CHAINS = 512
_REFINE_SWEEPS = 5
_REFINE_BURN_IN = 30
_LARGEST_CHANGE = 1.0


def invert_exact(mean: FloatArray, covariance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return field and coupling with these moments, by enumeration; raise ValueError if there are none.

    >>> field, coupling = invert_exact(np.array([0.5, 0.5]), np.array([[0.25, 0.0], [0.0, 0.25]]))
    >>> coupling.tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """
    try:
        return fit_binary_moments(mean, covariance)
    except NotConvergedError as failure:
        first, last = np.unravel_index(np.argmax(np.abs(failure.quadratic)), covariance.shape)
        raise ValueError(
            f"no Ising law has these moments: after the search they are off by "
            f"{np.abs(failure.mismatch).max():.3g}, with couplings up to "
            f"{np.abs(failure.quadratic).max():.3g}, largest for the pair ({first}, {last}); they are "
            "outside what a law on {0,1}^k can have"
        ) from None


class BetheFit(NamedTuple):
    """Field and coupling for states in {0,1}; `beyond`: a pair too correlated for it, if any."""

    field: FloatArray
    coupling: FloatArray
    beyond: tuple[int, int] | None


def invert_bethe(mean: FloatArray, covariance: FloatArray) -> BetheFit:
    """Return field and coupling, for states in {0,1}, by the Bethe approximation, which is exact on trees.

    Parameters
    ----------
    mean, covariance : ndarray, shapes (k,) and (k, k), of the {0,1} variables; covariance positive definite

    Examples
    --------
    >>> fit = invert_bethe(np.array([0.5, 0.5]), np.array([[0.25, 0.05], [0.05, 0.25]]))
    >>> round(float(fit.coupling[0, 1]), 6), round(float(np.log(0.3 * 0.3 / (0.2 * 0.2))), 6)
    (0.81093, 0.81093)
    """
    m = 2.0 * mean - 1.0  # spins s = 2x - 1 in {-1,+1}
    coupling, beyond = _bethe_coupling(m, 4.0 * covariance)
    t = np.tanh(coupling)
    forward = m - m[:, np.newaxis] * t  # entry (i, j): m_j - m_i t_ij
    room = np.maximum((1.0 - t**2) ** 2 - 4.0 * t * forward * forward.T, 0.0)
    cavity = 2.0 * forward / (1.0 - t**2 + np.sqrt(room))  # mean of spin j with i taken away
    message = np.arctanh(_inside(t * cavity))
    field = np.arctanh(m) - message.sum(axis=1)  # (I12)
    return BetheFit(2.0 * field - 2.0 * coupling.sum(axis=1), 4.0 * coupling, beyond)  # (I3)


def _bethe_coupling(m: FloatArray, covariance: FloatArray) -> tuple[FloatArray, tuple[int, int] | None]:
    """Return couplings for {-1,+1} spins of mean m, and the pair furthest beyond reach, if any."""
    c = np.asarray(linalg.inv(covariance), dtype=np.float64)
    np.fill_diagonal(c, 0.0)
    both = np.outer(m, m)
    variance = 1.0 - m**2
    r = np.sqrt(1.0 + 4.0 * np.outer(variance, variance) * c**2)
    room = (r - 2.0 * both * c) ** 2 - 4.0 * c**2
    worst = np.unravel_index(np.argmin(room), room.shape)
    root = r + np.sqrt(np.maximum(room, 0.0))
    lift = c * (1.0 - both**2)
    # (I11), its difference of nearly equal terms multiplied out so that small couplings keep their digits
    coupling = -np.arctanh(_inside(2.0 * lift / root + 4.0 * both * c * (both * r + lift) / root**2))
    return coupling, (int(worst[0]), int(worst[1])) if room[worst] < 0.0 else None


def invert_approximately(
    mean: FloatArray, covariance: FloatArray, n_rounds: int, rng: np.random.Generator | None
) -> tuple[FloatArray, FloatArray]:
    """Return field and coupling by the Bethe approximation, refined by `n_rounds` of simulation.

    >>> field, coupling = invert_approximately(np.array([0.5, 0.5]), np.eye(2) / 4, 0, None)
    >>> float(np.abs(coupling).max())
    0.0
    """
    fit = invert_bethe(mean, covariance)
    if n_rounds > 0:
        generator = check_generator("rng", rng)
        if fit.beyond is None:
            return refine(fit.field, fit.coupling, mean, covariance, n_rounds, generator)
        independent = np.log(mean) - np.log1p(-mean)
        return refine(independent, np.zeros_like(covariance), mean, covariance, n_rounds, generator)
    if fit.beyond is not None:
        warnings.warn(
            f"the correlations, strongest around the pair {fit.beyond}, are beyond the Bethe approximation: "
            "the law's moments will differ from those given; n_rounds=100 brings them nearer",
            RuntimeWarning,
            stacklevel=3,
        )
    return fit.field, fit.coupling


def _inside(values: FloatArray) -> FloatArray:
    """Keep values within (-1, 1) so far that arctanh stays moderate: about 7.3 in spin units."""
    return np.clip(values, -1.0 + 1e-6, 1.0 - 1e-6)


def refine(
    field: FloatArray,
    coupling: FloatArray,
    mean: FloatArray,
    covariance: FloatArray,
    n_rounds: int,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """Move field and coupling, for states in {0,1}, towards the wanted moments by simulation.

    Each round simulates some sweeps of persistent chains, compares moments, and takes the step that would be
    Newton's for a Gaussian of that covariance; the parameters of the second half of the rounds are averaged.

    >>> mean, covariance = np.array([0.5, 0.5]), np.array([[0.25, 0.05], [0.05, 0.25]])
    >>> rng = np.random.default_rng(0)
    >>> field, coupling = refine(np.zeros(2), np.zeros((2, 2)), mean, covariance, 100, rng)
    >>> round(float(coupling[0, 1]), 1)
    0.8
    """
    field, coupling = field.copy(), coupling.copy()
    precision = np.asarray(linalg.inv(covariance), dtype=np.float64)
    states = (rng.random((mean.size, _REFINE_CHAINS)) < mean[:, np.newaxis]).astype(np.float64)
    for _ in range(_REFINE_BURN_IN):
        sweep(states, rng.random(states.shape), field, coupling)
    fields, couplings, n_kept = np.zeros_like(field), np.zeros_like(coupling), 0
    for number in range(n_rounds):
        off_mean, off_covariance = _compare(states, field, coupling, mean, covariance, rng)
        rate = _REFINE_RATE * min(1.0, (_REFINE_CONSTANT_ROUNDS / (number + 1)) ** _REFINE_DECAY)
        change = _clip(rate * precision @ off_covariance @ precision)
        change = (change + change.T) / 2.0
        np.fill_diagonal(change, 0.0)
        coupling += change
        field += _clip(rate * precision @ off_mean) - change @ mean  # (I13)
        if number >= n_rounds // 2:
            fields, couplings, n_kept = fields + field, couplings + coupling, n_kept + 1
    return fields / n_kept, couplings / n_kept


def _clip(change: FloatArray) -> FloatArray:
    return np.clip(change, -_LARGEST_CHANGE, _LARGEST_CHANGE)


def _compare(
    states: FloatArray,
    field: FloatArray,
    coupling: FloatArray,
    mean: FloatArray,
    covariance: FloatArray,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """Simulate some sweeps in place; return wanted minus simulated mean and covariance (its diagonal 0)."""
    total, products = np.zeros_like(mean), np.zeros_like(covariance)
    for _ in range(_REFINE_SWEEPS):
        sweep(states, rng.random(states.shape), field, coupling)
        centred = states - mean[:, np.newaxis]
        total += centred.mean(axis=1)
        products += centred @ centred.T / states.shape[1]
    off_covariance = covariance - products / _REFINE_SWEEPS
    np.fill_diagonal(off_covariance, 0.0)
    return -total / _REFINE_SWEEPS, off_covariance
