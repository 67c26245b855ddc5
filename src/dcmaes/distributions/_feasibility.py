"""Which means and covariances a law on {0,1}^k can have, and inside that which an Ising model can have."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from dcmaes._validation import FloatArray, check_array, check_probabilities

_DIAGONAL_TOLERANCE = 1e-6  # the diagonal is implied by the mean: only gross disagreement is an error
_SLACK = 1e-12  # closer to a bound than this, an Ising model would need infinite parameters
_MAX_TRIPLES_DIMENSION = 200  # k^3 triples: beyond this the check of all would cost more than the inversion


def check_moments(mean: ArrayLike, covariance: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return mean (k,) and second moments E[x_i x_j] (k, k) of a law on {0,1}^k with every state possible.

    Raises
    ------
    ValueError
        Naming the variable, pair or triple of variables for which no such law exists.

    Examples
    --------
    >>> mean, second = check_moments([0.5, 0.5], [[0.25, 0.1], [0.1, 0.25]])
    >>> second.tolist()
    [[0.5, 0.35], [0.35, 0.5]]
    """
    m = check_probabilities("mean", mean, shape=(None,))
    if m.size == 0:
        raise ValueError("mean must not be empty")
    for i in np.flatnonzero((m == 0.0) | (m == 1.0)):
        raise ValueError(
            f"mean[{i}] is {m[i]:g}: variable {i} is constant, and no finite Ising law makes it so; leave it "
            "out"
        )
    c = check_array("covariance", covariance, shape=(m.size, m.size))
    _check_symmetric_with_diagonal(c, m)
    second = c + np.outer(m, m)
    np.fill_diagonal(second, m)
    _check_pairs(m, second)
    _check_definite(c, m)
    _check_triples(m, second)
    return m, (second + second.T) / 2.0


def _check_symmetric_with_diagonal(c: FloatArray, m: FloatArray) -> None:
    for i, j in np.argwhere(np.abs(c - c.T) > _DIAGONAL_TOLERANCE):
        raise ValueError(
            f"covariance must be symmetric, but entry ({i}, {j}) is {c[i, j]:.6g} and ({j}, {i}) is "
            f"{c[j, i]:.6g}"
        )
    for i in np.flatnonzero(np.abs(c.diagonal() - m * (1 - m)) > _DIAGONAL_TOLERANCE):
        raise ValueError(
            f"covariance[{i}, {i}] is {c[i, i]:.8g}, but a {{0,1}} variable of mean {m[i]:.8g} has variance "
            f"mean * (1 - mean) = {m[i] * (1 - m[i]):.8g} (numpy.cov needs ddof=0 to agree)"
        )


def _check_pairs(m: FloatArray, second: FloatArray) -> None:
    """Check the Frechet bounds max(0, m_i + m_j - 1) < E[x_i x_j] < min(m_i, m_j)."""
    low = np.maximum(0.0, m[:, np.newaxis] + m - 1.0)
    high = np.minimum(m[:, np.newaxis], m)  # (I9)
    slack = np.minimum(second - low, high - second)
    np.fill_diagonal(slack, np.inf)
    for i, j in np.argwhere(slack < _SLACK)[:1]:
        bounds = f"{low[i, j] - m[i] * m[j]:.8g} and {high[i, j] - m[i] * m[j]:.8g}"
        given = f"covariance[{i}, {j}] = {second[i, j] - m[i] * m[j]:.8g} of the pair ({i}, {j})"
        if slack[i, j] < -_SLACK:
            raise ValueError(f"{given} must lie between the Frechet bounds {bounds} of its means")
        raise ValueError(
            f"{given} is on a Frechet bound ({bounds}): one of its four states is impossible, and no finite "
            "Ising law makes it so; move it inside"
        )


def _check_definite(c: FloatArray, m: FloatArray) -> None:
    spread = np.sqrt(m * (1 - m))
    correlation = (c + c.T) / (2.0 * np.outer(spread, spread))
    np.fill_diagonal(correlation, 1.0)
    values, vectors = linalg.eigh(correlation, subset_by_index=(0, 0))
    if values[0] > _SLACK:
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
        "covariance is singular: a combination of the variables is constant, and no finite Ising law makes "
        f"it so; {pair} contributes most to it"
    )


def _check_triples(m: FloatArray, second: FloatArray) -> None:
    """Check the triangle inequalities, which together with the pair bounds settle k = 3."""
    if not 3 <= m.size <= _MAX_TRIPLES_DIMENSION:
        return
    for i in range(m.size):
        # (I10): the chance that x_i differs from both others, and that all three agree, in pair moments
        row = second[i]
        apart = m[i] - row[:, np.newaxis] - row + second
        joint = 1.0 - m[i] - m[:, np.newaxis] - m + row[:, np.newaxis] + row + second
        slack = np.minimum(apart, joint)
        slack[i, :] = slack[:, i] = np.inf
        np.fill_diagonal(slack, np.inf)
        for j, n in itertools.islice(np.argwhere(slack < _SLACK), 1):
            a, b, c = sorted((i, int(j), int(n)))
            raise ValueError(
                f"no law on {{0,1}}^k in which every state is possible has these moments: the covariances of "
                f"the pairs ({a}, {b}), ({a}, {c}) and ({b}, {c}) contradict one another by "
                f"{-slack[j, n]:.3g}"
            )
