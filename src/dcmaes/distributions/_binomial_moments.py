"""Which means and covariances a vector of correlated binomial variables can have, pair by pair."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dcmaes._validation import FloatArray, IntArray, check_array

# Both in units of the deviations. The diagonal is implied by the mean: only gross disagreement is an error.
_DIAGONAL_TOLERANCE = 1e-6
_SLACK = 1e-9  # moments computed in floating point may miss a bound by this much
_ROUNDED = 1e-15  # a variance per trial below this is one of a mean that is 0 or n up to rounding


def check_binomial_moments(
    mean: ArrayLike, covariance: ArrayLike, trials: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return mean and covariance per trial of sums of {0,1} variables, or raise naming the offending pair.

    Checks shapes, 0 <= mean <= trials, symmetry, the diagonal n p (1 - p), and that every pair is within the
    bounds of shared draws (M4); a pair beyond a bound by rounding only is brought back onto it. Whether all
    pairs are possible together is not decided here.

    Parameters
    ----------
    mean : array_like, shape (k,)
    covariance : array_like, shape (k, k)
    trials : ndarray of int64, shape (k,)
        Trials of each coordinate; coordinates i and j share min(n_i, n_j) of them.

    Examples
    --------
    >>> mean, covariance = check_binomial_moments([1.0, 1.0], [[0.5, 0.25], [0.25, 0.5]], np.array([2, 2]))
    >>> mean.tolist(), covariance.tolist()
    ([0.5, 0.5], [[0.25, 0.125], [0.125, 0.25]])
    """
    mean, covariance = check_binomial_diagonal(mean, covariance, trials)
    p = mean / trials
    shared = np.minimum.outer(trials, trials)
    deviation = np.sqrt(np.maximum(p * (1 - p), _ROUNDED))
    per_trial = covariance / shared
    lower = np.maximum(-np.outer(p, p), -np.outer(1 - p, 1 - p))
    upper = np.minimum(np.outer(p, 1 - p), np.outer(1 - p, p))  # (M4)
    np.fill_diagonal(lower, p * (1 - p))
    np.fill_diagonal(upper, p * (1 - p))
    per_trial[np.diag_indices_from(per_trial)] = p * (1 - p)
    slack = _SLACK * np.outer(deviation, deviation)
    for i, j in np.argwhere((per_trial < lower - slack) | (per_trial > upper + slack))[:1]:
        raise ValueError(
            f"covariance[{i}, {j}] must lie between {shared[i, j] * lower[i, j]:.10g} and "
            f"{shared[i, j] * upper[i, j]:.10g}, the bounds of draws shared by the pair ({i}, {j}) with "
            f"means "
            f'{mean[i]} and {mean[j]}, got {covariance[i, j]}; coupling="quantile" may reach further'
        )
    return p, np.clip(per_trial, lower, upper)


def check_binomial_diagonal(
    mean: ArrayLike, covariance: ArrayLike, trials: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return mean and symmetric covariance whose diagonal is that of binomial variables, or raise.

    >>> check_binomial_diagonal([1.0], [[0.5]], np.array([2]))
    (array([1.]), array([[0.5]]))
    """
    mean = check_array("mean", mean, shape=trials.shape)
    covariance = check_array("covariance", covariance, shape=trials.shape * 2)
    for i in np.flatnonzero((mean < 0) | (mean > trials)):
        raise ValueError(f"mean[{i}] must lie between 0 and trials = {trials[i]}, got {mean[i]}")
    wanted = mean * (1 - mean / trials)
    deviation = np.sqrt(np.maximum(wanted, trials * _ROUNDED))
    tolerance = _DIAGONAL_TOLERANCE * np.outer(deviation, deviation)
    for i, j in np.argwhere(np.abs(covariance - covariance.T) > tolerance)[:1]:
        raise ValueError(
            f"covariance must be symmetric, got {covariance[i, j]} at ({i}, {j}) "
            f"and {covariance[j, i]} at ({j}, {i})"
        )
    for i in np.flatnonzero(np.abs(covariance.diagonal() - wanted) > tolerance.diagonal()):
        raise ValueError(
            f"covariance[{i}, {i}] must be mean * (1 - mean / trials) = {wanted[i]:.10g}, "
            f"got {covariance[i, i]}"
        )
    result = (covariance + covariance.T) / 2
    np.fill_diagonal(result, wanted)
    return mean, result
