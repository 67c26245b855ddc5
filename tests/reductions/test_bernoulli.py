"""Special cases equal the general law, and operations on parameters equal operations on tables."""

from itertools import combinations

import numpy as np
import pytest

from dcmaes.distributions import BivariateBernoulli, Ising, MultivariateBernoulli


def _ising(dimension, seed, scale=1.0):
    rng = np.random.default_rng(seed)
    coupling = np.triu(rng.normal(scale=scale, size=(dimension, dimension)), 1)
    return Ising(rng.normal(scale=scale, size=dimension), coupling + coupling.T)


@pytest.mark.parametrize("dimension", [1, 2, 3, 6])
def test_ising_is_the_full_family_at_order_two(dimension):
    law = _ising(dimension, 0)
    theta = {(i,): law.field[i] for i in range(dimension)}
    theta |= {pair: law.coupling[pair] for pair in combinations(range(dimension), 2)}
    full = MultivariateBernoulli.from_canonical(theta)
    np.testing.assert_allclose(law.probabilities, full.probabilities, rtol=1e-12)
    np.testing.assert_array_equal(law.canonical, full.canonical)
    assert law.log_partition == pytest.approx(full.log_partition, rel=1e-13)
    assert law.kl(full) == pytest.approx(0.0, abs=1e-14)


def test_the_table_of_an_ising_law_has_no_parameters_beyond_order_two():
    law = _ising(5, 1)
    theta = MultivariateBernoulli(law.probabilities).canonical
    orders = np.indices(theta.shape).sum(axis=0)
    np.testing.assert_allclose(theta[orders > 2], 0.0, atol=1e-12)
    np.testing.assert_allclose(theta, law.canonical, atol=1e-12)


def test_without_coupling_the_variables_are_independent():
    field = np.array([-1.0, 0.3, 2.0])
    law = Ising(field, np.zeros((3, 3)))
    p = 1 / (1 + np.exp(-field))
    assert law.is_independent()
    np.testing.assert_allclose(law.mean, p, rtol=1e-13)
    np.testing.assert_allclose(law.covariance, np.diag(p * (1 - p)), atol=1e-15)
    expected = np.einsum("i,j,k->ijk", *np.stack([1 - p, p], axis=1))
    np.testing.assert_allclose(law.probabilities, expected, rtol=1e-13)
    assert MultivariateBernoulli(expected).is_independent()


def test_bivariate_is_multivariate_with_two_variables():
    pair = BivariateBernoulli(p00=0.1, p10=0.3, p01=0.2, p11=0.4)
    general = MultivariateBernoulli([[0.1, 0.2], [0.3, 0.4]])
    np.testing.assert_array_equal(pair.probabilities, general.probabilities)
    theta = general.canonical
    np.testing.assert_allclose(pair.canonical, [theta[1, 0], theta[0, 1], theta[1, 1]], rtol=1e-15)
    rng, same_rng = np.random.default_rng(0), np.random.default_rng(0)
    np.testing.assert_array_equal(pair.sample(50, rng), general.sample(50, same_rng))
    assert pair.kl(general) == 0.0


@pytest.mark.parametrize("values", [{0: 1}, {3: 0, 1: 1}, {0: 0, 1: 0, 2: 1, 4: 1}])
def test_conditions_of_an_ising_law_equal_those_of_its_table(values):
    law = _ising(5, 2)
    table = MultivariateBernoulli(law.probabilities).condition(values)
    conditioned = law.condition(values)
    assert isinstance(conditioned, Ising)
    np.testing.assert_allclose(conditioned.probabilities, table.probabilities, rtol=1e-12)


@pytest.mark.parametrize("indices", [[2], [0, 1], [3, 0, 2], [1, 3, 0, 2]])
def test_marginals_are_sums_of_the_table_in_the_order_asked(indices):
    p = np.random.default_rng(3).dirichlet(np.ones(16)).reshape(2, 2, 2, 2)
    letters = "abcd"
    expected = np.einsum(f"abcd->{''.join(letters[i] for i in indices)}", p)
    law = MultivariateBernoulli(p).marginal(indices)
    np.testing.assert_allclose(law.probabilities, expected, rtol=1e-12)
    np.testing.assert_allclose(law.mean, MultivariateBernoulli(p).mean[indices], rtol=1e-12)


def test_marginal_times_condition_is_the_joint_law():
    p = np.random.default_rng(4).dirichlet(np.ones(8)).reshape(2, 2, 2)
    law = MultivariateBernoulli(p)
    for value in (0, 1):
        product = law.marginal([1]).probabilities[value] * law.condition({1: value}).probabilities
        np.testing.assert_allclose(product, p[:, value, :], rtol=1e-12)


def test_simulated_and_enumerated_moments_agree():
    # 5 standard errors over 6 + 15 numbers: a false alarm in about 1 of 80,000 seeds
    law = _ising(6, 5, scale=0.7)
    estimate = law.estimate_moments(np.random.default_rng(11))
    assert estimate.method == "gibbs"
    pairs = np.triu_indices(6, 1)
    assert (np.abs(estimate.mean - law.mean) < 5 * estimate.mean_error).all()
    assert (np.abs(estimate.covariance - law.covariance) < 5 * estimate.covariance_error)[pairs].all()
