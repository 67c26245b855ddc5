"""The identities of exponential families on a finite set of states, p(x) = exp(<theta, T(x)> - A).

They are written for tables: a family supplies the log weights <theta, T(x)> of its states, and gets all else
here. Tables have one axis per variable, whose states are 0, 1, ...; log weights of -inf stand for states of
probability zero.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dcmaes._validation import FloatArray


class Normalised(NamedTuple):
    """Log probabilities, in the shape of the log weights they came from, and the log partition function."""

    log_probabilities: FloatArray
    log_partition: float


def normalise(log_weights: FloatArray) -> Normalised:
    """Return log weights less their log partition A, and A, without overflow or loss of digits.

    The largest weight is taken off first: A itself may be so large that it has no digits left after the
    point.

    >>> law = normalise(np.array([1e10, 1e10]))
    >>> law.log_probabilities.round(6), round(law.log_partition - 1e10, 5)
    (array([-0.693147, -0.693147]), 0.69315)
    """
    top = float(log_weights.max())
    if np.isinf(top):
        return Normalised(log_weights, top)
    shifted = log_weights - top
    rest = float(np.log(np.exp(shifted).sum()))
    return Normalised(shifted - rest, top + rest)  # (E2)


def kl(log_p: FloatArray, log_q: FloatArray) -> float:
    """Return the divergence of q from p in nats; inf where p has a state that q excludes.

    >>> round(kl(np.log([0.5, 0.5]), np.log([0.25, 0.75])), 6)
    0.143841
    """
    probabilities = np.exp(log_p)
    with np.errstate(invalid="ignore"):  # -inf minus -inf, on states both exclude
        ratio = np.where(probabilities > 0, log_p - log_q, 0.0)
    return max(0.0, float((probabilities * ratio).sum()))  # (E6)


def marginals(probabilities: FloatArray) -> list[FloatArray]:
    """Return the probabilities of the states of each variable, each summing to one.

    >>> [p.round(12).tolist() for p in marginals(np.array([[0.1, 0.2], [0.3, 0.4]]))]
    [[0.3, 0.7], [0.4, 0.6]]
    """
    result = []
    rest = probabilities
    for size in probabilities.shape:
        rest = rest.reshape(size, -1)
        own = rest.sum(axis=1)
        result.append(own / own.sum())
        rest = rest.sum(axis=0)
    return result


def moments(probabilities: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean (k,) and covariance (k, k) of a table with one axis of states 0, 1, ... per variable.

    The mean is the gradient of A in the first-order parameters, the covariance its Hessian. Axes are summed
    out one by one, so that all pairs together cost a few passes over the table. States are counted from the
    one nearest to the mean, so that rare departures from it keep their digits.

    >>> mean, covariance = moments(np.array([[0.1, 0.2], [0.3, 0.4]]))
    >>> mean.round(12).tolist(), covariance.round(12).tolist()
    ([0.7, 0.6], [[0.21, -0.02], [-0.02, 0.24]])
    """
    shape = probabilities.shape
    dimension = len(shape)
    own = marginals(probabilities)
    means = [float(p @ np.arange(p.size)) for p in own]
    centres = [round(mean) for mean in means]
    values = [np.arange(size) - centre for size, centre in zip(shape, centres, strict=True)]
    offset = np.array([p @ x for p, x in zip(own, values, strict=True)])
    result = np.zeros((dimension, dimension))
    rest = probabilities
    for i in range(dimension):
        rest = rest.reshape(shape[i], -1)
        result[i, i] = own[i] @ (values[i] - offset[i]) ** 2  # (E4)
        tail = values[i] @ rest
        for j in range(i + 1, dimension):
            tail = tail.reshape(shape[j], -1)
            result[i, j] = result[j, i] = values[j] @ tail.sum(axis=1) - offset[i] * offset[j]  # (E4)
            tail = tail.sum(axis=0)
        rest = rest.sum(axis=0)
    largest = np.array(shape) - 1.0
    return np.clip(np.array(centres) + offset, 0.0, largest), result  # (E3)


def log_marginals(log_probabilities: FloatArray) -> list[FloatArray]:
    """Return the log probabilities of the states of each variable of a table.

    >>> [np.exp(p).round(12).tolist() for p in log_marginals(np.log([[0.1, 0.2], [0.3, 0.4]]))]
    [[0.3, 0.7], [0.4, 0.6]]
    """
    result = []
    rest = log_probabilities
    for size in log_probabilities.shape:
        rest = rest.reshape(size, -1)
        result.append(np.logaddexp.reduce(rest, axis=1))
        rest = np.logaddexp.reduce(rest, axis=0)
    return result
