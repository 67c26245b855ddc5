"""Cliffs: points that failed, or whose values are far above what others let expect, as penalties are."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dcmaes._validation import FloatArray
from dcmaes.strategies.ising._neighbourhood import Neighbourhood

# How often the sides are found again at most, with as many steps towards the variances on this side each
# time; and steps in the end towards those beyond.
_MOST_SPLITS, _BARRIER_STEPS = 3, 8
# How far points are beyond a cliff may be told by their values, or by how far these are above what was
# expected; of infeasible points only the side is known.
VALUES, SURPRISES, SIDES = "values", "surprises", "sides"


@dataclass(frozen=True, eq=False)
class Cliff:
    """Which values are beyond a cliff, shape (w,), and how far each is above what was expected, (w,)."""

    is_beyond: NDArray[np.bool_]
    surprise: FloatArray

    def labelled(self, around: Neighbourhood, how: str) -> Neighbourhood:
        """Return the neighbourhood with those points as infeasible ones; `how` tells how far they are so."""
        if how == SIDES:
            return replace(around, excess=self.is_beyond.astype(np.float64))
        amount = around.rise if how == VALUES else self.surprise
        excess = amount - amount[self.is_beyond].min()
        # The lowest of them is beyond by a little.
        excess = excess + (0.01 * float(np.median(excess[self.is_beyond])) or 1.0)
        return replace(around, excess=np.where(self.is_beyond, excess, 0.0))


@dataclass(frozen=True, eq=False)
class Finding:
    """A cliff that can be learned: what tells how far points are beyond, and variances on either side."""

    how: str
    variances: FloatArray
    barrier_variances: FloatArray


def find_cliff(
    around: Neighbourhood, low_share: float, variances: FloatArray, n_steps: int = 0
) -> tuple[Cliff, FloatArray] | None:
    """Return a cliff among the values, if there is one, with variances of the regression on this side of it.

    Infeasible points are beyond one, whatever their values; there may be others then, but they are not looked
    for. The variances take `n_steps` towards a higher likelihood each time that the sides change.
    """
    n = len(around.rise)
    if around.is_infeasible.any():
        cliff = Cliff(around.is_infeasible, np.zeros(n))
        return None if around.is_infeasible[0] else (cliff, variances)
    settings = around.settings
    n_least = max(settings.fewest_on_a_side, int(settings.share_on_a_side * n))
    if n < 2 * n_least + 2:
        return None
    cliff = Cliff(around.rise > np.median(around.rise), np.zeros(n))
    for _ in range(_MOST_SPLITS):
        inside = cliff.labelled(around, SIDES)
        for _ in range(n_steps):
            variances = inside.improved(low_share, variances)
        surprise, startling = inside.surprise(low_share, variances)
        edge = _edge(startling, n_least, settings.farthest_expected)
        if edge is None:
            return None
        is_beyond = startling >= edge
        # The centre is on this side, or there would be nothing to search.
        is_beyond[0] = False
        has_settled = bool((is_beyond == cliff.is_beyond).all())
        cliff = Cliff(is_beyond, surprise)
        if has_settled:
            break
    return cliff, variances


def judge_cliff(around: Neighbourhood, low_share: float, variances: FloatArray) -> Finding | None:
    """Return what is found out about a cliff, if a regression tells which points are beyond it (Q24)."""
    found = find_cliff(around, low_share, variances, _MOST_SPLITS)
    if found is None:
        return None
    cliff, variances = found
    is_near = around.near > around.settings.near
    share = float(cliff.is_beyond[is_near].mean())
    if share in (0.0, 1.0):
        return None
    fewest, finding = around.settings.most_misjudged * min(share, 1 - share), None
    for how in _ways(around):
        apart, of_barrier = cliff.labelled(around, how), np.array(around.settings.first_barrier_variances)
        for _ in range(_BARRIER_STEPS):
            of_barrier = apart.improved_limit(of_barrier)
        is_wrong = (apart.height(of_barrier) > 0) != cliff.is_beyond
        misjudged = float(is_wrong[is_near].mean())
        if misjudged < fewest:
            fewest, finding = misjudged, Finding(how, variances, of_barrier)
    return finding


def _ways(around: Neighbourhood) -> tuple[str, ...]:
    """Return what may tell how far points are beyond."""
    if not around.is_infeasible.any():
        return VALUES, SURPRISES
    # Sides say little each.
    has_many = len(around.rise) >= around.settings.sides_by_feature * around.feature_map.n_features
    return (SIDES,) if has_many else ()


def _edge(startling: FloatArray, n_least: int, farthest_expected: float) -> float | None:
    """Return the lower end of the values beyond the widest gap, in standard deviations, if that is far (Q22).

    >>> _edge(np.array([0.1, -0.5, 1.0, 0.3, 30.0, 40.0, 35.0, 90.0]), 2, 4.0)
    30.0
    >>> _edge(np.array([0.1, -0.5, 1.0, 0.3, 2.0, 3.0, 2.5, 3.0]), 2, 4.0) is None
    True
    """
    ordered = np.sort(np.maximum(startling, farthest_expected / 2))
    n = len(ordered)
    # Both sides have enough points to learn from.
    below, above = ordered[n_least : n - n_least], ordered[n_least + 1 : n - n_least + 1]
    widest = int((above / below).argmax())
    return float(above[widest]) if above[widest] >= farthest_expected else None
