"""Fronts of several objectives, as plain functions of arrays (docs/maths.md, section O): all is minimized."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dcmaes._validation import FloatArray, check_array, check_integer

__all__ = ["best_by_weights", "hypervolume", "hypervolume_gains", "is_nondominated", "knee"]

# What each objective counts in addition to the worst one, so that of points alike in that the better one is
# chosen.
_REST = 0.05
# Sums nearer to the plane than this are on it.
_ROUNDING = 1e-9
# Beyond so many objectives the volume is estimated, from so many points evenly spread over the box.
MOST_EXACT = 3
N_SPREAD = 2**14
# Points compared at a time.
_BLOCK = 2**20


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
    points = _some_points(values)
    n_objectives = points.shape[1]
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
    points = _some_points(values)
    # In units of the front all points of that plane have the same sum: (O2)
    total = unit_values(points).sum(axis=1)
    best = int(total.argmin())
    return best if total[best] < points.shape[1] - 1 - _ROUNDING else best_by_weights(points)


def _some_points(values: ArrayLike) -> FloatArray:
    points = check_array("values", values, shape=(None, None))
    if len(points) == 0:
        raise ValueError("values must have at least one point, got none")
    return points


def unit_values(points: FloatArray) -> FloatArray:
    """Return values from 0, the best, to 1, the worst of each objective, shape (n, m)."""
    low, high = points.min(axis=0), points.max(axis=0)
    half = high / 2 - low / 2  # the difference itself may be too large for a float
    scaled: FloatArray = (points / 2 - low / 2) / np.where(half > 0, half, 1.0)
    return scaled


def hypervolume(values: ArrayLike, reference: ArrayLike) -> float:
    """Return the volume of what points dominate, up to a reference point (O3).

    Exact for one, two and three objectives. For more it is estimated from 16,384 points that are evenly
    spread over the box between the best values and the reference, the same ones every time: on fronts of 50
    points the error is below 1 % for four objectives (`tests/unit/test_pareto.py`).

    Parameters
    ----------
    values : array of shape (n, m)
        Values of m objectives, to be minimized. Points that do not dominate the reference add nothing.
    reference : array of shape (m,)
        The worst values that count.

    Examples
    --------
    >>> hypervolume([[1.0, 3.0], [2.0, 1.0]], reference=[4.0, 4.0])
    7.0
    >>> hypervolume([[1.0, 1.0, 1.0]], reference=[2.0, 3.0, 4.0])
    6.0
    """
    points = check_array("values", values, shape=(None, None))
    limit = check_array("reference", reference, shape=(points.shape[1],))
    points = points[(points < limit).all(axis=1)]
    if len(points) == 0:
        return 0.0
    points = points[is_nondominated(points)]
    with np.errstate(over="ignore", invalid="ignore"):
        volume = _measured(points, limit)
        if np.isfinite(volume):
            return volume
        # Some differences are too large for a float: in units of the box around all points none is.
        low = points.min(axis=0)
        half = limit / 2 - low / 2
        return (
            _measured((points / 2 - low / 2) / half, np.ones(len(limit)))
            * float(np.prod(half))
            * 2.0 ** len(limit)
        )


def _measured(points: FloatArray, limit: FloatArray) -> float:
    """Return the volume of points of which none dominates another one, all of them better than the limit."""
    n_objectives = len(limit)
    if n_objectives == 1:
        return float(limit[0] - points.min())
    if n_objectives == 2:
        return _area(points, limit)
    return _volume(points, limit) if n_objectives == MOST_EXACT else _estimate(points, limit)


def hypervolume_gains(
    candidates: ArrayLike, values: ArrayLike, reference: ArrayLike, *, n_spread: int = N_SPREAD
) -> FloatArray:
    """Return by how much each of some candidates, alone, would enlarge the hypervolume of points (O4).

    Exact for one and two objectives; for more, estimated as in `hypervolume`.

    Parameters
    ----------
    candidates : array of shape (k, m)
    values : array of shape (n, m)
        Points that are there already; none of them may dominate another one.
    reference : array of shape (m,)
        The worst values that count.
    n_spread : int
        How many points the estimate is made of: its error falls about as their number grows.

    Returns
    -------
    array of shape (k,)

    Examples
    --------
    >>> hypervolume_gains([[0.0, 3.0], [3.0, 3.0]], [[1.0, 2.0]], reference=[4.0, 4.0])
    array([1., 0.])
    """
    limit = check_array("reference", reference)
    wanted = (None, len(limit))
    new = check_array("candidates", candidates, shape=wanted)
    points = check_array("values", values, shape=wanted)
    points = points[(points < limit).all(axis=1)]
    if len(limit) == 1:
        best = min(float(points.min(initial=np.inf)), float(limit[0]))
        gains: FloatArray = np.maximum(best - new[:, 0], 0.0)
        return gains
    if len(limit) == 2:
        return _area_gains(new, points, limit)
    return _estimated_gains(new, points, limit, check_integer("n_spread", n_spread, low=1))


def _area(points: FloatArray, limit: FloatArray) -> float:
    """Return the area of two objectives: strips from left to right, each below the point before."""
    first, second = points[np.argsort(points[:, 0])].T
    above = np.concatenate([limit[1:], second[:-1]])
    return float(((limit[0] - first) * (above - second)).sum())


def _volume(points: FloatArray, limit: FloatArray) -> float:
    """Return the volume of three objectives: slices along the third, each an area."""
    points = points[np.argsort(points[:, 2], kind="stable")]
    heights = np.diff(np.append(points[:, 2], limit[2]))
    total = 0.0
    for i, height in enumerate(heights.tolist(), start=1):
        if height > 0:
            flat = points[:i, :2]
            total += height * _area(flat[is_nondominated(flat)], limit[:2])
    return total


def _estimate(points: FloatArray, limit: FloatArray) -> float:
    low = points.min(axis=0)
    spread = low + (limit - low) * spread_points(N_SPREAD, len(limit))
    is_dominated = np.zeros(len(spread), dtype=bool)
    for point in points:
        is_dominated |= (point <= spread).all(axis=1)
    return float(is_dominated.mean() * np.prod(limit - low))


def _area_gains(new: FloatArray, points: FloatArray, limit: FloatArray) -> FloatArray:
    """Return the gains of two objectives: what is left of each strip between neighbours of the front."""
    points = points[np.argsort(points[:, 0])]
    left = np.concatenate([[-np.inf], points[:, 0]])
    right = np.concatenate([points[:, 0], limit[:1]])
    above = np.concatenate([limit[1:], points[:, 1]])
    width = right - np.maximum(left, new[:, :1])
    gains: FloatArray = (np.maximum(width, 0.0) * np.maximum(above - new[:, 1:], 0.0)).sum(axis=1)
    return gains


def _estimated_gains(new: FloatArray, points: FloatArray, limit: FloatArray, n_spread: int) -> FloatArray:
    """Return the gains of more objectives, by points spread over the box that are not dominated yet."""
    low = np.minimum(new.min(axis=0, initial=np.inf), points.min(axis=0, initial=np.inf))
    low = np.minimum(low, limit)
    spread = low + (limit - low) * spread_points(n_spread, len(limit))
    is_free = np.ones(len(spread), dtype=bool)
    for point in points:
        is_free &= ~(point <= spread).all(axis=1)
    free = spread[is_free]
    share = np.zeros(len(new))
    block = max(1, _BLOCK // max(len(free), 1))
    for first in range(0, len(new), block):
        some = new[first : first + block, None, :]
        share[first : first + block] = (some <= free).all(axis=2).sum(axis=1) / n_spread
    gains: FloatArray = share * np.prod(limit - low)
    return gains


def spread_points(n: int, n_objectives: int) -> FloatArray:
    """Return points evenly spread over the unit box, shape (n, m): multiples of irrational steps, modulo 1.

    The steps are powers of the root of x^(m + 1) = x + 1 (M. Roberts, 2018: the sequence R).

    >>> spread_points(2, 2).round(3)
    array([[0.255, 0.07 ],
           [0.01 , 0.64 ]])
    """
    root = 2.0
    for _ in range(40):
        root = (1 + root) ** (1 / (n_objectives + 1))
    steps = root ** -np.arange(1.0, n_objectives + 1)
    spread: FloatArray = (0.5 + np.outer(np.arange(1, n + 1), steps)) % 1.0
    return spread
