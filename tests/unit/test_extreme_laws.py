"""Laws at the edges: huge parameters, rare events, moments on a bound, sizes that no machine can hold."""

import numpy as np
import pytest

import dcmaes as dc
from dcmaes.distributions import (
    CenteredBinomial,
    Ising,
    MultivariateBernoulli,
    MultivariateBinomial,
    TruncatedGeometric,
)
from dcmaes.strategies.paper._printed import BinomialSteps


def _ising(dimension, seed, scale):
    rng = np.random.default_rng(seed)
    coupling = np.triu(rng.normal(scale=scale, size=(dimension, dimension)), 1)
    return Ising(rng.normal(scale=scale, size=dimension), coupling + coupling.T)


def test_a_nearly_certain_variable_has_a_positive_variance():
    law = MultivariateBernoulli.from_canonical({(0,): 40.0, (1,): 2.0})
    assert law.covariance[0, 0] == pytest.approx(np.exp(-40.0), rel=1e-9)
    assert (law.mean <= 1.0).all()


def test_a_huge_field_leaves_the_other_variable_its_digits():
    law = Ising([1e10, 0.0], np.zeros((2, 2)))
    assert law.probabilities.sum() == pytest.approx(1.0, abs=1e-15)
    assert law.mean.tolist() == [1.0, 0.5]


def test_means_and_correlations_stay_within_their_bounds():
    for seed in range(300):
        law = _ising(4, seed, 50.0)
        assert ((law.mean >= 0) & (law.mean <= 1)).all()
        assert (law.covariance.diagonal() >= 0).all()
        assert (np.abs(law.correlation) <= 1).all()


@pytest.mark.parametrize("p", [9e-7, 1e-12, 1e-100])
def test_rare_independent_events_are_fitted(p):
    law = Ising.from_moments([p, p], np.diag([p * (1 - p)] * 2))
    np.testing.assert_allclose(law.mean, p, rtol=1e-9)
    assert law.coupling[0, 1] == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("dimension", [2, 3, 4, 5])
def test_strongly_coupled_laws_are_found_again_from_their_own_moments(dimension):
    for seed in range(200):
        law = _ising(dimension, seed, 10.0)
        again = Ising.from_moments(law.mean, law.covariance)
        np.testing.assert_allclose(again.mean, law.mean, rtol=0, atol=1e-10)
        np.testing.assert_allclose(again.covariance, law.covariance, rtol=0, atol=1e-10)


def test_moments_on_a_bound_are_met_up_to_rounding():
    constant = Ising.from_moments([1.0, 0.5], [[0.0, 0.0], [0.0, 0.25]])
    np.testing.assert_allclose(constant.mean, [1.0, 0.5], atol=1e-14)
    equal = Ising.from_moments([0.5, 0.5], [[0.25, 0.25], [0.25, 0.25]])
    np.testing.assert_allclose(equal.covariance, 0.25, atol=1e-12)
    assert np.isfinite(equal.coupling).all()


def test_impossible_moments_of_rare_events_are_refused():
    # Two events of 1e-10 are never less than independent by more than 1e-20.
    with pytest.raises(ValueError, match=r"covariance\[0, 1\] must lie between -1e-20"):
        MultivariateBinomial.from_moments(1, [1e-10, 1e-10], [[1e-10, -1e-12], [-1e-12, 1e-10]])
    with pytest.raises(ValueError, match=r"pair \(0, 1\) must lie between the Frechet bounds"):
        Ising.from_moments([1e-10, 1e-10], [[1e-10, -1e-12], [-1e-12, 1e-10]])


def test_the_error_of_a_correlation_is_measured_against_what_was_asked():
    p = 1e-10
    asked = -5e-20  # beyond the bound -1e-20, by less than rounding in units of the deviations
    law = MultivariateBinomial.from_moments(1, [p, p], [[p * (1 - p), asked], [asked, p * (1 - p)]])
    assert law.correlation_error == pytest.approx(4e-10, rel=0.01)


@pytest.mark.parametrize("mean", [1e-3, 1e-9, 1e-20, 1e-200])
def test_entropy_of_a_truncated_geometric_law_near_zero(mean):
    # H = (1 + mean) log(1 + mean) - mean log mean without truncation, which is far off here
    expected = (1 + mean) * np.log1p(mean) - mean * np.log(mean)
    assert TruncatedGeometric.from_mean(100, mean).entropy() == pytest.approx(expected, rel=1e-12)


def test_a_run_too_short_to_tell_warns():
    dense = np.full((25, 25), 0.1) - 0.1 * np.eye(25)
    with pytest.warns(RuntimeWarning, match="too short to tell whether it has mixed"):
        Ising(np.zeros(25), dense).estimate_moments(np.random.default_rng(0), n_draws=1, burn_in=1)


@pytest.mark.parametrize(
    "call",
    [
        lambda: TruncatedGeometric(10**400, 0.5),
        lambda: TruncatedGeometric.from_mean(10**400, 3.0),
        lambda: CenteredBinomial(10**400, 1.0),
        lambda: CenteredBinomial(10, 1.0, wrap=10**15),
        lambda: MultivariateBinomial(10**30, MultivariateBernoulli([0.5, 0.5])),
        lambda: MultivariateBernoulli.from_canonical({(40,): 1.0}),
        lambda: MultivariateBernoulli.from_canonical({(0,): 1.0}, dimension=100),
        lambda: MultivariateBernoulli([0.5, 0.5]).sample(10**30, np.random.default_rng(0)),
    ],
)
def test_sizes_beyond_reach_are_named_not_met_as_overflow(call):
    with pytest.raises(ValueError, match=r"must .*at most"):
        call()


def test_paper_reports_the_correlations_that_it_draws():
    # Trials of 100 and 5,000: summed and taken by quantiles, independently of each other.
    steps = BinomialSteps(np.array([100, 5000]), np.array([[25.0, 800.0], [800.0, 1e5]]))
    assert steps.correlation[0, 1] == pytest.approx(np.sqrt(100 / 5000))
    drawn = np.corrcoef(steps.sample(4000, np.random.default_rng(0)).T)[0, 1]
    assert abs(drawn) < 5 / np.sqrt(4000)  # a false alarm in about 1 of 1,000,000 seeds
    assert steps.delivered[0, 1] == 0.0
    space = dc.Space.array([dc.Integer(0, 100), dc.Integer(0, 5000)])
    result = dc.minimize(lambda x: float(x.sum()), space, budget=30, seed=0, strategy="paper")
    assert result.distribution.correlations[0, 1] == 0.0
