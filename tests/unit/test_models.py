"""Features, energies and the fit of variances."""

import numpy as np
import pytest

from dcmaes.models import Energy, FeatureMap, Regression
from dcmaes.space import Binary, Categorical, Float, Integer, Space
from dcmaes.testing import conformance_spaces

FIRST = np.array([1.0, 0.2, 0.2, 0.2, 0.2, 0.1, 0.01])


def mixed_map():
    space = Space({"a": Binary(), "b": Categorical(["x", "y", "z"]), "c": Integer(0, 10), "d": Float(0, 1)})
    return FeatureMap(space.sites, np.array([0.0, 1.0, 5.0, 0.5]), np.full(4, 0.1))


def test_features_are_zero_at_the_centre_and_count_changes():
    feature_map = mixed_map()
    x = np.array([[0.0, 1.0, 5.0, 0.5], [1.0, 0.0, 4.0, 0.75], [0.0, 2.0, 5.0, 0.5]])
    expected = [[0, 0, 0, 0, 0], [1, 1, 0, -1, 2.5], [0, 0, 1, 0, 0]]
    np.testing.assert_allclose(feature_map.features(x), expected, atol=1e-12)
    assert feature_map.n_choices == 3
    assert feature_map.site.tolist() == [0, 1, 1, 2, 3]


@pytest.mark.parametrize("name", list(conformance_spaces()))
def test_points_of_features_are_the_points(name):
    sites = conformance_spaces()[name].sites
    rng = np.random.default_rng(0)
    x = sites.canonical(sites.uniform(rng.random((50, sites.dimension))))
    feature_map = FeatureMap(sites, x[0], np.full(sites.dimension, 0.3))
    again = feature_map.points(feature_map.features(x))
    np.testing.assert_allclose(sites.coordinate(again), sites.coordinate(x), rtol=0, atol=1e-9)
    assert not feature_map.features(x[:1]).any()


def test_periodic_features_go_the_short_way():
    sites = Space.array([Integer(0, 23, periodic=True)]).sites
    feature_map = FeatureMap(sites, np.array([23.0]), np.array([1 / 24]))
    np.testing.assert_allclose(feature_map.features(np.array([[1.0], [22.0]])), [[2.0], [-1.0]], atol=1e-12)


def test_energy_by_hand():
    coupling = np.zeros((1, 3, 3))
    coupling[0, 0, 2] = coupling[0, 2, 0] = 5.0
    energy = Energy(2, np.array([0.5]), np.array([[1.0, 2.0, 3.0]]), np.array([[4.0]]), coupling)
    # radial 0.5 * (1 + 4), field 1 + 3 * 2, curvature 4 * 4, coupling 5 * 1 * 2
    assert energy.value(np.array([[1.0, 0.0, 2.0]])) == pytest.approx(2.5 + 7 + 16 + 10)
    np.testing.assert_allclose(energy.gradient(np.array([[1.0, 0.0, 2.0]])), [[11.0, 2.0, 8.0]])


def planted(seed, k=8, n=60):
    """Exact values of an Ising energy of {0,1} states at random points: field, coupling and a model of it."""
    rng = np.random.default_rng(seed)
    field = rng.normal(size=k)
    coupling = np.triu(rng.normal(size=(k, k)) * (rng.random((k, k)) < 0.3), 1)
    x = rng.integers(0, 2, (n, k)).astype(float)
    values = x @ field + np.einsum("ni,ij,nj->n", x, coupling, x)
    model = Regression(x, k, np.arange(k), (values - values.mean()) / values.std(), np.ones(n), FIRST)
    return field, coupling, values.std(), model


def fitted(model, n_steps):
    for _ in range(n_steps):
        model = Regression(
            model.features,
            model.n_choices,
            model.site,
            model.targets,
            model.weights,
            model.improved_variances(),
        )
    return model


@pytest.mark.parametrize("seed", range(4))
def test_a_planted_ising_model_is_recovered(seed):
    field, coupling, unit, model = planted(seed)
    energy = fitted(model, 30).mean(has_pairs=True)
    np.testing.assert_allclose(unit * (energy.field[0] + energy.radial[0]), field, atol=2e-3)
    np.testing.assert_allclose(unit * np.triu(energy.coupling[0]), coupling, atol=2e-3)


@pytest.mark.parametrize("seed", range(4))
def test_the_fixed_point_iteration_raises_the_likelihood(seed):
    # Not a theorem for the unrooted ratio: single steps may overshoot by a little, many never lose.
    _, _, _, model = planted(seed)
    noisy = Regression(
        model.features,
        model.n_choices,
        model.site,
        model.targets + 0.3 * np.random.default_rng(seed).normal(size=len(model.targets)),
        model.weights,
        FIRST,
    )
    for example in (model, noisy):
        levels = [fitted(example, n).log_likelihood() for n in (0, 1, 2, 5, 10, 20)]
        assert (np.diff(levels) > -0.5).all()
        assert levels[-1] > levels[0] + 1


def test_noise_is_told_from_structure():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, (150, 6)).astype(float)
    signal = x @ np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0]) / np.sqrt(1.5)
    targets = signal + 0.5 * rng.normal(size=150)
    model = fitted(Regression(x, 6, np.arange(6), targets, np.ones(150), FIRST), 40)
    assert 0.5**2 / 1.4 < model.variances[-1] < 0.5**2 * 1.4
    error = (
        x @ model.mean(has_pairs=False).field[0] + x.sum(1) * model.mean(has_pairs=False).radial[0] - signal
    )
    assert np.std(error) < 0.2


@pytest.mark.parametrize("targets", [np.zeros(6), np.array([0.0, 0, 0, 0, 0, 2.4])])
def test_repeated_points_do_not_break_the_factorisation(targets):
    features = np.repeat(np.array([[0.0, 0.0], [1.0, 1e6]]), 3, axis=0)
    variances = np.array([1e3, 1e3, 1e3, 1e3, 1e3, 1e3, 1e-7])
    model = Regression(features, 1, np.arange(2), targets, np.full(6, 1e-7), variances)
    assert np.isfinite(model.improved_variances()).all()
    assert np.isfinite(model.draw(2, np.random.default_rng(0), has_pairs=True).field).all()


def test_the_posterior_covariance_is_that_of_draws():
    rng = np.random.default_rng(0)
    features = np.column_stack([rng.integers(0, 2, (12, 3)), rng.normal(size=(12, 2))]).astype(float)
    variances = np.array([0.5, 0.1, 0.7, 0.3, 0.2, 0.4, 0.05])
    model = Regression(features, 3, np.arange(5), rng.normal(size=12), np.ones(12), variances)
    point = np.array([1.0, 0.0, 1.0, 0.5, -0.3])
    # Energies are zero at the centre: what is drawn is the difference from there.
    energy = model.draw(20_000, rng, has_pairs=True)
    drawn = (
        energy.radial * (2 + point[3:] @ point[3:]) + energy.field @ point + energy.curvature @ point[3:] ** 2
    )
    drawn += (energy.coupling @ point) @ point / 2
    step = np.array([-1.0, 1.0])
    variance = step @ model.covariance(np.stack([np.zeros(5), point])) @ step
    assert variance == pytest.approx(drawn.var(), rel=0.05)
