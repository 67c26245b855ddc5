"""Which pairs of sites interact: by sparse regression on values, or on the differences single sites make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from dcmaes._validation import FloatArray, IntArray
from dcmaes.models._sparse import (
    EXACT,
    SparseQuadratic,
    contrast_sites,
    contrast_table,
    contrasts,
    explained,
    least_squares,
    n_enough,
    pair_columns,
    pair_terms,
)

# Steps of the fixed-point iteration: where the values tell which groups matter, it has settled within so many
# of them, and then no variance changes by more than this share; in one step by no more than this factor, so
# that none is given up early. A power of the ratio of one and a half takes a quarter fewer steps to the same.
N_STEPS, SETTLED, LARGEST_STEP, POWER = 30, 0.05, 10.0, 1.5
# The iteration is given up if after this many steps the terms still take up this share of the values, and a
# step hardly less of them than the one before, by this ratio: then many groups matter, or there are too few
# values (benchmarks/selection_steps.py).
FIRST_STEPS, HOPELESS, SLOW = 6, 0.6, 0.97
# Variance that counts as noise, of values with mean square one.
NOISE = 1e-5
# Groups whose variance is below this share of the largest are left out; a few that are missed are added then.
NEGLIGIBLE = 1e-6
# Differences of a site that are used, at most, for each of its contrasts; and entries of all columns.
MOST_DIFFERENCES, MOST_ENTRIES = 64, 2e7
# How often a function is fitted to some values, then to those too that it does not have.
N_FITS = 3


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
        variance = variance * np.clip(ratio**POWER, 1 / LARGEST_STEP, LARGEST_STEP)
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
        # Half the digits are enough for what is explained by chance, which takes most of the time.
        single = factor.astype(np.float32), columns.astype(np.float32)
        whitened = scipy.linalg.solve_triangular(*single, lower=True, check_finite=False)
        by_chance = np.einsum("nk,nk->k", whitened, whitened).astype(np.float64)
        return (columns.T @ alpha) ** 2, by_chance
    # The same by way of the coefficients, where there are fewer of them than values.
    factor = np.linalg.cholesky(scaled.T @ scaled + NOISE * np.eye(k))
    inverse = scipy.linalg.solve_triangular(factor, np.eye(k), lower=True, check_finite=False)
    mean = scipy.linalg.cho_solve((factor, True), scaled.T @ targets, check_finite=False)
    doubt = NOISE * np.einsum("nk,nk->k", inverse, inverse)
    return mean**2 / variance, np.maximum(1 - doubt, 1e-12) / variance


def sparse_quadratic(
    x: FloatArray, values: FloatArray, n_states: IntArray
) -> tuple[SparseQuadratic, bool] | None:
    """Return a function with few interactions near these values at coded points, and whether it is the one.

    None if the values tell nothing.

    Parameters
    ----------
    x : array of shape (n, d)
        Points: the number of a state for each site.
    values : array of shape (n,)
    n_states : int array of shape (d,)

    Examples
    --------
    Twenty bits of which two pairs interact, and 190 pairs that might:

    >>> x = np.random.default_rng(0).integers(0, 2, size=(100, 20)).astype(float)
    >>> values = x[:, 3] - 2 * x[:, 0] * x[:, 7] + 4 * x[:, 3] * x[:, 12]
    >>> function, is_identified = sparse_quadratic(x, values, np.full(20, 2))
    >>> function.pairs, is_identified
    (array([[ 0,  7],
           [ 3, 12]]), True)
    >>> bool(np.allclose(function.predict(x), values))
    True
    """
    guess = None
    # With two states there is nothing to tie.
    for is_tied in (True, False) if n_states.max() > 2 else (False,):
        found = _regressed(x, values, n_states, is_tied=is_tied)
        if found is not None and found[1]:
            return found
        guess = guess or found
    return guess


def _regressed(
    x: FloatArray, values: FloatArray, n_states: IntArray, *, is_tied: bool
) -> tuple[SparseQuadratic, bool] | None:
    """Return the same with coefficients of pairs that are tied, or are not."""
    every, number = numbered_pairs(len(n_states))
    part = _whole(x, values, n_states, number, is_tied=is_tied)
    result = selected_groups([part], len(n_states) + len(every))
    if result is None:
        return None
    is_left, has_settled = result
    pairs = every[is_left[len(n_states) :]]
    if has_settled:
        return explained(pairs, x, values, n_states, is_tied=is_tied)
    return least_squares(pairs, x, values, n_states, is_tied=is_tied)[0], False


def sparse_quadratic_by_differences(
    x: FloatArray, values: FloatArray, n_states: IntArray
) -> SparseQuadratic | None:
    """Return the same from points, all different, of which many differ at one site: for hundreds of sites.

    Examples
    --------
    Sixty bits, points that a walk by single changes has visited:

    >>> rng = np.random.default_rng(0)
    >>> flips = rng.integers(0, 60, size=1200)
    >>> x = np.cumsum(np.eye(60)[flips], axis=0) % 2
    >>> values = x[:, 3] - 2 * x[:, 0] * x[:, 7] + 4 * x[:, 3] * x[:, 12]
    >>> sparse_quadratic_by_differences(x, values, np.full(60, 2)).pairs.tolist()
    [[0, 7], [3, 12]]
    """
    every, number = numbered_pairs(len(n_states))
    parts = _differences(x, values, n_states, number)
    result = selected_groups(parts, len(n_states) + len(every)) if parts else None
    if result is None:
        return None
    # Whether that has settled is not asked: the values that are left over decide.
    is_left, _ = result
    pairs = every[is_left[len(n_states) :]]
    n_fitted = n_enough(pairs, n_states)
    if n_fitted > len(x):
        return None
    some = np.linspace(0, len(x) - 1, n_fitted).astype(np.int64)
    for _ in range(N_FITS):
        function, is_exact = explained(pairs, x[some], values[some], n_states)
        if not is_exact:
            return None
        misfit = np.abs(function.predict(x) - values)
        wrong = np.flatnonzero(misfit > EXACT * float(np.ptp(values[some])))
        if len(wrong) == 0:
            return function
        # Some may have left coefficients open that others tell.
        some = np.union1d(some, wrong[np.argsort(-misfit[wrong], kind="stable")][: len(some) // 2])
    return None


def numbered_pairs(d: int) -> tuple[IntArray, IntArray]:
    """Return all pairs of sites, shape (g, 2), and the group of each site and pair, shape (d, d).

    >>> pairs, number = numbered_pairs(3)
    >>> pairs.tolist(), number.tolist()
    ([[0, 1], [0, 2], [1, 2]], [[0, 3, 4], [3, 1, 5], [4, 5, 2]])
    """
    pairs = np.stack(np.triu_indices(d, 1), axis=1)
    number = np.diag(np.arange(d))
    number[pairs[:, 0], pairs[:, 1]] = number[pairs[:, 1], pairs[:, 0]] = d + np.arange(len(pairs))
    return pairs, number


def _whole(x: FloatArray, values: FloatArray, n_states: IntArray, number: IntArray, *, is_tied: bool) -> Part:
    """Return all terms that a function may have at coded points, centred, with mean square one in a group."""
    z, site, every = contrasts(x, n_states), contrast_sites(n_states), numbered_pairs(len(n_states))[0]
    left, right, term = pair_terms(every, n_states, is_tied=is_tied)
    first = np.unique(term, return_index=True)[1]
    group = np.concatenate([site, number[site[left[first]], site[right[first]]]])
    columns = np.concatenate([z, pair_columns(z, left, right, term)], axis=1)
    columns -= columns.mean(axis=0)
    size = np.maximum(np.bincount(group), 1)
    scale = np.sqrt(np.bincount(group, (columns**2).mean(axis=0)) / size)
    columns /= np.where(scale > 1e-9, scale, 1.0)[group]
    return Part(columns, group, values - values.mean())


def _differences(x: FloatArray, values: FloatArray, n_states: IntArray, number: IntArray) -> list[Part]:
    """Return for each site the differences that it has made, with the terms that they may consist of (S4)."""
    z, site, n_contrasts = contrasts(x, n_states), contrast_sites(n_states), n_states - 1
    n_each = min(MOST_DIFFERENCES, MOST_ENTRIES / max(1, n_contrasts.sum() * (n_contrasts**2).sum()))
    parts = []
    for i, (first, second) in enumerate(single_changes(x, n_states)):
        n_used = min(len(first), int(n_each * n_contrasts[i]))
        if n_used == 0:
            continue
        some = np.linspace(0, len(first) - 1, n_used).astype(np.int64)
        first, second = first[some], second[some]
        table = contrast_table(int(n_states[i]))
        change = table[x[second, i].astype(np.int64)] - table[x[first, i].astype(np.int64)]
        others = np.concatenate([np.ones((n_used, 1)), z[first][:, site != i]], axis=1)
        columns = (change[:, :, None] * others[:, None, :]).reshape(n_used, -1)
        group = np.tile(np.concatenate([[i], number[i, site[site != i]]]), change.shape[1])
        parts.append(Part(columns, group, values[second] - values[first]))
    return parts


def single_changes(x: FloatArray, n_states: IntArray) -> list[tuple[IntArray, IntArray]]:
    """Return for each site the numbers of points that differ at no other one, two arrays of shape (k,).

    >>> x = np.array([[0.0, 1.0], [1.0, 1.0], [0.0, 0.0]])
    >>> [(first.tolist(), second.tolist()) for first, second in single_changes(x, np.array([2, 2]))]
    [([0], [1]), ([0], [2])]
    """
    # Points have keys that are sums of one random number for each state: without that of a site, points
    # that are equal elsewhere have the same.
    rng, numbers = np.random.default_rng(0), x.astype(np.int64)
    own = [rng.integers(2**64, size=int(c), dtype=np.uint64)[numbers[:, i]] for i, c in enumerate(n_states)]
    key = np.sum(own, axis=0, dtype=np.uint64)
    changes = []
    for of_site in own:
        rest = key - of_site
        order = np.argsort(rest, kind="stable")
        is_same = rest[order[1:]] == rest[order[:-1]]
        changes.append((order[:-1][is_same], order[1:][is_same]))
    return changes
