"""Theorem 2: of all laws with given means and covariances the Ising model has the largest entropy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcmaes.distributions import Ising, MultivariateBernoulli


@settings(max_examples=60)
@given(st.integers(2, 5), st.integers(0, 2**32 - 1))
def test_no_law_with_the_same_moments_has_more_entropy(dimension, seed):
    p = np.random.default_rng(seed).dirichlet(np.ones(2**dimension)).reshape((2,) * dimension)
    law = MultivariateBernoulli(p)
    widest = Ising.from_moments(law.mean, law.covariance)
    # Pythagoras: the gap in entropy is the divergence from the maximum-entropy law
    assert widest.entropy() - law.entropy() == pytest.approx(law.kl(widest), abs=1e-9)
    if dimension == 2:
        assert law.kl(widest) == pytest.approx(0.0, abs=1e-12)


def test_with_no_covariance_the_widest_law_is_independent():
    mean = np.array([0.2, 0.5, 0.9])
    law = Ising.from_moments(mean, np.diag(mean * (1 - mean)))
    np.testing.assert_allclose(law.coupling, 0.0, atol=1e-10)
    np.testing.assert_allclose(law.field, np.log(mean / (1 - mean)), atol=1e-10)
