"""Which interactions values show beyond doubt: the test statistic, and what it is not fooled by."""

import numpy as np
import pytest

from dcmaes.models import certain_pairs
from dcmaes.models._certainty import _standardised
from dcmaes.space import Binary, Categorical, Float, Integer, Space

ALL_KINDS = Space(
    {"a": Binary(), "b": Categorical(["x", "y", "z"]), "c": Integer(0, 20), "d": Float(-1.0, 1.0)}
)


def pairs_found(space, x, value):
    d = space.dimension
    is_certain = certain_pairs(space.sites, x, value, ~np.eye(d, dtype=bool))
    np.testing.assert_array_equal(is_certain, is_certain.T)
    return {(int(i), int(j)) for i, j in np.argwhere(np.triu(is_certain))}


def points(space, n, seed):
    return space.sites.uniform(np.random.default_rng(seed).random((n, space.dimension)))


def test_the_statistic_is_an_estimate_in_its_standard_errors():
    """Against generalized least squares with the coefficient taken out of the covariance (V1)."""
    rng = np.random.default_rng(0)
    n, variance = 12, 0.7
    product, root, targets = rng.standard_normal((n, 3)), rng.standard_normal((n, n)), rng.standard_normal(n)
    rest = root @ root.T + np.eye(n)
    for k in range(3):
        psi = product[:, k]
        inverse = np.linalg.inv(rest + variance * np.outer(psi, psi))
        without = np.linalg.inv(rest)
        estimate = psi @ without @ targets / (psi @ without @ psi)
        errors = inverse @ targets / np.diag(inverse)
        # White's variance of the same estimate, a weighted sum of the targets.
        weight = without @ psi / (psi @ without @ psi)
        error = np.sqrt(max(1 / (psi @ without @ psi), weight**2 @ errors**2))
        assert _standardised(psi[:, None], inverse, targets, variance)[0] == pytest.approx(
            abs(estimate) / error
        )


def test_planted_pairs_of_every_kind_are_found():
    x = points(ALL_KINDS, 150, 0)
    a, b, c, d = x.T
    value = a + (b == 1) + (c / 20) ** 3 + np.abs(d)
    assert pairs_found(ALL_KINDS, x, value) == set()
    assert pairs_found(ALL_KINDS, x, value + a * (b == 2)) == {(0, 1)}
    assert pairs_found(ALL_KINDS, x, value + (c / 10 - 1) * d) == {(2, 3)}
    assert pairs_found(ALL_KINDS, x, value + a * d + (b == 1) * c / 20) == {(0, 3), (1, 2)}


def test_scale_and_offset_do_not_matter():
    x = points(ALL_KINDS, 80, 1)
    value = x[:, 0] * x[:, 3] + x[:, 1]
    for scale, offset in ((1e-200, 0.0), (1e300, 0.0), (1.0, 1e5)):
        assert pairs_found(ALL_KINDS, x, scale * value + offset) == {(0, 3)}


def test_an_outlier_is_no_interaction():
    space = Space.binary(6)
    x = points(space, 100, 2)
    value = x @ np.arange(6.0)
    value[17] = 1e6
    assert pairs_found(space, x, value) == set()


def test_little_says_nothing():
    space = Space.binary(3)
    x = points(space, 19, 0)
    assert pairs_found(space, x, x[:, 0] * x[:, 1]) == set()
    assert pairs_found(space, np.zeros((0, 3)), np.zeros(0)) == set()
    assert pairs_found(space, points(space, 50, 0), np.ones(50)) == set()
    assert pairs_found(space, points(space, 50, 0), 1.0 + 1e-16 * np.arange(50)) == set()


def test_pairs_that_are_not_asked_for_are_not_certain():
    space = Space.binary(3)
    x = points(space, 60, 0)
    nothing = np.zeros((3, 3), dtype=bool)
    assert not certain_pairs(space.sites, x, x[:, 0] * x[:, 1], nothing).any()
