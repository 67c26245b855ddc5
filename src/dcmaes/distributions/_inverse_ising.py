"""The inverse Ising problem: field and coupling from means and covariances."""

from __future__ import annotations

import warnings

import numpy as np
from scipy import linalg

from dcmaes._validation import FloatArray
from dcmaes.distributions._heat_bath import sweep
from dcmaes.distributions._ising_table import NotConvergedError, fit_moments

# Refinement: stochastic approximation with averaging (Polyak and Juditsky 1992), measured in
# benchmarks/inverse_ising_error.py. Rates of 0.5 diverge on strong couplings, 0.05 does not arrive in 100
# rounds.
_REFINE_RATE = 0.2
_REFINE_DECAY = 0.6
_REFINE_CONSTANT_ROUNDS = 10
_REFINE_CHAINS = 512
_REFINE_SWEEPS = 5
_REFINE_BURN_IN = 30
_LARGEST_CHANGE = 1.0


def invert_exact(mean: FloatArray, second: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return field and coupling with these moments, by enumeration; raise ValueError if there are none.

    >>> field, coupling = invert_exact(np.array([0.5, 0.5]), np.array([[0.5, 0.25], [0.25, 0.5]]))
    >>> coupling.tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """
    try:
        return fit_moments(mean, second)
    except NotConvergedError as failure:
        first, last = np.unravel_index(np.argmax(np.abs(failure.coupling)), second.shape)
        raise ValueError(
            f"no finite Ising law has these moments: after the search they are off by "
            f"{np.abs(failure.mismatch).max():.3g}, with couplings up to "
            f"{np.abs(failure.coupling).max():.3g}, largest for the pair ({first}, {last}); they are outside "
            f"what a law on {{0,1}}^k can have, or on its boundary"
        ) from None


def invert_bethe(mean: FloatArray, covariance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return field and coupling, for states in {0,1}, by the Bethe approximation, which is exact on trees.

    Parameters
    ----------
    mean, covariance : ndarray, shapes (k,) and (k, k), of the {0,1} variables; covariance positive definite

    Examples
    --------
    >>> field, coupling = invert_bethe(np.array([0.5, 0.5]), np.array([[0.25, 0.05], [0.05, 0.25]]))
    >>> round(float(coupling[0, 1]), 6), round(float(np.log(0.3 * 0.3 / (0.2 * 0.2))), 6)
    (0.81093, 0.81093)
    """
    m = 2.0 * mean - 1.0  # spins s = 2x - 1 in {-1,+1}
    precision = np.asarray(linalg.inv(4.0 * covariance), dtype=np.float64)
    coupling = _bethe_coupling(m, precision)
    t = np.tanh(coupling)
    forward = m - m[:, np.newaxis] * t  # entry (i, j): m_j - m_i t_ij
    room = np.maximum((1.0 - t**2) ** 2 - 4.0 * t * forward * forward.T, 0.0)
    cavity = 2.0 * forward / (1.0 - t**2 + np.sqrt(room))  # mean of spin j with i taken away
    message = np.arctanh(_inside(t * cavity))
    field = np.arctanh(m) - message.sum(axis=1)  # (I12)
    return 2.0 * field - 2.0 * coupling.sum(axis=1), 4.0 * coupling  # (I3)


def _bethe_coupling(m: FloatArray, precision: FloatArray) -> FloatArray:
    """Return couplings for {-1,+1} spins of mean m; warn where correlations are beyond the approximation."""
    c = precision.copy()
    np.fill_diagonal(c, 0.0)
    both = np.outer(m, m)
    variance = 1.0 - m**2
    r = np.sqrt(1.0 + 4.0 * np.outer(variance, variance) * c**2)
    room = (r - 2.0 * both * c) ** 2 - 4.0 * c**2
    if (room < 0.0).any():
        i, j = np.unravel_index(np.argmin(room), room.shape)
        warnings.warn(
            f"the correlations, strongest around the pair ({i}, {j}), are beyond the Bethe approximation: "
            "the law's moments will differ from those given; n_rounds=100 brings them nearer",
            RuntimeWarning,
            stacklevel=4,
        )
    root = r + np.sqrt(np.maximum(room, 0.0))
    lift = c * (1.0 - both**2)
    # (I11), its difference of nearly equal terms multiplied out so that small couplings keep their digits
    return -np.arctanh(_inside(2.0 * lift / root + 4.0 * both * c * (both * r + lift) / root**2))


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

    Each round simulates some sweeps of persistent chains, compares moments, and takes a step scaled by the
    variances of the independent law; the parameters of the second half of the rounds are averaged.

    >>> mean, covariance = np.array([0.5, 0.5]), np.array([[0.25, 0.05], [0.05, 0.25]])
    >>> rng = np.random.default_rng(0)
    >>> field, coupling = refine(np.zeros(2), np.zeros((2, 2)), mean, covariance, 100, rng)
    >>> round(float(coupling[0, 1]), 1)
    0.8
    """
    field, coupling = field.copy(), coupling.copy()
    variance = mean * (1.0 - mean)
    states = (rng.random((mean.size, _REFINE_CHAINS)) < mean[:, np.newaxis]).astype(np.float64)
    for _ in range(_REFINE_BURN_IN):
        sweep(states, rng.random(states.shape), field, coupling)
    fields, couplings, n_kept = np.zeros_like(field), np.zeros_like(coupling), 0
    for number in range(n_rounds):
        off_mean, off_covariance = _compare(states, field, coupling, mean, covariance, rng)
        rate = _REFINE_RATE * min(1.0, (_REFINE_CONSTANT_ROUNDS / (number + 1)) ** _REFINE_DECAY)
        bound = _LARGEST_CHANGE
        change = np.clip(rate * off_covariance / np.outer(variance, variance), -bound, bound)
        coupling += change
        field += np.clip(rate * off_mean / variance, -bound, bound) - change @ mean  # (I13)
        if number >= n_rounds // 2:
            fields, couplings, n_kept = fields + field, couplings + coupling, n_kept + 1
    return fields / n_kept, couplings / n_kept


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
