"""The states of {0,1}^k and other small lattices: their order, and finding points among them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dcmaes._validation import FloatArray, IntArray, check_array, check_integer

_LARGEST_SIZE = 2**40  # points of one draw: beyond what memory can hold


def enumerate_states(dimension: int) -> NDArray[np.int8]:
    """Return all states of {0,1}^k, shape (2^k, k), in the C order of a table of shape (2,)*k.

    >>> enumerate_states(2).tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    return states_of_index(np.arange(2**dimension), (2,) * dimension).astype(np.int8)


def states_of_index(index: IntArray, shape: tuple[int, ...]) -> IntArray:
    """Return the states at flat positions `index` of a table of that shape, shape (*index.shape, k).

    >>> states_of_index(np.array([1, 2]), (2, 2)).tolist()
    [[0, 1], [1, 0]]
    """
    if shape == (2,) * len(shape):  # bits, as numpy has no more than 32 or 64 axes
        return (index[..., np.newaxis] >> np.arange(len(shape) - 1, -1, -1)) & 1
    return np.stack(np.unravel_index(index, shape), axis=-1).astype(np.int64, copy=False)


def check_points(name: str, x: ArrayLike, dimension: int) -> FloatArray:
    """Return `x` as a fresh float array of shape (..., dimension) with finite entries, or raise.

    >>> check_points("x", [0, 1], 2)
    array([0., 1.])
    """
    points = check_array(name, x)
    if points.ndim == 0 or points.shape[-1] != dimension:
        raise ValueError(f"{name} must have shape (..., {dimension}), got {points.shape}")
    return points


def locate(points: FloatArray, shape: tuple[int, ...]) -> tuple[IntArray, NDArray[np.bool_]]:
    """Find points (..., k) on the lattice 0..shape[i]-1: flat index in C order, and whether each is on it.

    Points off the lattice get index 0; a probability table answers 0 for them, as scipy.stats does.

    >>> index, inside = locate(np.array([[1.0, 0.0], [0.5, 0.0], [2.0, 0.0]]), (2, 2))
    >>> index.tolist(), inside.tolist()
    ([2, 0, 0], [True, False, False])
    """
    sizes = np.array(shape)
    inside = ((points >= 0) & (points < sizes) & (points == np.floor(points))).all(axis=-1)
    strides = np.array([math.prod(shape[i + 1 :]) for i in range(len(shape))], dtype=np.int64)
    index = np.where(inside[..., np.newaxis], points, 0.0).astype(np.int64) @ strides
    return np.asarray(index, dtype=np.int64), np.asarray(inside)


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
