"""Theorem 1 and Proposition 4, for one variable and for vectors: normal and Poisson limits with rates."""

import numpy as np
import pytest
from scipy import stats

from dcmaes.distributions import CenteredBinomial, MultivariateBernoulli, MultivariateBinomial


@pytest.mark.parametrize("p", [0.5, 0.2])
def test_local_form_of_theorem_1(p):
    # Near the mean the probability itself, not only the distribution function, tends to the normal density:
    # uniformly, at the rate 1/sqrt(n), or 1/n where there is no skew.
    def worst(n):
        deviation = np.sqrt(n * p * (1 - p))
        law = CenteredBinomial(n, n * p * (1 - p), center=n * p)
        z = (law.support - n * p) / deviation
        return np.abs(deviation * law.probabilities - stats.norm.pdf(z)).max()

    errors = np.array([worst(n) for n in (100, 400, 1600, 6400)])
    rate = errors[:-1] / errors[1:]
    expected = 4.0 if p == 0.5 else 2.0
    np.testing.assert_allclose(rate, expected, rtol=0.1)


def test_sums_of_correlated_bernoulli_vectors_tend_to_the_multivariate_normal_law():
    one = MultivariateBernoulli([[0.4, 0.1], [0.2, 0.3]])

    def worst(n):
        law = MultivariateBinomial(n, one)
        points = np.array(list(np.ndindex(*law.shape)))
        density = stats.multivariate_normal(law.mean, law.covariance).pdf(points)
        return n * np.abs(law.pmf(points) - density).max()

    errors = np.array([worst(n) for n in (20, 80, 320)])
    np.testing.assert_allclose(errors[:-1] / errors[1:], 2.0, rtol=0.25)  # the rate 1/sqrt(n) of a skewed law


def test_sums_of_rare_correlated_events_tend_to_a_bivariate_poisson_law():
    # X = A + C and Y = B + C with independent Poisson A, B, C: events that come alone, and together.
    rates = {"first": 1.0, "second": 0.5, "both": 0.7}

    def table(n):
        p10, p01, p11 = (rates[name] / n for name in ("first", "second", "both"))
        one = MultivariateBernoulli([[1 - p10 - p01 - p11, p01], [p10, p11]])
        return MultivariateBinomial(n, one).probabilities[:8, :8]

    limit = np.zeros((8, 8))
    for x, y in np.ndindex(8, 8):
        c = np.arange(min(x, y) + 1)
        terms = stats.poisson.pmf(x - c, 1.0) * stats.poisson.pmf(y - c, 0.5) * stats.poisson.pmf(c, 0.7)
        limit[x, y] = terms.sum()
    errors = np.array([np.abs(table(n) - limit).max() for n in (50, 100, 200)])
    np.testing.assert_allclose(errors[:-1] / errors[1:], 2.0, rtol=0.05)  # the rate 1/n


@pytest.mark.parametrize("rate", [0.5, 3.0])
def test_proposition_4(rate):
    def worst(n):
        law = MultivariateBinomial(n, MultivariateBernoulli([1 - rate / n, rate / n]))
        x = np.arange(15)
        return np.abs(law.pmf(x[:, None]) - stats.poisson.pmf(x, rate)).max()

    errors = np.array([worst(n) for n in (100, 200, 400)])
    np.testing.assert_allclose(errors[:-1] / errors[1:], 2.0, rtol=0.05)
