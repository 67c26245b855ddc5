"""The trend of all values, which a stalled run of `ising` asks."""

import numpy as np
import pytest

import dcmaes as dc
from dcmaes.models import FeatureMap
from dcmaes.space import Binary, Categorical, Float, Integer, Space
from dcmaes.strategies import Evaluations
from dcmaes.strategies.ising._proposals import trend_minimum


def fitted(space, x, values, centre=None):
    centre = x[0] if centre is None else centre
    feature_map = FeatureMap(space.sites, centre, np.ones(len(centre)))
    return trend_minimum(feature_map, Evaluations(x, values, np.zeros(len(x))))


def test_the_minimum_of_a_linear_function_is_found_in_spite_of_noise():
    rng = np.random.default_rng(0)
    x, slope = rng.integers(0, 2, (300, 40)).astype(float), rng.choice([-1.0, 1.0], 40)
    found = fitted(Space.binary(40), x, x @ slope + 2 * rng.normal(size=300))
    np.testing.assert_array_equal(found, slope < 0)


def test_the_best_choice_of_each_site_is_found_whatever_the_centre_has():
    rng = np.random.default_rng(1)
    space = Space({f"v{i}": Categorical(["a", "b", "c", "d"]) for i in range(6)})
    table = rng.permuted(np.tile(np.arange(4.0), (6, 1)), axis=1)
    x = rng.integers(0, 4, (200, 6)).astype(float)
    values = table[np.arange(6), x.astype(int)].sum(axis=1)
    for centre in (np.zeros(6), table.argmin(axis=1).astype(float), np.full(6, 3.0)):
        np.testing.assert_array_equal(fitted(space, x, values, centre), table.argmin(axis=1))


def test_numbers_beside_choices_have_parabolas():
    rng = np.random.default_rng(2)
    space = Space({"a": Binary(), "n": Integer(0, 100), "z": Float(-1.0, 1.0)})
    x = np.column_stack([rng.integers(0, 2, 200), rng.integers(0, 101, 200), rng.uniform(-1, 1, 200)])
    values = -x[:, 0] + ((x[:, 1] - 30) / 20) ** 2 + (x[:, 2] - 0.5) ** 2
    found = fitted(space, x.astype(float), values)
    assert found[0] == 1
    assert abs(found[1] - 30) < 8
    assert abs(found[2] - 0.5) < 0.2


@pytest.mark.parametrize("outlier", [1e30, 1e300])
def test_outliers_do_not_hide_it(outlier):
    rng = np.random.default_rng(3)
    x, slope = rng.integers(0, 2, (200, 20)).astype(float), rng.choice([-1.0, 1.0], 20)
    values = x @ slope
    values[::20] = outlier
    np.testing.assert_array_equal(fitted(Space.binary(20), x, values), slope < 0)


def test_equal_values_leave_the_centre():
    x = np.random.default_rng(4).integers(0, 2, (20, 5)).astype(float)
    np.testing.assert_array_equal(fitted(Space.binary(5), x, np.ones(20)), x[0])


def rugged(x):
    """Number of zeros, in reversed order within each five of them: every single step up leads down."""
    zeros = int((x == 0).sum())
    return 0.0 if zeros == 0 else 5 * ((zeros - 1) // 5) + 5 - (zeros - 1) % 5


def test_ruggedness_is_seen_through():
    for seed in range(5):
        result = dc.minimize(
            rugged, dc.Space.binary(50), budget=2000, seed=seed, target=0.0, strategy="ising"
        )
        assert result.fun == 0.0
