"""Entropy and Kullback-Leibler divergence in canonical form, and their inequalities."""

import numpy as np
import pytest


@pytest.mark.parametrize("seed", range(3))
def test_entropy_is_log_partition_minus_parameters_times_means(binary_family, seed):
    theta = binary_family.parameters(seed)
    law = binary_family.build(theta)
    mean_of_statistics = law.probabilities.reshape(-1) @ binary_family.statistics
    assert law.entropy() == pytest.approx(law.log_partition - theta @ mean_of_statistics, abs=1e-12)
    assert 0.0 <= law.entropy() <= binary_family.dimension * np.log(2.0)


@pytest.mark.parametrize("seed", range(3))
def test_divergence_is_the_bregman_divergence_of_the_log_partition(binary_family, seed):
    theta, other = binary_family.parameters(seed), binary_family.parameters(seed + 100)
    p, q = binary_family.build(theta), binary_family.build(other)
    mean_of_statistics = p.probabilities.reshape(-1) @ binary_family.statistics
    expected = q.log_partition - p.log_partition - (other - theta) @ mean_of_statistics
    assert p.kl(q) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_divergence_is_zero_only_for_the_same_law(binary_family, seed):
    theta = binary_family.parameters(seed)
    p = binary_family.build(theta)
    assert p.kl(p) == 0.0
    near = binary_family.build(theta + 1e-3)
    assert p.kl(near) > 1e-8


def test_divergence_near_zero_is_half_the_fisher_length(binary_family):
    theta = binary_family.parameters(3)
    p = binary_family.build(theta)
    step = 1e-4 * binary_family.parameters(4)
    statistics, probabilities = binary_family.statistics, p.probabilities.reshape(-1)
    fisher = np.cov(statistics.T, aweights=probabilities, ddof=0).reshape(step.size, step.size)
    assert p.kl(binary_family.build(theta + step)) == pytest.approx(0.5 * step @ fisher @ step, rel=1e-2)
