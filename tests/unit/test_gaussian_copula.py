"""Given margins joined by quantiles of one normal vector: moments, ranges, tables, draws."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtr, ndtri

from dcmaes.distributions import (
    GaussianCopula,
    MultivariateBinomial,
    PoissonBinomial,
    TruncatedGeometric,
    correlation_range,
)
from dcmaes.distributions._latent_normal import LatentCovariance, bivariate_normal_cdf

MARGINS = [0.3, [0.2, 0.5, 0.3], stats.poisson(4.0), PoissonBinomial([0.2, 0.6, 0.9]), stats.nbinom(3, 0.4)]


def survival(law):
    return np.asarray(law.sf(np.arange(0, int(law.ppf(1 - 1e-15)))))


def test_margins_and_correlations_are_delivered():
    correlation = np.full((5, 5), 0.25) + 0.75 * np.eye(5)
    law = GaussianCopula(MARGINS, correlation)
    assert law.correlation_error < 1e-12
    np.testing.assert_allclose(law.mean, [0.3, 1.1, 4.0, 1.7, 4.5], rtol=1e-12)
    variances = [0.21, 0.49, 4.0, 0.16 + 0.24 + 0.09, 3 * 0.6 / 0.4**2]
    np.testing.assert_allclose(np.diag(law.covariance), variances, rtol=1e-11)
    np.testing.assert_allclose(law.correlation, correlation, atol=1e-12)
    points = law.sample(40_000, np.random.default_rng(0))
    centred = points - law.mean
    products = centred[:, :, None] * centred[:, None, :]
    error = products.std(axis=0) / np.sqrt(len(points))
    # 4.9 standard errors on 25 numbers: a false alarm in about 1 of 40,000 seeds
    assert (np.abs(products.mean(axis=0) - law.covariance) < 4.9 * error).all()


@pytest.mark.parametrize("rho", [-0.95, -0.3, 0.0, 0.5, 0.99])
def test_the_table_has_the_covariance(rho):
    pair = GaussianCopula([[0.2, 0.5, 0.3], [0.1, 0.2, 0.3, 0.4]], np.eye(2))
    latent = LatentCovariance(*pair._survival)
    law = GaussianCopula._of_covariance(pair._survival, np.array([[0.49, latent(rho)], [latent(rho), 1.0]]))
    assert law.latent_correlation[0, 1] == pytest.approx(rho, abs=1e-9)
    x, y = np.meshgrid(np.arange(3), np.arange(4), indexing="ij")
    table = law.probabilities
    np.testing.assert_allclose(table.sum(axis=1), [0.2, 0.5, 0.3], atol=1e-14)
    np.testing.assert_allclose(table.sum(axis=0), [0.1, 0.2, 0.3, 0.4], atol=1e-14)
    assert (table * x * y).sum() - law.mean.prod() == pytest.approx(law.covariance[0, 1], abs=1e-13)


def test_three_variables_have_the_pairs_as_marginals():
    law = GaussianCopula([*MARGINS[:2], [0.6, 0.4]], np.full((3, 3), 0.3) + 0.7 * np.eye(3))
    np.testing.assert_allclose(law.marginal([0, 1]).covariance, law.covariance[:2, :2], rtol=0, atol=1e-12)


@pytest.mark.parametrize("rho", [-1.0, -0.8, -0.2, 0.4, 0.9, 1.0])
def test_the_series_of_many_states_is_the_sum_over_thresholds(rho):
    first, second = survival(stats.binom(300, 0.4)), survival(stats.binom(300, 0.2))
    series = LatentCovariance(first, second)
    assert series._grid is None
    h, k = (ndtri(s)[np.abs(ndtri(s)) < 9] for s in (first, second))
    direct = bivariate_normal_cdf(h[:, None], k, rho).sum() - np.outer(ndtr(h), ndtr(k)).sum()
    assert series(rho) == pytest.approx(float(direct), rel=1e-7)


def test_the_range_is_that_of_any_joint_law():
    # n = (10, 100), p = 1/2: sharing draws reaches 0.32, quantiles 0.98
    first, second = stats.binom(10, 0.5), stats.binom(100, 0.5)
    low, high = correlation_range(first, second)
    assert high == pytest.approx(0.98, abs=0.01)
    assert low == pytest.approx(-high, abs=1e-9)
    u = (np.arange(200_000) + 0.5) / 200_000
    x, y = first.ppf(u), second.ppf(u)
    assert np.corrcoef(x, y)[0, 1] == pytest.approx(high, abs=1e-4)
    assert correlation_range(0.1, 0.5) == pytest.approx((-1 / 3, 1 / 3))
    assert correlation_range(1.0, 0.5) == (0.0, 0.0)
    assert correlation_range(TruncatedGeometric(5, 0.5), TruncatedGeometric(5, 0.5)).high == pytest.approx(
        1.0
    )


@pytest.mark.parametrize("correlation", [-0.97, -0.5, 0.0, 0.32, 0.9, 0.979])
def test_binomials_of_different_trials_reach_their_whole_range(correlation):
    covariance = correlation * np.sqrt(2.5 * 25)
    moments = [10, 100], [5, 50], [[2.5, covariance], [covariance, 25]]
    law = MultivariateBinomial.from_moments(*moments, coupling="quantile")
    assert law.coupling == "quantile"
    assert law.correlation[0, 1] == pytest.approx(correlation, abs=1e-9)
    np.testing.assert_allclose(
        law.marginal([0]).probabilities, stats.binom.pmf(np.arange(11), 10, 0.5), rtol=1e-9
    )
    drawn = np.corrcoef(law.sample(20_000, np.random.default_rng(0)).T)[0, 1]
    assert drawn == pytest.approx(correlation, abs=5 / np.sqrt(20_000))
    if abs(correlation) > 0.32:
        with pytest.raises(
            ValueError, match=r'bounds of draws shared .* coupling="quantile" may reach further'
        ):
            MultivariateBinomial.from_moments(*moments)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: GaussianCopula([], np.eye(0)), ValueError, "margins must hold at least one"),
        (lambda: GaussianCopula([1.5], [[1.0]]), ValueError, r"margins\[0\] must be a probability"),
        (lambda: GaussianCopula([[0.5, 0.6]], [[1.0]]), ValueError, r"margins\[0\] must sum to 1"),
        (lambda: GaussianCopula([[1.0]], [[1.0]]), ValueError, r"margins\[0\] must give .* two or more"),
        (lambda: GaussianCopula([stats.poisson(3, loc=-2)], [[1.0]]), ValueError, "has negative values"),
        (lambda: GaussianCopula(["a"], [[1.0]]), TypeError, r"margins\[0\] must be an array"),
        (lambda: GaussianCopula([0.5], [[0.9]]), ValueError, r"correlation\[0, 0\] must be 1, got 0.9"),
        (
            lambda: GaussianCopula([0.5, 0.5], [[1, 0.1], [0.2, 1]]),
            ValueError,
            "correlation must be symmetric",
        ),
        (
            lambda: GaussianCopula([0.1, 0.5], [[1, 0.4], [0.4, 1]]),
            ValueError,
            r"correlation\[0, 1\] must lie between -0.3333333333 and 0.3333333333, .* got 0.4",
        ),
        (
            lambda: MultivariateBinomial.from_moments(
                [1, 9], [0.5, 4.5], [[0.25, 0.7], [0.7, 2.25]], coupling="quantile"
            ),
            ValueError,
            r"covariance\[0, 1\] must lie between .* the range of two binomial variables",
        ),
        (
            lambda: MultivariateBinomial.from_moments(2, [1.0], [[0.5]], coupling="none"),
            ValueError,
            "coupling must be one of",
        ),
        (
            lambda: MultivariateBinomial.from_moments(2, [1.0], [[0.5]], coupling="quantile").bernoulli,
            ValueError,
            "not a sum of draws",
        ),
    ],
)
def test_bad_arguments_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call()
