"""The identities of exponential families on a finite set of states, p(x) = exp(<theta, T(x)> - A).

They are written for tables: a family supplies the log weights <theta, T(x)> of its states, and gets all else
here. Tables may have any shape; log weights of -inf stand for states of probability zero.
"""

from __future__ import annotations

import numpy as np

from dcmaes._validation import FloatArray


def log_partition(log_weights: FloatArray) -> float:
    """Return A = log of the sum of exp(log weights), without overflow.

    >>> round(log_partition(np.array([1000.0, 1000.0])), 6)
    1000.693147
    """
    top = float(log_weights.max())
    if np.isinf(top):
        return top
    return top + float(np.log(np.exp(log_weights - top).sum()))  # (E2)


def kl(log_p: FloatArray, log_q: FloatArray) -> float:
    """Return the divergence of q from p in nats; inf where p has a state that q excludes.

    >>> round(kl(np.log([0.5, 0.5]), np.log([0.25, 0.75])), 6)
    0.143841
    """
    probabilities = np.exp(log_p)
    with np.errstate(invalid="ignore"):  # -inf minus -inf, on states both exclude
        ratio = np.where(probabilities > 0, log_p - log_q, 0.0)
    return max(0.0, float((probabilities * ratio).sum()))  # (E6)


def moments(probabilities: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean (k,) and second moments E[x_i x_j] (k, k) of a table of shape (2,)*k.

    The mean is the gradient of A in the first-order parameters; second moments minus products of means are
    its Hessian. Axes are summed out one by one, so that all pairs together cost O(2^k).

    >>> mean, second = moments(np.array([[0.1, 0.2], [0.3, 0.4]]))
    >>> mean.round(12).tolist(), second.round(12).tolist()
    ([0.7, 0.6], [[0.7, 0.4], [0.4, 0.6]])
    """
    dimension = probabilities.ndim
    second = np.zeros((dimension, dimension))
    rest = probabilities.reshape(-1)
    for i in range(dimension):
        zeros, ones = rest.reshape(2, -1)
        second[i, i] = ones.sum()  # (E3)
        tail = ones
        for j in range(i + 1, dimension):
            tail_zeros, tail_ones = tail.reshape(2, -1)
            second[i, j] = second[j, i] = tail_ones.sum()  # (E4)
            tail = tail_zeros + tail_ones
        rest = zeros + ones
    return second.diagonal().copy(), second


def covariance(mean: FloatArray, second: FloatArray) -> FloatArray:
    """Return the covariance of a vector in {0,1}^k from its mean and second moments.

    >>> covariance(np.array([0.5, 0.5]), np.array([[0.5, 0.5], [0.5, 0.5]])).tolist()
    [[0.25, 0.25], [0.25, 0.25]]
    """
    result = second - np.outer(mean, mean)  # (E4)
    np.fill_diagonal(result, mean * (1.0 - mean))
    return result


def log_marginals(log_probabilities: FloatArray) -> FloatArray:
    """Return log P(x_i = 0) and log P(x_i = 1), shape (k, 2), of a table of shape (2,)*k.

    >>> np.exp(log_marginals(np.log([[0.1, 0.2], [0.3, 0.4]]))).round(12).tolist()
    [[0.3, 0.7], [0.4, 0.6]]
    """
    result = np.empty((log_probabilities.ndim, 2))
    rest = log_probabilities.reshape(-1)
    for i in range(log_probabilities.ndim):
        zeros, ones = rest.reshape(2, -1)
        result[i] = log_partition(zeros), log_partition(ones)
        rest = np.logaddexp(zeros, ones)
    return result
