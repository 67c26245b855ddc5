"""A random function with interactions of every order, for few evaluations of anything."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.linalg

from dcmaes._validation import FloatArray
from dcmaes.models._features import FeatureMap
from dcmaes.models._regression import cholesky

# Length along the unit coordinates, length in changed choices, noise in units of the variance: what is tried
# first, the factor of one step, the smallest and the largest.
FIRST_SCALES = (0.4, 2.0, 0.01)
SCALE_STEPS = (2.0, 2.0, 10.0)
SMALLEST_SCALES, LARGEST_SCALES = (0.1, 1.0, 1e-4), (1.6, 8.0, 0.1)


@dataclass(frozen=True, eq=False)
class AllOrders:
    """Values of points explained by one random function, smooth in all variables together (Q18).

    Attributes
    ----------
    feature_map : FeatureMap
        Says which sites are numbers and which are choices; its centre and widths do not matter.
    x : array of shape (w, d)
        Coded points.
    targets : array of shape (w,)
        Standardized values.
    scales : array of shape (3,)
        Length along the unit coordinates, length in changed choices, noise in units of the variance.

    Examples
    --------
    >>> from dcmaes.space import Space
    >>> feature_map = FeatureMap(Space.integers(1, 0, 10).sites, np.zeros(1), np.ones(1))
    >>> x, targets = np.array([[0.0], [5.0], [10.0]]), np.array([1.0, -1.0, 1.0])
    >>> model = AllOrders(feature_map, x, targets, np.array([0.4, 2.0, 1e-4]))
    >>> mean, deviation = model.predict(np.array([[5.0], [7.0]]))
    >>> mean.round(2), deviation.round(2)
    (array([-1.  , -0.41]), array([0.01, 0.57]))
    """

    feature_map: FeatureMap
    x: FloatArray
    targets: FloatArray
    scales: FloatArray

    def predict(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return mean and standard deviation of the function at coded points, shape (n, d) to (n,) each."""
        covariance = _covariance(self._embedded(x), self._embedding)
        half = scipy.linalg.solve_triangular(self._factor, covariance.T, lower=True, check_finite=False)
        left = np.maximum(1 - (half**2).sum(axis=0), 0.0)
        return covariance @ self._alpha, np.sqrt(self._variance * left)

    def draw(self, x: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
        """Return `n` values of each coded point, drawn from what is predicted of it alone, shape (n, m)."""
        mean, deviation = self.predict(x)
        values: FloatArray = mean + deviation * rng.standard_normal((n, len(mean)))
        return values

    def log_likelihood(self) -> float:
        """Return the logarithm of the marginal likelihood at the best variance, up to a constant (Q19)."""
        return -float(len(self.targets) / 2 * np.log(self._variance) + np.log(np.diag(self._factor)).sum())

    def improved(self) -> AllOrders:
        """Return the model after one step of each scale, up or down, if that is likelier."""
        best, level = self, self.log_likelihood()
        # Without choices their length does not matter.
        for i in (0, 1, 2) if self.feature_map.n_choices else (0, 2):
            for factor in (1 / SCALE_STEPS[i], SCALE_STEPS[i]):
                scale = np.clip(self.scales[i] * factor, SMALLEST_SCALES[i], LARGEST_SCALES[i])
                other = replace(self, scales=np.where(np.arange(3) == i, scale, best.scales))
                if scale != self.scales[i] and (likelihood := other.log_likelihood()) > level:
                    best, level = other, likelihood
        return best

    def _embedded(self, x: FloatArray) -> FloatArray:
        """Return points of a Euclidean space that are as far apart as coded points are, shape (n, m)."""
        sites, numeric = self.feature_map.sites, self.feature_map.numeric
        choices = np.unique(self.feature_map.choice_site)
        u, periodic = sites.coordinate(x)[:, numeric], sites.periodic[numeric]
        angle = 2 * np.pi * u[:, periodic]
        circle = [np.cos(angle) / (2 * np.pi), np.sin(angle) / (2 * np.pi)]
        states = [x[:, [i]] == np.arange(sites.n_states[i]) for i in choices]
        lines = np.concatenate([u[:, ~periodic], *circle], axis=1) / self.scales[0]
        # A site in another state differs in two of its indicators.
        return np.concatenate([lines, *(state / (np.sqrt(2) * self.scales[1]) for state in states)], axis=1)

    @cached_property
    def _embedding(self) -> FloatArray:
        return self._embedded(self.x)

    @cached_property
    def _factor(self) -> FloatArray:
        covariance = _covariance(self._embedding, self._embedding)
        covariance[np.diag_indices_from(covariance)] += self.scales[2]
        return cholesky(covariance)

    @cached_property
    def _alpha(self) -> FloatArray:
        alpha: FloatArray = scipy.linalg.cho_solve((self._factor, True), self.targets, check_finite=False)
        return alpha

    @cached_property
    def _variance(self) -> float:
        return max(float(self.targets @ self._alpha) / len(self.targets), 1e-12)


def _covariance(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the Matern covariance (5/2) of points of a Euclidean space, shape (n, w)."""
    square = (left**2).sum(axis=1)[:, None] + (right**2).sum(axis=1) - 2 * left @ right.T
    # Twice differentiable, with all products of variables in it: (Q18)
    distance = np.sqrt(5 * np.maximum(square, 0.0))
    covariance: FloatArray = (1 + distance + distance**2 / 3) * np.exp(-distance)
    return covariance
