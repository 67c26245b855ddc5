"""The errata from 16 on: proofs, scope and earlier work. Names begin with the number of the entry."""

import numpy as np
import pytest
from scipy import stats

from dcmaes.distributions import (
    BivariateBernoulli,
    CenteredBinomial,
    Ising,
    LatticeGaussian,
    MultivariateBernoulli,
    MultivariateBinomial,
    PoissonBinomial,
    TruncatedGeometric,
)


def test_erratum_16_the_signs_in_the_proof_of_maximum_entropy():
    law = MultivariateBernoulli(np.random.default_rng(0).dirichlet(np.ones(8)).reshape(2, 2, 2))
    widest = Ising.from_moments(law.mean, law.covariance)
    # the multiplier of the normalisation: p = exp(<theta, T> - 1 - theta_0), so A = 1 + theta_0
    multiplier = widest.log_partition - 1.0
    states, p = widest._support()
    np.testing.assert_allclose(np.exp(widest.log_weight(states) - 1.0 - multiplier), p, rtol=1e-12)
    # H(P) = H(P_theta) - D(P || P_theta): a plus sign before the entropy
    assert law.entropy() == pytest.approx(widest.entropy() - law.kl(widest), abs=1e-9)
    assert law.entropy() != pytest.approx(-widest.entropy() - law.kl(widest), abs=0.1)


def test_erratum_17_moments_on_the_boundary_have_no_member_of_the_family():
    sizes = [
        np.abs(Ising.from_moments([0.5, 0.5], [[0.25, 0.25 - gap], [0.25 - gap, 0.25]]).coupling).max()
        for gap in (1e-2, 1e-4, 1e-6)
    ]
    # the coupling grows without bound, by 2 log(100) each time, while the moments converge
    np.testing.assert_allclose(np.diff(sizes), 2 * np.log(100), rtol=0.02)


def test_erratum_18_sums_are_not_of_the_exponential_form():
    one = MultivariateBernoulli([[0.4, 0.1], [0.2, 0.3]])
    # One trial: log p is linear in x1, x2 and x1 x2 by counting. Two trials: it is not.
    points = np.array(list(np.ndindex(3, 3)))
    statistics = np.column_stack([np.ones(9), points, points.prod(axis=1)])
    log_p = MultivariateBinomial(2, one).log_pmf(points)
    _, (residual,), _, _ = np.linalg.lstsq(statistics, log_p, rcond=None)
    assert residual > 0.1


def test_erratum_18_conditionals_of_sums_are_poisson_binomial():
    one = BivariateBernoulli(p00=0.4, p10=0.2, p01=0.1, p11=0.3)
    law = MultivariateBinomial(3, one)
    given = law.condition({1: 2})
    with_it, without = one.condition({1: 1}).mean[0], one.condition({1: 0}).mean[0]
    mixed = PoissonBinomial([with_it, with_it, without])
    np.testing.assert_allclose(given.probabilities, mixed.probabilities, rtol=1e-12)
    binomial = stats.binom.pmf(np.arange(4), 3, given.mean[0] / 3)
    assert np.abs(given.probabilities - binomial).max() > 0.01


def test_erratum_19_mean_and_variance_give_a_quadratic_exponent():
    n, p = 12, 0.3
    binomial = PoissonBinomial(np.full(n, p))
    widest = LatticeGaussian.from_moments([n], [n * p], [[n * p * (1 - p)]])
    assert widest.entropy() > binomial.entropy() + 1e-5
    assert widest.mean[0] == pytest.approx(binomial.mean)
    assert widest.covariance[0, 0] == pytest.approx(binomial.variance)
    # bell-shaped, which the paper wants and finds only among sums of trials
    rises = np.diff(widest.probabilities) > 0
    assert (np.diff(rises.astype(int)) <= 0).all()
    assert rises.any()


@pytest.mark.parametrize(("mean", "falls"), [(2.0, True), (4.9, True), (5.1, False), (8.0, False)])
def test_erratum_20_the_truncated_geometric_law_falls_below_the_middle_only(mean, falls):
    steps = np.diff(TruncatedGeometric.from_mean(10, mean).probabilities)
    assert (steps < 0).all() if falls else (steps > 0).all()


def test_erratum_21_the_step_of_the_algorithm_lacks_its_mean():
    n, variance, m = 10, 0.9, 4
    law = CenteredBinomial(n, variance, center=m)
    assert law.mean == m
    assert m + n * law.p == pytest.approx(m + 1.0)  # what m + B(sigma^2 C), as printed, would have


def test_erratum_22_the_polynomial_has_the_probability_of_zero_in_front():
    p = np.array([0.2, 0.5, 0.7])
    product = np.poly1d([1.0])
    for q in p:
        product *= np.poly1d([1 - q, q])  # (1 - q) (x + q / (1 - q))
    np.testing.assert_allclose(product.coeffs, PoissonBinomial(p).probabilities, rtol=1e-13)
    assert product.coeffs[0] == pytest.approx(0.8 * 0.5 * 0.3)


def test_erratum_22_the_inequality_is_strict_for_equal_probabilities_too():
    pi = PoissonBinomial(np.full(6, 0.3)).probabilities
    assert (pi[2:] * pi[:-2] < pi[1:-1] ** 2).all()
    scaled = pi / stats.binom.pmf(
        np.arange(7), 6, 0.5
    )  # divided by binomial coefficients: now it is an equality
    np.testing.assert_allclose(scaled[2:] * scaled[:-2], scaled[1:-1] ** 2, rtol=1e-12)


def test_erratum_23_the_covariance_in_the_papers_own_indices():
    theta1, theta2, theta12 = 0.4, -0.7, 1.1
    law = BivariateBernoulli.from_canonical(theta1, theta2, theta12)
    expected = law.p00**2 * np.exp(theta1 + theta2) * np.expm1(theta12)
    assert law.covariance[0, 1] == pytest.approx(expected, rel=1e-12)
