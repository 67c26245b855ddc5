"""The regression of `dcmaes.models` is ridge regression over explicit monomials, and a natural gradient."""

from itertools import combinations, product

import numpy as np
import pytest

from dcmaes.distributions import Ising
from dcmaes.models import Regression

# Variances of unit coefficients are variances / (mean square of the component's functions over the data).
VARIANCES = np.array([2.0, 0.7, 0.9, 1.1, 0.4, 0.6, 0.05])


def example(seed, n=14, p=3, q=2, site=(0, 1, 1, 2, 3)):
    """Random data: one two-state site, one of three states, two numeric ones."""
    rng = np.random.default_rng(seed)
    features = np.zeros((n, p + q))
    features[:, 0] = rng.integers(0, 2, n)
    state = rng.integers(0, 3, n)
    features[:, 1], features[:, 2] = state == 1, state == 2
    features[:, p:] = rng.normal(size=(n, q))
    weights = rng.uniform(0.2, 1.0, n)
    return Regression(features, p, np.array(site), rng.normal(size=n), weights, VARIANCES)


def monomials(model, features):
    """Return explicit functions, one column each, with the component each belongs to."""
    p = model.n_choices
    z = features[:, p:]
    pairs = [(i, j) for i, j in combinations(range(features.shape[1]), 2) if model.site[i] != model.site[j]]
    columns = [
        (0, np.ones((len(features), 1))),
        (1, (features[:, :p].sum(1) + (z**2).sum(1))[:, None]),
        (2, features[:, :p]),
        (3, z),
        (4, z**2),
        (5, np.stack([features[:, i] * features[:, j] for i, j in pairs], axis=1)),
    ]
    component = np.concatenate([np.full(block.shape[1], index) for index, block in columns])
    return np.concatenate([block for _, block in columns], axis=1), component, pairs


def ridge(model):
    """Return design matrix, posterior mean and covariance of the coefficients, and the pairs."""
    design, component, pairs = monomials(model, model.features)
    share = model.weights / model.weights.sum()
    mean_square = np.array([share @ (design[:, component == c] ** 2).sum(1) for c in range(6)])
    prior = (model.variances[:-1] / mean_square)[component]
    precision = model.weights / model.variances[-1]
    covariance = np.linalg.inv(np.diag(1 / prior) + design.T @ (precision[:, None] * design))
    return design, covariance @ (design.T @ (precision * model.targets)), covariance, pairs


def coefficients(energy, pairs, index=0):
    coupling = [energy.coupling[index, i, j] for i, j in pairs]
    return np.concatenate(
        [[energy.radial[index]], energy.field[index], energy.curvature[index], np.array(coupling)]
    )


@pytest.mark.parametrize("seed", range(5))
def test_posterior_mean_is_ridge_regression(seed):
    model = example(seed)
    _, expected, _, pairs = ridge(model)
    energy = model.mean(has_pairs=True)
    np.testing.assert_allclose(coefficients(energy, pairs), expected[1:], rtol=1e-5, atol=1e-7)
    assert energy.coupling[0, 1, 2] == 0.0


@pytest.mark.parametrize("seed", range(3))
def test_marginal_likelihood_is_the_normal_density_of_the_data(seed):
    model = example(seed)
    design, component, _ = monomials(model, model.features)
    share = model.weights / model.weights.sum()
    mean_square = np.array([share @ (design[:, component == c] ** 2).sum(1) for c in range(6)])
    prior = (model.variances[:-1] / mean_square)[component]
    covariance = (design * prior) @ design.T + np.diag(model.variances[-1] / model.weights)
    _, log_determinant = np.linalg.slogdet(2 * np.pi * covariance)
    expected = -(model.targets @ np.linalg.solve(covariance, model.targets) + log_determinant) / 2
    assert model.log_likelihood() == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("has_pairs", [True, False])
def test_draws_have_the_posterior_mean_and_covariance(has_pairs):
    # False alarms: 2 x (15 means + 120 covariances) normal deviates beyond 5.5 sigma, below 2e-5 in all.
    model, n = example(0), 20_000
    _, mean, covariance, pairs = ridge(model)
    energy = model.draw(n, np.random.default_rng(1), has_pairs=has_pairs)
    blocks = [energy.radial[:, None], energy.field, energy.curvature]
    if has_pairs:
        blocks.append(np.stack([energy.coupling[:, i, j] for i, j in pairs], axis=1))
    drawn = np.concatenate(blocks, axis=1)
    size = drawn.shape[1]
    mean, covariance = mean[1 : size + 1], covariance[1 : size + 1, 1 : size + 1]
    deviation = np.sqrt(np.diag(covariance))
    assert (np.abs(drawn.mean(0) - mean) < 5.5 * deviation / np.sqrt(n)).all()
    scaled = (drawn - mean) / deviation
    correlation = covariance / np.outer(deviation, deviation)
    error = np.sqrt((1 + correlation**2) / n)
    assert (np.abs(scaled.T @ scaled / n - correlation) < 5.5 * error).all()


def test_natural_gradient_is_the_regression_on_the_statistics():
    """Of E f under an Ising model of {0,1} states: inverse Fisher matrix times gradient, by enumeration."""
    k, rng = 4, np.random.default_rng(3)
    pairs = list(combinations(range(k), 2))
    coupling = np.triu(rng.normal(size=(k, k)), 1)
    ising = Ising(rng.normal(size=k), coupling + coupling.T)
    states = np.array(list(product([0.0, 1.0], repeat=k)))
    probability = ising.probabilities.reshape(-1)
    statistics = np.concatenate([states, np.stack([states[:, i] * states[:, j] for i, j in pairs], 1)], 1)
    values = rng.normal(size=2**k)
    centred = statistics - probability @ statistics
    fisher = centred.T @ (probability[:, None] * centred)
    natural = np.linalg.solve(fisher, centred.T @ (probability * values))

    variances = np.array([1e4, 0.0, 1e4, 0.0, 0.0, 1e4, 1e-3])
    energy = Regression(states, k, np.arange(k), values, probability, variances).mean(has_pairs=True)
    learned = np.concatenate([energy.field[0], [energy.coupling[0, i, j] for i, j in pairs]])
    np.testing.assert_allclose(learned, natural, atol=2e-3)
