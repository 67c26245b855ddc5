"""What evaluations say to a model: how far values rise above the best, how far points are infeasible."""

from __future__ import annotations

import numpy as np

from dcmaes._validation import FloatArray
from dcmaes.strategies._evaluations import Evaluations

# Rises are in this many units of the values, so that no difference of finite values overflows.
RISE_UNIT = 16


def rises(told: Evaluations) -> FloatArray:
    """Return how far values lie above the best, those of infeasible points with a penalty (Q18).

    The penalty of a point grows with its violation: half of the infeasible points have one above the median
    rise of the feasible ones. Failures, and infeasible points without a value, are behind nearly all others.
    In sixteenths of the unit of the values, so that no difference of finite values overflows.

    >>> x, violation = np.zeros((4, 1)), np.array([0.0, 0.0, 2.0, np.inf])
    >>> rises(Evaluations(x, np.array([0.0, 16.0, -32.0, np.nan]), violation))
    array([0.  , 1.  , 0.5 , 2.25])
    """
    excess = np.minimum(told.violation, 1e300)
    share = excess / (1 + excess)
    is_feasible = (told.violation == 0) & np.isfinite(told.value)
    if not is_feasible.any():
        behind: FloatArray = share - share.min()
        return behind
    rise = np.where(np.isfinite(told.value), told.value, 0.0) / RISE_UNIT
    rise -= rise[is_feasible].min()
    middle, high = np.quantile(rise[is_feasible], [0.5, 0.9])
    high = float(high) or 1.0
    has_penalty = (told.violation > 0) & (told.violation < np.inf) & np.isfinite(told.value)
    if has_penalty.any():
        unit = float(np.median(told.violation[has_penalty]))
        penalty = (float(middle) or 1.0) * np.minimum(told.violation / unit, 1e100)
        rise = np.where(has_penalty, np.maximum(rise, 0.0) + penalty, rise)
    return np.where(is_feasible | has_penalty, rise, high + high * (0.5 + share))  # (Q19)


def low_rise(rise: FloatArray, low_share: float, largest: float) -> float:
    """Return the largest rise that counts as low: a quantile of those that are not zero (Q8).

    >>> low_rise(np.array([0.0, 1.0, 2.0, 1e30]), 0.3, 1e30)
    1.6
    """
    positive = rise[rise > 0]
    low = float(np.quantile(positive, low_share)) if len(positive) else largest
    # Ratios of rises must not overflow.
    return max(low, largest / 1e150) or 1.0


def beyond_constraints(violation: FloatArray) -> FloatArray:
    """Return how far points are beyond the constraints, 0 for feasible ones; failures as far as the worst.

    All are 0 if no point is feasible, or if the violations do not tell how far.

    >>> beyond_constraints(np.array([0.0, 2.0, 3.0, np.inf]))
    array([0., 2., 3., 3.])
    >>> beyond_constraints(np.array([0.0, 1.0, 1.0, np.inf]))
    array([0., 0., 0., 0.])
    """
    amounts = np.unique(violation[np.isfinite(violation)])
    # The first of them is that of the feasible points.
    if len(amounts) < 3 or amounts[0] > 0:
        return np.zeros(len(violation))
    excess: FloatArray = np.minimum(violation, amounts[-1])
    return excess
