"""The law of a sum of independent Bernoulli variables of different probabilities."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from dcmaes._validation import FloatArray, check_probabilities, readonly
from dcmaes.distributions._law import UnivariateLaw, check_counts, maximise_likelihood

_BLOCK = 64  # below this size all blocks are convolved at once by array operations, above one pair at a time
_SMALLEST = float(np.finfo(np.float64).tiny)


class PoissonBinomial(UnivariateLaw):
    """Sum of independent Bernoulli variables with success probabilities `p`, on the integers 0..n.

    Its entropy is at most that of the binomial of the same mean (P3).

    Parameters
    ----------
    p : array_like, shape (n,)
        Success probabilities in [0, 1].

    Examples
    --------
    >>> law = PoissonBinomial([0.5, 0.5, 0.0])
    >>> law.pmf([0, 1, 2, 3])
    array([0.25, 0.5 , 0.25, 0.  ])
    >>> law.mean, law.variance, round(law.entropy(), 6)
    (1.0, 0.5, 1.039721)
    """

    def __init__(self, p: ArrayLike) -> None:
        checked = check_probabilities("p", p, shape=(None,))
        if checked.size == 0:
            raise ValueError("p must hold at least one probability, got an empty array")
        self._p = checked

    def __repr__(self) -> str:
        return f"PoissonBinomial(n={self.n}, mean={self.mean:.6g}, variance={self.variance:.6g})"

    @property
    def p(self) -> FloatArray:
        """Success probabilities, shape (n,)."""
        return readonly(self._p)

    @property
    def n(self) -> int:
        """Number of trials."""
        return int(self._p.size)

    @property
    def mean(self) -> float:
        """Expectation, the sum of the probabilities."""
        return float(self._p.sum())  # (P2)

    @property
    def variance(self) -> float:
        """Variance, the sum of p (1 - p)."""
        return float((self._p * (1 - self._p)).sum())  # (P2)

    @cached_property
    def probabilities(self) -> FloatArray:
        """Probabilities of 0..n, shape (n + 1,).

        Entries above 1e-300 keep their relative accuracy, the tails too: about 1e-13 at n = 10,000.
        """
        return readonly(_convolve_all(self._p))

    @property
    def _table(self) -> tuple[int, FloatArray]:
        return 0, self.probabilities

    @property
    def parameters(self) -> FloatArray:
        """The success probabilities, shape (n,)."""
        return self.p

    def score(self, x: ArrayLike) -> FloatArray:
        """Return the gradient of the log probability of `x` in `parameters`, shape (..., n).

        >>> PoissonBinomial([0.25, 0.5]).score([0, 2]).round(4).tolist()
        [[-1.3333, -2.0], [4.0, 2.0]]
        """
        points = self._check_states(x).astype(np.int64)
        without = np.pad(self._leave_one_out, ((0, 0), (1, 1)))
        change = (without[:, :-1] - without[:, 1:]).T  # (P4)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(change[points] / self.probabilities[points][..., np.newaxis])

    @cached_property
    def _leave_one_out(self) -> FloatArray:
        """The laws of the sums without one of the variables, shape (n, n).

        Down a balanced tree: what lies outside of a half is what lies outside of the whole, and the other
        half. All terms are positive, so the tails keep their relative accuracy.
        """
        result = np.zeros((self.n, self.n))
        pending = [(0, self.n, np.ones(1))]
        while pending:
            start, stop, outside = pending.pop()
            if stop - start == 1:
                result[start, : outside.size] = outside
                continue
            middle = (start + stop) // 2
            left, right = (
                _convolve_all(self._p[part]) for part in (slice(start, middle), slice(middle, stop))
            )
            pending += [
                (start, middle, np.convolve(outside, right)),
                (middle, stop, np.convolve(outside, left)),
            ]
        return result

    def _key(self) -> tuple[Any, ...]:
        return (self._p,)

    @classmethod
    def fit(cls, data: ArrayLike, weights: ArrayLike | None = None, *, n: int | None = None) -> Self:
        """Fit the success probabilities by maximum likelihood.

        They are determined up to their order, and only as far as the data show that the law is narrower than
        the binomial of its mean; they are returned in falling order.

        Parameters
        ----------
        data : array_like of whole numbers, shape (N,)
        weights : array_like, shape (N,), optional
            How often each counts; 1 by default.
        n : int, optional
            Number of trials; by default the largest value seen.

        Examples
        --------
        >>> PoissonBinomial.fit([0, 1, 2], weights=[0.375, 0.5, 0.125]).p.round(4)
        array([0.5 , 0.25])
        """
        values, counts, n = check_counts(data, weights, n)
        share = float(counts @ values / counts.sum()) / n
        start = np.clip(share + 0.3 * np.linspace(1.0, -1.0, n) * min(share, 1.0 - share), 1e-3, 1.0 - 1e-3)
        found = maximise_likelihood(cls, start, values, counts, bounds=[(0.0, 1.0)] * n)
        return cls(np.sort(found)[::-1])


def _convolve_all(p: FloatArray) -> FloatArray:
    """Multiply the generating polynomials (P1) in a balanced tree.

    Every product and sum is of non-negative numbers, so nothing cancels and the tails keep their relative
    accuracy, which a Fourier transform would lose below 1e-16.
    """
    blocks = [_trim(0, table) for table in _leaf_tables(p)]
    while len(blocks) > 1:
        paired = [
            _trim(a_first + b_first, np.convolve(a, b))
            for (a_first, a), (b_first, b) in zip(blocks[::2], blocks[1::2], strict=False)
        ]
        blocks = paired + blocks[len(paired) * 2 :]
    first, table = blocks[0]
    result = np.zeros(p.size + 1)
    # The roundings of 1 - p are nearly a common factor of all entries, which the sum takes out.
    result[first : first + table.size] = table / table.sum()
    return result


def _leaf_tables(p: FloatArray) -> FloatArray:
    """Return the tables of consecutive blocks of trials, shape (blocks, block size + 1)."""
    n_blocks = -(-p.size // _BLOCK)
    padded = np.zeros(n_blocks * _BLOCK)
    padded[: p.size] = p
    tables = np.stack([1 - padded, padded], axis=1)
    while tables.shape[0] > n_blocks:
        left, right = tables[::2], tables[1::2]
        width = left.shape[1]
        tables = np.zeros((left.shape[0], 2 * width - 1))
        for shift in range(width):
            tables[:, shift : shift + width] += left[:, shift : shift + 1] * right
    return tables


def _trim(first: int, table: FloatArray) -> tuple[int, FloatArray]:
    """Drop the ends that are below the smallest normal number, which would slow every product down."""
    kept = np.flatnonzero(table > _SMALLEST)
    return first + int(kept[0]), table[kept[0] : kept[-1] + 1]
