"""The random function with interactions of every order, and the points it proposes."""

from dataclasses import replace

import numpy as np
import pytest
from alone import Alone

from dcmaes.models import FIRST_SCALES, AllOrders, FeatureMap
from dcmaes.space import Binary, Categorical, Float, Integer, Space
from dcmaes.strategies import Evaluations, IsingSearch
from dcmaes.strategies.ising._candidates import has_all_orders, promising_points

MIXED = Space(
    {
        "on": Binary(),
        "how": Categorical(["a", "b", "c"]),
        "n": Integer(0, 10),
        "x": Float(0.1, 10.0, log=True),
    }
)


def model(space, x, targets, scales=FIRST_SCALES):
    d = space.dimension
    return AllOrders(FeatureMap(space.sites, x[0], np.ones(d)), x, np.asarray(targets), np.array(scales))


def drawn(space, n, seed=0):
    return space.sites.uniform(np.random.default_rng(seed).random((n, space.dimension)))


def nothing(x):
    """Tell that no point is known."""
    return np.zeros(len(x), dtype=bool)


def test_predictions_equal_the_formula_written_out():
    x, new = drawn(MIXED, 12), drawn(MIXED, 5, seed=1)
    targets = np.random.default_rng(2).normal(size=12)
    length, choices, noise = 0.3, 1.5, 0.02

    def covariance(a, b):
        u, v = MIXED.sites.coordinate(a), MIXED.sites.coordinate(b)
        square = ((u[2:] - v[2:]) ** 2).sum() / length**2 + (a[:2] != b[:2]).sum() / choices**2
        r = np.sqrt(5 * square)
        return (1 + r + r**2 / 3) * np.exp(-r)

    full = np.array([[covariance(a, b) for b in x] for a in x]) + noise * np.eye(12)
    across = np.array([[covariance(a, b) for b in x] for a in new])
    variance = targets @ np.linalg.solve(full, targets) / 12
    left = 1 - np.einsum("ij,ji->i", across, np.linalg.solve(full, across.T))
    mean, deviation = model(MIXED, x, targets, (length, choices, noise)).predict(new)
    np.testing.assert_allclose(mean, across @ np.linalg.solve(full, targets), atol=1e-6)
    np.testing.assert_allclose(deviation, np.sqrt(variance * left), atol=1e-6)


def test_the_ends_of_a_periodic_variable_are_neighbours():
    space = Space.array([Integer(0, 23, periodic=True)])
    x, targets = np.array([[0.0], [6.0], [12.0], [18.0]]), np.array([-1.0, 0.5, 1.0, 0.5])
    mean, _ = model(space, x, targets).predict(np.array([[23.0], [1.0], [11.0]]))
    assert mean[0] == pytest.approx(mean[1], abs=1e-9)
    assert mean[0] < -0.5 < 0.5 < mean[2]


def test_names_of_states_do_not_matter():
    x, new, targets = drawn(MIXED, 20), drawn(MIXED, 6, seed=1), np.random.default_rng(3).normal(size=20)
    renamed = [points.copy() for points in (x, new)]
    for points in renamed:
        points[:, 0] = 1 - points[:, 0]
        points[:, 1] = (points[:, 1] + 1) % 3
    before = model(MIXED, x, targets).predict(new)
    after = model(MIXED, renamed[0], targets).predict(renamed[1])
    np.testing.assert_allclose(after, before, atol=1e-9)


def test_scales_follow_the_likelihood():
    x = drawn(MIXED, 80)
    wiggly = np.sin(12 * MIXED.sites.coordinate(x)[:, 3])
    smooth = MIXED.sites.coordinate(x)[:, 3] + MIXED.sites.coordinate(x)[:, 2]
    lengths = []
    for values in (wiggly, smooth):
        now = model(MIXED, x, (values - values.mean()) / values.std())
        for _ in range(5):
            better = now.improved()
            assert better.log_likelihood() >= now.log_likelihood()
            now = better
        lengths.append(now.scales[0])
    assert lengths[0] < 0.4 < lengths[1]


@pytest.mark.parametrize("targets", [np.zeros(6), np.ones(6)])
def test_equal_values_and_equal_points_are_no_trouble(targets):
    x = np.repeat(drawn(MIXED, 3), 2, axis=0)
    mean, deviation = model(MIXED, x, targets).improved().predict(drawn(MIXED, 4))
    assert np.isfinite(mean).all()
    assert np.isfinite(deviation).all()


def told_state(space, function, n, seed=0):
    """Return a state of `ising` that was told values of random points, four at a time."""
    strategy, rng = Alone(IsingSearch()), np.random.default_rng(seed)
    state = strategy.init(space.sites, Evaluations.empty(space.dimension), 500, rng)
    x = drawn(space, n, seed)
    values = np.array([function(space.sites.coordinate(row)) for row in x])
    for i in range(0, n, 4):
        rows = slice(i, i + 4)
        state = strategy.update(state, Evaluations(x[rows], values[rows], np.zeros(len(values[rows]))))
    return strategy.given(state)


def wavy(u):
    return float(np.sin(9 * u).sum())


def quadratic(u):
    return float(((u - 0.4) ** 2).sum())


def test_it_is_asked_only_where_it_may_help():
    integers, many = Space.integers(4, 0, 30), Space.integers(31, 0, 30)
    assert has_all_orders(told_state(integers, wavy, 60))
    assert not has_all_orders(told_state(integers, quadratic, 60))
    assert not has_all_orders(told_state(integers, wavy, 4))
    assert not has_all_orders(told_state(integers, wavy, 240))
    assert not has_all_orders(told_state(many, wavy, 100))
    assert not has_all_orders(told_state(Space.binary(8), wavy, 60))
    assert not has_all_orders(replace(told_state(integers, wavy, 60), deviation=1.0))


def test_promising_points_are_new_and_differ_and_are_in_the_space():
    state = told_state(MIXED, wavy, 60)
    points = promising_points(state, 4, np.random.default_rng(0), nothing)
    assert points.shape == (4, 4)
    assert len(np.unique(points, axis=0)) == 4
    np.testing.assert_array_equal(MIXED.encode_many(MIXED.decode_many(points)), points)


def test_nothing_is_proposed_where_all_is_known():
    state = told_state(MIXED, wavy, 60)
    points = promising_points(state, 2, np.random.default_rng(0), lambda x: np.ones(len(x), dtype=bool))
    assert points.shape == (0, 4)


def test_promising_points_are_better_than_random_ones():
    better = 0
    for seed in range(10):
        state = told_state(MIXED, wavy, 60, seed)
        points = promising_points(state, 4, np.random.default_rng(seed), nothing)
        values = [wavy(MIXED.sites.coordinate(x)) for x in points]
        better += min(values) < np.quantile(state.memory.value, 0.1)
    assert better >= 8
