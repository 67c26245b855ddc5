"""What all surrogates have in common: they are fitted, and predict each value from all others."""

import numpy as np
import pytest
from scipy.stats import norm

from dcmaes.models import FeatureMap, Process, Regression, Scales
from dcmaes.space import Categorical, Float, Integer, Space

SITES = Space({"how": Categorical(["a", "b", "c"]), "n": Integer(0, 9), "u": Float(0, 1)}).sites
N = 40


def data():
    rng = np.random.default_rng(0)
    x = SITES.uniform(rng.random((N, 3)))
    values = (x[:, 0] == 1) + (x[:, 1] - 4) ** 2 / 20 + 2 * x[:, 2] + 0.1 * rng.normal(size=N)
    return x, (values - values.mean()) / values.std()


def regression(x, targets):
    feature_map = FeatureMap(SITES, np.array([0.0, 4.0, 0.5]), np.full(3, 0.3))
    variances = np.array([1.0, 0.2, 0.2, 0.2, 0.2, 0.1, 0.05])
    features = feature_map.features(x)
    return Regression(features, feature_map.n_choices, feature_map.site, targets, np.ones(len(x)), variances)


def process(x, targets):
    return Process(SITES, x, targets, np.ones(len(x)), Scales.expected(SITES))


@pytest.mark.parametrize("surrogate", [regression, process])
class TestEverySurrogate:
    def test_a_value_left_out_is_not_looked_at(self, surrogate):
        x, targets = data()
        mean, deviation = surrogate(x, targets).left_out()
        other = targets.copy()
        other[7] += 0.5
        moved, _ = surrogate(x, other).left_out()
        assert moved[7] == pytest.approx(mean[7], abs=1e-9)
        assert np.abs(moved - mean).max() > 1e-3
        assert (deviation > 0).all()

    def test_densities_are_those_of_normal_laws(self, surrogate):
        model = surrogate(*data())
        mean, deviation = model.left_out()
        expected = norm.logpdf(model.targets, mean, deviation)
        np.testing.assert_allclose(model.log_densities(), expected, rtol=1e-10)

    def test_a_fit_predicts_better_than_none(self, surrogate):
        """Both have about the right structure, so the likelier is also the one that foresees more."""
        model = surrogate(*data())
        assert model.fitted(40).log_densities().mean() > model.log_densities().mean()

    def test_values_without_structure_are_not_foreseen(self, surrogate):
        x, targets = data()
        shuffled = surrogate(x, np.random.default_rng(1).permutation(targets)).fitted(40)
        assert shuffled.log_densities().mean() < surrogate(x, targets).fitted(40).log_densities().mean() - 0.5
