"""The lattice Gaussian law reduces to the Bernoulli, Ising, uniform, truncated geometric and normal laws."""

import numpy as np
import pytest
from scipy import stats

from dcmaes.distributions import (
    Ising,
    LatticeGaussian,
    LatticeTable,
    MultivariateBernoulli,
    TruncatedGeometric,
)
from dcmaes.distributions._heat_bath import anneal
from dcmaes.distributions._quadratic import Elimination, log_marginal_weights, plan_elimination
from dcmaes.distributions._table import normalise


def _sparse(seed, trials, extra):
    """A chain with a few more couplings, small enough to enumerate."""
    rng = np.random.default_rng(seed)
    k = len(trials)
    quadratic = np.diag(rng.normal(size=k - 1), 1)
    for i, j in extra:
        quadratic[i, j] = rng.normal()
    quadratic += quadratic.T + np.diag(0.3 * rng.normal(size=k))
    return LatticeGaussian(trials, rng.normal(size=k), quadratic)


def test_two_states_without_couplings_are_bernoulli_variables():
    law = LatticeGaussian(1, [0.3, -1.2], np.zeros((2, 2)))
    expected = MultivariateBernoulli.from_canonical({(0,): 0.3, (1,): -1.2})
    np.testing.assert_allclose(law.probabilities, expected.probabilities, rtol=1e-13)


def test_two_states_are_the_ising_model():
    rng = np.random.default_rng(0)
    coupling = np.triu(rng.normal(size=(5, 5)), 1)
    coupling += coupling.T
    field = rng.normal(size=5)
    ising, lattice = Ising(field, coupling), LatticeGaussian(1, field, coupling)
    np.testing.assert_array_equal(lattice.log_probabilities, ising.log_probabilities)
    # the square of a {0,1} variable is the variable
    squared = LatticeGaussian(1, field - 1.0, coupling + 2.0 * np.eye(5))
    np.testing.assert_allclose(squared.probabilities, ising.probabilities, rtol=1e-12)
    fitted = LatticeGaussian.from_moments(1, ising.mean, ising.covariance)
    np.testing.assert_allclose(fitted.quadratic, ising.coupling, atol=1e-6)


@pytest.mark.parametrize("rho", [0.7, 1.0, 1.4])
def test_one_variable_without_a_square_is_the_truncated_geometric_law(rho):
    law = LatticeGaussian([8], [np.log(rho)], [[0.0]])
    np.testing.assert_allclose(law.probabilities, TruncatedGeometric(8, rho).probabilities, rtol=1e-13)


@pytest.mark.parametrize("deviation", [1.0, 3.0, 12.0])
def test_many_states_are_the_normal_law(deviation):
    # The lattice is far wider than the law. By Poisson's summation formula, densities at whole numbers have a
    # total and a variance off by about exp(-2 pi^2 sigma^2) times 2 and (4 pi sigma)^2.
    n = 200
    law = LatticeGaussian.from_moments([n], [n / 2], [[deviation**2]])
    assert law.quadratic[0, 0] == pytest.approx(-1 / deviation**2, rel=1e-6)
    density = stats.norm.pdf(np.arange(n + 1), n / 2, deviation)
    np.testing.assert_allclose(
        law.probabilities,
        density,
        atol=(4 * np.pi * deviation) ** 2 * np.exp(-2 * np.pi**2 * deviation**2) + 1e-12,
    )
    assert law.entropy() == pytest.approx(stats.norm.entropy(n / 2, deviation), abs=1e-6)


def test_two_variables_with_many_states_are_the_bivariate_normal_law():
    mean, covariance = np.array([40.0, 60.0]), np.array([[16.0, -6.0], [-6.0, 9.0]])
    law = LatticeGaussian.from_moments([100, 100], mean, covariance)
    np.testing.assert_allclose(law.quadratic, -np.linalg.inv(covariance), rtol=1e-7)
    np.testing.assert_allclose(law.linear, np.linalg.inv(covariance) @ mean, rtol=1e-7)
    density = stats.multivariate_normal(mean, covariance).pdf(np.array(list(np.ndindex(101, 101))))
    np.testing.assert_allclose(law.probabilities.reshape(-1), density, atol=1e-10)
    # the normal law's condition: mean 60 - 6/16 (x - 40), variance 9 - 36/16
    given = law.condition({0: 44})
    assert given.mean[0] == pytest.approx(60 - 6 / 16 * 4, abs=1e-6)
    assert given.covariance[0, 0] == pytest.approx(9 - 36 / 16, rel=1e-6)


def test_no_law_with_the_same_moments_has_more_entropy():
    rng = np.random.default_rng(1)
    for _ in range(20):
        law = LatticeTable(rng.dirichlet(np.ones(24)).reshape(2, 3, 4))
        widest = LatticeGaussian.from_moments([1, 2, 3], law.mean, law.covariance)
        assert widest.entropy() - law.entropy() == pytest.approx(law.kl(widest), abs=1e-8)
        assert law.kl(widest) > 0


@pytest.mark.parametrize("seed", range(3))
def test_elimination_is_enumeration(seed):
    law = _sparse(seed, [1, 2, 3, 1, 2, 1, 1, 2, 1], [(0, 5), (2, 7)])
    sums = Elimination(law._exponent, plan_elimination(law._exponent))
    assert sums.log_partition == pytest.approx(law.log_partition, rel=1e-13)
    np.testing.assert_allclose(sums.mean, law.mean, rtol=1e-11)
    np.testing.assert_allclose(sums.covariance, law.covariance, atol=1e-13)
    kept = (7, 2)
    table = log_marginal_weights(law._exponent, kept, plan_elimination(law._exponent, kept))
    np.testing.assert_allclose(
        normalise(table).log_probabilities, law.marginal(kept).log_probabilities, atol=1e-11
    )


def test_elimination_draws_from_the_law():
    # chi-square over all states, rejected with probability 1e-4 over the choice of seed
    law = _sparse(5, [1, 2, 1, 3], [(0, 2)])
    points = Elimination(law._exponent, plan_elimination(law._exponent)).sample(
        20_000, np.random.default_rng(0)
    )
    counts = np.bincount(np.ravel_multi_index(tuple(points.T), law.shape), minlength=48)
    expected = 20_000 * law.probabilities.reshape(-1)
    common = expected >= 5
    observed = np.append(counts[common], counts[~common].sum())
    wanted = np.append(expected[common], expected[~common].sum())
    statistic = ((observed - wanted)[wanted > 0] ** 2 / wanted[wanted > 0]).sum()
    assert stats.chi2.sf(statistic, (wanted > 0).sum() - 1) > 1e-4


def test_annealing_estimates_the_log_partition_function_within_its_error():
    law = _sparse(2, [3, 2, 4, 1, 2], [(0, 3), (1, 4), (0, 4)])
    population = anneal(law._exponent, 1024, np.random.default_rng(0))
    # 5 standard errors, known to a fifth: a false alarm in fewer than 1 of 10,000 seeds
    assert 0 < population.error < 0.2
    assert abs(population.log_partition - law.log_partition) < 5 * population.error


def test_annealing_gives_each_well_its_share():
    # Two wells, at all zeros and all ones, the second e times as likely: of chains that start anywhere about
    # as many would find each.
    k = 24
    coupling = np.full((k, k), 0.5) - 0.5 * np.eye(k)
    law = Ising(np.full(k, -0.25 * (k - 1) + 1.0 / k), coupling)
    share = (
        anneal(law._exponent, 4096, np.random.default_rng(1), n_sweeps=4).states.mean(axis=0) > 0.5
    ).mean()
    assert share == pytest.approx(np.e / (1 + np.e), abs=0.08)


@pytest.mark.parametrize("penalty", [{"l2": 0.0}, {"l1": 0.05}])
def test_pseudo_likelihood_recovers_couplings_of_many_variables(penalty):
    k = 40
    coupling = np.diag(np.full(k - 1, 1.2), 1)
    law = Ising(np.full(k, -0.6), coupling + coupling.T)
    data = law.sample(4000, np.random.default_rng(0))
    fitted = Ising.fit(data, **penalty)
    assert fitted.fit_summary.method == "pseudo-likelihood"
    assert fitted.fit_summary.is_regularised == ("l1" in penalty)
    neighbours = coupling != 0
    assert np.abs(fitted.coupling[neighbours] - 1.2).max() < 0.5
    others = np.triu(np.ones((k, k), dtype=bool), 1) & ~neighbours
    assert np.sqrt((fitted.coupling[others] ** 2).mean()) < (0.15 if "l2" in penalty else 0.05)
    if "l1" in penalty:
        assert (fitted.coupling[others] == 0).mean() > 0.8


def test_pseudo_likelihood_of_all_states_is_the_law_itself():
    law = _sparse(3, [2, 1, 3], [])
    states, p = law._support()
    fitted = LatticeGaussian.fit(states, p, trials=law.trials, method="pseudo-likelihood", l2=0.0)
    np.testing.assert_allclose(fitted.parameters, law.parameters, atol=1e-4)


def test_data_that_separate_perfectly_are_fitted_and_the_penalty_is_told():
    data = np.repeat([[0, 0, 1], [1, 1, 1]], 10, axis=0)
    fitted = Ising.fit(data, method="pseudo-likelihood")
    assert np.isfinite(fitted.coupling).all()
    assert fitted.fit_summary.l2 == pytest.approx(1 / 20)
    assert fitted.fit_summary.is_regularised


def test_a_variable_that_never_changes_is_fitted_with_a_penalty_or_refused_by_name():
    data = np.column_stack([np.tile([0, 1, 2, 1], 10), np.full(40, 3)])
    fitted = LatticeGaussian.fit(data, trials=3)
    assert fitted.fit_summary.method == "pseudo-likelihood"
    assert fitted.mean[1] == pytest.approx(3.0, abs=0.05)
    with pytest.raises(ValueError, match=r"mean\[1\] must lie strictly between 0 and trials = 3, got 3"):
        LatticeGaussian.fit(data, trials=3, method="likelihood")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: LatticeGaussian([2], [], np.zeros((0, 0))), "linear must not be empty"),
        (lambda: LatticeGaussian([2], [0.0], [[0.0, 1.0]]), "quadratic must have shape"),
        (lambda: LatticeGaussian([0], [0.0], [[0.0]]), r"trials\[0\] must be at least 1, got 0"),
        (
            lambda: LatticeGaussian([2, 2], [0.0, 0.0], [[0.0, 1.0], [2.0, 0.0]]),
            "quadratic must be symmetric",
        ),
        (lambda: LatticeGaussian.from_moments([2], [2.5], [[0.1]]), r"mean\[0\] must lie strictly between 0"),
        (
            lambda: LatticeGaussian.from_moments([4], [2.0], [[4.5]]),
            r"covariance\[0, 0\] must .* and 4 for a mean",
        ),
        (lambda: LatticeGaussian.from_moments([4], [1.5], [[0.2]]), r"must be positive, and between 0.25"),
        (
            lambda: LatticeGaussian.from_moments([2, 2], [1, 1], [[0.5, 0.6], [0.6, 0.5]]),
            "covariance must be positive semidefinite",
        ),
        (lambda: LatticeGaussian.from_moments(999, np.full(3, 500.0), np.eye(3)), "enumerates all states"),
        (lambda: LatticeGaussian.fit([[0], [1]], method="guess"), "method must be one of"),
        (lambda: LatticeGaussian.fit([[0], [1]], method="likelihood", l1=0.1), "l1 and l2 need method"),
        (
            lambda: LatticeGaussian.fit([[0], [7]], trials=[3]),
            "whole numbers from 0 to 3 for variable 0, got 7",
        ),
        (lambda: Ising.fit([[0], [2]]), "whole numbers from 0 to 1 for variable 0, got 2"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
