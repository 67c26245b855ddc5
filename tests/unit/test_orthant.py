"""Orthant probabilities of a few normal coordinates, against closed forms and one-factor quadrature."""

import numpy as np
import pytest
from scipy.special import ndtr

from dcmaes.distributions._latent_normal import orthant_probability

NODES, WEIGHTS = np.polynomial.legendre.leggauss(400)
FACTOR = 10 * NODES
FACTOR_WEIGHTS = 10 * WEIGHTS * np.exp(-(FACTOR**2) / 2) / np.sqrt(2 * np.pi)


@pytest.mark.parametrize("k", [3, 4, 5, 6])
@pytest.mark.parametrize("strength", [0.3, 0.9])
def test_one_factor_model(k, strength):
    rng = np.random.default_rng(k)
    loading, h = strength * rng.uniform(-1, 1, k), rng.normal(size=k)
    correlation = np.outer(loading, loading)
    np.fill_diagonal(correlation, 1)
    # Given the factor the coordinates are independent: one integral, smooth for loadings below one.
    conditional = ndtr((h - FACTOR[:, None] * loading) / np.sqrt(1 - loading**2)).prod(axis=1)
    assert orthant_probability(h, correlation) == pytest.approx(conditional @ FACTOR_WEIGHTS, abs=1e-13)


@pytest.mark.parametrize("seed", range(5))
def test_three_signs(seed):
    vectors = np.random.default_rng(seed).normal(size=(3, 3))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    correlation = vectors @ vectors.T
    np.fill_diagonal(correlation, 1)
    wanted = 1 / 8 + np.arcsin(correlation[np.triu_indices(3, 1)]).sum() / (4 * np.pi)
    assert orthant_probability(np.zeros(3), correlation) == pytest.approx(wanted, abs=1e-14)


def test_singular_correlation():
    # z_3 = (z_1 + z_2) / sqrt(2) is negative whenever both are.
    half = np.sqrt(0.5)
    correlation = np.array([[1, 0, half], [0, 1, half], [half, half, 1]])
    assert orthant_probability(np.zeros(3), correlation) == pytest.approx(0.25, abs=1e-10)


def test_infinite_thresholds_leave_the_rest():
    correlation = np.full((3, 3), 0.4) + 0.6 * np.eye(3)
    pair = orthant_probability(np.array([0.2, -0.5]), correlation[:2, :2])
    assert orthant_probability(np.array([0.2, -0.5, np.inf]), correlation) == pytest.approx(pair, abs=1e-14)
    assert orthant_probability(np.array([0.2, -0.5, -np.inf]), correlation) == 0
