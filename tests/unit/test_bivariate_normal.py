"""The bivariate normal distribution function against other formulas, and its inversion in the correlation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats
from scipy.special import ndtr, ndtri

from dcmaes.distributions._latent_normal import bivariate_normal_cdf, tetrachoric_correlation

NODES, WEIGHTS = np.polynomial.legendre.leggauss(100)


def plackett(h, k, rho):
    """Phi(h) Phi(k) plus the integral of the density over the correlation, by Gauss-Legendre quadrature."""
    angle = np.arcsin(rho)
    t = angle * (NODES + 1) / 2
    form = h * h + k * k - 2 * h * k * np.sin(t)
    return ndtr(h) * ndtr(k) + WEIGHTS @ np.exp(-form / (2 * np.cos(t) ** 2)) * angle / (4 * np.pi)


@pytest.mark.parametrize("h", [-8.0, -2.5, -1e-9, 0.0, 0.3, 1.0, 4.0])
@pytest.mark.parametrize("k", [-3.0, -0.3, 0.0, 1e-12, 1.0, 2.5])
def test_agrees_with_quadrature(h, k):
    for rho in (-0.99, -0.6, -1e-9, 0.0, 0.25, 0.9, 0.999):
        assert bivariate_normal_cdf(h, k, rho) == pytest.approx(plackett(h, k, rho), abs=1e-14), rho


@pytest.mark.parametrize(("h", "k", "rho"), [(0.5, -0.7, 0.4), (-1.2, -0.3, -0.8), (2.0, 1.0, 0.95)])
def test_agrees_with_the_double_integral_and_with_scipy(h, k, rho):
    root = np.sqrt(1 - rho**2)
    inner, _ = integrate.quad(
        lambda x: stats.norm.pdf(x) * ndtr((k - rho * x) / root),
        -12,
        h,
        epsabs=1e-14,
        epsrel=1e-13,
        points=[0],
    )
    got = float(bivariate_normal_cdf(h, k, rho))
    assert got == pytest.approx(inner, abs=1e-12)
    assert got == pytest.approx(stats.multivariate_normal([0, 0], [[1, rho], [rho, 1]]).cdf([h, k]), abs=1e-8)


def test_symmetric_in_its_thresholds_and_broadcasts():
    h, k = np.array([[-1.0], [0.0], [2.0]]), np.array([0.5, 0.0])
    assert bivariate_normal_cdf(h, k, 0.3).shape == (3, 2)
    np.testing.assert_allclose(
        bivariate_normal_cdf(h, k, 0.3), bivariate_normal_cdf(k, h, 0.3), rtol=0, atol=1e-16
    )


def test_limits():
    inf = np.inf
    assert bivariate_normal_cdf(inf, 0.7, 0.4) == ndtr(0.7)
    assert bivariate_normal_cdf(0.7, inf, -1.0) == ndtr(0.7)
    assert bivariate_normal_cdf(-inf, inf, 0.4) == 0
    assert bivariate_normal_cdf(inf, inf, 1.0) == 1
    assert bivariate_normal_cdf(0.7, -0.2, 1.0) == ndtr(-0.2)
    assert bivariate_normal_cdf(0.7, -0.2, -1.0) == pytest.approx(ndtr(0.7) - ndtr(0.2), abs=1e-16)
    assert bivariate_normal_cdf(-0.7, -0.2, -1.0) == 0
    assert bivariate_normal_cdf(0.0, 0.0, 1.0) == 0.5


@pytest.mark.parametrize("rho", [1 - 1e-6, 1 - 1e-10, 1 - 1e-14])
def test_no_loss_when_the_correlation_is_close_to_one(rho):
    # P(X <= h < Y) for nearly equal X, Y is the density times sqrt((1-rho)/pi) to first order.
    h = 0.8
    missing = ndtr(h) - bivariate_normal_cdf(h, h, rho)
    assert missing == pytest.approx(stats.norm.pdf(h) * np.sqrt((1 - rho) / np.pi), rel=1e-5, abs=2e-16)
    assert bivariate_normal_cdf(h, -h, -rho) == pytest.approx(missing, abs=2e-16)


def test_inversion_recovers_the_correlation():
    rng = np.random.default_rng(0)
    first, second = rng.uniform(0.05, 0.95, (2, 2000))
    rho = rng.uniform(-0.8, 0.8, 2000)
    both = bivariate_normal_cdf(ndtri(first), ndtri(second), rho)
    np.testing.assert_allclose(tetrachoric_correlation(first, second, both), rho, rtol=0, atol=1e-8)


@settings(max_examples=300)
@given(
    st.floats(1e-12, 1, exclude_max=True),
    st.floats(1e-12, 1, exclude_max=True),
    st.floats(0, 1),
    st.booleans(),
)
def test_inversion_reaches_the_probability(first, second, fraction, upper_end):
    lower, upper = max(0.0, first + second - 1.0), min(first, second)  # (N4)
    fraction = 1 - fraction**4 if upper_end else fraction**4  # crowd both ends of the feasible interval
    both = np.clip(lower + fraction * (upper - lower), lower, upper)
    rho = tetrachoric_correlation(first, second, both)
    assert -1 <= rho <= 1
    reached = bivariate_normal_cdf(ndtri(first), ndtri(second), rho)
    # A float near rho = +-1 resolves the angle arcsin(rho), and with it the probability, no better than this.
    resolution = 2e-16 / np.sqrt(max(1 - rho**2, 2e-16))
    assert reached == pytest.approx(both, abs=1e-14 + resolution)


def test_inversion_at_the_bounds_and_for_constant_variables():
    assert tetrachoric_correlation(0.3, 0.6, 0.3) == 1
    assert tetrachoric_correlation(0.3, 0.6, 0.0) == -1
    assert tetrachoric_correlation(0.6, 0.7, 0.6 + 0.7 - 1) == pytest.approx(-1, abs=1e-12)
    assert tetrachoric_correlation(0.3, 0.6, 0.18) == pytest.approx(0, abs=1e-15)
    np.testing.assert_array_equal(
        tetrachoric_correlation([0.0, 1.0, 1.0], [0.4, 0.4, 0.0], [0.0, 0.4, 0.0]), 0
    )
