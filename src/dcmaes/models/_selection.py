"""Which groups of columns explain the values: one variance for each group, by marginal likelihood."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from dcmaes._validation import FloatArray, IntArray

# Steps of the fixed-point iteration: where the values tell which groups matter, it has settled within so many
# of them, and then no variance changes by more than this share; in one step by no more than this factor, so
# that none is given up early.
N_STEPS, SETTLED, LARGEST_STEP = 30, 0.05, 10.0
# The iteration is given up if after this many steps the terms still take up this share of the values, and a
# step hardly less of them than the one before, by this ratio: then many groups matter, or there are too few
# values (benchmarks/selection_steps.py).
FIRST_STEPS, HOPELESS, SLOW = 6, 0.6, 0.97
# Variance that counts as noise, of values with mean square one.
NOISE = 1e-5
# Groups whose variance is below this share of the largest are left out.
NEGLIGIBLE = 1e-8


@dataclass(frozen=True, eq=False)
class Part:
    """Values with the columns that may explain them, apart from all other values.

    Attributes
    ----------
    columns : array of shape (n, k)
    group : int array of shape (k,)
        The group of each column. Groups may have columns in several parts.
    targets : array of shape (n,)
    """

    columns: FloatArray
    group: IntArray
    targets: FloatArray

    def of_groups(self, is_left: NDArray[np.bool_]) -> Part:
        """Return the part with the columns of some groups."""
        stays = is_left[self.group]
        return self if stays.all() else replace(self, columns=self.columns[:, stays], group=self.group[stays])


def selected_groups(parts: Sequence[Part], n_groups: int) -> tuple[NDArray[np.bool_], bool] | None:
    """Return which groups are left when each has the variance of highest likelihood, and if that settled.

    None if many are needed, or if the iteration cannot be carried on: then the values do not tell.

    >>> columns = np.random.default_rng(0).standard_normal((20, 30))
    >>> part = Part(columns, np.arange(30), columns[:, 7] - columns[:, 4])
    >>> is_left, has_settled = selected_groups([part], 30)
    >>> np.flatnonzero(is_left), has_settled
    (array([4, 7]), True)
    """
    n_values = sum(len(part.targets) for part in parts)
    scale = np.sqrt(sum(float(part.targets @ part.targets) for part in parts) / max(n_values, 1)) or 1.0
    parts = [replace(part, targets=part.targets / scale) for part in parts]
    variance = np.zeros(n_groups)
    for part in parts:
        variance[part.group] = len(parts) / sum(len(part.group) for part in parts)
    is_left, used = variance > 0, 1.0
    for step in range(N_STEPS):
        # (S2): as for the components of the regression (Q7), with one variance for each group.
        explained, by_chance = np.zeros(n_groups), np.zeros(n_groups)
        try:
            for part in parts:
                shares = _shares(part.columns, variance[part.group], part.targets)
                explained += np.bincount(part.group, shares[0], minlength=n_groups)
                by_chance += np.bincount(part.group, shares[1], minlength=n_groups)
        except np.linalg.LinAlgError:
            # Variances have grown until rounding errors outweigh the noise: no few of them are enough.
            return None
        # Of each value this share is used up to determine coefficients.
        before, used = used, float(variance @ by_chance) / max(n_values, 1)
        if step >= FIRST_STEPS and used > max(HOPELESS, SLOW * before):
            return None
        ratio = explained / np.maximum(by_chance, 1e-300)
        variance = variance * np.clip(ratio, 1 / LARGEST_STEP, LARGEST_STEP)
        is_left = is_left & (variance > NEGLIGIBLE * variance.max(initial=0.0))
        if float(np.abs(ratio[is_left] - 1).max(initial=0.0)) < SETTLED:
            return is_left, True
        parts = [part.of_groups(is_left) for part in parts]
    return is_left, False


def _shares(columns: FloatArray, variance: FloatArray, targets: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return how much each column explains of the targets and how much that is by chance, shape (k,) each."""
    n, k = columns.shape
    if n == 0 or k == 0:
        return np.zeros(k), np.zeros(k)
    scaled = columns * np.sqrt(variance)
    if k > n:
        factor = np.linalg.cholesky(scaled @ scaled.T + NOISE * np.eye(n))
        alpha = scipy.linalg.cho_solve((factor, True), targets, check_finite=False)
        whitened = scipy.linalg.solve_triangular(factor, columns, lower=True, check_finite=False)
        return (columns.T @ alpha) ** 2, np.einsum("nk,nk->k", whitened, whitened)
    # The same by way of the coefficients, where there are fewer of them than values.
    factor = np.linalg.cholesky(scaled.T @ scaled + NOISE * np.eye(k))
    inverse = scipy.linalg.solve_triangular(factor, np.eye(k), lower=True, check_finite=False)
    mean = scipy.linalg.cho_solve((factor, True), scaled.T @ targets, check_finite=False)
    doubt = NOISE * np.einsum("nk,nk->k", inverse, inverse)
    return mean**2 / variance, np.maximum(1 - doubt, 1e-12) / variance
