"""One generation of Algorithm 1, computed by hand from the printed equations."""

import math

import numpy as np
import pytest
from alone import Alone

from dcmaes import Binary, Integer, Space
from dcmaes.strategies import Evaluations, Paper
from dcmaes.strategies.paper._printed import constants, default_population_size

# Two variables of 0..10, four points, m = (4, 6), sigma = 2, C = I, paths zero. The best: (6, 6), (4, 10).
X = np.array([[0.0, 0.0], [4.0, 10.0], [6.0, 6.0], [10.0, 10.0]])
VALUE = np.array([9.0, 2.0, 1.0, 5.0])

# d = 2, lambda = 4, mu = 2: w = (log 2.5, log 2.5 - log 2) / sum.
W1 = math.log(2.5) / (math.log(2.5) + math.log(1.25))
W2 = math.log(1.25) / (math.log(2.5) + math.log(1.25))
MU = 1 / (W1**2 + W2**2)
C_SIGMA = (MU + 2) / (2 + MU + 5)
D_SIGMA = 1 + C_SIGMA  # sqrt((mu - 1) / 3) < 1, so that the maximum is 0
C_C = (4 + MU / 2) / (2 + 4 + 2 * MU / 2)
C_1 = 2 / (3.3**2 + MU)
C_MU = 2 * (MU - 2 + 1 / MU) / (4**2 + MU)
CHI = math.sqrt(2) * (1 - 1 / 8 + 1 / 84)


def first_state(strategy, mean=(4.0, 6.0)):
    space = Space.integers(2, 0, 10)
    start = Evaluations(np.array([mean]), np.array([np.nan]), np.zeros(1))
    return strategy.init(space.sites, start, 100, np.random.default_rng(0))


def tell(strategy, state, x=X, value=VALUE):
    return strategy.update(state, Evaluations(np.array(x), np.array(value), np.zeros(len(value))))


@pytest.fixture
def strategy():
    return Alone(Paper(population_size=4, step_size=2.0))


def test_constants():
    k = constants(2, 4)
    assert k.weights == pytest.approx([0.8041629, 0.1958371], abs=1e-7)
    assert (k.weights[0], k.weights[1]) == (pytest.approx(W1, rel=1e-15), pytest.approx(W2, rel=1e-15))
    found = (
        k.effective_size,
        k.sigma_rate,
        k.sigma_damping,
        k.c_rate,
        k.rank_one,
        k.rank_mu,
        k.expected_length,
    )
    assert found == pytest.approx((MU, C_SIGMA, D_SIGMA, C_C, C_1, C_MU, CHI), rel=1e-14)
    assert default_population_size(2) == 6


def test_large_populations_are_damped_and_learn_at_most_everything():
    k = constants(2, 400)
    assert k.sigma_damping == pytest.approx(
        1 + k.sigma_rate + 2 * (math.sqrt((k.effective_size - 1) / 3) - 1), rel=1e-14
    )
    assert k.rank_mu == 1 - k.rank_one


def test_first_update(strategy):
    state = tell(strategy, first_state(strategy))
    mean = [6 * W1 + 4 * W2, 6 * W1 + 10 * W2]
    assert state.mean == pytest.approx(mean, rel=1e-15)
    y = np.array([mean[0] - 4, mean[1] - 6]) / 2  # C = I: whitening changes nothing
    p_sigma = math.sqrt(C_SIGMA * (2 - C_SIGMA) * MU) * y
    assert state.sigma_path == pytest.approx(p_sigma, rel=1e-14)
    length = math.hypot(*p_sigma)
    assert length < 1.5 * math.sqrt(2)
    p_c = math.sqrt(C_C * (2 - C_C) * MU) * y
    assert state.c_path == pytest.approx(p_c, rel=1e-14)
    # (x - m') / sigma: (1, 0) for the best point, (0, 2) for the second.
    c = [
        [1 - C_1 - C_MU + C_1 * p_c[0] ** 2 + C_MU * W1, C_1 * p_c[0] * p_c[1]],
        [C_1 * p_c[0] * p_c[1], 1 - C_1 - C_MU + C_1 * p_c[1] ** 2 + C_MU * 4 * W2],
    ]
    np.testing.assert_allclose(state.covariance, c, rtol=1e-14)
    assert state.step_size == pytest.approx(2 * math.exp(C_SIGMA / D_SIGMA * (length / CHI - 1)), rel=1e-14)
    assert state.mean_step == pytest.approx(math.hypot(2 * W1, 4 * W2), rel=1e-14)
    assert state.generation == 1


def test_second_update_whitens_with_the_new_covariance_and_fades_the_paths(strategy):
    first = tell(strategy, first_state(strategy))
    second = tell(strategy, first, x=[[5, 8], [6, 7], [7, 7], [5, 6]], value=[3.0, 1.0, 2.0, 4.0])
    mean = np.array([6 * W1 + 7 * W2, 7.0])
    assert second.mean == pytest.approx(mean, rel=1e-15)
    # For a symmetric 2x2 matrix, sqrt(C) = (C + sqrt(det) I) / sqrt(trace + 2 sqrt(det)).
    (a, b), (_, d) = first.covariance
    root_det = math.sqrt(a * d - b * b)
    scale = math.sqrt(a + d + 2 * root_det)
    inverse_root = np.array([[d + root_det, -b], [-b, a + root_det]]) / (root_det * scale)
    y = (mean - first.mean) / first.step_size
    p_sigma = (1 - C_SIGMA) * first.sigma_path
    p_sigma = p_sigma + math.sqrt(C_SIGMA * (2 - C_SIGMA) * MU) * inverse_root @ y
    assert second.sigma_path == pytest.approx(p_sigma, rel=1e-12)
    p_c = (1 - C_C) * first.c_path + math.sqrt(C_C * (2 - C_C) * MU) * y
    assert second.c_path == pytest.approx(p_c, rel=1e-12)
    best, other = ((np.array(x) - first.mean) / first.step_size for x in ([6, 7], [7, 7]))
    c = (1 - C_1 - C_MU) * first.covariance + C_1 * np.outer(p_c, p_c)
    c = c + C_MU * (W1 * np.outer(best, best) + W2 * np.outer(other, other))
    np.testing.assert_allclose(second.covariance, c, rtol=1e-12)
    change = C_SIGMA / D_SIGMA * (math.hypot(*p_sigma) / CHI - 1)
    assert second.step_size == pytest.approx(first.step_size * math.exp(change), rel=1e-12)


def test_a_long_sigma_path_stalls_the_path_of_c():
    strategy = Alone(Paper(population_size=4, step_size=0.5))
    state = tell(strategy, first_state(strategy))
    assert np.linalg.norm(state.sigma_path) > 1.5 * math.sqrt(2)
    np.testing.assert_array_equal(state.c_path, [0, 0])
    np.testing.assert_allclose(
        state.covariance,
        [[1 - C_1 - C_MU + C_MU * 16 * W1, 0], [0, 1 - C_1 - C_MU + C_MU * 64 * W2]],
        rtol=1e-14,
        atol=1e-15,
    )


def test_one_generation_multiplies_the_step_size_by_at_most_e():
    strategy = Alone(Paper(population_size=4, step_size=1e-3))
    assert tell(strategy, first_state(strategy)).step_size == pytest.approx(1e-3 * math.e, rel=1e-14)


def test_a_variable_that_does_not_move_in_a_large_population_stays_alive():
    strategy = Alone(Paper(population_size=400))
    state = first_state(strategy)
    x = np.column_stack([np.full(400, 4.0), np.arange(400) % 11])
    for _ in range(3):
        state = tell(strategy, state, x, np.arange(400.0))
    assert np.isfinite(state.covariance).all()
    assert np.isfinite(state.sigma_path).all()
    np.testing.assert_array_equal(strategy.sample(state, 5, np.random.default_rng(0), None)[:, 0], 4.0)


def test_rounding_the_mean(strategy):
    rounding = Alone(Paper(population_size=4, step_size=2.0, round_mean=True))
    state = tell(rounding, first_state(rounding))
    np.testing.assert_array_equal(state.mean, np.rint(tell(strategy, first_state(strategy)).mean))
    assert state.mean_step == pytest.approx(math.hypot(2, 1))  # (6, 7) - (4, 6)
    assert state.sigma_path == pytest.approx(math.sqrt(C_SIGMA * (2 - C_SIGMA) * MU) * np.array([1, 0.5]))


def test_results_wait_for_a_full_population(strategy):
    start = first_state(strategy)
    part = tell(strategy, start, X[:3], VALUE[:3])
    assert (strategy.batch_size(start), strategy.batch_size(part)) == (4, 1)
    assert part.generation == 0
    whole = tell(strategy, part, X[3:], VALUE[3:])
    np.testing.assert_array_equal(whole.covariance, tell(strategy, start).covariance)
    twice = tell(strategy, start, np.tile(X, (2, 1)), np.tile(VALUE, 2))
    assert twice.generation == 2


def test_the_worse_half_counts_for_nothing(strategy):
    start = first_state(strategy)
    worse = np.array([[3.0, 3.0], [4.0, 10.0], [6.0, 6.0], [1.0, 2.0]])
    one, other = tell(strategy, start), tell(strategy, start, worse)
    np.testing.assert_array_equal(one.covariance, other.covariance)
    np.testing.assert_array_equal(one.mean, other.mean)


def test_variables_with_one_value_take_no_part():
    alone, beside = Space.integers(1, 0, 10), Space.array([Integer(7, 7), Integer(0, 10), Binary()])
    strategy = Alone(Paper())
    states = [
        strategy.init(space.sites, Evaluations.empty(space.dimension), 9, np.random.default_rng(0))
        for space in (alone, beside)
    ]
    assert [len(state.mean) for state in states] == [1, 2]
    assert states[1].mean == pytest.approx([5, 0.5])
    assert states[1].step_size == pytest.approx(math.sqrt(10) / 2)


def test_interactions_are_partial_correlations(strategy):
    state = tell(strategy, first_state(strategy))
    (a, b), (_, d) = state.covariance
    # For two variables the partial correlation is the correlation.
    assert strategy.interactions(state)[0, 1] == pytest.approx(abs(b) / math.sqrt(a * d), rel=1e-4)
