"""Single generations of `cma`: one computed by hand, and what each part may and may not do."""

import numpy as np
import pytest
from alone import Alone

from dcmaes import Binary, Categorical, Float, Integer, Space
from dcmaes.strategies import Evaluations
from dcmaes.strategies.cma import Cma
from dcmaes.strategies.cma._cma import distribution_around
from dcmaes.strategies.cma._marginals import Layout
from dcmaes.strategies.cma._state import constants, no_paths
from dcmaes.strategies.cma._update import FRESH_SHARE, advance, smallest_floor


def generation(distribution, x, fresh=1.0, number=1):
    return advance(
        distribution, no_paths(distribution), np.array(x, dtype=float), fresh=fresh, generation=number
    )


def test_one_generation_by_hand():
    # Two floats on [0, 1], diagonal, mean (1/2, 1/2), deviation 0.1; four points, best first.
    layout = Layout(Space.array([Float(0.0, 1.0)] * 2).sites)
    distribution = distribution_around(layout, np.full(2, 0.5), 0.1, 4, is_full=False)
    x = [[0.6, 0.5], [0.5, 0.4], [0.4, 0.5], [0.5, 0.7]]
    moved, paths = generation(distribution, x)
    # Weights ln 2.5 - ln i: 0.916291, 0.223144, -0.182322, -0.470004; positive ones over their sum 1.139434.
    w1, w2 = 0.8041629, 0.1958371
    np.testing.assert_allclose(moved.marginals.mean, [0.5 + 0.1 * w1, 0.5 - 0.1 * w2], atol=1e-6)
    mu = 1 / (w1**2 + w2**2)  # 1.459790
    c = (mu + 2) / (2 + mu + 5)  # 0.408969
    step = np.array([w1, -w2])
    np.testing.assert_allclose(paths.step.vector, np.sqrt(c * (2 - c) * mu) * step, atol=1e-6)
    assert paths.step.variance == pytest.approx(c * (2 - c), abs=1e-6)
    # sqrt(pi / 2) = 1.253314 is the mean length of two normals.
    length = np.sqrt(c * (2 - c) * mu) * np.hypot(w1, w2) / 1.253314
    change = c / (1 + c) * (length - np.sqrt(c * (2 - c)))
    assert moved.marginals.step_size == pytest.approx(np.exp(change), abs=1e-6)
    # Scales: rate 1 / (2 (2/2 + 1) 3^0.75 + mu / 2) = 0.101544 for the path; the surplus 0.367042 times that.
    one = 1 / (4 * 3**0.75 + mu / 2)
    many = (mu + 1 / mu - 2 + 2 / 9) * one
    negative = np.array([0.182322, 0.470004]) / 0.652326
    mu_negative = 1 / (negative**2).sum()
    total = min(1 + one / many, 1 + 2 * mu_negative / (mu + 2))
    # Squared lengths are 1, 1, 1, 4: the last is longer than 2 and counts half.
    w3, w4 = -total * negative[0], -total * negative[1] * 0.5
    rate = np.sqrt(mu * one / 2)
    path, variance = np.sqrt(rate * (2 - rate) * mu) * step, rate * (2 - rate)
    squares = np.array([[1, 0], [0, 1], [1, 0], [0, 4]])
    change = one * (path**2 - variance) + many * np.array([w1, w2, w3, w4]) @ (squares - 1)
    np.testing.assert_allclose(moved.marginals.scale, 0.1 * np.exp(change / 2), rtol=1e-5)


def test_weights_are_those_of_cma_es():
    k = constants(10, 10, 10)
    assert k.weights.sum() == pytest.approx(1)
    assert (np.diff(k.weights) <= 0).all()
    assert (k.weights[5:] == 0).all()
    assert k.effective_size == pytest.approx(3.167299, abs=1e-6)
    assert (k.correlation.weights[5:] < 0).all()


@pytest.mark.parametrize("population_size", [4, 10, 100, 1000])
@pytest.mark.parametrize("n", [1, 3, 50])
def test_negative_weights_cannot_make_the_matrix_indefinite(n, population_size):
    rates = constants(n, n, population_size).correlation
    negative = -rates.weights[rates.weights < 0].sum()
    # The worst case: all negative steps in one direction, as long as they count, and no positive ones.
    kept = 1 - rates.rank_one - rates.rank_mu * rates.weights.sum()
    assert kept - rates.rank_mu * negative * n >= -1e-12


def test_foreign_points_move_the_mean_a_bounded_way():
    layout = Layout(Space.array([Float(0.0, 1.0)] * 3).sites)
    distribution = distribution_around(layout, np.full(3, 0.2), 1e-4, 4, is_full=True)
    moved, _ = generation(distribution, np.full((4, 3), 0.9))
    step = np.linalg.norm(moved.marginals.mean - 0.2)
    assert 0 < step <= 1e-4 * (np.sqrt(3) + 5) * (1 + 1e-9)
    assert np.isfinite(moved.marginals.scale).all()


def test_foreign_points_get_no_negative_weight():
    layout = Layout(Space.array([Float(0.0, 1.0)] * 3).sites)
    distribution = distribution_around(layout, np.full(3, 0.5), 1e-3, 6, is_full=True)
    rng = np.random.default_rng(0)
    good = 0.5 + 1e-3 * rng.normal(size=(3, 3))
    far = np.concatenate([good, np.full((3, 3), 0.9)])
    farther = np.concatenate([good, np.full((3, 3), 0.1)])
    first, second = generation(distribution, far)[0], generation(distribution, farther)[0]
    np.testing.assert_array_equal(first.copula.correlation, second.copula.correlation)
    np.testing.assert_array_equal(first.marginals.scale, second.marginals.scale)


def test_frozen_lattices_leave_the_step_size_alone():
    layout = Layout(Space.integers(4, 0, 10).sites)
    distribution = distribution_around(layout, np.full(4, 0.5), 0.02, 6, is_full=True)
    assert distribution.marginals.numeric.is_rare.all()
    moved, _ = generation(distribution, np.full((6, 4), 9.0))
    assert moved.marginals.step_size == distribution.marginals.step_size


def test_a_frozen_site_stays_alive():
    sites = Space(
        {"a": Integer(0, 20), "b": Binary(), "c": Categorical(["x", "y", "z"]), "z": Float(0, 1)}
    ).sites
    strategy, rng = Alone(Cma(restarts=None)), np.random.default_rng(0)
    state = strategy.init(sites, Evaluations.empty(4), 10_000, rng)
    optimum = np.array([3.0, 1.0, 2.0, 0.5])
    for _ in range(400):
        x = strategy.sample(state, strategy.batch_size(state), rng, None)
        value = np.abs(x - optimum).sum(axis=1)
        state = strategy.update(state, Evaluations(x, value, np.zeros(len(x))))
    assert strategy.summary(state).deviation[3] < 1e-6  # the continuous site has converged
    x = np.concatenate([strategy.sample(state, 20, rng, None) for _ in range(200)])
    moved = (x[:, :3] != optimum[:3]).mean(axis=0)
    # 4,000 draws: a jump of one site in a population on average, half of that for a site of two states.
    lowest = smallest_floor(4, state.population_size)
    assert (moved > lowest / 4).all()
    assert (moved < 0.2).all()


def test_the_floor_rises_on_repeats_and_falls_on_new_points():
    layout = Layout(Space.integers(5, 0, 10).sites)
    distribution = distribution_around(layout, np.full(5, 0.5), 0.1, 10, is_full=True)
    x = np.full((10, 5), 5.0)
    floors = [distribution.marginals.floor]
    for _ in range(30):
        distribution, _ = generation(distribution, x, fresh=0.0)
        floors.append(distribution.marginals.floor)
    assert (np.diff(floors) >= 0).all()
    assert floors[1] == pytest.approx(floors[0] * np.exp(0.5 * FRESH_SHARE))
    assert floors[-1] == pytest.approx(0.3)  # min(2 / 5, 0.3)
    assert (distribution.marginals.numeric.deviation >= 0.1 * np.sqrt(0.3) - 1e-12).all()
    for _ in range(60):
        distribution, _ = generation(distribution, x, fresh=1.0)
    assert distribution.marginals.floor == pytest.approx(smallest_floor(5, 10))


def test_choices_move_to_what_the_best_points_chose():
    layout = Layout(Space({"c": Categorical(["x", "y", "z"]), "e": Categorical(["x", "y"])}).sites)
    distribution = distribution_around(layout, np.empty(0), 0.25, 4, is_full=True)
    moved, _ = generation(distribution, [[2, 0], [2, 1], [0, 0], [1, 0]])
    np.testing.assert_allclose(moved.marginals.probabilities[0], [0, 0, 1], atol=1e-12)
    np.testing.assert_allclose(moved.marginals.probabilities[1], [0.8041629, 0.1958371, 0], atol=1e-6)
    assert (moved.marginals.smoothed[layout.is_state] > 0).all()


def test_choices_of_one_site_are_never_correlated():
    layout = Layout(
        Space({"c": Categorical(["x", "y", "z"]), "e": Categorical(["x", "y"]), "z": Float(0, 1)}).sites
    )
    distribution = distribution_around(layout, np.full(1, 0.5), 0.25, 6, is_full=True)
    paths, rng = no_paths(distribution), np.random.default_rng(0)
    for number in range(1, 20):
        x = layout.sites.uniform(rng.random((6, 3)))
        distribution, paths = advance(distribution, paths, x, fresh=1.0, generation=number)
    correlation = distribution.copula.correlation
    np.testing.assert_array_equal(correlation[layout.within_block], 0.0)
    assert np.abs(correlation[0, 1:]).max() > 0.01
