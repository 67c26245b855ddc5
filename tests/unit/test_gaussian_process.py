"""The proposer that maximizes expected improvement."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from dcmaes.models import Scales, log_improvement
from dcmaes.space import Binary, Categorical, Float, Integer, Space
from dcmaes.strategies import Evaluations, Memory
from dcmaes.strategies.gaussian_process import (
    SHARES,
    GaussianProcess,
    ProcessState,
    _foresight,
    _process,
    changed,
    first_values,
    refitted,
)

SPACE = Space(
    {"n": Integer(0, 60), "how": Categorical(["a", "b", "c"]), "on": Binary(), "r": Float(0.0, 1.0)}
)


def value(x):
    return abs(x[:, 0] - 41) / 10 + (x[:, 1] != 1) + 0.5 * x[:, 2] + (x[:, 3] - 0.3) ** 2


def memory_of(n, seed=0):
    memory = Memory(SPACE.sites)
    x = SPACE.sites.uniform(np.random.default_rng(seed).random((n, 4)))
    memory.tell(Evaluations(x, value(x), np.zeros(n)))
    return memory


@pytest.mark.parametrize("z", [4.0, 0.7, 0.0, -0.99, -1.01, -5.0, -12.0])
def test_expected_improvement_against_quadrature(z):
    mean, deviation, lowest = 2.0, 1.5, 2.0 + 1.5 * z
    expected, _ = quad(
        lambda t: (z - t) * norm.pdf(t), z - 40, z, points=[z - 1, z - 0.1], epsabs=0, limit=400
    )
    found = log_improvement(np.array([mean]), np.array([deviation]), lowest)[0]
    assert found == pytest.approx(np.log(expected * deviation), rel=1e-4, abs=1e-4)


def test_expected_improvement_far_away_is_finite_and_falls():
    found = log_improvement(np.linspace(0.0, 1e4, 200), np.ones(200), 0.0)
    assert np.isfinite(found).all()
    assert (np.diff(found) < 0).all()


def test_one_site_is_changed_or_several():
    rng, sites = np.random.default_rng(0), SPACE.sites
    x = sites.uniform(rng.random((400, 4)))
    one = changed(sites, x, rng, several=False)
    assert ((one != x).sum(axis=1) <= 1).all()
    assert ((one != x).sum(axis=1) == 1).mean() > 0.9  # a number may be at its bound
    assert ((changed(sites, x, rng, several=True) != x).sum(axis=1) > 1).any()
    for points in (one, changed(sites, x, rng, several=True)):
        assert all(SPACE.contains(point) for point in SPACE.decode_many(points))


def test_proposals_are_new_and_better_than_chance():
    memory, strategy, rng = memory_of(25), GaussianProcess(), np.random.default_rng(1)
    state = strategy.join(strategy.init(SPACE.sites, memory, 0, rng), memory)
    x = strategy.sample(state, 6, rng, memory)
    assert not memory.contains(x).any()
    assert len(np.unique(x, axis=0)) == 6
    anywhere = value(SPACE.sites.uniform(rng.random((2000, 4))))
    assert np.median(value(x)) < np.quantile(anywhere, 0.05)


def test_random_points_come_first():
    memory, strategy = memory_of(first_values(SPACE.sites) - 1), GaussianProcess()
    assert not strategy.is_useful(memory)
    state = strategy.init(SPACE.sites, memory, 0, np.random.default_rng(0))
    x = strategy.sample(state, 200, np.random.default_rng(0), memory)
    assert np.ptp(x[:, 0]) > 50


def test_the_scale_of_the_values_is_the_one_that_predicts_best():
    # Values that are the exponential of a simple function: their logarithm is easy to predict.
    memory = Memory(SPACE.sites)
    x = SPACE.sites.uniform(np.random.default_rng(3).random((60, 4)))
    memory.tell(Evaluations(x, np.exp(4 * value(x)), np.zeros(60)))
    state = ProcessState(SPACE.sites, Scales.expected(SPACE.sites).vector(), len(SHARES) - 1, 0, 0)
    scores = []
    for _ in range(9):
        state = refitted(state, memory)
        scores.append(_foresight(*_process(state, memory.recall(300))))
    assert state.share < len(SHARES) - 1
    assert scores[-1] > scores[0]


@pytest.mark.parametrize("share", [0, len(SHARES) - 1])
def test_values_near_the_smallest_numbers_are_compared_too(share):
    memory = Memory(SPACE.sites)
    x = SPACE.sites.uniform(np.random.default_rng(3).random((60, 4)))
    memory.tell(Evaluations(x, 1e-310 * value(x), np.zeros(60)))
    state = ProcessState(SPACE.sites, Scales.expected(SPACE.sites).vector(), share, 0, 0)
    assert np.isfinite(_foresight(*_process(state, memory.recall(300))))


def test_failures_alone_leave_the_scales_as_they_are():
    memory, strategy = Memory(SPACE.sites), GaussianProcess()
    x = SPACE.sites.uniform(np.random.default_rng(0).random((12, 4)))
    memory.tell(Evaluations(x, np.full(12, np.nan), np.full(12, np.inf)))
    state = strategy.init(SPACE.sites, memory, 0, np.random.default_rng(0))
    assert strategy.join(state, memory) is state
    assert strategy.sample(state, 3, np.random.default_rng(0), memory).shape == (3, 4)


def test_a_state_is_written_and_read():
    memory, strategy = memory_of(25), GaussianProcess()
    state = strategy.join(strategy.init(SPACE.sites, memory, 0, np.random.default_rng(0)), memory)
    again = strategy.state_from_dict(strategy.state_to_dict(state), SPACE.sites)
    np.testing.assert_array_equal(again.scales, state.scales)
    one, two = (strategy.sample(s, 3, np.random.default_rng(4), memory) for s in (state, again))
    np.testing.assert_array_equal(one, two)
