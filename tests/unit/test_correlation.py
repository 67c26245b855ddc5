"""Repair of matrices that are not correlation matrices."""

import numpy as np
import pytest

from dcmaes.distributions._latent_normal import repair_correlation


def random_symmetric(k, seed):
    rng = np.random.default_rng(seed)
    matrix = rng.uniform(-0.9, 0.9, (k, k))
    matrix = (matrix + matrix.T) / 2
    np.fill_diagonal(matrix, 1)
    return matrix


@pytest.mark.parametrize("k", [6, 10, 40])
def test_result_is_a_correlation_matrix(k):
    asked = random_symmetric(k, seed=k)
    assert np.linalg.eigvalsh(asked)[0] < -0.1
    repaired = repair_correlation(asked)
    np.testing.assert_array_equal(np.diag(repaired.matrix), 1)
    np.testing.assert_array_equal(repaired.matrix, repaired.matrix.T)
    assert np.linalg.eigvalsh(repaired.matrix)[0] > -1e-12
    np.testing.assert_allclose(repaired.factor @ repaired.factor.T, repaired.matrix, rtol=0, atol=1e-14)
    assert repaired.deviation == np.abs(repaired.matrix - asked).max() > 0.05


def test_positive_definite_matrix_is_left_alone():
    asked = np.array([[1.0, 0.5], [0.5, 1.0]])
    repaired = repair_correlation(asked)
    np.testing.assert_array_equal(repaired.matrix, asked)
    assert repaired.deviation == 0
    assert not np.shares_memory(repaired.matrix, asked)


def test_singular_matrix_is_kept_to_rounding():
    repaired = repair_correlation(np.ones((4, 4)))
    assert repaired.deviation < 1e-14


def test_nearer_than_clipping_the_eigenvalues():
    asked = random_symmetric(40, seed=1)
    values, vectors = np.linalg.eigh(asked)
    factor = vectors * np.sqrt(np.maximum(values, 0))
    factor /= np.linalg.norm(factor, axis=1, keepdims=True)
    assert np.linalg.norm(repair_correlation(asked).matrix - asked) < np.linalg.norm(
        factor @ factor.T - asked
    )


def test_known_nearest_matrix():
    # Higham (2002), section 5: the nearest correlation matrix of this one, to four places.
    asked = np.array([[1.0, 1, 0], [1, 1, 1], [0, 1, 1]])
    nearest = np.array([[1, 0.7607, 0.1573], [0.7607, 1, 0.7607], [0.1573, 0.7607, 1]])
    np.testing.assert_allclose(repair_correlation(asked).matrix, nearest, atol=0.01)
