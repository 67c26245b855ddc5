"""The truncated geometric law: its mean solved for, its closed forms against sums, and arguments."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcmaes.distributions import TruncatedGeometric


@settings(max_examples=300)
@given(st.sampled_from([1, 2, 3, 10, 100, 10**4, 10**6]), st.floats(1e-300, 0.5), st.booleans())
def test_from_mean_has_that_mean(n, fraction, upper):
    mean = n - n * fraction if upper else n * fraction
    if not 0 < mean < n:
        return
    law = TruncatedGeometric.from_mean(n, mean)
    assert law.mean == pytest.approx(mean, rel=1e-12)
    assert n - law.mean == pytest.approx(n - mean, rel=1e-12)


@settings(max_examples=100)
@given(st.integers(1, 2000), st.floats(-3, 3), st.integers(0, 14))
def test_closed_forms_agree_with_sums(n, mantissa, exponent):
    law = TruncatedGeometric(n, math.exp(mantissa * 10.0**-exponent))
    x = np.arange(n + 1)
    p = law.pmf(x)
    assert p.sum() == pytest.approx(1, rel=1e-12)
    mean = p @ x
    assert law.mean == pytest.approx(mean, rel=1e-11)
    assert law.variance == pytest.approx(p @ (x - mean) ** 2, rel=1e-9)
    positive = p[p > 0]
    assert law.entropy() == pytest.approx(-positive @ np.log(positive), rel=1e-11)


def test_ratio_of_neighbours_is_rho():
    p = TruncatedGeometric(5, 1.7).pmf(np.arange(6))
    np.testing.assert_allclose(p[1:] / p[:-1], 1.7, rtol=1e-14)


@pytest.mark.parametrize("offset", [1e-3, 1e-9, 1e-12])
def test_symmetric_around_the_middle(offset):
    n = 1000
    low, high = (
        TruncatedGeometric.from_mean(n, n / 2 - offset),
        TruncatedGeometric.from_mean(n, n / 2 + offset),
    )
    assert low.log_rho < 0 < high.log_rho
    assert low.log_rho == pytest.approx(-high.log_rho, rel=1e-3 if offset < 1e-10 else 1e-6)
    # To first order the mean moves by the variance times log rho.
    assert high.log_rho == pytest.approx(offset / ((n + 1) ** 2 - 1) * 12, rel=0.2)


def test_million_states():
    n = 10**6
    law = TruncatedGeometric.from_mean(n, 250_000.0)
    assert law.pmf(np.arange(n + 1)) @ np.arange(n + 1) == pytest.approx(250_000, rel=1e-11)


def test_extreme_means():
    assert TruncatedGeometric.from_mean(10, 1e-300).mean == pytest.approx(1e-300, rel=1e-10)
    assert TruncatedGeometric.from_mean(10**6, math.nextafter(10**6, 0)).rho > 1e9
    assert TruncatedGeometric.from_mean(7, 3.5).rho == 1
    assert TruncatedGeometric.from_mean(1, 0.2).rho == pytest.approx(0.25, rel=1e-14)  # 0.2 / 0.8


def test_zero_off_the_lattice_and_shapes():
    law = TruncatedGeometric(3, 2.0)
    np.testing.assert_array_equal(law.pmf([-1, 0.5, 4]), 0)
    assert np.ndim(law.pmf(1)) == 0
    assert law.sample(None, np.random.default_rng(0)).shape == ()
    assert law.sample((2, 3), np.random.default_rng(0)).dtype == np.int64


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: TruncatedGeometric(0, 0.5), ValueError, "n must be at least 1, got 0"),
        (lambda: TruncatedGeometric(2.5, 0.5), TypeError, "n must be an integer, got 2.5"),
        (lambda: TruncatedGeometric(5, 0.0), ValueError, "rho must be positive, got 0.0"),
        (lambda: TruncatedGeometric(5, math.inf), ValueError, "rho must be finite"),
        (
            lambda: TruncatedGeometric.from_mean(5, 5.0),
            ValueError,
            "mean must lie strictly between 0 and n = 5, got 5",
        ),
        (
            lambda: TruncatedGeometric.from_mean(5, 0.0),
            ValueError,
            "mean must lie strictly between 0 and n = 5, got 0",
        ),
        (lambda: TruncatedGeometric.from_mean(5, "x"), TypeError, "mean must be a number"),
        (lambda: TruncatedGeometric(5, 0.5).pmf(math.nan), ValueError, "x must be finite"),
    ],
)
def test_bad_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call()
