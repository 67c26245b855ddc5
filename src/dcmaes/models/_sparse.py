"""Functions of many choices with few interactions: which pairs interact is found by sparse regression."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from dcmaes._validation import FloatArray, IntArray

# Steps of the fixed-point iteration: where the values tell which pairs interact, it has settled within so
# many of them, and then no variance changes by more than this share; in one step by no more than this factor,
# so that none is given up early.
N_STEPS, SETTLED, LARGEST_STEP = 30, 0.05, 10.0
# The iteration is given up if after this many steps the terms still take up this share of the values: then
# many pairs interact, or there are too few values.
FIRST_STEPS, HOPELESS = 8, 0.6
# Variance that counts as noise while pairs are sought, of standardized values.
NOISE = 1e-5
# Terms whose variance is below this share of the largest are left out.
NEGLIGIBLE = 1e-8
# Pairs with effects too small for that which are added afterwards, at most.
MOST_MISSED = 8
# A function has at most this many coefficients for each value, counting those that the values tell, and
# misses the values by at most this share of the range of the middle ones.
LARGEST_SIZE, EXACT = 0.5, 1e-6
# Directions in which the points vary by less than this share of the largest are left open by them.
OPEN = 1e-9
# Interactions below this share of the strongest are errors of rounding.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class SparseQuadratic:
    """A sum over single sites and over some pairs of sites, each term a table (S1).

    Attributes
    ----------
    n_states : int array of shape (d,)
        Number of states of each site.
    pairs : int array of shape (m, 2)
        The sites that interact.
    constant : float
    field : array of shape (p,)
        Coefficients of the contrasts of single sites: n_states - 1 for each site.
    coupling : array of shape (p, p)
        Coefficients of their products: symmetric, zero where sites do not interact.
    """

    n_states: IntArray
    pairs: IntArray
    constant: float
    field: FloatArray
    coupling: FloatArray

    def predict(self, x: FloatArray) -> FloatArray:
        """Return the values at coded points, shape (n, d) to (n,)."""
        z = contrasts(x, self.n_states)
        values: FloatArray = self.constant + z @ self.field + ((z @ self.coupling) * z).sum(axis=1) / 2
        return values

    def fitted(self, x: FloatArray, values: FloatArray) -> SparseQuadratic | None:
        """Return the function with the same pairs that has these values; None if there is none."""
        return _explained(self.pairs, x, values, self.n_states)

    @property
    def strength(self) -> FloatArray:
        """Size of the interaction of each pair of sites, whatever their states are called, shape (d, d).

        Zero where it is a rounding error.
        """
        d, site = len(self.n_states), contrast_sites(self.n_states)
        squares = np.zeros((d, d))
        np.add.at(squares, np.ix_(site, site), self.coupling**2)
        strength = np.sqrt(squares)
        return np.where(strength > ROUNDING * strength.max(initial=0.0), strength, 0.0)


def sparse_quadratic(x: FloatArray, values: FloatArray, n_states: IntArray) -> SparseQuadratic | None:
    """Return the function with few interactions that has these values at coded points, or None.

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
    >>> found = sparse_quadratic(x, values, np.full(20, 2))
    >>> found.pairs
    array([[ 0,  7],
           [ 3, 12]])
    >>> bool(np.allclose(found.predict(x), values))
    True
    """
    terms = _Terms.of(x, n_states)
    chosen = terms.selected(values)
    if chosen is None:
        return None
    found = _explained(terms.pairs[chosen], x, values, n_states)
    for _ in range(MOST_MISSED):
        if found is not None or chosen.all():
            break
        chosen[terms.missed(values, chosen)] = True
        found = _explained(terms.pairs[chosen], x, values, n_states)
    return found


def contrasts(x: FloatArray, n_states: IntArray) -> FloatArray:
    """Return the state of each site in coordinates that sum to zero over its states, shape (n, d) to (n, p).

    >>> contrasts(np.array([[0.0], [1.0]]), np.array([2])).round(3)
    array([[ 1.],
           [-1.]])
    """
    tables = {c: contrast_table(int(c)) for c in np.unique(n_states)}
    columns = [tables[c][x[:, site].astype(np.int64)] for site, c in enumerate(n_states)]
    coordinates: FloatArray = np.concatenate(columns, axis=1)
    return coordinates


def contrast_table(n_states: int) -> FloatArray:
    """Return an orthogonal basis of the functions of one site that sum to zero, shape (c, c - 1).

    >>> table = contrast_table(3)
    >>> (table @ table.T).round(3)
    array([[ 1. , -0.5, -0.5],
           [-0.5,  1. , -0.5],
           [-0.5, -0.5,  1. ]])
    """
    if n_states == 1:
        return np.zeros((1, 0))
    table: FloatArray = scipy.linalg.helmert(n_states).T * np.sqrt(n_states / (n_states - 1))
    return table


def contrast_sites(n_states: IntArray) -> IntArray:
    """Return the site of each contrast, shape (p,).

    >>> contrast_sites(np.array([2, 3]))
    array([0, 1, 1])
    """
    return np.repeat(np.arange(len(n_states)), n_states - 1)


@dataclass(frozen=True, eq=False)
class _Terms:
    """All terms that a function may have, as columns; the columns of one site or pair are a group.

    Attributes
    ----------
    columns : array of shape (n, k)
        Centred, and with mean square one in every group.
    group : int array of shape (k,)
        Which group a column belongs to: that of a site, then that of a pair.
    pairs : int array of shape (g, 2)
        The sites of each pair.
    n_sites : int
    """

    columns: FloatArray
    group: IntArray
    pairs: IntArray
    n_sites: int

    @staticmethod
    def of(x: FloatArray, n_states: IntArray) -> _Terms:
        """Return the terms at coded points, shape (n, d)."""
        d, z, site = len(n_states), contrasts(x, n_states), contrast_sites(n_states)
        left, right = np.triu_indices(len(site), 1)
        is_pair = site[left] != site[right]
        left, right = left[is_pair], right[is_pair]
        pairs = np.stack(np.triu_indices(d, 1), axis=1)
        number = np.zeros((d, d), dtype=np.int64)
        number[pairs[:, 0], pairs[:, 1]] = d + np.arange(len(pairs))
        group = np.concatenate([site, number[site[left], site[right]]])
        columns = np.concatenate([z, z[:, left] * z[:, right]], axis=1)
        columns -= columns.mean(axis=0)
        size = np.maximum(np.bincount(group, minlength=d + len(pairs)), 1)
        scale = np.sqrt(np.bincount(group, (columns**2).mean(axis=0), minlength=len(size)) / size)
        columns /= np.where(scale > 1e-9, scale, 1.0)[group]
        return _Terms(columns, group, pairs, d)

    def selected(self, values: FloatArray) -> NDArray[np.bool_] | None:
        """Return which pairs are left when every group has the variance of highest likelihood, shape (g,).

        None if the iteration does not settle, or cannot be carried on: then the values do not tell.
        """
        targets = values - values.mean()
        targets = targets / (float(targets.std()) or 1.0)
        columns, group, variance = self.columns, self.group, np.full(len(self.group), 1 / len(self.group))
        for step in range(N_STEPS):
            # (S2): as for the components of the regression (Q7), with one variance for each group.
            try:
                explained, expected = _shares(columns, variance, targets)
            except np.linalg.LinAlgError:
                # Variances have grown until rounding errors outweigh the noise: no few of them are enough.
                return None
            # Of each value this share is used up to determine coefficients.
            if step >= FIRST_STEPS and float(variance @ expected) > HOPELESS * len(values):
                return None
            by_chance = np.maximum(np.bincount(group, expected), 1e-300)
            ratio = (np.bincount(group, explained) / by_chance)[group]
            variance = variance * np.clip(ratio, 1 / LARGEST_STEP, LARGEST_STEP)
            stays = variance > NEGLIGIBLE * variance.max()
            if float(np.abs(ratio[stays] - 1).max(initial=0.0)) < SETTLED:
                return np.isin(self.n_sites + np.arange(len(self.pairs)), group[stays])
            columns, group, variance = columns[:, stays], group[stays], variance[stays]
        return None

    def missed(self, values: FloatArray, chosen: NDArray[np.bool_]) -> int:
        """Return the pair that explains most of what single sites and the chosen pairs do not."""
        is_used = np.concatenate([np.ones(self.n_sites, dtype=bool), chosen])[self.group]
        used, targets = self.columns[:, is_used], values - values.mean()
        residuals = targets - used @ np.linalg.lstsq(used, targets, rcond=OPEN)[0]
        squares = np.bincount(self.group, (self.columns.T @ residuals) ** 2)[self.n_sites :]
        return int(np.where(chosen, -1.0, squares).argmax())


def _shares(columns: FloatArray, variance: FloatArray, targets: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return how much each column explains of the targets and how much that is by chance, shape (k,) each."""
    n, k = columns.shape
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


def _spread(values: FloatArray) -> float:
    """Return the range of the middle values: one huge value does not make all others look alike.

    >>> _spread(np.array([1.0, 2.0, 3.0, 1e30])) < 1e30
    True
    """
    low, high = np.quantile(values, [0.1, 0.7])
    return float(high - low) or float(values.std()) or 1.0


def _explained(
    pairs: IntArray, x: FloatArray, values: FloatArray, n_states: IntArray
) -> SparseQuadratic | None:
    """Return the sum over single sites and these pairs that has the values, if few coefficients do it."""
    z, site = contrasts(x, n_states), contrast_sites(n_states)
    interacts = np.zeros((len(n_states), len(n_states)), dtype=bool)
    interacts[pairs[:, 0], pairs[:, 1]] = True
    left, right = np.nonzero(interacts[np.ix_(site, site)])
    columns = np.concatenate([np.ones((len(x), 1)), z, z[:, left] * z[:, right]], axis=1)
    mean, scale = float(values.mean()), float(values.std()) or 1.0
    targets = (values - mean) / scale
    # Of all functions with these values the shortest: nothing is added that no value speaks for.
    weights, _, rank, _ = np.linalg.lstsq(columns, targets, rcond=OPEN)
    misfit = scale * float(np.sqrt(((columns @ weights - targets) ** 2).mean()))
    if misfit > EXACT * _spread(values) or rank > LARGEST_SIZE * len(x):
        return None
    weights *= scale
    p = len(site)
    coupling = np.zeros((p, p))
    coupling[left, right] = coupling[right, left] = weights[1 + p :]
    return SparseQuadratic(n_states, pairs, float(weights[0]) + mean, weights[1 : 1 + p], coupling)
