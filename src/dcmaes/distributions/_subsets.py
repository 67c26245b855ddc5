"""Sums over the subset lattice, in place along the axes of a (2,)*k table: O(k 2^k) instead of O(3^k).

A subset A of {0..k-1} is the cell whose index is 1 exactly at the members of A.
"""

from __future__ import annotations

from dcmaes._validation import FloatArray


def sum_subsets(table: FloatArray) -> FloatArray:
    """Return the zeta transform: cell A holds the sum of `table` over the subsets of A.

    >>> import numpy as np
    >>> sum_subsets(np.array([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [[1.0, 3.0], [4.0, 10.0]]
    """
    result = table.copy()
    for pairs in _axis_pairs(result):
        pairs[:, 1] += pairs[:, 0]  # (B6)
    return result


def difference_subsets(table: FloatArray) -> FloatArray:
    """Return the Moebius transform, the inverse of `sum_subsets`.

    >>> import numpy as np
    >>> difference_subsets(np.array([[1.0, 3.0], [4.0, 10.0]])).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    result = table.copy()
    for pairs in reversed(_axis_pairs(result)):
        pairs[:, 1] -= pairs[:, 0]  # (B5)
    return result


def sum_supersets(table: FloatArray) -> FloatArray:
    """Return the upward sums: cell A holds the sum of `table` over the sets that contain A.

    Applied to probabilities it gives every mixed moment, E[prod of x_i over A].

    >>> import numpy as np
    >>> sum_supersets(np.array([[0.1, 0.2], [0.3, 0.4]])).round(12).tolist()
    [[1.0, 0.6], [0.7, 0.4]]
    """
    result = table.copy()
    for pairs in _axis_pairs(result):
        pairs[:, 0] += pairs[:, 1]  # (B7)
    return result


def _axis_pairs(table: FloatArray) -> list[FloatArray]:
    """Return one writable view (before, 2, after) of a C-contiguous table per axis of length two."""
    size = table.size
    return [table.reshape(2**axis, 2, size // 2 ** (axis + 1)) for axis in range(table.ndim)]
