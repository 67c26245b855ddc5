"""The law B(sigma^2 C) of the paper: correlated binomial steps, one number of trials for each variable."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.special import bdtrik, ndtr

from dcmaes._validation import FloatArray, IntArray
from dcmaes.distributions import MultivariateBinomial

# Up to here trials are drawn and summed: 20 ms for 10 points in 10 variables of so many trials each. Beyond,
# the time would grow without bound.
LARGEST_SUM = 4096


class BinomialSteps:
    """Binomial variables with the variances and, as far as they can have them, the covariances asked for.

    Parameters
    ----------
    trials : int64 array of shape (k,)
        Number of trials of each variable.
    covariance : array of shape (k, k)
        Positive definite. Variances above trials / 4 are cut down to that, correlations kept; covariances
        beyond the Frechet bounds are moved onto them.

    Examples
    --------
    >>> steps = BinomialSteps(np.array([4, 4]), np.array([[0.75, 0.2], [0.2, 9.0]]))
    >>> steps.variance, steps.p
    (array([0.75, 1.  ]), array([0.25, 0.5 ]))
    >>> steps.sample(3, np.random.default_rng(0)).shape
    (3, 2)
    """

    def __init__(self, trials: IntArray, covariance: FloatArray) -> None:
        self.trials = trials
        self.covariance = covariance
        asked = covariance.diagonal()
        self.variance: FloatArray = np.minimum(asked, trials / 4)  # (A2)
        fraction = self.variance / trials
        self.p: FloatArray = 2 * fraction / (1 + np.sqrt(1 - 4 * fraction))  # (A3), without its cancellation

    @property
    def mean(self) -> FloatArray:
        """Expectation, shape (k,)."""
        return self.trials * self.p

    @cached_property
    def correlation(self) -> FloatArray:
        """The correlations asked for, shape (k, k), each pair moved into its Frechet bounds."""
        p, n = self.p, self.trials
        deviation = np.sqrt(self.covariance.diagonal())
        shared = np.minimum.outer(n, n) / np.sqrt(np.outer(n, n))
        unit = shared / np.sqrt(np.outer(p * (1 - p), p * (1 - p)))
        lower = (np.maximum(0.0, np.add.outer(p, p) - 1) - np.outer(p, p)) * unit
        upper = (np.minimum.outer(p, p) - np.outer(p, p)) * unit
        result: FloatArray = np.clip(self.covariance / np.outer(deviation, deviation), lower, upper)  # (A4)
        np.fill_diagonal(result, 1.0)
        return result

    @cached_property
    def sums(self) -> MultivariateBinomial | None:
        """The joint law of the variables of few trials: sums of thresholded normal vectors."""
        few = np.flatnonzero(self.trials <= LARGEST_SUM)
        if few.size == 0:
            return None
        trials, p = self.trials[few], self.p[few]
        deviation = np.sqrt(trials * p * (1 - p))
        covariance = self.correlation[np.ix_(few, few)] * np.outer(deviation, deviation)
        return MultivariateBinomial.from_moments(trials, trials * p, covariance)  # (A4)

    @cached_property
    def delivered(self) -> FloatArray:
        """The covariance of what `sample` draws, shape (k, k).

        Variables of few trials and of many are drawn independently of one another, and either may have been
        repaired.
        """
        is_many = self.trials > LARGEST_SUM
        result: FloatArray = np.zeros(self.correlation.shape)
        if self.sums is not None:
            result[np.ix_(~is_many, ~is_many)] = self.sums.covariance
        if is_many.any():
            factor = self._quantile_factor(np.flatnonzero(is_many))
            deviation = np.sqrt(self.variance[is_many])
            result[np.ix_(is_many, is_many)] = factor @ factor.T * np.outer(deviation, deviation)
        return result

    def sample(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw `n` vectors, whole numbers, shape (n, k)."""
        is_many = self.trials > LARGEST_SUM
        result = np.empty((n, len(self.trials)))
        if self.sums is not None:
            result[:, ~is_many] = self.sums.sample(n, rng)
        if is_many.any():
            result[:, is_many] = self._sample_quantiles(np.flatnonzero(is_many), n, rng)
        return result

    def _sample_quantiles(self, many: IntArray, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw variables of many trials: binomial quantiles of correlated normals (A5)."""
        normals = rng.standard_normal((n, len(many))) @ self._quantile_factor(many).T
        trials = self.trials[many].astype(np.float64)
        quantiles = np.ceil(bdtrik(ndtr(normals), trials, self.p[many]))
        result: FloatArray = np.clip(np.nan_to_num(quantiles), 0.0, trials)
        return result

    def _quantile_factor(self, many: IntArray) -> FloatArray:
        """Return a factor of the correlation of the normals behind the variables of many trials."""
        values, vectors = np.linalg.eigh(self.correlation[np.ix_(many, many)])
        factor: FloatArray = vectors * np.sqrt(np.maximum(values, 0.0))
        # Bounds met pair by pair may leave no correlation matrix: rows of length one make it one again.
        return np.asarray(factor / np.linalg.norm(factor, axis=1, keepdims=True))
