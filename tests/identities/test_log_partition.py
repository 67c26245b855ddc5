"""A is a log sum of exponentials, its gradient the mean and its Hessian the covariance of the statistics."""

import numpy as np
import pytest


def _gradient(function, at, step):
    moves = step * np.eye(at.size)
    return np.array([(function(at + move) - function(at - move)) / (2 * step) for move in moves])


@pytest.mark.parametrize("seed", range(3))
def test_log_partition_is_the_log_sum_of_exponentials(binary_family, seed):
    theta = binary_family.parameters(seed)
    weights = np.exp(binary_family.statistics @ theta)
    assert binary_family.build(theta).log_partition == pytest.approx(np.log(weights.sum()), rel=1e-13)


@pytest.mark.parametrize("seed", range(3))
def test_probabilities_are_exponential_in_the_statistics(binary_family, seed):
    theta = binary_family.parameters(seed)
    law = binary_family.build(theta)
    expected = np.exp(binary_family.statistics @ theta - law.log_partition)
    np.testing.assert_allclose(law.pmf(binary_family.states), expected, rtol=1e-12)
    np.testing.assert_allclose(law.probabilities.sum(), 1.0, rtol=1e-14)


@pytest.mark.parametrize("seed", range(3))
def test_gradient_of_log_partition_is_the_mean(binary_family, seed):
    theta = binary_family.parameters(seed)
    law = binary_family.build(theta)
    gradient = _gradient(lambda at: binary_family.build(at).log_partition, theta, 1e-5)
    np.testing.assert_allclose(gradient[: binary_family.dimension], law.mean, atol=1e-9)
    mean_of_statistics = law.probabilities.reshape(-1) @ binary_family.statistics
    np.testing.assert_allclose(gradient, mean_of_statistics, atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_hessian_of_log_partition_is_the_covariance(binary_family, seed):
    theta = binary_family.parameters(seed)
    law = binary_family.build(theta)
    k = binary_family.dimension

    def mean(at):
        return np.array(_gradient(lambda there: binary_family.build(there).log_partition, at, 1e-3))

    hessian = _gradient(mean, theta, 1e-3)
    np.testing.assert_allclose(hessian[:k, :k], law.covariance, atol=1e-6)
    probabilities, statistics = law.probabilities.reshape(-1), binary_family.statistics
    centred = statistics - probabilities @ statistics
    np.testing.assert_allclose(hessian, (centred.T * probabilities) @ centred, atol=1e-6)


@pytest.mark.parametrize("scale", [1.0, 30.0, 300.0])
def test_moments_equal_enumeration(binary_family, scale):
    law = binary_family.build(binary_family.parameters(7, scale))
    states = binary_family.states
    p = law.probabilities.reshape(-1)
    mean = p @ states
    np.testing.assert_allclose(law.mean, mean, atol=1e-14)
    np.testing.assert_allclose(law.covariance, (states - mean).T @ ((states - mean) * p[:, None]), atol=1e-14)
