"""The centred binomial: exact moments of its table, rounding, mirroring, wrapping, limits, and arguments."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dcmaes.distributions import CenteredBinomial

RNG = np.random.default_rng(0)


@settings(max_examples=200)
@given(st.integers(1, 300), st.floats(0, 1), st.floats(-50, 50), st.booleans())
def test_mean_and_variance_are_exact(trials, fraction, center, symmetric):
    variance = fraction * trials / 4
    law = CenteredBinomial(trials, variance, center, symmetric=symmetric)
    x, p = law.support, law.probabilities
    assert p.sum() == pytest.approx(1, abs=1e-13)
    assert p @ (x - center) == pytest.approx(0, abs=1e-11)
    assert law.mean == center
    assert p @ (x - center) ** 2 == pytest.approx(law.variance, rel=1e-9, abs=1e-12)
    assert variance - 1e-12 * trials <= law.variance <= variance + 0.25 + 1e-12 * trials


def test_the_binomial_has_the_asked_variance():
    for trials, variance in [(1, 0.25), (10, 1e-300), (10, 2.4999999), (10**6, 3.0)]:
        p = CenteredBinomial(trials, variance).p
        assert trials * p * (1 - p) == pytest.approx(variance, rel=1e-12)
        assert 0 < p <= 0.5


def test_rounding_adds_the_variance_of_its_coin():
    # 4 trials, p = 1/4, np = 1: the shift 0.3 is rounded up with probability 0.3.
    law = CenteredBinomial(4, 0.75, center=1.3)
    binomial = stats.binom.pmf(np.arange(5), 4, 0.25)
    np.testing.assert_allclose(law.pmf(np.arange(6)), np.convolve(binomial, [0.7, 0.3]), rtol=1e-14)
    assert law.variance == pytest.approx(0.75 + 0.3 * 0.7, rel=1e-14)


def test_small_variances_keep_their_digits():
    law = CenteredBinomial(10, 1e-12, center=3.0)
    assert law.variance == pytest.approx(2e-12, rel=1e-9)
    assert law.pmf(2) == pytest.approx(1e-12, rel=1e-9)  # the coin that compensates for np
    assert law.pmf(4) == pytest.approx(1e-12, rel=1e-9)


def test_no_variance_leaves_the_rounded_centre():
    np.testing.assert_array_equal(CenteredBinomial(5, 0.0, center=2.0).support, [2])
    law = CenteredBinomial(5, 0.0, center=2.25)
    np.testing.assert_array_equal(law.support, [2, 3])
    np.testing.assert_array_equal(law.probabilities, [0.75, 0.25])


@pytest.mark.parametrize("center", [0.0, 0.5, -3.0])
def test_symmetric_law_is_symmetric(center):
    law = CenteredBinomial(12, 1.7, center=center, symmetric=True)
    x = np.arange(-30, 31)
    np.testing.assert_allclose(law.pmf(x), law.pmf(2 * center - x), rtol=1e-12, atol=1e-300)


def test_wrapped_law_is_the_sum_over_residues():
    plain = CenteredBinomial(20, 4.0, center=1.2, symmetric=True)
    wrapped = CenteredBinomial(20, 4.0, center=1.2, symmetric=True, wrap=7)
    wanted = [plain.probabilities[plain.support % 7 == r].sum() for r in range(7)]
    np.testing.assert_array_equal(wrapped.support, np.arange(7))
    np.testing.assert_allclose(wrapped.pmf(np.arange(7)), wanted, rtol=1e-13)
    assert wrapped.mean == pytest.approx(np.arange(7) @ wanted, rel=1e-13)
    assert wrapped.variance == pytest.approx(np.arange(7) ** 2 @ wanted - wrapped.mean**2, rel=1e-12)
    assert wrapped.pmf(7) == 0
    assert wrapped.entropy() == pytest.approx(stats.entropy(wanted), rel=1e-12)


def test_many_trials_do_not_need_a_table_of_that_length():
    law = CenteredBinomial(10**12, 1e6, center=0.0)
    assert law.support.size < 200_000
    assert law.probabilities @ (law.support.astype(float) ** 2) == pytest.approx(law.variance, rel=1e-6)


@pytest.mark.parametrize("n", [10, 100, 1000, 10_000])
@pytest.mark.parametrize("fraction", [0.2, 0.64, 1.0])
def test_gaussian_limit(n, fraction):
    """Theorem 1, with the Berry-Esseen bound (constant 0.4748, Shevtsova 2011) as rate."""
    variance = fraction * n / 4
    p = CenteredBinomial(n, variance).p
    law = CenteredBinomial(n, variance, center=n * p)  # no shift, so no rounding: B itself
    distribution = np.cumsum(law.probabilities)
    z = (law.support - n * p) / math.sqrt(variance)
    gap = max(
        np.abs(distribution - stats.norm.cdf(z)).max(),
        np.abs(distribution[:-1] - stats.norm.cdf(z[1:])).max(),
    )
    assert gap <= 0.4748 * (p**2 + (1 - p) ** 2) / math.sqrt(variance)


@pytest.mark.parametrize("rate", [0.5, 2.0, 7.0])
def test_poisson_limit(rate):
    """Proposition 4, with the bound of Barbour and Hall (1984) on the total variation distance as rate."""
    for n in (20, 200, 2000):
        p = rate / n
        law = CenteredBinomial(n, n * p * (1 - p), center=rate)
        x = np.arange(n + 200)
        distance = np.abs(law.pmf(x) - stats.poisson.pmf(x, rate)).sum() / 2
        assert distance <= (1 - math.exp(-rate)) * p


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: CenteredBinomial(10, 3.0),
            ValueError,
            r"trials / 4 = 2.5 for trials = 10, got 3.0; .* at least 12",
        ),
        (lambda: CenteredBinomial(10, -1.0), ValueError, "variance must be between 0.0"),
        (lambda: CenteredBinomial(0, 0.0), ValueError, "trials must be at least 1, got 0"),
        (lambda: CenteredBinomial(-3, 0.0), ValueError, "trials must be at least 1, got -3"),
        (lambda: CenteredBinomial(3.0, 0.0), TypeError, "trials must be an integer, got 3.0"),
        (lambda: CenteredBinomial(3, 0.1, math.nan), ValueError, "center must be finite"),
        (lambda: CenteredBinomial(3, 0.1, wrap=0), ValueError, "wrap must be at least 1, got 0"),
        (lambda: CenteredBinomial(3, 0.1, symmetric="yes"), TypeError, "symmetric must be True or False"),
        (lambda: CenteredBinomial(3, 0.1).sample(-1, RNG), ValueError, "size must be at least 0"),
    ],
)
def test_bad_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_tables_are_read_only():
    law = CenteredBinomial(3, 0.5)
    for array in (law.support, law.probabilities):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
