"""Where points are beyond a limit: a regression on how far, in which others only say that they are not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dcmaes._validation import FloatArray
from dcmaes.models import Regression
from dcmaes.strategies.ising._constants import (
    FEWEST_BEYOND,
    LARGEST_EXCESS,
    N_CENSORED,
    SLACK,
    SMALLEST_WEIGHT,
)


def limit_of(every: Regression, excess: FloatArray) -> tuple[Regression, NDArray[np.bool_]] | None:
    """Return a regression on how far points are beyond a limit, and which of them it learns from, shape (w,).

    Parameters
    ----------
    every : Regression
        Features, weights and variances; the targets are not looked at.
    excess : array of shape (w,)
        How far points are beyond, 0 for those that are not. If that is the same for all, only the side is
        known. None is returned if too few are beyond.
    """
    is_beyond = excess > 0
    if is_beyond.sum() < FEWEST_BEYOND:
        return None
    sign = np.where(is_beyond, 1.0, -1.0)
    has_amounts = float(np.ptp(excess[is_beyond])) > 0
    targets = (
        np.minimum(excess / float(np.median(excess[is_beyond])), LARGEST_EXCESS) if has_amounts else sign
    )
    weights = np.maximum(every.weights / (1 + np.maximum(targets - 1, 0.0) ** 2), SMALLEST_WEIGHT)
    every = replace(every, targets=targets, weights=weights)
    is_used = is_beyond if has_amounts else np.ones(len(excess), dtype=np.bool_)
    for _ in range(N_CENSORED):
        # A point that is not beyond counts, as being at the limit, only where it would be taken for beyond
        # (Q20); if only the side is known, the same holds for the others (Q23).
        missing = sign * (targets - every.of_data(is_used).predict(every.features))
        stays = missing > np.where(is_used, -SLACK, 0.0)
        stays |= is_beyond & has_amounts
        if (stays == is_used).all() or stays.sum() < FEWEST_BEYOND:
            break
        is_used = stays
    return every.of_data(is_used), is_used
