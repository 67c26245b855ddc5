"""Binomial laws with their special part switched off are the simpler laws."""

import numpy as np
import pytest
from scipy import stats

from dcmaes.distributions import (
    CenteredBinomial,
    Ising,
    MultivariateBernoulli,
    MultivariateBinomial,
    PoissonBinomial,
    TruncatedGeometric,
)


def random_table(k, seed):
    return MultivariateBernoulli(np.random.default_rng(seed).dirichlet(np.ones(2**k)).reshape((2,) * k))


@pytest.mark.parametrize("k", [1, 2, 4])
def test_one_trial_is_the_bernoulli_vector(k):
    bernoulli = random_table(k, seed=k)
    law = MultivariateBinomial(1, bernoulli)
    points = np.array(list(np.ndindex((2,) * k)))
    np.testing.assert_allclose(law.pmf(points), bernoulli.pmf(points), rtol=1e-15)
    np.testing.assert_array_equal(law.mean, bernoulli.mean)
    np.testing.assert_array_equal(law.covariance, bernoulli.covariance)
    rng = np.random.default_rng
    np.testing.assert_array_equal(law.sample(100, rng(0)), bernoulli.sample(100, rng(0)))


def test_one_coordinate_is_the_binomial():
    x = np.arange(13)
    law = MultivariateBinomial(12, MultivariateBernoulli([0.7, 0.3]))
    np.testing.assert_allclose(law.pmf(x[:, None]), stats.binom.pmf(x, 12, 0.3), rtol=1e-13)
    thresholded = MultivariateBinomial.from_moments(12, [3.6], [[2.52]])
    np.testing.assert_allclose(thresholded.pmf(x[:, None]), stats.binom.pmf(x, 12, 0.3), rtol=1e-12)


def test_each_marginal_is_a_binomial_of_its_own_trials():
    law = MultivariateBinomial([2, 5, 3], random_table(3, seed=0))
    table = law.pmf(np.array(list(np.ndindex(3, 6, 4)))).reshape(3, 6, 4)
    for i, others in enumerate([(1, 2), (0, 2), (0, 1)]):
        n = law.trials[i]
        wanted = stats.binom.pmf(np.arange(n + 1), n, law.bernoulli.mean[i])
        np.testing.assert_allclose(table.sum(axis=others), wanted, rtol=1e-12)


def test_no_covariance_is_independence():
    law = MultivariateBinomial.from_moments([2, 3], [0.6, 1.2], np.diag([0.42, 0.72]))
    wanted = np.outer(stats.binom.pmf(np.arange(3), 2, 0.3), stats.binom.pmf(np.arange(4), 3, 0.4))
    np.testing.assert_allclose(law.pmf(np.array(list(np.ndindex(3, 4)))), wanted.reshape(-1), rtol=1e-12)


@pytest.mark.parametrize("k", [2, 6])
def test_sums_of_ising_draws_and_thresholded_normals_agree_on_moments(k):
    rng = np.random.default_rng(k)
    coupling = rng.normal(0, 0.4, (k, k))
    coupling = np.triu(coupling, 1) + np.triu(coupling, 1).T
    trials = rng.integers(2, 9, k)
    source = MultivariateBinomial(trials, Ising(rng.normal(0, 0.5, k), coupling))
    thresholded = MultivariateBinomial.from_moments(trials, source.mean, source.covariance)
    assert thresholded.correlation_error < 1e-10
    shared = np.minimum.outer(trials, trials)
    maximum_entropy = MultivariateBinomial(
        trials, Ising.from_moments(thresholded.mean / trials, thresholded.covariance / shared)
    )
    for law in (thresholded, maximum_entropy):
        np.testing.assert_allclose(law.mean, source.mean, rtol=1e-7)
        np.testing.assert_allclose(law.covariance, source.covariance, rtol=0, atol=1e-7 * trials.max())


def test_two_constructions_are_one_law_for_a_pair():
    # Two coordinates leave no freedom beyond means and covariance, so the whole tables agree.
    ising = MultivariateBinomial(4, Ising([0.3, -0.5], [[0, 0.9], [0.9, 0]]))
    thresholded = MultivariateBinomial.from_moments(4, ising.mean, ising.covariance)
    points = np.array(list(np.ndindex(5, 5)))
    np.testing.assert_allclose(thresholded.pmf(points), ising.pmf(points), rtol=1e-10)


@pytest.mark.parametrize(("n", "p"), [(1, 0.3), (50, 0.5), (700, 0.01)])
def test_poisson_binomial_of_equal_probabilities_is_the_binomial(n, p):
    x = np.arange(n + 1)
    law = PoissonBinomial(np.full(n, p))
    wanted = stats.binom.pmf(x, n, p)
    kept = wanted > 1e-290
    np.testing.assert_allclose(law.pmf(x)[kept], wanted[kept], rtol=1e-11)
    assert law.mean == pytest.approx(n * p, rel=1e-13)
    assert law.variance == pytest.approx(n * p * (1 - p), rel=1e-13)


@pytest.mark.parametrize(("n", "p"), [(1, 0.5), (30, 0.1), (1000, 0.4)])
def test_centered_binomial_at_its_own_mean_is_the_binomial(n, p):
    x = np.arange(n + 1)
    law = CenteredBinomial(n, n * p * (1 - p), center=n * p)
    wanted = stats.binom.pmf(x, n, p)
    np.testing.assert_allclose(law.pmf(x), wanted, rtol=1e-9, atol=1e-14)


def test_wide_wrap_is_no_wrap():
    plain = CenteredBinomial(10, 2.0, center=20.0, symmetric=True)
    wrapped = CenteredBinomial(10, 2.0, center=20.0, symmetric=True, wrap=100)
    np.testing.assert_array_equal(wrapped.pmf(np.arange(100)), plain.pmf(np.arange(100)))
    assert wrapped.variance == pytest.approx(plain.variance, rel=1e-12)


def test_truncated_geometric_limits():
    np.testing.assert_allclose(TruncatedGeometric(4, 1.0).pmf(np.arange(5)), 0.2, rtol=1e-15)
    x = np.arange(20)
    far = TruncatedGeometric(10**6, 0.5)
    np.testing.assert_allclose(far.pmf(x), stats.geom.pmf(x + 1, 0.5), rtol=1e-13)
    np.testing.assert_allclose(TruncatedGeometric(1, 3.0).pmf([0, 1]), [0.25, 0.75], rtol=1e-15)
