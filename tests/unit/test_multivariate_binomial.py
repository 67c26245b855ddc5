"""Correlated binomials: exact tables, moments asked and delivered, repair, and arguments."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcmaes.distributions import Ising, MultivariateBernoulli, MultivariateBinomial
from dcmaes.distributions._feasibility import frechet_bounds

RNG = np.random.default_rng(0)
PAIR = MultivariateBernoulli([[0.4, 0.1], [0.2, 0.3]])


def random_table(k, seed):
    table = np.random.default_rng(seed).dirichlet(np.full(2**k, 0.5)).reshape((2,) * k)
    return MultivariateBernoulli(table)


def enumerate_sum(trials, bernoulli):
    """The law of the sum, by going through every sequence of draws."""
    table = np.zeros([n + 1 for n in trials])
    states = list(itertools.product((0, 1), repeat=len(trials)))
    for draws in itertools.product(states, repeat=max(trials)):
        kept = [
            [x if t < n else 0 for x, n in zip(draw, trials, strict=True)] for t, draw in enumerate(draws)
        ]
        table[tuple(np.sum(kept, axis=0))] += np.prod([bernoulli.pmf(draw) for draw in draws])
    return table


@pytest.mark.parametrize("trials", [(1,), (4,), (2, 2), (1, 3), (3, 2, 1), (2, 2, 2)])
def test_pmf_agrees_with_enumeration(trials):
    bernoulli = random_table(len(trials), seed=sum(trials))
    law = MultivariateBinomial(trials, bernoulli)
    points = np.array(list(np.ndindex(*(n + 1 for n in trials))))
    np.testing.assert_allclose(law.pmf(points), enumerate_sum(trials, bernoulli).reshape(-1), rtol=1e-12)


@pytest.mark.parametrize("trials", [(7,), (5, 5), (3, 9), (4, 1, 6), (2, 3, 2, 4)])
def test_moments_of_the_table(trials):
    law = MultivariateBinomial(trials, random_table(len(trials), seed=sum(trials)))
    points = np.array(list(np.ndindex(*(n + 1 for n in trials))))
    p = law.pmf(points)
    assert p.sum() == pytest.approx(1, abs=1e-13)
    np.testing.assert_allclose(p @ points, law.mean, rtol=1e-12)
    centered = points - law.mean
    np.testing.assert_allclose((centered * p[:, None]).T @ centered, law.covariance, rtol=1e-10, atol=1e-13)


def feasible_moments(k, seed, strength):
    """Means, and covariances that lie the given fraction of the way to their Frechet bounds."""
    rng = np.random.default_rng(seed)
    trials = rng.integers(1, 12, k)
    p = rng.uniform(0.05, 0.95, k)
    lower, upper = frechet_bounds(p)
    u = rng.uniform(-strength, strength, (k, k))
    u = np.triu(u, 1) + np.triu(u, 1).T
    covariance = np.minimum.outer(trials, trials) * np.where(u > 0, u * upper, -u * lower)
    np.fill_diagonal(covariance, trials * p * (1 - p))
    return trials, trials * p, covariance


@settings(max_examples=100)
@given(st.integers(1, 2), st.integers(0, 10**6))
def test_pairs_are_delivered_exactly(k, seed):
    trials, mean, covariance = feasible_moments(k, seed, strength=1.0)
    law = MultivariateBinomial.from_moments(trials, mean, covariance)
    np.testing.assert_allclose(law.mean, mean, rtol=1e-13)
    np.testing.assert_allclose(law.covariance, covariance, rtol=0, atol=1e-12 * trials.max())
    assert law.correlation_error < 1e-9


@pytest.mark.parametrize("k", [5, 30])
def test_moderate_correlations_are_delivered_exactly(k):
    trials, mean, covariance = feasible_moments(k, seed=k, strength=0.5 / np.sqrt(k))
    law = MultivariateBinomial.from_moments(trials, mean, covariance)
    assert law.correlation_error < 1e-12
    np.testing.assert_allclose(law.covariance, covariance, rtol=0, atol=1e-12 * trials.max())


def test_repair_reports_its_deviation():
    trials, mean, covariance = feasible_moments(12, seed=3, strength=0.9)
    law = MultivariateBinomial.from_moments(trials, mean, covariance)
    deviation = np.sqrt(np.diag(covariance))
    difference = np.abs(law.covariance - covariance) / np.outer(deviation, deviation)
    assert law.correlation_error == pytest.approx(difference.max(), rel=1e-9)
    assert law.correlation_error > 0.05
    assert law.bernoulli.latent_deviation > 0.05
    np.testing.assert_allclose(law.mean, mean, rtol=1e-13)
    assert np.linalg.eigvalsh(law.covariance / np.outer(deviation, deviation))[0] > -1e-10


def test_pmf_of_a_thresholded_pair():
    law = MultivariateBinomial.from_moments([3, 2], [1.2, 1.1], [[0.72, 0.3], [0.3, 0.495]])
    points = np.array(list(np.ndindex(4, 3)))
    p = law.pmf(points)
    np.testing.assert_allclose(p @ points, [1.2, 1.1], rtol=1e-12)
    assert (p * points[:, 0] * points[:, 1]).sum() - 1.2 * 1.1 == pytest.approx(0.3, rel=1e-12)


@pytest.mark.parametrize("k", [3, 4, 5])
def test_pmf_of_a_thresholded_vector_has_the_moments(k):
    trials, mean, covariance = feasible_moments(k, seed=k + 1, strength=0.4)
    trials, mean, covariance = (
        0 * trials + 2,
        2 * mean / trials,
        2 * covariance / np.minimum.outer(trials, trials),
    )
    law = MultivariateBinomial.from_moments(trials, mean, covariance)
    points = np.array(list(np.ndindex((3,) * k)))
    p = law.pmf(points)
    assert p.sum() == pytest.approx(1, abs=1e-13)
    np.testing.assert_allclose(p @ points, law.mean, rtol=1e-11)
    centered = points - law.mean
    np.testing.assert_allclose((centered * p[:, None]).T @ centered, law.covariance, rtol=0, atol=1e-11)


def test_constant_coordinates():
    law = MultivariateBinomial.from_moments(3, [0.0, 3.0, 1.5], np.diag([0, 0, 0.75]))
    sample = law.sample(50, np.random.default_rng(0))
    assert (sample[:, 0] == 0).all()
    assert (sample[:, 1] == 3).all()
    assert law.correlation_error == 0
    assert law.pmf([0, 3, 1]) == pytest.approx(3 / 8, rel=1e-12)
    assert law.pmf([1, 3, 1]) == 0


def test_zero_off_the_lattice_and_shapes():
    law = MultivariateBinomial([2, 3], PAIR)
    np.testing.assert_array_equal(law.pmf([[-1, 0], [0.5, 0], [3, 0], [0, 4]]), 0)
    assert np.ndim(law.pmf([0, 0])) == 0
    rng = np.random.default_rng(0)
    assert law.sample(None, rng).shape == (2,)
    assert law.sample((4, 5), rng).shape == (4, 5, 2)
    assert law.sample(0, rng).shape == (0, 2)
    assert law.sample(3, rng).dtype == np.int64


def test_handed_out_arrays_are_read_only_and_arguments_not_kept():
    trials = np.array([2, 3])
    law = MultivariateBinomial(trials, PAIR)
    trials[0] = 9
    np.testing.assert_array_equal(law.trials, [2, 3])
    for array in (law.trials, law.mean, law.covariance):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


FAIR = [[0.5, 0.1], [0.1, 0.5]]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: MultivariateBinomial(0, PAIR), ValueError, "trials must be at least 1, got 0"),
        (lambda: MultivariateBinomial([2, -1], PAIR), ValueError, r"trials\[1\] must be at least 1, got -1"),
        (lambda: MultivariateBinomial(2.0, PAIR), TypeError, "trials must be an integer, got 2.0"),
        (lambda: MultivariateBinomial([1, 2, 3], PAIR), ValueError, r"shape \(2,\), got shape \(3,\)"),
        (lambda: MultivariateBinomial(2, [0.5, 0.5]), TypeError, "bernoulli must be a law"),
        (lambda: MultivariateBinomial(2, PAIR).pmf([1]), ValueError, r"x must have shape \(..., 2\)"),
        (lambda: MultivariateBinomial(10**4, PAIR).pmf([1, 1]), ValueError, "pmf builds a table of all 1e"),
        (lambda: MultivariateBinomial(2, PAIR).sample(2, None), TypeError, "rng must be"),
        (
            lambda: MultivariateBinomial.from_moments(2, np.ones(7), np.eye(7) / 2).pmf(np.zeros(7)),
            ValueError,
            "at most 6 variables, this law has 7",
        ),
        (lambda: MultivariateBinomial.from_moments(2, [], []), ValueError, "mean must hold at least one"),
        (
            lambda: MultivariateBinomial.from_moments(2, [1, 3], FAIR),
            ValueError,
            r"mean\[1\] must .* 2, got 3",
        ),
        (
            lambda: MultivariateBinomial.from_moments(2, [1, 1], [[0.5]]),
            ValueError,
            "covariance must have shape",
        ),
        (
            lambda: MultivariateBinomial.from_moments(2, [1, 1], [[0.5, 0.1], [0.2, 0.5]]),
            ValueError,
            r"symmetric, got 0.1 at \(0, 1\) and 0.2 at \(1, 0\)",
        ),
        (
            lambda: MultivariateBinomial.from_moments(2, [1, 1], [[0.5, 0.1], [0.1, 0.6]]),
            ValueError,
            r"covariance\[1, 1\] must be mean .* = 0.5, got 0.6",
        ),
    ],
)
def test_bad_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_repeated_draws_with_the_same_seed_are_the_same():
    law = MultivariateBinomial([2, 5], Ising([0.1, -0.2], [[0, 0.4], [0.4, 0]]))
    first, second = (law.sample(20, np.random.default_rng(7)) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_marginals_are_again_sums_of_draws():
    law = MultivariateBinomial([2, 3, 1], random_table(3, 5))
    kept = law.marginal([2, 0])
    assert isinstance(kept, MultivariateBinomial)
    np.testing.assert_array_equal(kept.trials, [1, 2])
    np.testing.assert_allclose(kept.probabilities, law.probabilities.sum(axis=1).T, atol=1e-15)
