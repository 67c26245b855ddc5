"""Which interactions the values show beyond doubt (docs/maths.md, section V)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from dcmaes._validation import FloatArray
from dcmaes.models._canonical import FeatureMap
from dcmaes.models._regression import NEGLIGIBLE, component_covariances, improved_variances
from dcmaes.models._surrogate import cholesky, inverse_of
from dcmaes.space import Sites

# The family-wise error rate: probability that any pair is taken for certain where no two sites interact.
FALSE_ALARMS = 0.01
# The test is made on at most so many evaluations, the nearest to the best point: widely, and again closely,
# where functions of numbers look more like a quadratic.
WINDOWS = (500, 150)
# With fewer evaluations the test statistic is not near enough to a normal variable.
FEWEST_VALUES = 20
# The first variances of the components and of the noise, and the steps by which they are improved.
FIRST_VARIANCE, FIRST_NOISE, N_STEPS = 0.3, 0.1, 15
# Range of the smooth main effects, in root mean squares of a numeric feature.
SMOOTH_RANGE = 0.5
# Values whose spread is this small a share of their size differ by rounding errors.
ROUNDING = 1e-12
# Products of features that are tested at a time.
N_TOGETHER = 2000


def certain_pairs(
    sites: Sites, x: FloatArray, value: FloatArray, is_tested: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Tell which pairs of sites interact beyond doubt, as far as evaluated points show it.

    Where no two sites interact, any pair is named with a probability of at most `FALSE_ALARMS` (V2).

    Parameters
    ----------
    sites : Sites
        The variables.
    x : array of shape (n, d)
        Coded points.
    value : array of shape (n,)
        Their values, finite, to be minimized.
    is_tested : bool array of shape (d, d)
        Which pairs to test, symmetric; those left out are not certain.

    Returns
    -------
    bool array of shape (d, d)
        Symmetric.

    Examples
    --------
    >>> from dcmaes.space import Space
    >>> x = np.random.default_rng(0).integers(0, 2, (60, 3)).astype(float)
    >>> certain_pairs(Space.binary(3).sites, x, x[:, 0] + x[:, 1] * x[:, 2], ~np.eye(3, dtype=bool))
    array([[False, False, False],
           [False, False,  True],
           [False,  True, False]])
    """
    is_certain = np.zeros_like(is_tested)
    size = float(np.abs(value).max(initial=0.0))
    if len(value) < FEWEST_VALUES or size == 0.0 or not is_tested.any():
        return is_certain
    value = value / size
    feature_map = FeatureMap(sites, x[np.argmin(value)], np.ones(sites.dimension))
    features = feature_map.features(x)
    nearest = np.argsort(_distance(features), kind="stable")
    is_numeric = len(feature_map.numeric) > 0
    windows = [w for i, w in enumerate(WINDOWS) if i == 0 or (is_numeric and len(value) > w)]
    for window in windows:
        used = nearest[:window]
        if np.ptp(value[used]) > ROUNDING:
            score, n_products = _test_statistics(feature_map, features[used], value[used], is_tested)
            # A bound on the sum of all false alarms: (V2)
            limit = -float(ndtri(FALSE_ALARMS / (2 * len(windows) * max(n_products, 1))))
            is_certain |= score > limit
    return is_certain


def _distance(features: FloatArray) -> FloatArray:
    """Return the squared distances of points from the centre, every feature with mean square one, (n,)."""
    squares = features**2
    distance: FloatArray = (squares / np.maximum(squares.mean(axis=0), 1e-300)).sum(axis=1)
    return distance


def _test_statistics(
    feature_map: FeatureMap, features: FloatArray, value: FloatArray, is_tested: NDArray[np.bool_]
) -> tuple[FloatArray, int]:
    """Return the largest test statistic of each pair of sites, shape (d, d), and how many there could be."""
    p = feature_map.n_choices
    site, varies = feature_map.site, np.ptp(features, axis=0) > 0
    features = np.concatenate(
        [features[:, :p], features[:, p:] / np.sqrt((features[:, p:] ** 2).mean(axis=0) + 1e-300)], axis=1
    )
    targets = (value - value.mean()) / value.std()
    inverse, pair_variance = _inverse_covariance(features, p, targets)
    is_listed = is_tested[np.ix_(site, site)] & (site[:, None] < site) & np.outer(varies, varies)
    first, second = np.nonzero(is_listed)
    score = np.zeros(is_tested.shape)
    for start in range(0, len(first), N_TOGETHER):
        some = slice(start, start + N_TOGETHER)
        product = features[:, first[some]] * features[:, second[some]]
        found = _standardised(product, inverse, targets, pair_variance)
        np.maximum.at(score, (site[first[some]], site[second[some]]), found)
    counts = np.bincount(site[varies])
    n_products = (counts.sum() ** 2 - (counts**2).sum()) // 2
    return np.maximum(score, score.T), int(n_products)


def _standardised(
    product: FloatArray, inverse: FloatArray, targets: FloatArray, pair_variance: float
) -> FloatArray:
    """Return how many standard errors each coefficient of some products is from zero, (n, m) to (m,)."""
    solved, alpha = inverse @ product, inverse @ targets
    information = (product * solved).sum(axis=0)
    left_out = alpha / np.diag(inverse)
    # The larger of the error under the model and the one that the errors of prediction show: (V1)
    expected = information * np.maximum(1 - pair_variance * information, 0.0)
    shown = (solved**2 * left_out[:, None] ** 2).sum(axis=0)
    statistics: FloatArray = np.abs(alpha @ product) / np.sqrt(np.maximum(expected, shown) + 1e-300)
    return np.where(information > NEGLIGIBLE, statistics, 0.0)


def _inverse_covariance(
    features: FloatArray, n_choices: int, targets: FloatArray
) -> tuple[FloatArray, float]:
    """Return the inverse covariance of the targets, shape (n, n), and the variance of a coupling."""
    constant, _, choices, lines, curvature, pairs = component_covariances(features, features, n_choices)
    smooth, distance = np.zeros_like(pairs), np.empty_like(pairs)
    for column in features[:, n_choices:].T / SMOOTH_RANGE:
        np.abs(np.subtract.outer(column, column, out=distance), out=distance)
        smooth += np.exp(np.negative(distance, out=distance), out=distance)
    components = [pairs, constant, choices, lines, curvature, smooth]
    scales = [float(np.diag(gram).mean()) for gram in components]
    grams = [gram / scale for gram, scale in zip(components, scales, strict=True) if scale > NEGLIGIBLE]
    variances = np.array([FIRST_VARIANCE] * len(grams) + [FIRST_NOISE])
    for step in range(N_STEPS + 1):
        covariance = np.tensordot(variances[:-1], grams, 1)
        inverse = inverse_of(cholesky(covariance + variances[-1] * np.eye(len(targets))))
        if step < N_STEPS:
            variances = improved_variances(variances, grams, inverse, targets, np.ones(len(targets)))
    pair_variance, pair_scale = variances[0], scales[0]
    return inverse, pair_variance / pair_scale if pair_scale > NEGLIGIBLE else 0.0
