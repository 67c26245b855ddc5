"""The Gaussian process: its gradient, its predictions, and what is left out."""

from dataclasses import replace

import numpy as np
import pytest

from dcmaes.models import Process, Scales
from dcmaes.models._process import MAIN_LENGTH, Coordinates, _matern
from dcmaes.space import Binary, Categorical, Float, Integer, Ordinal, Space

SPACE = Space(
    {
        "a": Integer(0, 10),
        "b": Categorical(["x", "y", "z"]),
        "c": Binary(),
        "d": Float(1.0, 100.0, log=True),
        "hour": Integer(0, 23, periodic=True),
        "one": Ordinal([7]),
    }
)


def process_of(n=30, space=SPACE, seed=0):
    rng = np.random.default_rng(seed)
    sites = space.sites
    x = sites.uniform(rng.random((n, sites.dimension)))
    u = sites.coordinate(x)
    targets = u[:, 0] + 2 * (x[:, 1] == 2) + u[:, 3] * x[:, 2] + 0.01 * rng.standard_normal(n)
    targets = (targets - targets.mean()) / targets.std()
    return Process(sites, x, targets, rng.integers(1, 4, n).astype(float), Scales.expected(sites))


def squares_of(sites, x):
    """Return the squared distance of each pair of coded points along each free site, shape (f, n, n)."""
    where = Coordinates(sites)
    squares = np.zeros((len(where.free), len(x), len(x)))
    for column, site in zip(where.of(x).T, where.site, strict=True):
        squares[site] += np.subtract.outer(column, column) ** 2
    return squares


def mains_of(squares, is_choice):
    """Return the covariances of the main effects of each free site, shape (f, n, n)."""
    mains = 1 - squares
    mains[~is_choice] = np.exp(squares[~is_choice] / (-2 * MAIN_LENGTH**2))
    return mains


def covariance_of(process):
    """Return the covariance of the data, computed site by site."""
    squares = squares_of(process.sites, process.x)
    relevance = np.exp(process.scales.relevance)
    share = 1 / (1 + np.exp(-process.scales.main_share))
    is_choice = process.sites.is_choice[process.sites.is_free]
    alone = np.tensordot(relevance / relevance.sum(), mains_of(squares, is_choice), axes=1)
    together, _ = _matern(np.tensordot(relevance, squares, axes=1))
    return share * alone + (1 - share) * together


def test_distances_of_each_kind_of_site():
    sites = SPACE.sites
    x = np.array([[0.0, 0.0, 0.0, 1.0, 0.0, 0.0], [5.0, 2.0, 1.0, 10.0, 12.0, 0.0]])
    squares = squares_of(sites, x)[:, 0, 1]
    # A quarter of the range squared, another choice twice, half of the logarithm, the diameter of a circle.
    np.testing.assert_allclose(squares, [0.25, 1.0, 1.0, 0.25, 1 / np.pi**2])


def test_the_covariance_of_the_data_is_that_of_prediction():
    process = process_of()
    rng = np.random.default_rng(1)
    vector = process.scales.vector() + rng.standard_normal(7) / 2
    process = replace(process, scales=Scales.of_vector(vector))
    at = Coordinates(process.sites).of(process.x)
    # Main effects are made of a few functions each, which span them nearly.
    np.testing.assert_allclose(process._covariance(at), covariance_of(process), atol=1e-4)
    np.testing.assert_allclose(np.diag(process._covariance(at)), 1.0, atol=1e-12)
    assert np.linalg.eigvalsh(covariance_of(process)).min() > -1e-10


def test_the_gradient_is_that_of_the_loss():
    process = process_of()
    expected, _ = process._prior
    vector = expected + 0.4 * np.random.default_rng(2).standard_normal(len(expected))
    loss = process.loss
    step = 1e-5 * np.eye(len(vector))
    numeric = [(loss(vector + h)[0] - loss(vector - h)[0]) / 2e-5 for h in step]
    np.testing.assert_allclose(loss(vector)[1], numeric, rtol=1e-5, atol=1e-6)


def test_fitting_lowers_the_loss_and_finds_what_matters():
    process = process_of(60)
    fitted = process.fitted(30)
    before, after = (process.loss(p.scales.vector())[0] for p in (process, fitted))
    assert after < before - 1
    # The hour has no effect at all; it is the last of the free sites.
    change = fitted.scales.relevance - process.scales.relevance
    assert change.argmin() == 4


def test_predictions_by_hand():
    process = process_of()
    noise = np.exp(process.scales.noise) / process.count
    covariance = process._covariance(Coordinates(process.sites).of(process.x))
    inverse = np.linalg.inv(covariance + np.diag(noise))
    mean, deviation = process.predict(process.x)
    expected = covariance @ inverse @ process.targets
    np.testing.assert_allclose(mean, expected, atol=1e-6)
    np.testing.assert_allclose(process.at_data(), expected, atol=1e-6)
    variance = (process.targets @ inverse @ process.targets + 1) / (len(process.x) + 1)
    left = np.diag(covariance - covariance @ inverse @ covariance)
    np.testing.assert_allclose(deviation**2, variance * left, atol=1e-6)


def test_what_is_left_out_is_predicted_from_the_others():
    process = process_of(20)
    mean, _ = process.left_out()
    for i in (0, 7, 19):
        rest = np.delete(np.arange(20), i)
        others = replace(process, x=process.x[rest], targets=process.targets[rest], count=process.count[rest])
        assert mean[i] == pytest.approx(others.predict(process.x[[i]])[0][0], abs=1e-6)


def test_beliefs_change_no_mean_and_leave_no_doubt():
    process = process_of(20)
    x = SPACE.sites.uniform(np.random.default_rng(5).random((3, 6)))
    mean, deviation = process.predict(x)
    believed = process.with_beliefs(x)
    np.testing.assert_allclose(believed.predict(x)[0], mean, atol=1e-3)
    assert (believed.predict(x)[1] < 0.3 * deviation).all()
    assert process.with_beliefs(x[:0]) is process


def test_sites_with_one_value_do_not_matter():
    process = process_of(15)
    moved = process.x.copy()
    moved[:, 5] = 0.0
    np.testing.assert_array_equal(process.predict(moved)[0], process.predict(process.x)[0])
    assert len(process.scales.relevance) == 5
