"""Slips of the paper about binomials and their limits: the printed form fails, the right one holds."""

import math

import numpy as np
import pytest

from dcmaes.distributions import CenteredBinomial, MultivariateBinomial, TruncatedGeometric


def test_erratum_1_the_standardised_binomial_has_a_square_root():
    n, p = 40, 0.2
    law = CenteredBinomial(n, n * p * (1 - p), center=n * p)
    right = np.sqrt(n) * (law.support / n - p) / math.sqrt(p * (1 - p))
    printed = np.sqrt(n) * (law.support / n - p) / (p * (1 - p))
    assert law.probabilities @ right**2 == pytest.approx(1, rel=1e-12)
    assert law.probabilities @ printed**2 == pytest.approx(1 / (p * (1 - p)), rel=1e-12)


@pytest.mark.parametrize(("n", "mean"), [(4, 1.0), (10, 7.5), (50, 3.0)])
def test_erratum_6_one_is_always_a_root_and_not_the_wanted_one(n, mean):
    def printed(rho):
        return (1 + mean) * rho + (mean - (n + 1)) * rho ** (n + 1) + (n - mean) * rho ** (n + 2) - mean

    law = TruncatedGeometric.from_mean(n, mean)
    assert printed(1.0) == 0
    assert abs(law.rho - 1) > 0.05
    assert printed(law.rho) == pytest.approx(0, abs=1e-11 * n * max(1, law.rho) ** (n + 2))
    assert law.pmf(np.arange(n + 1)) @ np.arange(n + 1) == pytest.approx(mean, rel=1e-12)
    assert TruncatedGeometric.from_mean(n, n / 2).rho == 1


def test_erratum_7_the_modulus_is_the_number_of_states():
    n = 6
    wrapped = CenteredBinomial(n, 1.0, center=5.5, symmetric=True, wrap=n + 1)
    assert (wrapped.pmf(np.arange(n + 1)) > 0).all()  # the state n exists, and n + 1 states in all
    assert wrapped.support.size == n + 1


@pytest.mark.parametrize("center", [0.0, 0.37, 2.5, -1.9])
def test_erratum_7_stochastic_rounding_keeps_the_mean(center):
    law = CenteredBinomial(9, 1.3, center=center)
    assert (law.support == np.round(law.support)).all()
    assert law.probabilities @ law.support == pytest.approx(center, abs=1e-13)


def test_erratum_7_wrapping_shifts_the_mean_near_the_ends():
    n = 10
    middle = CenteredBinomial(n, 1.0, center=5.0, symmetric=True, wrap=n + 1)
    end = CenteredBinomial(n, 1.0, center=0.0, symmetric=True, wrap=n + 1)
    assert middle.mean == pytest.approx(5, abs=1e-3)
    assert end.mean > 2


@pytest.mark.parametrize("m", [0, 1])
def test_erratum_7_wrapping_one_bit_is_exclusive_or(m):
    variance = 0.09  # p = 0.1: the flip is B xor the rounding coin, of probability 2 p (1 - p)
    law = CenteredBinomial(1, variance, center=float(m), wrap=2)
    assert law.pmf(1 - m) == pytest.approx(2 * variance, rel=1e-13)
    assert law.pmf(m) == pytest.approx(1 - 2 * variance, rel=1e-13)


def test_erratum_8_the_smaller_root_is_skewed_and_both_roots_are_not():
    n, variance = 20, 0.2
    p = CenteredBinomial(n, variance).p
    single = CenteredBinomial(n, variance, center=n * p)  # B itself
    assert single.support[0] == 0
    assert single.pmf(0) > 0.8  # nearly always the lowest value, never below
    third = single.probabilities @ (single.support - n * p) ** 3
    assert third == pytest.approx(variance * (1 - 2 * p), rel=1e-12)
    mirrored = CenteredBinomial(n, variance, center=0.0, symmetric=True)
    assert mirrored.probabilities @ mirrored.support.astype(float) ** 3 == pytest.approx(0, abs=1e-14)
    assert mirrored.mean == 0
    assert mirrored.variance == pytest.approx(CenteredBinomial(n, variance).variance, rel=1e-12)


def test_erratum_9_trials_cap_the_variance_and_more_trials_lift_it():
    span, deviation = 100, 20.0
    with pytest.raises(ValueError, match=r"variance must be at most trials / 4 = 25\.0 .* at least 1600"):
        CenteredBinomial(span, deviation**2)
    law = CenteredBinomial(1600, deviation**2, center=50.0)
    assert law.variance == pytest.approx(deviation**2, rel=1e-3)


def test_erratum_10_not_every_covariance_is_feasible():
    mean = [0.5, 2.0]  # p = 1/8 and 1/2 in 4 trials: the covariance is at most 4 (1/8 - 1/16) = 1/4
    variance = [4 * 7 / 64, 1.0]
    bound = 0.25

    def law(covariance):
        return MultivariateBinomial.from_moments(
            4, mean, [[variance[0], covariance], [covariance, variance[1]]]
        )

    assert law(bound).covariance[0, 1] == pytest.approx(bound, rel=1e-12)
    assert bound / math.sqrt(variance[0] * variance[1]) < 0.4  # far from a correlation of one
    with pytest.raises(
        ValueError, match=r"covariance\[0, 1\] .* bounds of draws shared by the pair \(0, 1\).* got 0\.3"
    ):
        law(0.3)
    with pytest.raises(ValueError, match=r"the pair \(0, 1\)"):
        law(-0.3)
