"""Parameters -> law -> parameters, both ways, over the whole range of floating point."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcmaes.distributions import BivariateBernoulli, Ising, MultivariateBernoulli


@st.composite
def log_tables(draw, largest_dimension=6, smallest=-690.0):
    dimension = draw(st.integers(1, largest_dimension))
    entries = st.lists(st.floats(smallest, 0.0), min_size=2**dimension, max_size=2**dimension)
    table = np.array(draw(entries)).reshape((2,) * dimension)
    return table - np.logaddexp.reduce(table, axis=None)


@settings(max_examples=200)
@given(log_tables())
def test_probabilities_to_canonical_and_back(log_p):
    # exp(-690) is about 1e-300
    law = MultivariateBernoulli(np.exp(log_p))
    again = MultivariateBernoulli.from_canonical(law.canonical)
    np.testing.assert_allclose(again.log_probabilities, law.log_probabilities, rtol=0, atol=1e-10)
    np.testing.assert_allclose(again.log_probabilities, log_p, rtol=0, atol=1e-10)


@settings(max_examples=200)
@given(log_tables(smallest=-1e5))
def test_canonical_to_log_probabilities_and_back_beyond_underflow(table):
    theta = table.copy()
    theta[(0,) * theta.ndim] = 0.0
    law = MultivariateBernoulli.from_canonical(theta)
    fresh = MultivariateBernoulli._from_log_weights(law.log_probabilities)
    scale = np.abs(law.log_probabilities).max() + 1.0
    np.testing.assert_allclose(fresh.canonical, theta, rtol=0, atol=1e-14 * 4**theta.ndim * scale)


@pytest.mark.parametrize("dimension", [8, 12, 16])
def test_round_trip_of_tiny_probabilities_in_many_variables(dimension):
    exponents = np.random.default_rng(dimension).uniform(-300, 0, size=(2,) * dimension)
    p = 10.0 ** (exponents - exponents.max())
    law = MultivariateBernoulli(p / p.sum())
    again = MultivariateBernoulli.from_canonical(law.canonical)
    np.testing.assert_allclose(again.log_probabilities, law.log_probabilities, rtol=0, atol=1e-10)


def test_round_trip_in_twenty_variables():
    p = np.random.default_rng(0).dirichlet(np.ones(2**20)).reshape((2,) * 20)
    law = MultivariateBernoulli(p)
    again = MultivariateBernoulli.from_canonical(law.canonical)
    np.testing.assert_allclose(again.log_probabilities, law.log_probabilities, rtol=0, atol=1e-10)


@settings(max_examples=200)
@given(*[st.floats(-600.0, 600.0)] * 3)
def test_bivariate_parameters(theta1, theta2, theta12):
    law = BivariateBernoulli.from_canonical(theta1, theta2, theta12)
    assert law.canonical == (theta1, theta2, theta12)
    if min(law.p00, law.p10, law.p01, law.p11) > 1e-300:
        again = BivariateBernoulli(law.p00, law.p10, law.p01, law.p11)
        np.testing.assert_allclose(again.canonical, law.canonical, atol=1e-10)


@settings(max_examples=60)
@given(st.integers(1, 8), st.integers(0, 2**32 - 1), st.floats(0.01, 1.0))
def test_ising_moments(dimension, seed, scale):
    rng = np.random.default_rng(seed)
    coupling = np.triu(rng.normal(scale=scale, size=(dimension, dimension)), 1)
    law = Ising(rng.normal(scale=scale, size=dimension), coupling + coupling.T)
    again = Ising.from_moments(law.mean, law.covariance)
    np.testing.assert_allclose(again.mean, law.mean, rtol=0, atol=1e-8)
    np.testing.assert_allclose(again.covariance, law.covariance, rtol=0, atol=1e-8)
