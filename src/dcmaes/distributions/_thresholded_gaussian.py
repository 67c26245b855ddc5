"""Bernoulli vectors made by comparing a correlated normal vector with thresholds."""

from __future__ import annotations

import itertools
import math
from functools import cached_property
from typing import Self

import numpy as np
from scipy.special import ndtri

from dcmaes._validation import FloatArray, IntArray, check_generator, readonly
from dcmaes.distributions._bernoulli import BernoulliLaw
from dcmaes.distributions._bivariate_normal import bivariate_normal_cdf, tetrachoric_correlation
from dcmaes.distributions._correlation import RepairedCorrelation, repair_correlation
from dcmaes.distributions._orthant import orthant_probability
from dcmaes.distributions._states import check_size

_TABLE_DIMENSION = 6  # a third of a second; each two variables more would take a thousand times as long


class ThresholdedGaussian(BernoulliLaw):
    """The law of x_i = [z_i <= Phi^-1(mean_i)] in {0,1}, where z is normal with a given correlation matrix.

    Parameters
    ----------
    mean : ndarray, shape (k,)
        P(x_i = 1).
    latent : RepairedCorrelation
        Correlation matrix of z and a factor of it.

    Examples
    --------
    >>> covariance = np.array([[1 / 4, 1 / 12], [1 / 12, 1 / 4]])
    >>> law = ThresholdedGaussian.from_moments(np.array([0.5, 0.5]), covariance)
    >>> law.latent_correlation.round(12).tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """

    def __init__(self, mean: FloatArray, latent: RepairedCorrelation) -> None:
        self._mean = mean.copy()
        self._thresholds = ndtri(mean)
        self._latent = latent
        self._covariance = self._delivered_covariance()

    @classmethod
    def from_moments(cls, mean: FloatArray, covariance: FloatArray) -> Self:
        """Return the law of these means, and these covariances as nearly as one normal vector can give them.

        `mean` and `covariance` are feasible pair by pair, as `check_binomial_moments` returns them.
        """
        k = mean.size
        i, j = np.triu_indices(k, 1)
        both = covariance[i, j] + mean[i] * mean[j]
        asked = np.eye(k)
        asked[i, j] = asked[j, i] = tetrachoric_correlation(mean[i], mean[j], both)  # (M5)
        return cls(mean, repair_correlation(asked))

    def __repr__(self) -> str:
        return f"<ThresholdedGaussian of {self.dimension} variables>"

    @property
    def dimension(self) -> int:
        """Number of variables k."""
        return int(self._mean.size)

    @property
    def mean(self) -> FloatArray:
        """P(x_i = 1) for each variable, shape (k,)."""
        return readonly(self._mean)

    @property
    def covariance(self) -> FloatArray:
        """Covariance of the variables, shape (k, k), exact for the latent correlation in use."""
        return readonly(self._covariance)

    @property
    def latent_correlation(self) -> FloatArray:
        """Correlation of the normal vector, shape (k, k), after repair."""
        return readonly(self._latent.matrix)

    @property
    def latent_deviation(self) -> float:
        """Largest absolute change the repair made to the latent correlation; 0 if none was needed."""
        return self._latent.deviation

    @property
    def has_closed_form(self) -> bool:
        """Whether the table of probabilities needs no quadrature: up to two variables."""
        return self.dimension <= 2

    @property
    def log_probabilities(self) -> FloatArray:
        """Table of log P(x), shape (2,)*k, for k <= 6.

        Probabilities are accurate to about 1e-14, or less with latent correlations beyond 0.999 and k >= 3.
        """
        return self._log_table

    @cached_property
    def _log_table(self) -> FloatArray:
        if self.dimension > _TABLE_DIMENSION:
            raise ValueError(
                f"the table of a thresholded Gaussian law is computed for at most {_TABLE_DIMENSION} "
                f"variables, this law has {self.dimension}: use sample, or an Ising law"
            )
        table = self._probabilities_of_ones()
        for axis in range(self.dimension):
            halves = np.moveaxis(table, axis, 0)
            halves[0] -= halves[1]  # P(x_i = 0, ...) is P(...) less P(x_i = 1, ...)
        table = np.maximum(table, 0.0)
        with np.errstate(divide="ignore"):
            return readonly(np.log(table / table.sum()))

    def _probabilities_of_ones(self) -> FloatArray:
        """Return P(x_i = 1 for all i in A) for every subset A, at the cell of shape (2,)*k with ones on A."""
        k = self.dimension
        result = np.ones((2,) * k)
        for size in range(1, k + 1):
            subsets = np.array(list(itertools.combinations(range(k), size)))
            latent = self._latent.matrix[subsets[:, :, np.newaxis], subsets[:, np.newaxis, :]]
            cells = (np.arange(k) == subsets[:, :, np.newaxis]).any(axis=1).astype(np.int64)
            result[tuple(cells.T)] = orthant_probability(self._thresholds[subsets], latent)  # (M7)
        return result

    def sample(self, size: int | tuple[int, ...] | None, rng: np.random.Generator) -> IntArray:
        """Draw independent points, int64 of shape ``(*size, k)``."""
        shape = check_size(size)
        factor = self._latent.factor
        normals = check_generator("rng", rng).standard_normal((math.prod(shape), factor.shape[1]))
        ones = normals @ factor.T <= self._thresholds  # (M3)
        return ones.astype(np.int64).reshape(*shape, self.dimension)

    def _delivered_covariance(self) -> FloatArray:
        """Return the covariance that the latent correlation gives, pair by pair."""
        i, j = np.triu_indices(self.dimension, 1)
        h = self._thresholds
        both = bivariate_normal_cdf(h[i], h[j], self._latent.matrix[i, j])
        result = np.diag(self._mean * (1 - self._mean))
        result[i, j] = result[j, i] = both - self._mean[i] * self._mean[j]  # (M5)
        return result
