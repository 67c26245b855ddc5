"""Which points are not dominated, and how to choose one of them (docs/maths.md, section O)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dcmaes._validation import FloatArray, check_array

# What each objective counts in addition to the worst one, so that of points alike in that the better one is
# chosen.
_REST = 0.05
# Sums nearer to the plane than this are on it.
_ROUNDING = 1e-9


def is_nondominated(values: ArrayLike) -> NDArray[np.bool_]:
    """Tell which points no other one dominates: is at least as good in all objectives and better in one.

    Of points with the same values the first one counts.

    Parameters
    ----------
    values : array of shape (n, m)
        Values of m objectives, to be minimized.

    Returns
    -------
    bool array of shape (n,)

    Examples
    --------
    >>> is_nondominated([[1.0, 3.0], [2.0, 2.0], [3.0, 3.0], [2.0, 2.0]])
    array([ True,  True, False, False])
    """
    points = check_array("values", values, shape=(None, None))
    is_kept = np.zeros(len(points), dtype=bool)
    # What dominates a point comes before it in lexicographic order.
    order = np.lexsort(points.T[::-1]) if points.shape[1] else np.arange(len(points))
    if points.shape[1] == 2:
        second = points[order, 1]
        lowest_before = np.minimum.accumulate(np.concatenate([[np.inf], second[:-1]]))
        is_kept[order] = second < lowest_before
        return is_kept
    kept: list[int] = []
    for i in order.tolist():
        if not (points[kept] <= points[i]).all(axis=1).any():
            kept.append(i)
    is_kept[kept] = True
    return is_kept


def best_by_weights(values: ArrayLike, weights: ArrayLike | None = None) -> int:
    """Return the position of the point of a front that is best if objectives count as much as weights say.

    Every objective is measured from its best to its worst value on the front, and the worst of these, times
    its weight, is made as small as possible (O1): so points of hollows of a front are found as well, which
    are never best by a weighted sum.

    Parameters
    ----------
    values : array of shape (n, m)
        Values of the points of a front, to be minimized.
    weights : array of shape (m,)
        How much each objective counts; not negative, not all zero. Equal by default.

    Examples
    --------
    >>> front = [[0.0, 1.0], [0.4, 0.5], [1.0, 0.0]]
    >>> best_by_weights(front), best_by_weights(front, [10, 1])
    (1, 0)
    """
    points = check_array("values", values, shape=(None, None))
    n_objectives = points.shape[1]
    if len(points) == 0:
        raise ValueError("values must have at least one point, got none")
    given = np.ones(n_objectives) if weights is None else weights
    weight = check_array("weights", given, shape=(n_objectives,))
    if (weight < 0).any() or not weight.any():
        raise ValueError(f"weights must be at least 0, and some of them more, got {weight.tolist()}")
    weight = weight / weight.sum()
    weighted = weight * unit_values(points)
    # The worst objective decides: (O1)
    return int((weighted.max(axis=1) + _REST * weighted.sum(axis=1)).argmin())


def knee(values: ArrayLike) -> int:
    """Return the position of the knee of a front: the point furthest below the plane through its ends.

    That is where giving up a little of one objective no longer gains much of another one. Where no point lies
    below that plane, as on a front that is hollow all along, it is the best point for equal weights.

    Parameters
    ----------
    values : array of shape (n, m)
        Values of the points of a front, to be minimized.

    Examples
    --------
    >>> knee([[0.0, 1.0], [0.1, 0.2], [0.5, 0.1], [1.0, 0.0]])
    1
    """
    points = check_array("values", values, shape=(None, None))
    if len(points) == 0:
        raise ValueError("values must have at least one point, got none")
    # In units of the front all points of that plane have the same sum: (O2)
    total = unit_values(points).sum(axis=1)
    best = int(total.argmin())
    return best if total[best] < points.shape[1] - 1 - _ROUNDING else best_by_weights(points)


def unit_values(points: FloatArray) -> FloatArray:
    """Return values from 0, the best, to 1, the worst of each objective, shape (n, m)."""
    low, high = points.min(axis=0), points.max(axis=0)
    half = high / 2 - low / 2  # the difference itself may be too large for a float
    scaled: FloatArray = (points / 2 - low / 2) / np.where(half > 0, half, 1.0)
    return scaled
