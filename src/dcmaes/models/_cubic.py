"""Which pairs and triples of sites a function has terms of, found in its values one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from dcmaes._validation import FloatArray, IntArray
from dcmaes.models._sparse import contrast_sites

# Values that are used at most, evenly spread, and indicators of states that there may be, which a byte can
# count: the time grows with the cube of either, the memory with the square of values, the cube of indicators.
MOST_USED, MOST_INDICATORS = 4000, 128
# So many pairs and so many triples for each value are expected to matter.
EXPECTED = 0.1
# Prior variance of a constant and of the terms of single sites, which all matter, and variance that counts as
# noise, in units of the variance of a coefficient.
OF_SINGLES, NOISE = 10.0, 1e-4
# Random directions by which the variances of all scores are estimated, and the weight of their mean in each.
N_PROBES, TOWARDS_MEAN = 12, 0.3
# A term is a candidate if so many points have it.
FEWEST = 3
# At each step no more terms join than so many and this share of those there are; one whose coefficient is
# less than this many standard deviations from zero leaves.
MOST_AT_ONCE, GROWTH, SMALLEST = 20, 0.35, 2.0
# Steps; the terms found may be as many as this share of the values; what is left over is nothing below the
# one share of what single sites leave, or below the other one of all that there was.
N_STEPS, LARGEST_SIZE, NOTHING, ROUNDING = 40, 0.6, 1e-7, 1e-18
# Share of the length of a column that is added, for those that others give.
RIDGE = 1e-10

Sets = list[list[tuple[int, ...]]]


def sparse_sets(x: FloatArray, values: FloatArray, n_states: IntArray) -> Sets | None:
    """Return sets of at most three sites that terms of the function have, by size, with all of their parts.

    None if the values do not tell, or if there are too many sites. All single sites are returned.

    Examples
    --------
    Twelve bits, three triples of which matter, and 220 that might:

    >>> x = np.random.default_rng(0).integers(0, 2, size=(200, 12)).astype(float)
    >>> values = x[:, 0] * x[:, 1] * x[:, 2] - x[:, 3] * x[:, 4] * x[:, 5] + 2 * x[:, 1] * x[:, 6] * x[:, 9]
    >>> sparse_sets(x, values, np.full(12, 2))[2]
    [(0, 1, 2), (1, 6, 9), (3, 4, 5)]
    """
    if len(x) == 0 or not 3 <= int((n_states - 1).sum()) <= MOST_INDICATORS:
        return None
    some = np.linspace(0, len(x) - 1, min(len(x), MOST_USED)).astype(np.int64)
    some = np.union1d(some, [int(values.argmin())])
    regression = _Regression.of(x[some], values[some], n_states)
    terms = None if regression is None else regression.terms()
    if terms is None:
        return None
    site = np.append(contrast_sites(n_states), -1)
    found = {tuple(sorted({int(site[k]) for k in term} - {-1})) for term in terms}
    parts = {part for s in found for size in (2, 3) for part in combinations(s, size)}
    singles: list[tuple[int, ...]] = [(i,) for i in np.flatnonzero(n_states > 1).tolist()]
    return [singles, sorted(s for s in parts if len(s) == 2), sorted(s for s in parts if len(s) == 3)]


@dataclass(frozen=True, eq=False)
class _Regression:
    """Values, and the pairs and triples of indicators, by few of which to explain them.

    Attributes
    ----------
    states : array of shape (n, p)
        1 where a site has a certain other state than the base, else 0.
    factor : array of shape (n, n)
        Cholesky factor of the covariance.
    targets : array of shape (n,)
        The values divided by it, as all that follow, so that their covariance is the identity.
    plain : array of shape (n, 1 + p)
        The terms that are always there: a constant and single indicators.
    candidates : int array of shape (t, 3)
        The pairs and triples of indicators; -1 in the place of the third one in a pair.
    lengths : array of shape (t,)
        Squared length of each candidate.
    log_odds : array of shape (t,)
        How likely each is to matter, a priori.
    """

    states: FloatArray
    factor: FloatArray
    targets: FloatArray
    plain: FloatArray
    candidates: IntArray
    lengths: FloatArray
    log_odds: FloatArray

    @classmethod
    def of(cls, x: FloatArray, values: FloatArray, n_states: IntArray) -> _Regression | None:
        """Return the regression in indicators of the states that the best point does not have."""
        base = x[int(values.argmin())]
        site = contrast_sites(n_states)
        place = np.arange(len(site)) - np.searchsorted(site, site)
        state = place + (place >= base[site])
        states = (x[:, site] == state).astype(np.float64)
        pairs, triples = _pairs(len(site)), _triples(len(site))
        sizes = [len(pairs), len(triples)]
        shares = [min(EXPECTED * len(x) / size, 0.5) for size in sizes]
        try:
            factor = scipy.linalg.cholesky(
                _covariance(states, shares), lower=True, overwrite_a=True, check_finite=False
            )
        except np.linalg.LinAlgError:
            return None
        rng, lengths = np.random.default_rng(0), np.zeros(sum(sizes))
        for _ in range(N_PROBES):
            probe = _divided(factor, rng.choice([-1.0, 1.0], len(x)), transposed=True)
            lengths += _sums(states, probe) ** 2 / N_PROBES
        mean = np.repeat([lengths[: sizes[0]].mean(), lengths[sizes[0] :].mean()], sizes)
        log_odds = np.repeat(np.log(shares), sizes)
        log_odds[_sums(states, np.ones(len(x))) < FEWEST] = -np.inf
        return cls(
            states,
            factor,
            _divided(factor, values - values.mean()),
            _divided(factor, np.column_stack([np.ones(len(x)), states])),
            np.concatenate([pairs, triples]),
            (1 - TOWARDS_MEAN) * lengths + TOWARDS_MEAN * mean,
            log_odds,
        )

    def terms(self) -> list[list[int]] | None:
        """Return the pairs and triples that leave nothing over, or None."""
        n_plain, chosen = self.plain.shape[1], np.empty(0, dtype=np.int64)
        columns, gram = self.plain, self.plain.T @ self.plain
        left, doubt, _ = _left(columns, gram, self.targets)
        first, nothing = doubt, max(NOTHING * doubt, ROUNDING * float(self.targets @ self.targets))
        for _ in range(N_STEPS):
            if doubt <= nothing:
                terms: list[list[int]] = self.candidates[chosen].tolist()
                return terms
            gains = self._gains(left, doubt, first)
            gains[chosen] = -np.inf
            n_new = min(int((gains > 0).sum()), MOST_AT_ONCE + int(GROWTH * len(chosen)))
            if n_new == 0 or len(chosen) + n_new > LARGEST_SIZE * len(self.targets):
                return None
            new = np.argpartition(-gains, n_new - 1)[:n_new]
            chosen, more = np.concatenate([chosen, new]), _divided(self.factor, self._columns(new))
            across = columns.T @ more
            columns, gram = np.hstack([columns, more]), np.block([[gram, across], [across.T, more.T @ more]])
            left, doubt, certainty = _left(columns, gram, self.targets)
            stays = certainty > SMALLEST
            stays[:n_plain] = True
            if not stays.all():
                chosen, columns, gram = chosen[stays[n_plain:]], columns[:, stays], gram[np.ix_(stays, stays)]
                left, doubt, _ = _left(columns, gram, self.targets)
        return None

    def _gains(self, left: FloatArray, doubt: float, first: float) -> FloatArray:
        """Return the logarithm of the odds that each candidate matters, shape (t,)."""
        score = _sums(self.states, _divided(self.factor, left, transposed=True))
        ratio = self.lengths * first / doubt
        explained = score**2 / (self.lengths * doubt)
        gains: FloatArray = 0.5 * (explained * ratio / (1 + ratio) - np.log1p(ratio)) + self.log_odds  # (W5)
        return gains

    def _columns(self, which: IntArray) -> FloatArray:
        """Return the indicators of some candidates, shape (n, k)."""
        states = np.column_stack([self.states, np.ones(len(self.states))])
        columns: FloatArray = states[:, self.candidates[which]].prod(axis=2)
        return columns


def _covariance(states: FloatArray, shares: list[float]) -> FloatArray:
    """Return the covariance of values if these shares of all pairs and triples matter, shape (n, n)."""
    m = np.arange(states.shape[1] + 1)
    pairs, triples = m * (m - 1) / 2, m * (m - 1) * (m - 2) / 6
    of_same = OF_SINGLES * (1 + m) + shares[0] * pairs + shares[1] * triples  # (W4)
    covariance: FloatArray = of_same[(states @ states.T).astype(np.uint8)]
    covariance[np.diag_indices_from(covariance)] += NOISE
    return covariance


def _divided(factor: FloatArray, columns: FloatArray, *, transposed: bool = False) -> FloatArray:
    """Return columns divided by a lower triangular factor, or by its transpose."""
    divided: FloatArray = scipy.linalg.solve_triangular(
        factor, columns, lower=True, trans="T" if transposed else "N", check_finite=False
    )
    return divided


def _left(columns: FloatArray, gram: FloatArray, targets: FloatArray) -> tuple[FloatArray, float, FloatArray]:
    """Return what least squares leave over, its variance, and each coefficient in standard deviations."""
    ridge = RIDGE * (1 + np.diag(gram))
    inverse = scipy.linalg.inv(gram + np.diag(ridge), check_finite=False)
    weights = inverse @ (columns.T @ targets)
    left = targets - columns @ weights
    doubt = float(left @ left) / max(len(targets) - columns.shape[1], 1)
    certainty = np.abs(weights) / np.sqrt(np.maximum(np.diag(inverse) * doubt, 1e-300))
    return left, doubt, certainty


def _pairs(p: int) -> IntArray:
    """Return all pairs, with -1 in the place of a third one, shape (p (p - 1) / 2, 3)."""
    left, right = np.triu_indices(p, 1)
    return np.stack([left, right, np.full(len(left), -1)], axis=1)


def _triples(p: int) -> IntArray:
    """Return all triples, in the order of `_sums`."""
    found = [(np.full(len(j), i), i + 1 + j, i + 1 + k) for i, (j, k) in _later(p)]
    return np.concatenate([np.stack(triples, axis=1) for triples in found])


def _sums(states: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the sum of the weights of the points that have each pair and each triple."""
    p = states.shape[1]
    sums = [((states * weights[:, None]).T @ states)[np.triu_indices(p, 1)]]
    for i, later in _later(p):
        has, after = np.flatnonzero(states[:, i]), slice(i + 1, None)
        rest = states[has, after]
        sums.append(((rest * weights[has, None]).T @ rest)[later])
    return np.concatenate(sums)


def _later(p: int) -> Iterator[tuple[int, tuple[NDArray[np.int64], NDArray[np.int64]]]]:
    """Yield each indicator that is the first of a triple, and all pairs of those after it."""
    for i in range(p - 2):
        yield i, np.triu_indices(p - 1 - i, 1)
