"""The Poisson-binomial law: accuracy of its table, moments, and arguments."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dcmaes.distributions import PoissonBinomial


def exact_table(p):
    table = [Fraction(1)]
    for q in map(Fraction, p):
        longer = [*table, Fraction(0)]
        table = [(1 - q) * longer[i] + (q * longer[i - 1] if i else 0) for i in range(len(longer))]
    return table


@pytest.mark.parametrize("n", [1, 5, 64, 65, 150])
def test_relative_accuracy_against_rational_arithmetic(n):
    p = np.random.default_rng(n).beta(0.3, 0.3, n).clip(1e-6, 1 - 1e-6)
    errors = [
        abs(float(Fraction(float(got)) / exact - 1))
        for got, exact in zip(PoissonBinomial(p).probabilities, exact_table(p), strict=True)
    ]
    assert max(errors) < 1e-14
    assert n < 64 or min(PoissonBinomial(p).probabilities) < 1e-40  # the tails are part of the comparison


def test_ten_thousand_trials():
    n = 10_000
    p = np.random.default_rng(0).random(n)
    law = PoissonBinomial(p)
    x = np.arange(n + 1)
    table = law.probabilities
    assert table.sum() == pytest.approx(1, abs=1e-12)
    assert table @ x == pytest.approx(law.mean, rel=1e-12)
    assert table @ (x - law.mean) ** 2 == pytest.approx(law.variance, rel=1e-11)
    np.testing.assert_allclose(
        law.pmf(x), stats.norm.pdf(x, law.mean, np.sqrt(law.variance)), atol=2e-3 * table.max()
    )


def test_tails_of_ten_thousand_equal_trials_keep_their_digits():
    n = 10_000
    x = np.array([1700, 2500, 3000, 3500, 4500])
    q = Fraction(0.3)
    exact = [math.comb(n, k) * q**k * (1 - q) ** (n - k) for k in x.tolist()]
    got = PoissonBinomial(np.full(n, 0.3)).pmf(x)
    assert got[0] < 1e-190
    assert max(abs(float(Fraction(float(g)) / e - 1)) for g, e in zip(got, exact, strict=True)) < 1e-12


def test_certain_and_impossible_trials_shift_the_law():
    law = PoissonBinomial([1.0, 0.0, 0.25, 1.0])
    np.testing.assert_allclose(law.pmf([1, 2, 3, 4]), [0, 0.75, 0.25, 0], rtol=1e-15)


def test_zero_off_the_lattice_and_shapes():
    law = PoissonBinomial([0.5, 0.5])
    np.testing.assert_array_equal(law.pmf([[-1, 0.5], [3, 1]]), [[0, 0], [0, 0.5]])
    assert np.ndim(law.pmf(1)) == 0
    assert law.sample(None, np.random.default_rng(0)).shape == ()
    assert law.sample((2, 3), np.random.default_rng(0)).shape == (2, 3)


def test_arguments_are_neither_aliased_nor_handed_out_writable():
    p = np.array([0.5, 0.5])
    law = PoissonBinomial(p)
    p[0] = 0
    assert law.mean == 1
    for array in (law.p, law.probabilities):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


@pytest.mark.parametrize(
    ("p", "error", "message"),
    [
        ([], ValueError, "p must hold at least one"),
        ([0.5, 1.5], ValueError, r"p must lie between 0 and 1, got 1.5 at index \(1,\)"),
        ([0.5, np.nan], ValueError, "p must be finite"),
        ([[0.5]], ValueError, "p must have shape"),
        ("half", TypeError, "p must be an array of numbers"),
    ],
)
def test_bad_arguments(p, error, message):
    with pytest.raises(error, match=message):
        PoissonBinomial(p)


def test_sample_wants_a_generator():
    with pytest.raises(TypeError, match=r"rng must be a numpy\.random\.Generator"):
        PoissonBinomial([0.5]).sample(3, 0)
