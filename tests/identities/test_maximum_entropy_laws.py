"""Maximum entropy: Theorem 3 of the paper, and the truncated geometric law among all laws of its mean."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dcmaes.distributions import PoissonBinomial, TruncatedGeometric

probabilities = st.integers(1, 40).flatmap(lambda n: arrays(np.float64, n, elements=st.floats(0, 1)))


@settings(max_examples=300)
@given(probabilities)
def test_no_poisson_binomial_has_more_entropy_than_the_binomial_of_its_mean(p):
    binomial = PoissonBinomial(np.full(p.size, p.mean().clip(0, 1)))
    assert PoissonBinomial(p).entropy() <= binomial.entropy() + 1e-12


@settings(max_examples=100)
@given(probabilities.filter(lambda p: p.std() > 0.05))
def test_the_gap_is_strict_for_unequal_probabilities(p):
    binomial = PoissonBinomial(np.full(p.size, p.mean()))
    assert PoissonBinomial(p).entropy() < binomial.entropy()


@settings(max_examples=200)
@given(st.integers(1, 60), st.integers(0, 10**6), st.floats(0.05, 5))
def test_no_law_has_more_entropy_than_the_truncated_geometric_of_its_mean(n, seed, concentration):
    p = np.random.default_rng(seed).dirichlet(np.full(n + 1, concentration))
    mean = float(p @ np.arange(n + 1))
    if not 1e-12 < mean < n * (1 - 1e-12):
        return
    positive = p[p > 0]
    assert -positive @ np.log(positive) <= TruncatedGeometric.from_mean(n, mean).entropy() + 1e-12


@pytest.mark.parametrize("direction_seed", range(5))
def test_the_truncated_geometric_is_a_stationary_point(direction_seed):
    # Moving along any direction that keeps sum and mean changes the entropy to second order only.
    n = 8
    x = np.arange(n + 1.0)
    p = TruncatedGeometric.from_mean(n, 2.5).pmf(x)
    direction = np.random.default_rng(direction_seed).normal(size=n + 1)
    basis, _ = np.linalg.qr(np.stack([np.ones(n + 1), x], axis=1))
    direction -= basis @ (basis.T @ direction)
    assert direction @ np.log(p) == pytest.approx(0, abs=1e-11)
