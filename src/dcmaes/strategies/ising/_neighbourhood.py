"""Which evaluations a regression learns from, and how much each of them counts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dcmaes._validation import FloatArray, IntArray
from dcmaes.models import Component, FeatureMap, Regression
from dcmaes.strategies._evaluations import Evaluations
from dcmaes.strategies._labels import RISE_UNIT, beyond_constraints, low_rise, rises
from dcmaes.strategies.ising._settings import DEFAULT, IsingSettings

# Distances beyond this are not told apart: their squares would overflow.
_FAR = 1e6
# Weights below this are not told apart from it.
SMALLEST_WEIGHT = 1e-9
# The constant is never ruled out: values are standardized only approximately.
_SMALLEST_CONSTANT = 0.1
# How often it is decided at most which feasible points count.
_MOST_SETS = 5


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """The evaluations nearest to the centre, of which a regression learns.

    Attributes
    ----------
    feature_map : FeatureMap
        Features relative to the centre.
    features : array of shape (w, p + q)
        Features of the evaluated points, nearest first.
    near : array of shape (w,)
        Weight that fades with distance.
    rise : array of shape (w,)
        How far values lie above the best, in any unit.
    row : int array of shape (w,)
        Where in the memory the evaluations are.
    count : array of shape (w,)
        How many values each of them is the mean of; ones without noise.
    smallest_unit : float
        The least rise that may count as low: that of the noise.
    excess : array of shape (w,)
        How far points are beyond the constraints, or a cliff; 0 for those that are not.
    is_infeasible : bool array of shape (w,)
        Which points violate constraints, or have failed.
    settings : IsingSettings
    """

    feature_map: FeatureMap
    features: FloatArray
    near: FloatArray
    rise: FloatArray
    row: IntArray
    count: FloatArray
    smallest_unit: float
    excess: FloatArray
    is_infeasible: NDArray[np.bool_]
    settings: IsingSettings

    @staticmethod
    def around(
        feature_map: FeatureMap,
        told: Evaluations,
        reach: float,
        window: int,
        deviation: float = 0.0,
        settings: IsingSettings = DEFAULT,
    ) -> Neighbourhood:
        """Return the `window` evaluations nearest to the centre of the features; `deviation` is the noise."""
        features = feature_map.features(told.x)
        distance = distances(features, feature_map.n_choices, reach)
        nearest = np.argsort(distance, kind="stable")
        # After a restart at a point on which everything has converged, that alone must not fill the window.
        n_close = int((distance < settings.close).sum())
        nearest = np.delete(nearest, slice(window // 3, max(n_close, window // 3)))[:window]
        near = nearness(distance[nearest], feature_map.n_features)
        used = told.take(nearest)
        return Neighbourhood(
            feature_map=feature_map,
            features=features[nearest],
            near=near,
            rise=rises(used),
            row=nearest,
            count=used.count.astype(np.float64) if deviation > 0 else np.ones(len(used)),
            smallest_unit=settings.low_in_deviations * deviation / RISE_UNIT,
            excess=beyond_constraints(used.violation),
            is_infeasible=used.violation > 0,
            settings=settings,
        )

    @property
    def penalized(self) -> Neighbourhood:
        """The same with nothing beyond: infeasible points count by their rise, which has a penalty in it."""
        return replace(self, excess=np.zeros(len(self.excess))) if self.excess.any() else self

    @cached_property
    def is_allowed(self) -> NDArray[np.bool_]:
        """Which points are not beyond, shape (w,)."""
        is_allowed: NDArray[np.bool_] = self.excess == 0
        return is_allowed

    def steepness(self, low_share: float) -> FloatArray:
        """Return how far values lie above the centre's, in units of a rise that counts as low (Q8)."""
        rise = self.rise - self.rise[0]
        size = np.abs(rise[self.is_allowed])
        unit = low_rise(size[self.near[self.is_allowed] > self.settings.near], low_share, float(size.max()))
        # What luck explains is not taken for a rise: (Q15)
        steepness: FloatArray = rise / max(unit, self.smallest_unit)
        return steepness

    def regression(self, low_share: float, variances: FloatArray) -> Regression:
        """Return the regression on the evaluations; those near the centre and close in value count most."""
        steepness = self.steepness(low_share)
        is_far = (np.abs(steepness) > self.settings.large_rise) & self.is_allowed
        plain = self._without_far(low_share, variances)
        # A value that is far off says only that: it counts as a high one where the others do not tell
        # so already. Its noise is of the size of what it says.
        far = np.flatnonzero(is_far & (steepness > 0) & (self.near > self.settings.near_enough))
        if len(far) == 0:
            return plain
        high = float(plain.targets.max()) + self.settings.far_target
        surprise = far[plain.predict(self.features[far]) < high / 2]
        if len(surprise) == 0:
            return plain
        coarse = self.near[surprise] * variances[Component.NOISE] / (high / 2) ** 2
        return replace(
            plain,
            features=np.concatenate([plain.features, self.features[surprise]]),
            targets=np.concatenate([plain.targets, np.full(len(surprise), high)]),
            weights=np.concatenate([plain.weights, coarse]),
        )

    def _without_far(self, low_share: float, variances: FloatArray) -> Regression:
        """Return the regression on the evaluations that are allowed and not far off in value."""
        targets, weights, used = self._standardized(low_share)
        return Regression(
            features=self.features[used],
            n_choices=self.feature_map.n_choices,
            site=self.feature_map.site,
            targets=targets[used],
            weights=np.maximum(weights[used], SMALLEST_WEIGHT),
            variances=variances,
        )

    def _standardized(self, low_share: float) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
        """Return values with mean 0 and variance 1, their weights, and which are regressed on, each (w,)."""
        steepness = self.steepness(low_share)
        used = (np.abs(steepness) <= self.settings.large_rise) & self.is_allowed
        # Near the centre and close in value: (Q8)
        weights = np.where(used, self.count * self.near / (1 + np.where(used, steepness, 0.0) ** 2) ** 2, 0.0)
        share = weights[used] / weights[used].sum()
        mean = share @ steepness[used]
        deviation = steepness - mean
        size = float(np.sqrt(share @ deviation[used] ** 2)) or 1.0
        return deviation / size, weights, used

    def improved(self, low_share: float, variances: FloatArray) -> FloatArray:
        """Return variances of higher likelihood."""
        return improved(self._without_far(low_share, variances)).variances

    def surprise(self, low_share: float, variances: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return how far values are above what all others let expect, (w,), and in standard deviations, (w,).

        Deviations are those of the function and of noise that does not grow with the value.
        """
        targets, _, used = self._standardized(low_share)
        plain = self._without_far(low_share, variances)
        surprise = targets - plain.predict(self.features)
        variance = plain.variance(self.features)
        left_out, doubt = plain.left_out()
        surprise[used] = targets[used] - left_out
        variance[used] = np.maximum(doubt**2 - variances[Component.NOISE] / plain.weights, 0.0)
        return surprise, surprise / np.sqrt(variance + variances[Component.NOISE] + self.settings.coarse**2)

    def limit(self, variances: FloatArray) -> Regression | None:
        """Return the regression on how far points are beyond; None if few or none are."""
        found = self._limit(variances)
        return None if found is None else found[0]

    def improved_limit(self, variances: FloatArray) -> FloatArray:
        """Return variances of higher likelihood for that regression; the same if there is none."""
        limit = self.limit(variances)
        return variances if limit is None else improved(limit).variances

    def height(self, variances: FloatArray) -> FloatArray:
        """Return how far beyond all others let expect each point to be, shape (w,); 0 if few or none are."""
        found = self._limit(variances)
        if found is None:
            return np.zeros(len(self.rise))
        limit, is_used = found
        height = limit.predict(self.features)
        height[is_used] = limit.left_out()[0]
        return height

    def _limit(self, variances: FloatArray) -> tuple[Regression, NDArray[np.bool_]] | None:
        if not self.excess.any():
            return None
        every = Regression(
            features=self.features,
            n_choices=self.feature_map.n_choices,
            site=self.feature_map.site,
            targets=self.excess,
            weights=self.near,
            variances=variances,
        )
        return limit_of(every, self.excess, self.settings)

    def foresight(self, low_share: float, variances: FloatArray) -> float:
        """Return how well a regression with that share predicts each low, near value from all others (Q9)."""
        first = self.steepness(self.settings.low_shares[self.settings.first_low_share])
        judged = (np.abs(first) < 1.5) & (self.near > self.settings.near) & self.is_allowed
        steepness = self.steepness(low_share)
        used = (np.abs(steepness) <= self.settings.large_rise) & self.is_allowed
        if (judged & ~used).any():
            return -np.inf
        plain = self._without_far(low_share, variances)
        targets, densities = plain.targets[judged[used]], plain.log_densities()[judged[used]]
        # Densities of standardized values are compared in one unit: that of the first share.
        unit = float(np.ptp(targets)) / max(float(np.ptp(first[judged])), 1e-12)
        return float(densities.mean() + np.log(max(unit, 1e-12)))


def improved(regression: Regression) -> Regression:
    """Return a regression with variances of higher likelihood, which never rule out the constant."""
    variances = regression.improved_variances()
    variances[Component.CONSTANT] = max(variances[Component.CONSTANT], _SMALLEST_CONSTANT)
    return replace(regression, variances=variances)


def distances(features: FloatArray, n_choices: int, reach: float) -> FloatArray:
    """Return how far points are from the centre: changed choices in reaches, numbers in widths (Q8).

    >>> distances(np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 3.0]]), n_choices=2, reach=4.0)
    array([0.5, 3. ])
    """
    changed = features[:, :n_choices].sum(axis=1) / reach
    lines = np.minimum(np.abs(features[:, n_choices:]), _FAR)
    spread = np.sqrt((lines**2).mean(axis=1)) if lines.shape[1] else 0.0
    distance: FloatArray = np.hypot(changed, spread)
    return distance


def nearness(distance: FloatArray, n_features: int) -> FloatArray:
    """Return weights that fade with distance, in increasing order, wide enough to hold enough points (Q8)."""
    enough = min(len(distance) - 1, 2 * n_features)
    bandwidth = max(2.0, 1.5 * float(distance[enough]))
    near: FloatArray = np.exp(-((distance / bandwidth) ** 2) / 2)
    return near


def limit_of(
    every: Regression, excess: FloatArray, settings: IsingSettings = DEFAULT
) -> tuple[Regression, NDArray[np.bool_]] | None:
    """Return a regression on how far points are beyond a limit, and which of them it learns from, shape (w,).

    Parameters
    ----------
    every : Regression
        Features, weights and variances; the targets are not looked at.
    excess : array of shape (w,)
        How far points are beyond, 0 for those that are not. If that is the same for all, only the side is
        known. None is returned if too few are beyond.
    """
    is_beyond = excess > 0
    if is_beyond.sum() < settings.fewest_beyond:
        return None
    sign = np.where(is_beyond, 1.0, -1.0)
    has_amounts = float(np.ptp(excess[is_beyond])) > 0
    targets = (
        np.minimum(excess / float(np.median(excess[is_beyond])), settings.largest_excess)
        if has_amounts
        else sign
    )
    weights = np.maximum(every.weights / (1 + np.maximum(targets - 1, 0.0) ** 2), SMALLEST_WEIGHT)
    every = replace(every, targets=targets, weights=weights)
    is_used = is_beyond if has_amounts else np.ones(len(excess), dtype=np.bool_)
    for _ in range(_MOST_SETS):
        # A point that is not beyond counts, as being at the limit, only where it would be taken for beyond
        # (Q20); if only the side is known, the same holds for the others (Q23).
        missing = sign * (targets - every.of_data(is_used).predict(every.features))
        stays = missing > np.where(is_used, -settings.slack, 0.0)
        stays |= is_beyond & has_amounts
        if (stays == is_used).all() or stays.sum() < settings.fewest_beyond:
            break
        is_used = stays
    return every.of_data(is_used), is_used
