"""Which means and covariances a vector of correlated binomial variables can have, pair by pair."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dcmaes._validation import FloatArray, IntArray, check_array
from dcmaes.distributions._bivariate_normal import joint_bounds

# Both per trial. The diagonal is implied by the mean: only gross disagreement is an error.
_DIAGONAL_TOLERANCE = 1e-6
_SLACK = 1e-9  # moments computed in floating point may miss a bound by this much


def check_binomial_moments(
    mean: ArrayLike, covariance: ArrayLike, trials: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return mean and covariance per trial of sums of {0,1} variables, or raise naming the offending pair.

    Checks shapes, 0 <= mean <= trials, symmetry, the diagonal n p (1 - p), and that every pair is within the
    Frechet bounds (M4); a pair beyond a bound by rounding only is brought back onto it. Whether all pairs
    are possible together is not decided here.

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
    mean = check_array("mean", mean, shape=trials.shape)
    covariance = check_array("covariance", covariance, shape=trials.shape * 2)
    for i in np.flatnonzero((mean < 0) | (mean > trials)):
        raise ValueError(f"mean[{i}] must lie between 0 and trials = {trials[i]}, got {mean[i]}")
    shared = np.minimum.outer(trials, trials)
    p, per_trial = mean / trials, covariance / shared
    variance = p * (1 - p)
    _check_symmetry_and_diagonal(covariance, shared, variance)
    lower, upper = (bound - np.outer(p, p) for bound in joint_bounds(p[:, np.newaxis], p))  # (M4)
    np.fill_diagonal(lower, variance)
    np.fill_diagonal(upper, variance)
    per_trial[np.diag_indices_from(per_trial)] = variance
    for i, j in np.argwhere((per_trial < lower - _SLACK) | (per_trial > upper + _SLACK)):
        raise ValueError(
            f"covariance[{i}, {j}] must lie between {shared[i, j] * lower[i, j]:.10g} and "
            f"{shared[i, j] * upper[i, j]:.10g}, the Frechet bounds of the pair ({i}, {j}) with means "
            f"{mean[i]} and {mean[j]}, got {covariance[i, j]}"
        )
    return p, np.clip((per_trial + per_trial.T) / 2, lower, upper)


def _check_symmetry_and_diagonal(covariance: FloatArray, shared: IntArray, variance: FloatArray) -> None:
    for i, j in np.argwhere(np.abs(covariance - covariance.T) > _DIAGONAL_TOLERANCE * shared):
        raise ValueError(
            f"covariance must be symmetric, got {covariance[i, j]} at ({i}, {j}) "
            f"and {covariance[j, i]} at ({j}, {i})"
        )
    wanted = shared.diagonal() * variance
    for i in np.flatnonzero(np.abs(covariance.diagonal() - wanted) > _DIAGONAL_TOLERANCE * shared.diagonal()):
        raise ValueError(
            f"covariance[{i}, {i}] must be mean * (1 - mean / trials) = {wanted[i]:.10g}, "
            f"got {covariance[i, i]}"
        )
