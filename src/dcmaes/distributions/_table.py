"""Tables over the states of a small lattice {0..n_1} x ... x {0..n_k}: their states, sums, moments and draws.

A table has one axis per variable, whose states are 0, 1, ...; its cells, flattened, are in C order. For an
exponential family p(x) = exp(<theta, T(x)> - A), the table of the log weights <theta, T(x)> is all that it
supplies; log weights of -inf stand for states of probability zero.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from dcmaes._validation import FloatArray, IntArray, check_array, check_integer, check_probabilities

_SUM_TOLERANCE = 1e-8  # as numpy.random.Generator.choice: the square root of the float64 resolution, rounded
_LARGEST_SIZE = 2**40  # points of one draw: beyond what memory can hold


def enumerate_states(shape: tuple[int, ...]) -> IntArray:
    """Return all states of a lattice, shape (number of states, k).

    >>> enumerate_states((2, 3)).tolist()
    [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
    """
    return states_of_index(np.arange(math.prod(shape)), shape)


def states_of_index(index: IntArray, shape: tuple[int, ...]) -> IntArray:
    """Return the states at flat positions `index` of a table of that shape, shape (*index.shape, k).

    >>> states_of_index(np.array([1, 2]), (2, 2)).tolist()
    [[0, 1], [1, 0]]
    """
    if shape == (2,) * len(shape):  # bits, as numpy has no more than 32 or 64 axes
        return (index[..., np.newaxis] >> np.arange(len(shape) - 1, -1, -1)) & 1
    return np.stack(np.unravel_index(index, shape), axis=-1).astype(np.int64, copy=False)


def locate(points: FloatArray, shape: tuple[int, ...]) -> tuple[IntArray, NDArray[np.bool_]]:
    """Find points (..., k) on the lattice 0..shape[i]-1: flat index, and whether each is on it.

    Points off the lattice get index 0; a probability table answers 0 for them, as scipy.stats does.

    >>> index, inside = locate(np.array([[1.0, 0.0], [0.5, 0.0], [2.0, 0.0]]), (2, 2))
    >>> index.tolist(), inside.tolist()
    ([2, 0, 0], [True, False, False])
    """
    inside = are_states(points, shape)
    strides = np.array([math.prod(shape[i + 1 :]) for i in range(len(shape))], dtype=np.int64)
    index = np.where(inside[..., np.newaxis], points, 0.0).astype(np.int64) @ strides
    return np.asarray(index, dtype=np.int64), inside


def are_states(points: FloatArray, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Tell which of the points (..., k) are on the lattice 0..shape[i]-1."""
    inside = (points >= 0) & (points < np.array(shape)) & (points == np.floor(points))
    return np.asarray(inside.all(axis=-1))


def check_points(name: str, x: ArrayLike, dimension: int) -> FloatArray:
    """Return `x` as a fresh float array of shape (..., dimension) with finite entries, or raise.

    >>> check_points("x", [0, 1], 2)
    array([0., 1.])
    """
    points = check_array(name, x)
    if points.ndim == 0 or points.shape[-1] != dimension:
        raise ValueError(f"{name} must have shape (..., {dimension}), got {points.shape}")
    return points


def check_whole(
    name: str, values: FloatArray, low: float | IntArray = -np.inf, high: float | IntArray = np.inf
) -> FloatArray:
    """Return `values`, or raise naming the first that is not a whole number from `low` to `high`.

    The ends are numbers, or arrays (k,) for the k variables along the last axis.

    >>> check_whole("x", np.array([[0.0, 3.0]]), high=np.array([1, 2]))
    Traceback (most recent call last):
    ValueError: x must hold whole numbers up to 2 for variable 1, got 3 at index (0, 1)
    """
    outside = (values < low) | (values > high) | (values != np.floor(values))
    for where in np.argwhere(outside)[:1]:
        at = tuple(where.tolist())
        least, greatest = (np.broadcast_to(end, values.shape)[at] for end in (low, high))
        start = "" if np.isinf(least) else f" from {int(least)}"
        end = "" if np.isinf(greatest) else f" {'to' if start else 'up to'} {int(greatest)}"
        variable = f" for variable {at[-1]}" if np.ndim(high) else ""
        place = at if len(at) > 1 else at[0] if at else ()
        raise ValueError(
            f"{name} must hold whole numbers{start}{end}{variable}, got {values[at]:g} at index {place}"
        )
    return values


def check_size(size: Any) -> tuple[int, ...]:
    """Return the shape asked for by `size`: None for a single draw, an int, or a tuple of ints, as in numpy.

    >>> check_size(None), check_size(3), check_size((2, 3))
    ((), (3,), (2, 3))
    """
    if size is None:
        return ()
    given = size if isinstance(size, tuple) else (size,)
    shape = tuple(check_integer("size", n, low=0) for n in given)
    if math.prod(shape) > _LARGEST_SIZE:
        raise ValueError(f"size must ask for at most {_LARGEST_SIZE} points, got {size}")
    return shape


def check_indices(name: str, indices: Any, dimension: int) -> tuple[int, ...]:
    """Return distinct indices within 0..dimension-1 as a tuple, or raise naming the offender.

    >>> check_indices("indices", [2, 0], 3)
    (2, 0)
    """
    try:
        given = tuple(indices)
    except TypeError:
        raise TypeError(f"{name} must be a sequence of integers, got {indices!r}") from None
    result = tuple(check_integer(f"an index in {name}", i, low=0, high=dimension - 1) for i in given)
    if len(set(result)) < len(result):
        raise ValueError(f"{name} must not repeat an index, got {result}")
    return result


def check_pmf(name: str, values: ArrayLike, *, shape: tuple[int | None, ...] | None = None) -> FloatArray:
    """Return a fresh table of probabilities that sum to one (rescaled to do so exactly), or raise.

    >>> check_pmf("probabilities", [0.25, 0.75])
    array([0.25, 0.75])
    """
    table = check_probabilities(name, values, shape=shape)
    if table.size == 0:
        raise ValueError(f"{name} must not be empty, got shape {table.shape}")
    total = float(table.sum())
    if abs(total - 1.0) > _SUM_TOLERANCE:
        raise ValueError(f"{name} must sum to 1, got a sum of {total:.10g}")
    return table / total


def cumulate(probabilities: FloatArray) -> FloatArray:
    """Return the running sums of a table of any shape, flattened and ending at exactly 1.

    >>> cumulate(np.array([[0.25, 0.25], [0.5, 0.0]]))
    array([0.25, 0.5 , 1.  , 1.  ])
    """
    sums = np.cumsum(probabilities, axis=None)
    return np.asarray(sums / sums[-1])


def survival_function(probabilities: FloatArray) -> FloatArray:
    """Return P(X >= 1), P(X >= 2), ... from the probabilities of 0, 1, ..., summed from the far end.

    >>> survival_function(np.array([0.5, 0.25, 0.25]))
    array([0.5 , 0.25])
    """
    return np.minimum(np.cumsum(probabilities[:0:-1])[::-1], 1.0)


def in_deviations(matrix: FloatArray, variance: FloatArray) -> FloatArray:
    """Return entries (k, k) over the deviations of their two variables; 0 where one of them is constant.

    >>> in_deviations(np.array([[4.0, 1.0], [1.0, 0.0]]), np.array([4.0, 0.0])).tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    deviation = np.sqrt(variance)
    scale = np.outer(deviation, deviation)
    return np.asarray(np.divide(matrix, scale, out=np.zeros_like(scale), where=scale > 0))


def sample_table(cumulative: FloatArray, uniforms: FloatArray) -> IntArray:
    """Return flat indices drawn by inverting `cumulate(probabilities)` at `uniforms` in [0, 1).

    Cells of probability zero are never drawn: the first cell whose running sum exceeds the uniform is.

    >>> sample_table(cumulate(np.array([0.5, 0.0, 0.5])), np.array([0.0, 0.49, 0.5, 0.99]))
    array([0, 0, 2, 2])
    """
    return np.searchsorted(cumulative, uniforms, side="right").astype(np.int64, copy=False)


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


def entropy(probabilities: FloatArray) -> float:
    """Return the Shannon entropy of a table in nats, with 0 log 0 = 0.

    >>> round(entropy(np.array([0.5, 0.5, 0.0])), 6)
    0.693147
    """
    return float(special.entr(probabilities).sum())  # (E5)


def kl(log_p: FloatArray, log_q: FloatArray) -> float:
    """Return the divergence of q from p in nats; inf where p has a state that q excludes.

    >>> round(kl(np.log([0.5, 0.5]), np.log([0.25, 0.75])), 6)
    0.143841
    """
    probabilities = np.exp(log_p)
    with np.errstate(invalid="ignore"):  # -inf minus -inf, on states both exclude
        ratio = np.where(probabilities > 0, log_p - log_q, 0.0)
    return max(0.0, float((probabilities * ratio).sum()))  # (E6)


def marginals(table: FloatArray, add: np.ufunc = np.add) -> list[FloatArray]:
    """Return the sums over all other variables for the states of each: of probabilities, or of their logs.

    >>> [p.round(12).tolist() for p in marginals(np.array([[0.1, 0.2], [0.3, 0.4]]))]
    [[0.3, 0.7], [0.4, 0.6]]
    >>> [np.exp(p).round(12).tolist() for p in marginals(np.log([[0.1, 0.2], [0.3, 0.4]]), np.logaddexp)]
    [[0.3, 0.7], [0.4, 0.6]]
    """
    result = []
    rest = table
    for size in table.shape:
        rest = rest.reshape(size, -1)
        result.append(add.reduce(rest, axis=1))
        rest = add.reduce(rest, axis=0)
    return result


def moments(probabilities: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean (k,) and covariance (k, k) of a table.

    The mean is the gradient of A in the first-order parameters, the covariance its Hessian. Axes are summed
    out one by one, so that all pairs together cost a few passes over the table. States are counted from the
    one nearest to the mean, so that rare departures from it keep their digits.

    >>> mean, covariance = moments(np.array([[0.1, 0.2], [0.3, 0.4]]))
    >>> mean.round(12).tolist(), covariance.round(12).tolist()
    ([0.7, 0.6], [[0.21, -0.02], [-0.02, 0.24]])
    """
    shape = probabilities.shape
    dimension = len(shape)
    own = [p / p.sum() for p in marginals(probabilities)]
    centres = [round(float(p @ np.arange(p.size))) for p in own]
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


def sum_subsets(table: FloatArray) -> FloatArray:
    """Return the zeta transform of a (2,)*k table: cell A holds the sum over the subsets of A.

    A subset A of {0..k-1} is the cell whose index is 1 exactly at the members of A. Summing along one axis
    after the other takes O(k 2^k) operations instead of O(3^k).

    >>> sum_subsets(np.array([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [[1.0, 3.0], [4.0, 10.0]]
    """
    result = table.copy()
    for pairs in _axis_pairs(result):
        pairs[:, 1] += pairs[:, 0]  # (B6)
    return result


def difference_subsets(table: FloatArray) -> FloatArray:
    """Return the Moebius transform, the inverse of `sum_subsets`.

    >>> difference_subsets(np.array([[1.0, 3.0], [4.0, 10.0]])).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    result = table.copy()
    for pairs in reversed(_axis_pairs(result)):
        pairs[:, 1] -= pairs[:, 0]  # (B5)
    return result


def sum_supersets(table: FloatArray) -> FloatArray:
    """Return the upward sums of a (2,)*k table: cell A holds the sum over the sets that contain A.

    Applied to probabilities it gives every mixed moment, E[prod of x_i over A].

    >>> sum_supersets(np.array([[0.1, 0.2], [0.3, 0.4]])).round(12).tolist()
    [[1.0, 0.6], [0.7, 0.4]]
    """
    result = table.copy()
    for pairs in _axis_pairs(result):
        pairs[:, 0] += pairs[:, 1]  # (B7)
    return result


def _axis_pairs(table: FloatArray) -> list[FloatArray]:
    """Return one writable view (before, 2, after) of a C-contiguous table per axis of length two."""
    return [table.reshape(2**axis, 2, -1) for axis in range(table.ndim)]
