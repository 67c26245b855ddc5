"""The law m + B(sigma^2 C) modulo the number of states, against the exact centred binomial.

Chi-square tests are at the 1e-4 level, moments within 5 standard errors (false alarm below 1e-6 each).
"""

import math

import numpy as np
import pytest
from scipy import stats

from dcmaes import Binary, Categorical, Float, Integer, Ordinal, Space
from dcmaes.distributions import CenteredBinomial
from dcmaes.strategies import Evaluations, Paper
from dcmaes.strategies.paper import PaperState
from dcmaes.strategies.paper._printed import LARGEST_SUM, BinomialSteps

N = 20_000


def make_state(space, mean, step_size=1.0, covariance=None):
    k = len(mean)
    return PaperState(
        sites=space.sites,
        population_size=8,
        mean=np.array(mean, dtype=float),
        step_size=step_size,
        covariance=np.eye(k) if covariance is None else np.array(covariance),
        sigma_path=np.zeros(k),
        c_path=np.zeros(k),
        mean_step=math.inf,
        generation=0,
        waiting=Evaluations.empty(space.dimension),
    )


def draw(state, n=N, seed=1):
    return Paper().sample(state, n, np.random.default_rng(seed), None)


def check_law(x, law):
    expected = len(x) * law.probabilities
    counts = np.array([(x == value).sum() for value in law.support])
    assert counts.sum() == len(x)
    assert counts[expected == 0].sum() == 0
    common = expected >= 5
    observed = np.append(counts[common], counts[~common].sum())
    expected = np.append(expected[common], expected[~common].sum())
    keep = expected > 0
    statistic = ((observed - expected)[keep] ** 2 / expected[keep]).sum()
    assert statistic < stats.chi2.ppf(1 - 1e-4, keep.sum() - 1)


@pytest.mark.parametrize(
    ("n_states", "mean", "variance"),
    [(11, 5.0, 1.0), (11, 3.7, 2.0), (11, 0.2, 2.5), (2, 0.5, 0.25), (2, 1.0, 0.04), (101, 97.3, 20.0)],
)
def test_a_variable_follows_the_wrapped_centred_binomial(n_states, mean, variance):
    space = Space.integers(2, 0, n_states - 1)
    covariance = [[variance, 0.3 * variance], [0.3 * variance, variance]]
    x = draw(make_state(space, [mean, mean], 1.0, covariance))
    law = CenteredBinomial(n_states - 1, variance, center=mean, wrap=n_states)
    check_law(x[:, 0], law)
    check_law(x[:, 1], law)


def test_mean_and_variance_away_from_the_ends_are_those_asked_for():
    m, v = 50.3, 9.0
    x = draw(make_state(Space.integers(3, 0, 100), [m] * 3, 3.0))
    law = CenteredBinomial(100, v, center=m)
    assert np.abs(x.mean(axis=0) - m).max() < 5 * math.sqrt(law.variance / N)
    error = np.abs(x.var(axis=0) - law.variance) / law.variance
    assert error.max() < 5 * math.sqrt(2.1 / N)  # the fourth moment is close to that of a normal
    assert law.variance == pytest.approx(v, abs=0.25)


def test_covariances_are_those_asked_for():
    covariance = np.array([[4.0, 2.0, -0.3], [2.0, 5.0, 0.5], [-0.3, 0.5, 3.0]])
    steps = BinomialSteps(np.array([40, 40, 40]), covariance)
    np.testing.assert_allclose(steps.sums.covariance, covariance, rtol=1e-9)
    x = steps.sample(N, np.random.default_rng(2))
    error = np.abs(np.cov(x, rowvar=False) - covariance)
    assert error.max() < 5 * math.sqrt(2 * 25 / N)


def test_infeasible_covariances_are_moved_onto_their_bounds():
    # p = 1/8 and 1/2 in 4 trials: the covariance is at most 4 (1/8 - 1/16) = 1/4.
    variance = np.array([4 * 7 / 64, 1.0])
    for sign in (1, -1):
        asked = 0.9 * sign * math.sqrt(variance.prod())
        steps = BinomialSteps(np.array([4, 4]), np.array([[variance[0], asked], [asked, variance[1]]]))
        assert steps.p == pytest.approx([1 / 8, 1 / 2])
        assert steps.sums.covariance[0, 1] == pytest.approx(sign / 4, rel=1e-9)


def test_small_steps_can_hardly_be_anticorrelated():
    # E[B1 B2] >= 0 bounds the correlation from below by -p / (1 - p), which vanishes with the variance.
    for variance in (10.0, 0.1, 0.001):
        steps = BinomialSteps(np.array([100, 100]), variance * np.array([[1.0, -0.9], [-0.9, 1.0]]))
        p = steps.p[0]
        assert steps.correlation[0, 1] == pytest.approx(-p / (1 - p), rel=1e-9)


def test_correlations_that_contradict_each_other_are_repaired():
    rng = np.random.default_rng(3)
    factors = rng.normal(size=(8, 2))
    covariance = factors @ factors.T + 0.01 * np.eye(8)
    steps = BinomialSteps(rng.integers(1, 30, 8), covariance)
    assert steps.sums.correlation_error > 0.01
    x = steps.sample(N, rng)
    deviation = np.sqrt(steps.variance / N)
    assert (np.abs(x.mean(axis=0) - steps.mean) < 5 * deviation).all()


def test_the_cap_keeps_correlations():
    steps = BinomialSteps(np.array([8, 8]), np.array([[40.0, 20.0], [20.0, 40.0]]))
    assert steps.variance == pytest.approx([2, 2])
    assert steps.sums.covariance[0, 1] == pytest.approx(1, rel=1e-9)


def test_many_trials_keep_the_binomial_marginals_and_correlate():
    n = 100 * LARGEST_SUM
    few = BinomialSteps(np.array([3, n, n]), np.diag([0.5, 30.0, n / 8]))
    x = few.sample(N, np.random.default_rng(4))
    check_law(x[:, 1], CenteredBinomial(n, 30.0, center=n * few.p[1]))
    assert abs(x[:, 2].mean() - few.mean[2]) < 5 * math.sqrt(n / 8 / N)
    assert abs(x[:, 2].var() / (n / 8) - 1) < 5 * math.sqrt(2 / N)
    many = BinomialSteps(np.array([n, n]), n / 8 * np.array([[1.0, 0.7], [0.7, 1.0]]))
    y = many.sample(N, np.random.default_rng(5))
    assert abs(np.corrcoef(y, rowvar=False)[0, 1] - 0.7) < 5 * (1 - 0.49) / math.sqrt(N)


def test_contradicting_correlations_of_many_trials_keep_the_variances():
    angle = np.arange(8) * np.pi / 4  # neighbours on a circle agree, opposite ones cannot disagree
    covariance = 2 * np.cos(np.subtract.outer(angle, angle)) + 0.01 * np.eye(8)
    steps = BinomialSteps(np.full(8, 2 * LARGEST_SUM), covariance)
    assert np.linalg.eigvalsh(steps.correlation)[0] < -0.3
    x = steps.sample(N, np.random.default_rng(9))
    fourth = steps.variance * (3 * steps.variance + 1)  # at most, for a binomial
    assert (np.abs(x.var(axis=0) - steps.variance) < 5 * np.sqrt(fourth / N)).all()


def test_the_two_ways_of_drawing_agree_where_they_meet():
    covariance = LARGEST_SUM / 8 * np.array([[1.0, 0.6], [0.6, 1.0]])
    laws = [BinomialSteps(np.full(2, n), covariance) for n in (LARGEST_SUM, LARGEST_SUM + 1)]
    one, other = (law.sample(N, np.random.default_rng(6)) for law in laws)
    assert (laws[0].sums is None, laws[1].sums is None) == (False, True)
    error = math.sqrt(2 * LARGEST_SUM / 8 / N)
    assert np.abs(one.mean(axis=0) - other.mean(axis=0)).max() < 1 + 5 * error
    difference = np.corrcoef(one, rowvar=False)[0, 1] - np.corrcoef(other, rowvar=False)[0, 1]
    assert abs(difference) < 5 * math.sqrt(2) * (1 - 0.36) / math.sqrt(N)


def test_ends_are_neighbours():
    space = Space.integers(1, 0, 10)
    x = draw(make_state(space, [0.0], 1.0))[:, 0]
    assert (x >= 9).mean() > 0.2  # a step down from 0 comes out at the other end
    assert x.mean() > 2
    assert set(x) <= set(range(11))


def test_a_bit_is_flipped():
    # Variance 0.09 gives p = 0.1, and with the rounding a flip of probability 2 * 0.1 * 0.9.
    x = draw(make_state(Space.binary(2), [0.0, 1.0], 0.3))
    error = 5 * math.sqrt(0.18 * 0.82 / N)
    assert abs(x[:, 0].mean() - 0.18) < error
    assert abs(x[:, 1].mean() - 0.82) < error


def test_erratum_8_an_undecided_bit_is_drawn_towards_zero():
    # p = 0.2 and m = 0.5: exclusive or of a coin of 0.3 (the rounding) and one of 0.2.
    x = draw(make_state(Space.binary(1), [0.5], 0.4))
    assert abs(x.mean() - (0.3 * 0.8 + 0.7 * 0.2)) < 5 * math.sqrt(0.38 * 0.62 / N)


def test_erratum_8_steps_reach_far_up_and_hardly_down():
    x = draw(make_state(Space.integers(1, 0, 100), [50.0], 0.7))[:, 0] - 50
    assert x.min() == -1  # the mean of B is below 1: one rounding down is all there is
    assert x.max() >= 4
    third = (x**3).mean()
    assert third - 5 * (x**3).std() / math.sqrt(N) > 0
    assert abs(x.mean()) < 5 * x.std() / math.sqrt(N)


def test_erratum_9_a_larger_sigma_changes_nothing_beyond_the_cap():
    space = Space.integers(2, 0, 100)
    at_cap, beyond = make_state(space, [50, 50], 5.0), make_state(space, [50, 50], 50.0)
    np.testing.assert_array_equal(draw(at_cap), draw(beyond))
    assert draw(beyond).std(axis=0) == pytest.approx([5, 5], rel=0.05)


def test_zero_sigma_stays_where_it_is():
    x = draw(make_state(Space.integers(2, 0, 10), [3.0, 10.0], 1e-20), n=100)
    np.testing.assert_array_equal(x, np.tile([3.0, 10.0], (100, 1)))


def test_summary_gives_the_law_of_each_variable():
    space = Space.array([Integer(0, 10), Binary(), Integer(0, 10**6), Integer(4, 4)])
    state = make_state(space, [2.0, 0.25, 5e5], 1.5)
    summary = Paper().summary(state, None)
    law = CenteredBinomial(10, 2.25, center=2.0, wrap=11)
    np.testing.assert_allclose(summary.probabilities[0], law.probabilities, rtol=1e-12)
    assert [len(p) for p in summary.probabilities] == [11, 2, 0, 1]
    assert summary.mean == pytest.approx([0.2, 0.25, 0.5, 0.0])
    unwrapped = CenteredBinomial(10, 2.25, center=2.0)
    assert summary.deviation[0] == pytest.approx(math.sqrt(unwrapped.variance) / 10)


@pytest.mark.parametrize(
    ("variable", "kind"), [(Float(0.0, 1.0), "continuous"), (Categorical(["a", "b"]), "categorical")]
)
def test_other_variables_are_refused(variable, kind):
    space = Space({"bit": Binary(), "other": variable, "size": Ordinal(["s", "m", "l"])})
    with pytest.raises(ValueError, match=rf"binary, integer and ordinal .* variable 1 is {kind}; use .*cma"):
        Paper().init(space.sites, Evaluations.empty(3), 10, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("option", "error", "message"),
    [
        ({"population_size": 1}, ValueError, "population_size must be at least 2, got 1"),
        ({"step_size": 0.0}, ValueError, "step_size must be between"),
        ({"tolerance": -1.0}, ValueError, "tolerance must be between"),
        ({"round_mean": 1}, TypeError, "round_mean must be True or False, got 1"),
    ],
)
def test_bad_options(option, error, message):
    with pytest.raises(error, match=message):
        Paper(**option)
