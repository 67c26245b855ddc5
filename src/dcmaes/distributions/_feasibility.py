"""Which means and covariances a law on a lattice can have: on {0,1}^k, on {0..n_i}, with binomial margins."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from dcmaes._validation import FloatArray, IntArray, check_array, check_probabilities

_DIAGONAL_TOLERANCE = 1e-6  # of a variance, which the mean implies: only gross disagreement is an error
_SYMMETRY_TOLERANCE = 1e-12  # of an entry, or of 1
_SLACK = 1e-9  # in units of the deviations: moments computed in floating point may miss a bound by this much
_STRICT_SLACK = 1e-12  # closer to a bound than this, parameters would be infinite
_ROUNDED = 1e-15  # a variance (per trial) below this is one of a mean that is 0 or 1 up to rounding
_EPSILON = 8 * float(np.finfo(np.float64).eps)
_MAX_TRIPLES_DIMENSION = 200  # k^3 triples: beyond this the check of all would cost more than the inversion


def check_symmetric(
    name: str, matrix: ArrayLike, dimension: int, tolerance: ArrayLike | None = None
) -> FloatArray:
    """Return a fresh matrix (k, k), exactly symmetric, or raise naming the entries that differ by more.

    >>> check_symmetric("quadratic", [[0, 1], [1, 0]], 2).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    result = check_array(name, matrix, shape=(dimension, dimension))
    if tolerance is None:
        tolerance = _SYMMETRY_TOLERANCE * np.maximum(1.0, np.abs(result))
    for i, j in np.argwhere(np.abs(result - result.T) > tolerance)[:1]:
        raise ValueError(
            f"{name} must be symmetric, got {result[i, j]} at ({i}, {j}) and {result[j, i]} at ({j}, {i})"
        )
    return (result + result.T) / 2.0


def frechet_bounds(p: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the least and the greatest covariance (k, k) of pairs of {0,1} variables with means p (k,).

    >>> low, high = frechet_bounds(np.array([0.75, 0.5]))
    >>> float(low[0, 1]), float(high[0, 1])
    (-0.125, 0.125)
    """
    low = np.maximum(-np.outer(p, p), -np.outer(1 - p, 1 - p))
    return low, np.minimum(np.outer(p, 1 - p), np.outer(1 - p, p))  # (I9), (M4); (N4) less both means


def check_moments(mean: ArrayLike, covariance: ArrayLike, *, strictly: bool) -> tuple[FloatArray, FloatArray]:
    """Return mean (k,) and covariance (k, k) of a law on {0,1}^k, its diagonal mean * (1 - mean).

    Parameters
    ----------
    mean, covariance : array_like, shapes (k,) and (k, k)
    strictly : bool
        Whether every state must be possible, so that moments on a bound are refused.

    Raises
    ------
    ValueError
        Naming the variable, pair or triple of variables for which no such law exists.

    Examples
    --------
    >>> mean, covariance = check_moments([0.5, 0.5], [[0.25, 0.1], [0.1, 0.25]], strictly=True)
    >>> covariance.tolist()
    [[0.25, 0.1], [0.1, 0.25]]
    """
    m = check_probabilities("mean", mean, shape=(None,))
    if m.size == 0:
        raise ValueError("mean must not be empty")
    for i in np.flatnonzero((m == 0.0) | (m == 1.0)) if strictly else ():
        raise ValueError(
            f"mean[{i}] is {m[i]:g}: variable {i} is constant, and no finite Ising law makes it so; leave it "
            "out"
        )
    least = np.maximum(m * (1 - m), _ROUNDED)
    c = check_symmetric(
        "covariance", covariance, m.size, _DIAGONAL_TOLERANCE * np.sqrt(np.outer(least, least))
    )
    for i in np.flatnonzero(np.abs(c.diagonal() - m * (1 - m)) > _DIAGONAL_TOLERANCE * least + _ROUNDED):
        raise ValueError(
            f"covariance[{i}, {i}] is {c[i, i]:.8g}, but a {{0,1}} variable of mean {m[i]:.8g} has variance "
            f"mean * (1 - mean) = {m[i] * (1 - m[i]):.8g} (numpy.cov needs ddof=0 to agree)"
        )
    # A mean that rounds to 0 or 1 says nothing about the variance, which the covariance may still have.
    variance = np.where(m * (1 - m) > _ROUNDED, m * (1 - m), np.maximum(c.diagonal(), 0.0))
    np.fill_diagonal(c, variance)
    slack = _STRICT_SLACK if strictly else -_SLACK
    _check_pairs(m, c, slack)
    _check_definite(c, slack)
    _check_triples(m, c, slack)
    return m, c


def _check_pairs(m: FloatArray, c: FloatArray, least: float) -> None:
    """Check the Frechet bounds max(0, m_i + m_j - 1) < E[x_i x_j] < min(m_i, m_j), in units of deviations."""
    low, high = frechet_bounds(m)
    deviation = np.sqrt(np.maximum(c.diagonal(), _ROUNDED))
    # A mean near 1 is rounded by more than the rare event that it is not: the bounds are no sharper than
    # that.
    rounding = _EPSILON * np.maximum.outer(m, m) if least < 0 else 0.0
    slack = (np.minimum(c - low, high - c) + rounding) / np.outer(deviation, deviation)
    np.fill_diagonal(slack, np.inf)
    for i, j in np.argwhere(slack < least)[:1]:
        bounds = f"{low[i, j]:.8g} and {high[i, j]:.8g}"
        given = f"covariance[{i}, {j}] = {c[i, j]:.8g} of the pair ({i}, {j})"
        if slack[i, j] < -_SLACK:
            raise ValueError(f"{given} must lie between the Frechet bounds {bounds} of its means")
        raise ValueError(
            f"{given} is on a Frechet bound ({bounds}): one of its four states is impossible, and no finite "
            "Ising law makes it so; move it inside"
        )


def _check_definite(c: FloatArray, least: float) -> None:
    deviation = np.sqrt(np.maximum(c.diagonal(), _ROUNDED))
    correlation = c / np.outer(deviation, deviation)
    np.fill_diagonal(correlation, 1.0)
    values, vectors = linalg.eigh(correlation, subset_by_index=(0, 0))
    if values[0] > least:
        return
    direction = vectors[:, 0]
    share = correlation * np.outer(direction, direction)
    np.fill_diagonal(share, np.inf)
    i, j = sorted(int(n) for n in np.unravel_index(np.argmin(share), share.shape))
    pair = f"covariance[{i}, {j}] = {c[i, j]:.8g} of the pair ({i}, {j})"
    if values[0] < -_SLACK:
        raise ValueError(
            "covariance must be positive semidefinite, but the correlation matrix has the eigenvalue "
            f"{values[0]:.6g}; {pair} contributes most to it"
        )
    raise ValueError(
        "covariance is singular: a combination of the variables is constant, and no finite law makes it so; "
        f"{pair} contributes most to it"
    )


def _check_triples(m: FloatArray, c: FloatArray, least: float) -> None:
    """Check the triangle inequalities, which together with the pair bounds settle k = 3.

    Zeros and ones are exchanged where ones are the rule, so that the probabilities of rare events keep their
    digits.
    """
    if not 3 <= m.size <= _MAX_TRIPLES_DIMENSION:
        return
    sign = np.where(m > 0.5, -1.0, 1.0)
    rare = np.where(m > 0.5, 1.0 - m, m)
    second = c * np.outer(sign, sign) + np.outer(rare, rare)
    np.fill_diagonal(second, rare)
    deviation = np.sqrt(np.maximum(c.diagonal(), _ROUNDED))
    for i in range(m.size):
        # (I10): the chance that x_i differs from both others, and that all three agree, in pair moments
        row = second[i]
        apart = rare[i] - row[:, np.newaxis] - row + second
        joint = 1.0 - rare[i] - rare[:, np.newaxis] - rare + row[:, np.newaxis] + row + second
        rounding = _EPSILON * np.maximum(m[i], np.maximum.outer(m, m)) if least < 0 else 0.0
        slack = np.minimum(apart, joint) + rounding
        slack /= np.minimum(deviation[i], np.minimum.outer(deviation, deviation))
        slack[i, :] = slack[:, i] = np.inf
        np.fill_diagonal(slack, np.inf)
        for j, n in itertools.islice(np.argwhere(slack < least), 1):
            a, b, last = sorted((i, int(j), int(n)))
            raise ValueError(
                f"no law on {{0,1}}^k{' in which every state is possible' if least > 0 else ''} has these "
                f"moments: the covariances of the pairs ({a}, {b}), ({a}, {last}) and ({b}, {last}) "
                f"contradict one another by {-min(apart[j, n], joint[j, n]):.3g}"
            )


def check_lattice_moments(
    trials: IntArray, mean: FloatArray, covariance: ArrayLike
) -> tuple[FloatArray, FloatArray]:
    """Return mean (k,) and covariance (k, k) that variables with states 0..n_i may have, one by one.

    Raises ValueError naming the variable whose mean or variance is impossible: a law on whole numbers within
    0..n has a variance of at most mean * (n - mean), and of at least what the fraction of its mean asks for.

    >>> check_lattice_moments(np.array([2]), np.array([0.5]), [[0.5]])[1].tolist()
    [[0.5]]
    """
    for i in np.flatnonzero((mean <= 0) | (mean >= trials)):
        raise ValueError(f"mean[{i}] must lie strictly between 0 and trials = {trials[i]}, got {mean[i]}")
    c = check_array("covariance", covariance, shape=(mean.size, mean.size))
    variance = c.diagonal()
    fraction = mean - np.floor(mean)
    low, high = fraction * (1.0 - fraction), mean * (trials - mean)
    for i in np.flatnonzero(
        (variance <= 0) | (variance < low - _SLACK * high) | (variance > high * (1.0 + _SLACK))
    ):
        raise ValueError(
            f"covariance[{i}, {i}] must be positive, and between {low[i]:.8g} and {high[i]:.8g} for a "
            f"mean of {mean[i]:g} on 0..{trials[i]}, got {variance[i]:g}"
        )
    scale = np.sqrt(np.outer(variance, variance))
    c = check_symmetric("covariance", c, mean.size, _DIAGONAL_TOLERANCE * scale)
    _check_definite(c, -_SLACK)
    return mean, c


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
    lower, upper = frechet_bounds(p)
    for matrix in (lower, upper, per_trial):
        np.fill_diagonal(matrix, p * (1 - p))
    slack = _SLACK * np.outer(deviation, deviation)
    for i, j in np.argwhere((per_trial < lower - slack) | (per_trial > upper + slack))[:1]:
        raise ValueError(
            f"covariance[{i}, {j}] must lie between {shared[i, j] * lower[i, j]:.10g} and "
            f"{shared[i, j] * upper[i, j]:.10g}, the bounds of draws shared by the pair ({i}, {j}) with "
            f'means {mean[i]} and {mean[j]}, got {covariance[i, j]}; coupling="quantile" may reach further'
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
    for i in np.flatnonzero((mean < 0) | (mean > trials)):
        raise ValueError(f"mean[{i}] must lie between 0 and trials = {trials[i]}, got {mean[i]}")
    variance = mean * (1 - mean / trials)
    deviation = np.sqrt(np.maximum(variance, trials * _ROUNDED))
    tolerance = _DIAGONAL_TOLERANCE * np.outer(deviation, deviation)
    result = check_symmetric("covariance", covariance, mean.size, tolerance)
    for i in np.flatnonzero(np.abs(result.diagonal() - variance) > tolerance.diagonal()):
        raise ValueError(
            f"covariance[{i}, {i}] must be mean * (1 - mean / trials) = {variance[i]:.10g}, "
            f"got {result[i, i]}"
        )
    np.fill_diagonal(result, variance)
    return mean, result
