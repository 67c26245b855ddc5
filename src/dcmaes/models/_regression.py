"""Bayesian regression in canonical coordinates, its hyper-parameters as components of variance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cached_property

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from dcmaes._validation import FloatArray, IntArray
from dcmaes.models._canonical import Energy
from dcmaes.models._surrogate import cholesky, inverse_of, normal_log_density

SMALLEST_VARIANCE, LARGEST_VARIANCE = 1e-7, 1e3
# A component whose functions are this small at all data explains nothing.
NEGLIGIBLE = 1e-12


class Component(IntEnum):
    """The independent random functions of which values are a sum, by their place among variances (Q3)."""

    CONSTANT = 0
    RADIAL = 1
    CHOICES = 2
    LINES = 3
    CURVATURE = 4
    PAIRS = 5
    NOISE = 6


@dataclass(frozen=True, eq=False)
class Regression:
    """Values at features explained by a sum of independent random functions, one for each component (Q3).

    Attributes
    ----------
    features : array of shape (w, p + q)
        Relative to a centre: p of them {0,1}, then q numeric ones.
    n_choices : int
        Number p of {0,1} features.
    site : int array of shape (p + q,)
        Site of each feature; features of one site do not interact.
    targets : array of shape (w,)
        Standardized values.
    weights : array of shape (w,)
        Relevance of each value: its noise variance is that of the noise / weight.
    variances : array of shape (7,)
        Variance of each of `Component`, in units of the mean square of its functions over the data.

    Examples
    --------
    The function 1 + 2 a - 3 a b of two {0,1} features, from its four values:

    >>> features = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> variances = np.array([100.0, 0.0, 100.0, 0.0, 0.0, 100.0, 1e-6])
    >>> site, targets, weights = np.arange(2), np.array([1.0, 3.0, 1.0, 0.0]), np.ones(4)
    >>> model = Regression(features, 2, site, targets, weights, variances)
    >>> energy = model.mean(has_pairs=True)
    >>> energy.field.round(3), float(energy.coupling[0, 0, 1].round(3))
    (array([[ 2., -0.]]), -3.0)
    """

    features: FloatArray
    n_choices: int
    site: IntArray
    targets: FloatArray
    weights: FloatArray
    variances: FloatArray

    def draw(self, n: int, rng: np.random.Generator, *, has_pairs: bool) -> Energy:
        """Return `n` functions drawn from the posterior, exactly; without pairs, those are integrated out."""
        # (Q5), Matheron's rule: draws from the prior, corrected by what they miss of the data.
        prior = self._prior(n, rng, has_pairs=has_pairs)
        shape = (n, len(self.targets))
        noise = np.sqrt(self.variances[Component.NOISE] / self.weights) * rng.standard_normal(shape)
        constant = np.sqrt(self._unit_variances[Component.CONSTANT]) * rng.standard_normal(n)
        noise += constant[:, None]
        if not has_pairs:
            noise += (
                np.sqrt(self._unit_variances[Component.PAIRS])
                * rng.standard_normal(shape)
                @ self._pairs_factor.T
            )
        residuals = self.targets - prior.values_at(self.features) - noise
        return self._add_posterior(replace(prior, constant=constant), self.solve(residuals.T).T)

    def of_data(self, is_used: NDArray[np.bool_]) -> Regression:
        """Return the regression on some of the data."""
        return replace(
            self,
            features=self.features[is_used],
            targets=self.targets[is_used],
            weights=self.weights[is_used],
        )

    def mean(self, *, has_pairs: bool) -> Energy:
        """Return the posterior mean: one function."""
        p, n_features = self.n_choices, self.features.shape[1]
        coupling = np.zeros((1, n_features, n_features)) if has_pairs else None
        nothing = Energy(p, np.zeros(1), np.zeros((1, n_features)), np.zeros((1, n_features - p)), coupling)
        return self._add_posterior(nothing, self.solve(self.targets)[None])

    def predict(self, features: FloatArray) -> FloatArray:
        """Return the posterior mean at features, shape (n, p + q) to (n,)."""
        prediction: FloatArray = self._prior_covariance(features, self.features) @ self.solve(self.targets)
        return prediction

    def covariance(self, features: FloatArray) -> FloatArray:
        """Return the posterior covariance of the function at features, shape (n, p + q) to (n, n)."""
        across = self._prior_covariance(features, self.features)
        covariance: FloatArray = self._prior_covariance(features, features) - across @ self.solve(across.T)
        return covariance

    def variance(self, features: FloatArray) -> FloatArray:
        """Return the posterior variance of the function at features, shape (n, p + q) to (n,)."""
        across = self._prior_covariance(self.features, features)
        half = scipy.linalg.solve_triangular(self._factor, across, lower=True, check_finite=False)
        prior = _variances(features, self.n_choices) @ self._unit_variances
        variance: FloatArray = np.maximum(prior - (half**2).sum(axis=0), 0.0)
        return variance

    def log_likelihood(self) -> float:
        """Return the logarithm of the marginal likelihood of the targets (Q6)."""
        log_determinant = 2 * np.log(np.diag(self._factor)).sum()
        misfit = self.targets @ self.solve(self.targets)
        return -float(misfit + log_determinant + len(self.targets) * np.log(2 * np.pi)) / 2

    def improved_variances(self) -> FloatArray:
        """Return variances of higher marginal likelihood: one step of a fixed-point iteration (Q7)."""
        return improved_variances(self.variances, self._grams, self._inverse, self.targets, self.weights)

    def fitted(self, n_steps: int) -> Regression:
        """Return the regression with variances of higher marginal likelihood, after so many steps."""
        model = self
        for _ in range(n_steps):
            model = replace(model, variances=model.improved_variances())
        return model

    def left_out(self) -> tuple[FloatArray, FloatArray]:
        """Return mean and standard deviation of each target, given all the others, shape (w,) each."""
        precision = np.diag(self._inverse)
        return self.targets - (self._inverse @ self.targets) / precision, np.sqrt(1 / precision)

    def log_densities(self) -> FloatArray:
        """Return the logarithm of the density of each target, given all the others, shape (w,) (Q9)."""
        return normal_log_density(self.targets, *self.left_out())

    def solve(self, residuals: FloatArray) -> FloatArray:
        """Return the inverse covariance of the data times residuals, shape (w,) or (w, c)."""
        solution: FloatArray = scipy.linalg.cho_solve((self._factor, True), residuals, check_finite=False)
        return solution

    @cached_property
    def _lines(self) -> FloatArray:
        return self.features[:, self.n_choices :]

    @cached_property
    def _grams(self) -> list[FloatArray]:
        """Covariances of the data for unit coefficients, one for each component but the noise."""
        return component_covariances(self.features, self.features, self.n_choices)

    @cached_property
    def _unit_variances(self) -> FloatArray:
        """Variance of the coefficients of each component but the noise, shape (6,)."""
        shares = self.weights / self.weights.sum()
        scales = np.array([shares @ np.diag(gram) for gram in self._grams])
        return np.where(
            scales > NEGLIGIBLE, self.variances[: Component.NOISE] / np.maximum(scales, NEGLIGIBLE), 0.0
        )

    @cached_property
    def _factor(self) -> FloatArray:
        covariance = np.diag(self.variances[Component.NOISE] / self.weights)
        for variance, gram in zip(self._unit_variances, self._grams, strict=True):
            if variance > 0:
                covariance += variance * gram
        return cholesky(covariance)

    @cached_property
    def _pairs_factor(self) -> FloatArray:
        return cholesky(self._grams[Component.PAIRS].copy())

    @cached_property
    def _inverse(self) -> FloatArray:
        return inverse_of(self._factor)

    @cached_property
    def _is_pair(self) -> FloatArray:
        """1 for features of different sites, those that may interact, else 0; shape (p + q, p + q)."""
        is_pair: FloatArray = (self.site[:, None] != self.site).astype(np.float64)
        return is_pair

    def _prior_covariance(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """Return the covariance of the function at two sets of features before any data, shape (m, n)."""
        covariances = component_covariances(left, right, self.n_choices)
        total: FloatArray = sum(
            (v * covariance for v, covariance in zip(self._unit_variances, covariances, strict=True)),
            start=np.zeros(1),
        )
        return total

    def _prior(self, n: int, rng: np.random.Generator, *, has_pairs: bool) -> Energy:
        p, n_features = self.n_choices, self.features.shape[1]
        deviation = np.sqrt(self._unit_variances)
        radial = deviation[Component.RADIAL] * rng.standard_normal(n)
        field = rng.standard_normal((n, n_features))
        field[:, :p] *= deviation[Component.CHOICES]
        field[:, p:] *= deviation[Component.LINES]
        curvature = deviation[Component.CURVATURE] * rng.standard_normal((n, n_features - p))
        if not has_pairs:
            return Energy(p, radial, field, curvature, None)
        upper = np.triu(rng.standard_normal((n, n_features, n_features)), 1)
        upper *= deviation[Component.PAIRS] * self._is_pair
        return Energy(p, radial, field, curvature, upper + upper.transpose(0, 2, 1))

    def _add_posterior(self, prior: Energy, alpha: FloatArray) -> Energy:
        """Return functions plus what `alpha`, shape (c, w), adds to the coefficients of each component."""
        p, unit = self.n_choices, self._unit_variances
        field = alpha @ self.features
        field[:, :p] *= unit[Component.CHOICES]
        field[:, p:] *= unit[Component.LINES]
        coupling = prior.coupling
        if coupling is not None:
            learned = (self.features.T * alpha[:, None, :]) @ self.features
            coupling = coupling + unit[Component.PAIRS] * learned * self._is_pair
        return Energy(
            p,
            prior.radial + unit[Component.RADIAL] * (alpha @ _rho(self.features, p)),
            prior.field + field,
            prior.curvature + unit[Component.CURVATURE] * (alpha @ self._lines**2),
            coupling,
            prior.constant + unit[Component.CONSTANT] * alpha.sum(axis=1),
        )


def improved_variances(
    variances: FloatArray,
    grams: Sequence[FloatArray],
    inverse: FloatArray,
    targets: FloatArray,
    weights: FloatArray,
) -> FloatArray:
    """Return variances of higher marginal likelihood: one step of a fixed-point iteration (Q7).

    Parameters
    ----------
    variances : array of shape (c + 1,)
        Of c components, in any unit, and of the noise.
    grams : sequence of c arrays of shape (w, w)
        Covariances of the data for unit coefficients.
    inverse : array of shape (w, w)
        Inverse covariance of the data.
    targets, weights : arrays of shape (w,)
        Values, and the inverse of their relative noise variance.
    """
    alpha = inverse @ targets
    explained = [alpha @ gram @ alpha for gram in grams]
    expected = [np.vdot(inverse, gram) for gram in grams]
    explained.append((alpha**2 / weights).sum())
    expected.append((np.diag(inverse) / weights).sum())
    ratio = (np.abs(explained) + NEGLIGIBLE) / (np.abs(expected) + NEGLIGIBLE)
    improved = variances * np.clip(ratio, 0.1, 10.0)
    return np.clip(improved, SMALLEST_VARIANCE, LARGEST_VARIANCE)


def component_covariances(left: FloatArray, right: FloatArray, n_choices: int) -> list[FloatArray]:
    """Return what each component but the noise gives to the covariance of two sets of features (Q4)."""
    choices = left[:, :n_choices] @ right[:, :n_choices].T
    z_left, z_right = left[:, n_choices:], right[:, n_choices:]
    lines, curvature = z_left @ z_right.T, z_left**2 @ (z_right**2).T
    # Elementary symmetric polynomial of order two in the products of the sites.
    pairs = ((choices + lines) ** 2 - choices - curvature) / 2
    radial = np.outer(_rho(left, n_choices), _rho(right, n_choices))
    return [np.ones(choices.shape), radial, choices, lines, curvature, pairs]


def _variances(features: FloatArray, n_choices: int) -> FloatArray:
    """Return the diagonals of `component_covariances`, features with themselves, as columns, (n, 6)."""
    choices = (features[:, :n_choices] ** 2).sum(axis=1)
    squares = features[:, n_choices:] ** 2
    lines, curvature = squares.sum(axis=1), (squares**2).sum(axis=1)
    pairs = ((choices + lines) ** 2 - choices - curvature) / 2
    ones, radial = np.ones(len(features)), _rho(features, n_choices) ** 2
    return np.stack([ones, radial, choices, lines, curvature, pairs], axis=1)


def _rho(features: FloatArray, n_choices: int) -> FloatArray:
    """Return the number of changed choices plus the squared length of the numeric features, shape (n,)."""
    rho: FloatArray = features[:, :n_choices].sum(axis=1) + (features[:, n_choices:] ** 2).sum(axis=1)
    return rho
