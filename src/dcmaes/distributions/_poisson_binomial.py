"""The law of a sum of independent Bernoulli variables of different probabilities."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from dcmaes._validation import FloatArray, IntArray, check_probabilities, readonly
from dcmaes.distributions._lattice import lattice_pmf, sample_lattice
from dcmaes.distributions._table import cumulate, entropy

_BLOCK = 64  # below this size all blocks are convolved at once by array operations, above one pair at a time
_SMALLEST = float(np.finfo(np.float64).tiny)


class PoissonBinomial:
    """Sum of independent Bernoulli variables with success probabilities `p`, on the integers 0..n.

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

    @cached_property
    def _cumulative(self) -> FloatArray:
        return cumulate(self.probabilities)

    def pmf(self, x: ArrayLike) -> FloatArray | np.float64:
        """Return the probability of each entry of `x`; 0 off the integers 0..n.

        >>> float(PoissonBinomial([0.25]).pmf(1))
        0.25
        """
        return lattice_pmf(x, 0, self.probabilities)

    def entropy(self) -> float:
        """Return the Shannon entropy in nats, at most that of the binomial of the same mean (P3).

        >>> round(PoissonBinomial([0.5]).entropy(), 6)
        0.693147
        """
        return entropy(self.probabilities)

    def sample(self, size: int | tuple[int, ...] | None, rng: np.random.Generator) -> IntArray:
        """Draw an int64 array of shape `size` (None: a single value) by inverting the distribution function.

        >>> PoissonBinomial([1.0, 1.0]).sample(3, np.random.default_rng(0))
        array([2, 2, 2])
        """
        return sample_lattice(0, self._cumulative, size, rng)


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
