"""Functions of many choices with few interactions: the one that has given values, and its low points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from dcmaes._validation import FloatArray, IntArray

# If at most this share of the variance is unexplained, pairs are added, so many at a time.
NEARLY, MISSED = 0.05, (1, 2, 4, 8)
# A function has at most this many coefficients for each value, counting those that the values tell, and
# misses the values by at most this share of the range of the middle ones.
LARGEST_SIZE, EXACT = 0.5, 1e-6
# Values for each coefficient from which they are computed where there are very many.
ENOUGH = 3
# Interactions below this share of the largest coefficient are errors of rounding; directions in which the
# points vary by less than this share of the largest are left open by them.
ROUNDING = 1e-9
# Temperature of the last sweep, as a share of the first: terms may be of very different size.
COLD = 1e-3


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
    is_tied : bool
        Whether pairs of sites with equally many states have one coefficient each, for equal states.
    """

    n_states: IntArray
    pairs: IntArray
    constant: float
    field: FloatArray
    coupling: FloatArray
    is_tied: bool = False

    def predict(self, x: FloatArray) -> FloatArray:
        """Return the values at coded points, shape (n, d) to (n,)."""
        z = contrasts(x, self.n_states)
        values: FloatArray = self.constant + z @ self.field + ((z @ self.coupling) * z).sum(axis=1) / 2
        return values

    def fitted(self, x: FloatArray, values: FloatArray) -> SparseQuadratic | None:
        """Return the function with the same pairs that has these values, this one if it does; else None."""
        if float(np.abs(self.predict(x) - values).max()) <= EXACT * spread(values):
            return self
        function, is_exact = least_squares(self.pairs, x, values, self.n_states, is_tied=self.is_tied)
        return function if is_exact else None

    @property
    def n_enough(self) -> int:
        """How many of very many values are used to fit it."""
        return n_enough(self.pairs, self.n_states)

    @property
    def strength(self) -> FloatArray:
        """Size of the interaction of each pair of sites, whatever their states are called, shape (d, d).

        Zero where it is a rounding error.
        """
        d, site = len(self.n_states), contrast_sites(self.n_states)
        squares = np.zeros((d, d))
        np.add.at(squares, np.ix_(site, site), self.coupling**2)
        strength = np.sqrt(squares)
        return np.where(strength > ROUNDING * self._largest, strength, 0.0)

    @property
    def _largest(self) -> float:
        return max(float(np.abs(self.field).max(initial=0.0)), float(np.abs(self.coupling).max(initial=0.0)))

    def told_pairs(self, x: FloatArray) -> NDArray[np.bool_]:
        """Tell which pairs of sites interact in every function of these pairs with these values, (d, d).

        The values are those at coded points, shape (n, d); what they leave open, they do not tell.
        """
        d, site = len(self.n_states), contrast_sites(self.n_states)
        left, right, term = pair_terms(self.pairs, self.n_states, is_tied=self.is_tied)
        columns = _columns(x, self.n_states, left, right, term)
        _, size, direction = np.linalg.svd(columns, full_matrices=False)
        is_open = (np.abs(direction[size <= ROUNDING * size.max()]) > ROUNDING).any(axis=0)[1 + len(site) :][
            term
        ]
        is_sure = ~is_open & (np.abs(self.coupling[left, right]) > ROUNDING * self._largest)
        is_told = np.zeros((d, d), dtype=bool)
        is_told[site[left[is_sure]], site[right[is_sure]]] = True
        return is_told | is_told.T


def n_enough(pairs: IntArray, n_states: IntArray) -> int:
    """Return how many of very many values are used to fit a function with these pairs.

    >>> n_enough(np.array([[0, 1]]), np.array([2, 3]))
    18
    """
    n_coefficients = 1 + (n_states - 1).sum() + np.prod(n_states[pairs] - 1, axis=1).sum()
    return ENOUGH * int(n_coefficients)


def least_squares(
    pairs: IntArray, x: FloatArray, values: FloatArray, n_states: IntArray, *, is_tied: bool = False
) -> tuple[SparseQuadratic, bool]:
    """Return the sum over single sites and these pairs nearest to the values, and whether it has them.

    It has them only if few coefficients do it: others would have almost any values.
    """
    left, right, term = pair_terms(pairs, n_states, is_tied=is_tied)
    columns = _columns(x, n_states, left, right, term)
    mean, scale = float(values.mean()), float(values.std()) or 1.0
    targets = (values - mean) / scale
    # Of all functions with these values the shortest: nothing is added that no value speaks for.
    solution, _, rank, _ = np.linalg.lstsq(columns, targets, rcond=ROUNDING)
    weights = np.asarray(solution, dtype=np.float64)
    misfit = scale * float(np.sqrt(((columns @ weights - targets) ** 2).mean()))
    is_exact = bool(misfit <= EXACT * spread(values) and rank <= LARGEST_SIZE * len(x))
    weights *= scale
    p = int((n_states - 1).sum())
    coupling = np.zeros((p, p))
    coupling[left, right] = coupling[right, left] = weights[1 + p + term]
    constant, field = float(weights[0]) + mean, weights[1 : 1 + p]
    return SparseQuadratic(n_states, pairs, constant, field, coupling, is_tied), is_exact


def pair_terms(
    pairs: IntArray, n_states: IntArray, *, is_tied: bool = False
) -> tuple[IntArray, IntArray, IntArray]:
    """Return the products of contrasts that make up the terms of these pairs: both factors, and the term.

    Every product is a term of its own. If they are tied, those of two sites with equally many states make up
    one, which tells whether both states are equal.

    >>> left, right, term = pair_terms(np.array([[0, 1]]), np.array([3, 3]), is_tied=True)
    >>> left.tolist(), right.tolist(), term.tolist()
    ([0, 1], [2, 3], [0, 0])
    """
    d, site = len(n_states), contrast_sites(n_states)
    interacts = np.zeros((d, d), dtype=bool)
    interacts[pairs[:, 0], pairs[:, 1]] = True
    left, right = np.nonzero(interacts[np.ix_(site, site)])
    if not is_tied:
        return left, right, np.arange(len(left))
    # (S5): the products of equal coordinates, which sum to a function of whether the states are equal.
    place = np.arange(len(site)) - np.searchsorted(site, site)
    is_equal = n_states[site[left]] == n_states[site[right]]
    stays = ~is_equal | (place[left] == place[right])
    left, right, is_equal = left[stays], right[stays], is_equal[stays]
    number = np.where(is_equal, site[left] * d + site[right], d * d + np.arange(len(left)))
    return left, right, np.unique(number, return_inverse=True)[1]


def pair_columns(z: FloatArray, left: IntArray, right: IntArray, term: IntArray) -> FloatArray:
    """Return the sum of the products of each term at some points, from their contrasts."""
    if len(term) == 0:
        return np.zeros((len(z), 0))
    order = np.argsort(term, kind="stable")
    products = z[:, left[order]] * z[:, right[order]]
    first = np.flatnonzero(np.diff(term[order], prepend=-1))
    columns: FloatArray = products if len(first) == len(term) else np.add.reduceat(products, first, axis=1)
    return columns


def _columns(
    x: FloatArray, n_states: IntArray, left: IntArray, right: IntArray, term: IntArray
) -> FloatArray:
    """Return the terms of a function at coded points: a constant, contrasts, and those of pairs."""
    z = contrasts(x, n_states)
    columns: FloatArray = np.concatenate(
        [np.ones((len(x), 1)), z, pair_columns(z, left, right, term)], axis=1
    )
    return columns


def explained(
    pairs: IntArray, x: FloatArray, values: FloatArray, n_states: IntArray, *, is_tied: bool = False
) -> tuple[SparseQuadratic, bool]:
    """Return the sum over single sites and these pairs nearest to the values, and whether it has them.

    If it nearly has them, a few more pairs are tried.
    """
    nearest, is_exact = least_squares(pairs, x, values, n_states, is_tied=is_tied)
    function = nearest
    for n_more in MISSED:
        residuals = values - function.predict(x)
        if is_exact or float(residuals.var()) > NEARLY * float(values.var()):
            break
        more = _missed(function, x, residuals)[:n_more]
        if len(more) == 0:
            break
        pairs = np.concatenate([function.pairs, more])
        pairs = pairs[np.lexsort(pairs.T[::-1])]
        function, is_exact = least_squares(pairs, x, values, n_states, is_tied=is_tied)
    return (function, True) if is_exact else (nearest, False)


def _missed(function: SparseQuadratic, x: FloatArray, residuals: FloatArray) -> IntArray:
    """Return the pairs that are not in a function, those first that explain most of what it does not."""
    z, site = contrasts(x, function.n_states), contrast_sites(function.n_states)
    d = len(function.n_states)
    squares = np.zeros((d, d))
    np.add.at(squares, np.ix_(site, site), (z.T @ (residuals[:, None] * z)) ** 2)
    squares[function.pairs[:, 0], function.pairs[:, 1]] = -1.0
    left, right = np.triu_indices(d, 1)
    order = np.argsort(-squares[left, right], kind="stable")
    order = order[: len(order) - len(function.pairs)]
    return np.stack([left[order], right[order]], axis=1)


def spread(values: FloatArray) -> float:
    """Return the range of the middle values: one huge value does not make all others look alike.

    >>> spread(np.array([1.0, 2.0, 3.0, 1e30])) < 1e30
    True
    """
    low, high = np.quantile(values, [0.1, 0.7])
    return float(high - low) or float(values.std()) or 1.0


def annealed(
    function: SparseQuadratic, *, n_chains: int, n_sweeps: int, rng: np.random.Generator
) -> FloatArray:
    """Return the last point of each chain, coded, shape (n_chains, d).

    >>> nothing = np.zeros((0, 2), dtype=np.int64)
    >>> function = SparseQuadratic(np.array([2, 2]), nothing, 0.0, np.array([1.0, -1.0]), np.zeros((2, 2)))
    >>> annealed(function, n_chains=3, n_sweeps=20, rng=np.random.default_rng(0))
    array([[1., 0.],
           [1., 0.],
           [1., 0.]])
    """
    n_states, site = function.n_states, contrast_sites(function.n_states)
    x = np.floor(rng.random((n_chains, len(n_states))) * n_states)
    z = contrasts(x, n_states)
    spans = [np.flatnonzero(site == i) for i in range(len(n_states))]
    tables = [contrast_table(int(c)) for c in n_states]

    def energies(i: int) -> FloatArray:
        """Return the energy of each state of a site, given all other sites, shape (n_chains, c)."""
        span = spans[i]
        given_others: FloatArray = (function.field[span] + z @ function.coupling[:, span]) @ tables[i].T
        return given_others

    hot = max(float(np.ptp(energies(i), axis=1).max()) for i in range(len(n_states)))
    for temperature in hot * np.geomspace(1.0, COLD, n_sweeps):
        for i, c in enumerate(n_states):
            # The largest of log-probabilities with Gumbel noise is a draw: (S3)
            x[:, i] = (temperature * rng.gumbel(size=(n_chains, c)) - energies(i)).argmax(axis=1)
            z[:, spans[i]] = tables[i][x[:, i].astype(np.int64)]
    return x
