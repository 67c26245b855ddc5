"""Sums over small sets of sites that all interact: their terms, their coefficients, their minimum."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from dcmaes._validation import FloatArray, IntArray
from dcmaes.models._sparse import COLD, EXACT, contrast_sites, contrast_table, contrasts, spread

# Terms that a function may have: the time grows with the cube.
MOST_TERMS = 2500
# Values that are left out of a fit and have to be predicted by it: this share, and so many at least.
LEFT_OUT, FEWEST_LEFT_OUT = 0.1, 20
# Variance, in units of the columns, below which a direction is left open by the values.
RIDGE = 1e-10
# Entries of the largest table that is made to find a minimum.
LARGEST_TABLE = 2.0**20
# How low points are sought where tables would be larger: so many chains, and so many sweeps over all sites.
N_CHAINS, N_SWEEPS = 512, 1000


@dataclass(frozen=True, eq=False)
class Polynomial:
    """A sum of products of contrasts of different sites.

    With a product it has every part of it as well, so each one is another one times a single contrast.

    Attributes
    ----------
    n_states : int array of shape (d,)
        Number of states of each site.
    parent, last : int arrays of shape (t,)
        Each term as an earlier term times a contrast; both -1 for the constant, which comes first.
    coefficients : array of shape (t,)
    """

    n_states: IntArray
    parent: IntArray
    last: IntArray
    coefficients: FloatArray

    def columns(self, x: FloatArray) -> FloatArray:
        """Return the terms at coded points, shape (n, d) to (n, t)."""
        return _columns(x, self.n_states, self.parent, self.last)

    def predict(self, x: FloatArray) -> FloatArray:
        """Return the values at coded points, shape (n, d) to (n,)."""
        values: FloatArray = self.columns(x) @ self.coefficients  # (W2)
        return values

    def has(self, x: FloatArray, values: FloatArray) -> bool:
        """Tell whether it has these values at coded points."""
        return bool(np.abs(self.predict(x) - values).max(initial=0.0) <= EXACT * spread(values))


def cliques(interacts: NDArray[np.bool_], n_states: IntArray) -> list[list[tuple[int, ...]]] | None:
    """Return the sets of sites that all interact with each other, by size; None if they have too many terms.

    >>> interacts = np.ones((3, 3), dtype=bool)
    >>> cliques(interacts, np.full(3, 2))
    [[(0,), (1,), (2,)], [(0, 1), (0, 2), (1, 2)], [(0, 1, 2)]]
    """
    d = len(interacts)
    later = np.triu(interacts, 1)
    largest: list[tuple[tuple[int, ...], NDArray[np.bool_]]] = [((i,), later[i]) for i in range(d)]
    n_terms = 1
    found: list[list[tuple[int, ...]]] = []
    while largest:
        n_terms += sum(int(np.prod(n_states[list(sites)] - 1)) for sites, _ in largest)
        if n_terms > MOST_TERMS:
            return None
        found.append([sites for sites, _ in largest])
        largest = [
            ((*sites, j), common & later[j])
            for sites, common in largest
            for j in np.flatnonzero(common).tolist()
        ]
    return found


def polynomial_of(
    sets: list[list[tuple[int, ...]]], x: FloatArray, values: FloatArray, n_states: IntArray
) -> Polynomial | None:
    """Return the function with terms of these sets of sites that has all values, as few orders as will do.

    None if there is none, or too few values. Sets are ordered by size and closed under subsets.

    >>> x = np.random.default_rng(0).integers(0, 2, size=(60, 4)).astype(float)
    >>> values = x[:, 0] * x[:, 1] * x[:, 2] - x[:, 3]
    >>> sets = cliques(np.kron(np.eye(2), np.ones((3, 3)))[:4, :4] > 0, np.full(4, 2))
    >>> found = polynomial_of(sets, x, values, np.full(4, 2))
    >>> bool(np.allclose(found.predict(x), values))
    True
    """
    n_left_out = max(FEWEST_LEFT_OUT, int(LEFT_OUT * len(x)))
    order = np.random.default_rng(len(x)).permutation(len(x))
    asked, used = order[:n_left_out], order[n_left_out:]
    parent, last = np.array([-1]), np.array([-1])
    number: dict[tuple[int, ...], int] = {(): 0}
    first = np.concatenate([[0], np.cumsum(n_states - 1)])
    for of_size in sets:
        new = [c for s in of_size for c in product(*(range(first[i], first[i + 1]) for i in s))]
        if len(parent) + len(new) > len(used):
            return None
        parent = np.append(parent, np.array([number[c[:-1]] for c in new], dtype=np.int64))
        last = np.append(last, np.array([c[-1] for c in new], dtype=np.int64))
        number |= {c: len(number) + k for k, c in enumerate(new)}
        columns = _columns(x[used], n_states, parent, last)
        function = Polynomial(n_states, parent, last, _least_squares(columns, values[used]))
        if function.has(x[asked], values[asked]) and function.has(x, values):
            return function
    return None


def minimum_of(function: Polynomial) -> FloatArray | None:
    """Return the lowest point, coded, shape (d,), by eliminating one site after the other; None if too wide.

    The site with the smallest table goes first. A table has the least of all terms with the sites eliminated
    so far, for each state of the sites that these interact with.

    >>> x = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> parent, last = np.array([-1, 0, 0, 1]), np.array([-1, 0, 1, 1])
    >>> function = Polynomial(np.full(2, 2), parent, last, np.array([0.0, 1.0, 2.0, 4.0]))
    >>> function.predict(x), minimum_of(function)
    (array([ 7., -5., -3.,  1.]), array([0., 1.]))
    """
    n_states, terms = function.n_states, _with_coefficients(function)
    messages: list[_Table] = []
    choices: list[tuple[int, _Table]] = []
    left = set(range(len(n_states)))
    while left:
        sites_of = [*(frozenset(sites) for sites, _, _ in terms), *(frozenset(m.sites) for m in messages)]
        around = {i: frozenset().union(*(s for s in sites_of if i in s)) | {i} for i in left}
        site = min(left, key=lambda i: (float(np.prod(n_states[list(around[i])].astype(float))), i))
        # The site that goes comes last.
        sites = (*sorted(around[site] - {site}), site)
        shape = tuple(n_states[list(sites)].tolist())
        if float(np.prod(np.array(shape, dtype=float))) > LARGEST_TABLE:
            return None
        table = np.zeros(shape)
        for s, contrast, coefficient in (t for t in terms if site in t[0]):
            table += coefficient * _product(sites, s, contrast, n_states)
        for message in (m for m in messages if site in m.sites):
            table += _spread_out(message, sites)
        terms = [t for t in terms if site not in t[0]]
        messages = [m for m in messages if site not in m.sites]
        messages.append(_Table(sites[:-1], table.min(axis=-1)))  # (W3)
        choices.append((site, _Table(sites[:-1], table.argmin(axis=-1))))
        left.remove(site)
    x = np.zeros(len(n_states))
    for site, choice in reversed(choices):
        x[site] = choice.values[tuple(x[list(choice.sites)].astype(np.int64))]
    return x


def low_point_of(function: Polynomial) -> FloatArray:
    """Return the lowest of the points that chains end at while the temperature falls, coded, shape (d,).

    >>> parent, last = np.array([-1, 0, 0, 1]), np.array([-1, 0, 1, 1])
    >>> low_point_of(Polynomial(np.full(2, 2), parent, last, np.array([0.0, 1.0, 2.0, 4.0])))
    array([0., 1.])
    """
    n_states, site = function.n_states, contrast_sites(function.n_states)
    around, rng = _around(function), np.random.default_rng(len(function.parent))
    x = np.floor(rng.random((N_CHAINS, len(n_states))) * n_states)
    # One row for each contrast, so that those of a product lie together, and ones for what it does not have.
    z = np.concatenate([contrasts(x, n_states).T, np.ones((1, N_CHAINS))])
    free = np.flatnonzero(n_states > 1).tolist()
    tables = {i: contrast_table(int(n_states[i])) for i in free}

    def energies(i: int) -> FloatArray:
        """Return the energy of each state of a site, given all other sites, shape (c, n_chains)."""
        others, coefficients = around[i]
        given_others: FloatArray = tables[i] @ (coefficients @ z[others].prod(axis=1))
        return given_others

    hot = max((float(np.ptp(energies(i), axis=0).max()) for i in free), default=0.0)
    for temperature in hot * np.geomspace(1.0, COLD, N_SWEEPS):
        for i in free:
            energy = energies(i)
            state = (temperature * rng.gumbel(size=energy.shape) - energy).argmax(axis=0)  # (S3)
            x[:, i], z[np.flatnonzero(site == i)] = state, tables[i][state].T
    lowest: FloatArray = x[int(function.predict(x).argmin())]
    return lowest


def _around(function: Polynomial) -> dict[int, tuple[IntArray, FloatArray]]:
    """Return for each site the terms that contain it.

    Those are their other contrasts, shape (t, k), and the coefficients of its own ones, shape (c - 1, t).
    """
    site = contrast_sites(function.n_states)
    sets: list[tuple[int, ...]] = [()]
    for parent, last in zip(function.parent[1:].tolist(), function.last[1:].tolist(), strict=True):
        sets.append((*sets[parent], last))
    longest = max(max(len(s) for s in sets) - 1, 1)
    found: dict[int, tuple[IntArray, FloatArray]] = {}
    for i in np.flatnonzero(function.n_states > 1).tolist():
        first = int(np.searchsorted(site, i))
        others: dict[tuple[int, ...], FloatArray] = {}
        for s, weight in zip(sets, function.coefficients.tolist(), strict=True):
            for own in (k for k in s if site[k] == i):
                rest = others.setdefault(tuple(k for k in s if k != own), np.zeros(function.n_states[i] - 1))
                rest[own - first] += weight
        padded = [(*s, *[len(site)] * (longest - len(s))) for s in others]
        found[i] = np.array(padded, dtype=np.int64).reshape(-1, longest), np.array(list(others.values())).T
    return found


class _Table(NamedTuple):
    """A number for each state of some sites, one axis for each."""

    sites: tuple[int, ...]
    values: NDArray[Any]


def _with_coefficients(function: Polynomial) -> list[tuple[tuple[int, ...], IntArray, float]]:
    """Return sites, column of the contrast of each, and coefficient of each term but the constant."""
    site = contrast_sites(function.n_states)
    column = np.arange(len(site)) - np.searchsorted(site, site)
    sets: list[tuple[int, ...]] = [()]
    for parent, last in zip(function.parent[1:].tolist(), function.last[1:].tolist(), strict=True):
        sets.append((*sets[parent], last))
    of_sites = [(tuple(site[list(s)].tolist()), column[list(s)]) for s in sets[1:]]
    weights = function.coefficients[1:].tolist()
    return [(*of_site, weight) for of_site, weight in zip(of_sites, weights, strict=True)]


def _product(
    sites: tuple[int, ...], of_sites: tuple[int, ...], contrast: IntArray, n_states: IntArray
) -> FloatArray:
    """Return a product of contrasts as a table of `sites`, with axes of length one where it has no part."""
    result: FloatArray = np.ones((1,) * len(sites))
    for i, column in zip(of_sites, contrast.tolist(), strict=True):
        shape = [1] * len(sites)
        shape[sites.index(i)] = -1
        result = result * contrast_table(int(n_states[i]))[:, column].reshape(shape)
    return result


def _spread_out(table: _Table, sites: tuple[int, ...]) -> NDArray[Any]:
    """Return a table of some of `sites` as one of all of them, with axes of length one for the others."""
    order = np.argsort([sites.index(i) for i in table.sites])
    values = table.values.transpose(order)
    shape = [1] * len(sites)
    for axis in order.tolist():
        shape[sites.index(table.sites[axis])] = table.values.shape[axis]
    return values.reshape(shape)


def _columns(x: FloatArray, n_states: IntArray, parent: IntArray, last: IntArray) -> FloatArray:
    """Return the terms at coded points, shape (n, d) to (n, t), each from the one before it in its line."""
    z = contrasts(x, n_states)
    columns = np.empty((len(x), len(parent)))
    columns[:, 0] = 1.0
    done = 1
    while done < len(parent):
        # As many at once as need nothing of each other.
        stop = done + int(np.argmax(np.append(parent[done:], len(parent)) >= done))
        columns[:, done:stop] = columns[:, parent[done:stop]] * z[:, last[done:stop]]
        done = stop
    return columns


def _least_squares(columns: FloatArray, values: FloatArray) -> FloatArray:
    """Return coefficients by the normal equations, with two steps of refinement."""
    gram = columns.T @ columns
    gram[np.diag_indices_from(gram)] += RIDGE * len(columns)
    factor = scipy.linalg.cho_factor(gram, check_finite=False, overwrite_a=True)
    mean = float(values.mean())
    solution = np.zeros(columns.shape[1])
    left = values - mean
    for _ in range(3):
        step = scipy.linalg.cho_solve(factor, columns.T @ left, check_finite=False)
        solution = solution + step
        left = left - columns @ step
    solution[0] += mean
    return solution
