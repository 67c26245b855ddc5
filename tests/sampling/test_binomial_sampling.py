"""Draws of the binomial laws against their exact tables or moments.

Seeds are fixed. Each chi-square test rejects a right sampler with probability 1e-4 over the choice of seed,
and so does each moment test (a bound of 4.9 standard errors on at most 110 numbers).
"""

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

FALSE_ALARM = 1e-4
STANDARD_ERRORS = 4.9


def assert_frequencies(counts, probabilities):
    """Chi-square test with rare cells pooled."""
    counts, probabilities = np.ravel(counts), np.ravel(probabilities)
    assert counts[probabilities == 0].sum() == 0
    expected = counts.sum() * probabilities
    common = expected >= 5
    pooled = np.append(counts[common], counts[~common].sum())
    wanted = np.append(expected[common], expected[~common].sum())
    kept = wanted > 0
    statistic = ((pooled[kept] - wanted[kept]) ** 2 / wanted[kept]).sum()
    assert stats.chi2.sf(statistic, kept.sum() - 1) > FALSE_ALARM


@pytest.mark.parametrize(
    "law",
    [
        CenteredBinomial(6, 1.2, center=0.3),
        CenteredBinomial(30, 0.4, center=-2.0, symmetric=True),
        CenteredBinomial(40, 9.0, center=2.6, symmetric=True, wrap=12),
        PoissonBinomial([0.1, 0.9, 0.5, 0.25, 1.0]),
        TruncatedGeometric(12, 0.8),
        TruncatedGeometric(12, 1.3),
        TruncatedGeometric(7, 1.0),
        TruncatedGeometric.from_mean(9, 4.5 - 1e-9),
    ],
    ids=repr,
)
def test_integer_laws(law):
    drawn = law.sample(20_000, np.random.default_rng(11))
    assert drawn.dtype == np.int64
    low = int(drawn.min())
    x = np.arange(low - 60, low + 120)
    counts = np.bincount(drawn - x[0], minlength=x.size)
    assert_frequencies(counts, law.pmf(x))


COUPLED = Ising([0.2, -0.4, 0.1], [[0, 1.0, -0.7], [1.0, 0, 0.3], [-0.7, 0.3, 0]])
TABLE = MultivariateBernoulli(np.array([0.3, 0.0, 0.05, 0.15, 0.1, 0.1, 0.1, 0.2]).reshape(2, 2, 2))


@pytest.mark.parametrize(
    "law",
    [
        MultivariateBinomial(3, TABLE),
        MultivariateBinomial([1, 4, 2], TABLE),
        MultivariateBinomial([20, 3, 20], TABLE),  # 17 draws at once: counted state by state
        MultivariateBinomial([2, 2, 3], COUPLED),
        MultivariateBinomial.from_moments([3, 2], [1.2, 1.1], [[0.72, 0.3], [0.3, 0.495]]),
        MultivariateBinomial.from_moments([9, 12], [3.6, 6.6], [[2.16, -0.9], [-0.9, 2.97]]),
    ],
    ids=["table", "table, own trials", "counted", "ising", "thresholded", "thresholded, counted"],
)
def test_vectors(law):
    shape = tuple(law.trials + 1)
    drawn = law.sample(20_000, np.random.default_rng(5))
    counts = np.bincount(np.ravel_multi_index(tuple(drawn.T), shape), minlength=int(np.prod(shape)))
    assert_frequencies(counts, law.pmf(np.array(list(np.ndindex(shape)))))


def test_moments_of_thresholded_draws_in_ten_dimensions():
    k, n_points = 10, 20_000
    rng = np.random.default_rng(1)
    factor = rng.normal(size=(k, 3))
    correlation = factor @ factor.T + 3 * np.eye(k)
    scale = np.sqrt(np.diag(correlation))
    p, trials = rng.uniform(0.2, 0.8, k), rng.integers(1, 12, k)
    deviation = np.sqrt(p * (1 - p))
    covariance = 0.5 * correlation / np.outer(scale, scale) * np.outer(deviation, deviation)
    covariance *= np.minimum.outer(trials, trials)
    np.fill_diagonal(covariance, trials * deviation**2)
    law = MultivariateBinomial.from_moments(trials, trials * p, covariance)
    assert law.correlation_error < 1e-10
    centered = law.sample(n_points, rng) - law.mean
    products = centered[:, :, None] * centered[:, None, :]
    for values, wanted in ((centered, np.zeros(k)), (products, covariance)):
        error = values.std(axis=0) / np.sqrt(n_points)
        assert (np.abs(values.mean(axis=0) - wanted) <= STANDARD_ERRORS * error).all()


def test_repaired_law_samples_what_it_says():
    asked = np.full((6, 6), -0.2)
    np.fill_diagonal(asked, 0.25)
    law = MultivariateBinomial.from_moments(1, np.full(6, 0.5), asked)
    assert law.correlation_error > 0.1
    drawn = law.sample(40_000, np.random.default_rng(2)) - law.mean
    products = drawn[:, :, None] * drawn[:, None, :]
    error = products.std(axis=0) / np.sqrt(drawn.shape[0])
    assert (np.abs(products.mean(axis=0) - law.covariance) <= STANDARD_ERRORS * error + 1e-12).all()


def test_chunks_cover_every_point_and_trial():
    law = MultivariateBinomial([700, 650], MultivariateBernoulli([[0.0, 0.0], [0.0, 1.0]]))
    wide = MultivariateBinomial.from_moments(40, np.full(300, 40.0), np.zeros((300, 300)))
    assert (law.sample(2000, np.random.default_rng(0)) == law.trials).all()
    assert (wide.sample(100, np.random.default_rng(0)) == 40).all()


def test_sums_of_simulated_draws():
    field = np.linspace(-1, 1, 24)
    weak = np.full((24, 24), 1e-12) - 1e-12 * np.eye(24)  # a dense graph, and all but independent
    law = MultivariateBinomial(3, Ising(field, weak))
    assert law.bernoulli.method == "gibbs"
    drawn = law.sample(4000, np.random.default_rng(3))
    p = 1 / (1 + np.exp(-field))
    error = np.sqrt(3 * p * (1 - p) / 4000)
    assert (np.abs(drawn.mean(axis=0) - 3 * p) <= STANDARD_ERRORS * error).all()
