"""Draws of whole populations: latents, correlations that survive the sites, and choices."""

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import chisquare, kstest

from dcmaes import Binary, Categorical, Integer, Space
from dcmaes.strategies.cma._distribution import Distribution, _orthogonal, draw, even_normals, factorize
from dcmaes.strategies.cma._marginals import Layout, Marginals

# Chance that a test of the right law fails, for each test of a distribution in this file.
FALSE_ALARM = 1e-4


def distribution_of(space, *, deviation=0.1, mean=0.5, correlation=None, probabilities=None, mutation=0.0):
    layout = Layout(space.sites)
    n, b = len(layout.numeric), len(layout.category)
    marginals = Marginals(
        layout,
        mean=np.full(n, mean),
        step_size=1.0,
        scale=np.full(n, deviation),
        probabilities=np.zeros((0, 0)) if probabilities is None else np.array(probabilities),
        mutation=np.full(b, mutation),
        floor=1e-6,
    )
    copula = None if correlation is None else factorize(np.array(correlation), marginals.numeric.fidelity)
    return Distribution(marginals, copula)


def draw_many(distribution, n_batches, batch, seed=0):
    rng = np.random.default_rng(seed)
    return np.concatenate([draw(distribution, batch, rng) for _ in range(n_batches)])


@pytest.mark.parametrize(("n_points", "n_latents"), [(2, 1), (6, 6), (15, 4), (7, 30)])
def test_latents_fall_one_each_into_strata(n_points, n_latents):
    z = even_normals(n_points, n_latents, np.random.default_rng(0))
    assert z.shape == (n_points, n_latents)
    strata = np.sort(np.floor(ndtr(z) * n_points), axis=0)
    np.testing.assert_array_equal(strata, np.arange(n_points)[:, None] + np.zeros(n_latents))


def test_each_latent_is_standard_normal():
    rng = np.random.default_rng(1)
    z = np.array([even_normals(5, 3, rng)[2, 1] for _ in range(4000)])
    assert kstest(z, "norm").pvalue > FALSE_ALARM


def test_two_latents_of_a_point_are_uncorrelated():
    rng = np.random.default_rng(2)
    z = np.concatenate([even_normals(8, 4, rng) for _ in range(3000)])
    correlation = np.corrcoef(z.T) - np.eye(4)
    # 24,000 points: a standard error of 0.0065 if they were independent, five of them at most.
    assert np.abs(correlation).max() < 0.033


def test_orthogonal_rows_keep_their_lengths_and_the_first_its_direction():
    z = np.random.default_rng(3).normal(size=(4, 6))
    q = _orthogonal(z)
    np.testing.assert_allclose(q @ q.T, np.diag((z**2).sum(axis=1)), atol=1e-12)
    np.testing.assert_allclose(q[0], z[0], atol=1e-12)


@pytest.mark.parametrize("rho", [-0.8, 0.8])
@pytest.mark.parametrize(
    ("space", "deviation"),
    [
        (Space.binary(2), 0.3),
        (Space.integers(2, 0, 20), 0.01),
        (Space.integers(2, 0, 20), 0.1),
        (Space({"a": Binary(), "b": Integer(0, 50)}), 0.1),
    ],
)
def test_the_sign_of_a_correlation_survives_rounding(space, deviation, rho):
    distribution = distribution_of(space, deviation=deviation, correlation=[[1.0, rho], [rho, 1.0]])
    x = draw_many(distribution, 200, 20)
    found = np.corrcoef(x.T)[0, 1] * np.sign(rho)
    fidelity = distribution.marginals.numeric.fidelity
    # The product of the fidelities is exact to first order in rho, and the tails add to it.
    assert found > 0.75 * abs(rho) * fidelity[0] * fidelity[1]


def test_the_whitener_undoes_correlation_and_rounding():
    rho = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.3], [0.0, 0.3, 1.0]])
    distribution = distribution_of(Space.integers(3, 0, 20), deviation=0.1, correlation=rho)
    x = draw_many(distribution, 2000, 10)
    law, copula = distribution.marginals.numeric, distribution.copula
    white = (distribution.layout.displacement(x, distribution.marginals.mean) / law.spread) @ copula.whitener
    np.testing.assert_allclose(np.cov(white.T), np.eye(3), atol=0.05)


def test_negligible_rounding_needs_no_second_factorization():
    rho = np.array([[1.0, 0.5], [0.5, 1.0]])
    near, exact = factorize(rho, np.array([0.9999, 0.9999])), factorize(rho, np.ones(2))
    np.testing.assert_array_equal(near.whitener, exact.whitener)
    np.testing.assert_allclose(exact.whitener @ exact.root, np.eye(2), atol=1e-12)
    assert np.abs(factorize(rho, np.array([0.8, 0.8])).whitener - exact.whitener).max() > 0.01


def test_an_indefinite_correlation_is_repaired():
    copula = factorize(np.array([[1.0, 1.2], [1.2, 1.0]]), np.ones(2))
    assert np.linalg.eigvalsh(copula.correlation).min() > 0
    np.testing.assert_allclose(np.diag(copula.correlation), 1.0)
    assert np.isfinite(copula.whitener).all()


@pytest.mark.parametrize("rho", [0.0, 0.7])
@pytest.mark.parametrize("mutation", [0.0, 0.3])
def test_choices_have_their_probabilities(mutation, rho):
    p = [[0.5, 0.3, 0.2], [0.9, 0.1, 0.0]]
    space = Space({"a": Categorical(["x", "y", "z"]), "b": Categorical(["x", "y"])})
    correlation = np.eye(5)
    correlation[0, 3] = correlation[3, 0] = rho
    distribution = distribution_of(
        space, probabilities=p, mutation=mutation, correlation=correlation if rho else None
    )
    x = draw_many(distribution, 2000, 10, seed=4)
    for column, c in enumerate((3, 2)):
        expected = (1 - mutation) * np.array(p[column][:c]) + mutation / c
        # Stratified draws vary less than independent ones: the false-alarm rate is an upper bound.
        counts = np.bincount(x[:, column].astype(int), minlength=c)
        assert chisquare(counts, expected * len(x)).pvalue > FALSE_ALARM


def test_correlated_choices_are_taken_together():
    space = Space({"a": Categorical(["x", "y", "z"]), "b": Categorical(["x", "y", "z"])})
    together = np.eye(6)
    together[0, 3] = together[3, 0] = 0.9
    for correlation, low, high in ((np.eye(6), 0.09, 0.13), (together, 0.18, 0.34)):
        x = draw_many(
            distribution_of(space, probabilities=np.full((2, 3), 1 / 3), correlation=correlation), 500, 12
        )
        assert low < ((x[:, 0] == 0) & (x[:, 1] == 0)).mean() < high
