"""A binomial step around a centre: the variance chosen, the mean kept by stochastic rounding."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from dcmaes._validation import (
    FloatArray,
    IntArray,
    check_array,
    check_generator,
    check_integer,
    check_number,
    readonly,
)
from dcmaes.distributions._law import (
    LARGEST_TRIALS,
    UnivariateLaw,
    binomial_table,
    check_weights,
    maximise_likelihood,
)
from dcmaes.distributions._table import check_size, check_whole

_LARGEST_CENTER = 2.0**52  # beyond it a float has no fraction left to round
_LARGEST_WRAP = 2**26  # states of a table: half a gigabyte


class CenteredBinomial(UnivariateLaw):
    """The integer nearest to `center + B - trials * p`, up or down at random so that the mean is `center`.

    B is binomial with `trials` trials and the success probability p that gives it the wanted variance.

    Parameters
    ----------
    trials : int
        Number of Bernoulli trials, at least 1.
    variance : float
        Variance of B, before rounding, between 0 and trials / 4. Rounding adds at most 1/4: the variance of
        the integer itself is the attribute `variance`.
    center : float, default 0
        Expectation (before wrapping).
    symmetric : bool, default False
        Take p or 1 - p with probability 1/2 each: same mean, and same variance of B. The law is symmetric
        about `center` where twice `center` is a whole number; elsewhere rounding leaves a little skew.
    wrap : int, optional
        Number of states of a periodic variable: the result is taken modulo `wrap`, on 0..wrap-1. The mean is
        then that of the wrapped integer, which differs from `center` when mass crosses the end.

    Examples
    --------
    >>> law = CenteredBinomial(4, 0.75, center=1.0)
    >>> law.p, law.mean, law.variance
    (0.25, 1.0, 0.75)
    >>> law.support
    array([0, 1, 2, 3, 4])
    >>> mirrored = CenteredBinomial(4, 0.75, center=1.0, symmetric=True)
    >>> mirrored.support, mirrored.mean, mirrored.variance
    (array([-2, -1,  0,  1,  2,  3,  4]), 1.0, 0.75)
    """

    def __init__(
        self,
        trials: int,
        variance: float,
        center: float = 0.0,
        *,
        symmetric: bool = False,
        wrap: int | None = None,
    ) -> None:
        self._trials = check_integer("trials", trials, low=1, high=LARGEST_TRIALS)
        asked = check_number("variance", variance, low=0.0)
        if asked > self._trials / 4:
            raise ValueError(
                f"variance must be at most trials / 4 = {self._trials / 4} for trials = {self._trials}, "
                f"got {asked}; it needs trials of at least {math.ceil(4 * asked)}"
            )
        self._center = check_number("center", center, low=-_LARGEST_CENTER, high=_LARGEST_CENTER)
        if not isinstance(symmetric, (bool, np.bool_)):
            raise TypeError(f"symmetric must be True or False, got {symmetric!r}")
        self._symmetric = bool(symmetric)
        self._wrap = None if wrap is None else check_integer("wrap", wrap, low=1, high=_LARGEST_WRAP)
        fraction = asked / self._trials
        self._p = 2 * fraction / (1 + math.sqrt(1 - 4 * fraction))  # (C1), without its cancellation

    def __repr__(self) -> str:
        extra = (", symmetric=True" if self._symmetric else "") + (
            "" if self._wrap is None else f", wrap={self._wrap}"
        )
        binomial_variance = self._trials * self._p * (1 - self._p)
        return f"CenteredBinomial({self._trials}, {binomial_variance:.6g}, center={self._center:.6g}{extra})"

    @property
    def trials(self) -> int:
        """Number of Bernoulli trials."""
        return self._trials

    @property
    def p(self) -> float:
        """The smaller of the two success probabilities that give the asked variance."""
        return self._p

    @property
    def center(self) -> float:
        """Expectation before wrapping."""
        return self._center

    @property
    def symmetric(self) -> bool:
        """Whether both roots are taken."""
        return self._symmetric

    @property
    def wrap(self) -> int | None:
        """Number of states of the periodic variable, or None."""
        return self._wrap

    @property
    def mean(self) -> float:
        """Exact expectation: `center`, unless wrapped."""
        if self._wrap is None:
            return self._center  # (C3)
        return float(self.probabilities @ self.support)

    @property
    def variance(self) -> float:
        """Exact variance of the integer, rounding and wrapping included."""
        if self._wrap is None:
            rounding = sum(branch.up * branch.down for branch in self._branches) / len(self._branches)
            return self._trials * self._p * (1 - self._p) + rounding  # (C4)
        return float(self.probabilities @ (self.support - self.mean) ** 2)

    @property
    def parameters(self) -> FloatArray:
        """The asked variance and the centre, shape (2,)."""
        return readonly(np.array([self._trials * self._p * (1 - self._p), self._center]))

    def score(self, x: ArrayLike) -> FloatArray:
        """Return the gradient of the log probability of `x` in `parameters`, shape (..., 2).

        The law is not smooth where rounding changes its whole part; there it is the gradient to the right.

        >>> CenteredBinomial(1, 0.1875, center=0.5).score([0, 1]).round(4).tolist()
        [[0.0, -1.3333], [0.0, 1.3333]]
        """
        first, table = self._table
        place = (self._check_states(x) - first).astype(np.int64)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.stack([change[place] / table[place] for change in self._slopes], axis=-1)

    @cached_property
    def _slopes(self) -> tuple[FloatArray, FloatArray]:
        """Derivatives of the probabilities of `support` in the asked variance and the centre."""
        n, p = self._trials, self._p
        if not 0 < p < 0.5:
            raise ValueError(f"score needs a variance strictly between 0 and trials / 4 = {n / 4}")
        first, table = self._table
        by_p, by_center = np.zeros(table.size), np.zeros(table.size)
        for branch in self._branches:
            start, binomial = binomial_table(n, p)
            fewer_start, fewer = binomial_table(n - 1, p) if n > 1 else (0, np.ones(1))
            steps = np.arange(start, start + binomial.size)
            low = np.zeros(binomial.size + 1)
            kept = (fewer_start - start + 1) + np.arange(fewer.size)
            usable = (kept >= 0) & (kept <= binomial.size)
            low[kept[usable]] = fewer[usable]
            slope = n * (low[:-1] - low[1:])  # the derivative of the binomial in p
            values = branch.sign * steps + branch.floor
            shift = -branch.sign * n  # of the fraction rounded up, in p
            for extra, share, direction in ((0, branch.down, -1.0), (1, branch.up, 1.0)):
                at = values + extra
                at = at % self._wrap if self._wrap is not None else at
                place = at - first
                inside = (place >= 0) & (place < table.size)
                np.add.at(by_p, place[inside], (share * slope + direction * shift * binomial)[inside])
                np.add.at(by_center, place[inside], direction * binomial[inside])
        scale = 1.0 / len(self._branches)
        return scale * by_p / (n * (1 - 2 * p)), scale * by_center  # (C7)

    def _key(self) -> tuple[Any, ...]:
        return self._trials, self._p, self._center, self._symmetric, self._wrap or 0

    @classmethod
    def fit(
        cls,
        data: ArrayLike,
        weights: ArrayLike | None = None,
        *,
        trials: int,
        symmetric: bool = False,
        wrap: int | None = None,
    ) -> Self:
        """Fit variance and centre by maximum likelihood, from the moments of the data on.

        Parameters
        ----------
        data : array_like of whole numbers, shape (N,)
        weights : array_like, shape (N,), optional
            How often each counts; 1 by default.
        trials, symmetric, wrap
            As in the law, and known.

        Examples
        --------
        >>> law = CenteredBinomial(20, 3.0, center=2.25)
        >>> again = CenteredBinomial.fit(law.support, law.probabilities, trials=20)
        >>> again.parameters.round(4)
        array([3.  , 2.25])
        """
        values = check_whole("data", check_array("data", data, shape=(None,)))
        counts = check_weights(weights, len(values))
        n = check_integer("trials", trials, low=1, high=LARGEST_TRIALS)
        share = counts / counts.sum()
        centre = float(share @ values)
        spread = float(share @ (values - centre) ** 2)

        def build(theta: FloatArray) -> CenteredBinomial:
            return cls(n, float(theta[0]), float(theta[1]), symmetric=symmetric, wrap=wrap)

        top, reach = n / 4, 1.0 + math.sqrt(spread)
        bounds = [(1e-9 * top, top * (1 - 1e-9)), (centre - reach, centre + reach)]
        # Rounding, and wrapping more, make several hills of the likelihood: from each of a few starts the
        # nearest.
        starts = [(size, centre + shift) for size in (1.0, 0.5) for shift in (-0.5, 0.0, 0.5)]
        found = [
            maximise_likelihood(
                build,
                np.array([np.clip(size * spread, 1e-3 * top, 0.99 * top), shifted]),
                values,
                counts,
                bounds=bounds,
            )
            for size, shifted in starts
        ]
        best = max(found, key=lambda theta: build(theta).log_likelihood(values, counts))
        return cls(n, float(best[0]), float(best[1]), symmetric=symmetric, wrap=wrap)

    def sample(self, size: int | tuple[int, ...] | None, rng: np.random.Generator) -> IntArray:
        """Draw an int64 array of shape `size` (None: a single value).

        >>> CenteredBinomial(1, 0.0, center=3.0).sample(3, np.random.default_rng(0))
        array([3, 3, 3])
        """
        shape = check_size(size)
        rng = check_generator("rng", rng)
        choice = rng.integers(len(self._branches), size=shape)
        sign, floor, up, _ = (np.array(column)[choice] for column in zip(*self._branches, strict=True))
        binomial = rng.binomial(self._trials, self._p, size=shape)
        drawn = sign * binomial + floor + (rng.random(shape) < up)  # (C2)
        return np.asarray(drawn if self._wrap is None else drawn % self._wrap, dtype=np.int64)  # (C6)

    @cached_property
    def _branches(self) -> tuple[_Branch, ...]:
        """One binomial with its shift, or two of them equally likely."""
        signs = (1, -1) if self._symmetric else (1,)
        return tuple(_Branch.centered(self._trials, self._p, self._center, sign) for sign in signs)  # (C5)

    @cached_property
    def _table(self) -> tuple[int, FloatArray]:
        """First value of the support and its probabilities."""
        parts = [branch.table(self._trials, self._p) for branch in self._branches]
        first = min(start for start, _ in parts)
        table = np.zeros(max(start + part.size for start, part in parts) - first)
        for start, part in parts:
            table[start - first : start - first + part.size] += part / len(parts)  # (C5)
        if self._wrap is not None:
            states = np.arange(first, first + table.size) % self._wrap
            return 0, np.bincount(states, weights=table, minlength=self._wrap).astype(
                np.float64, copy=False
            )  # (C6)
        positive = np.flatnonzero(table)
        return first + int(positive[0]), table[positive[0] : positive[-1] + 1]


class _Branch(NamedTuple):
    """The integer sign * B + floor, plus one with probability `up`, where B has success probability p."""

    sign: int  # -1 for the root 1 - p: n - B(n, p) is B(n, 1 - p)
    floor: int
    up: float
    down: float  # 1 - up, kept apart for its digits when it is small

    @classmethod
    def centered(cls, trials: int, p: float, center: float, sign: int) -> _Branch:
        whole = math.floor(center)
        shift = (center - whole) - sign * trials * p
        floor = math.floor(shift)
        return cls(sign, whole + floor, shift - floor, (floor + 1) - shift)

    def table(self, trials: int, p: float) -> tuple[int, FloatArray]:
        """Return the first value and the probabilities."""
        first, binomial = binomial_table(trials, p)
        if self.sign < 0:
            first, binomial = -(first + binomial.size - 1), binomial[::-1]
        return first + self.floor, np.convolve(binomial, [self.down, self.up])  # (C2)
