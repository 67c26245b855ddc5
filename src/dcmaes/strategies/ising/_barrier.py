"""Where constraints are violated: a regression on how much, in which feasible points only set a limit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dcmaes._validation import FloatArray
from dcmaes.models import Regression
from dcmaes.strategies.ising._constants import (
    FEWEST_BEYOND,
    LARGEST_EXCESS,
    N_CENSORED,
    SLACK,
    SMALLEST_WEIGHT,
)


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


def limit_of(every: Regression, excess: FloatArray) -> Regression | None:
    """Return a regression on how far points are beyond the constraints; of others, only that they are not.

    Parameters
    ----------
    every : Regression
        Features, weights and variances; the targets are not looked at.
    excess : array of shape (w,)
        How far points are beyond, 0 for those that are not. None is returned if too few are.
    """
    is_beyond = excess > 0
    if is_beyond.sum() < FEWEST_BEYOND:
        return None
    targets = np.minimum(excess / float(np.median(excess[is_beyond])), LARGEST_EXCESS)
    weights = np.maximum(every.weights / (1 + np.maximum(targets - 1, 0.0) ** 2), SMALLEST_WEIGHT)
    every = replace(every, targets=targets, weights=weights)
    is_used = is_beyond
    for _ in range(N_CENSORED):
        predicted = every.of_data(is_used).predict(every.features)
        # A feasible point counts, as being at the limit, only where it would be taken for beyond: (Q20)
        stays = is_beyond | (predicted > np.where(is_used, -SLACK, 0.0))
        if (stays == is_used).all():
            break
        is_used = stays
    return every.of_data(is_used)
