import numpy as np
import pytest

from dcmaes.distributions import Ising
from dcmaes.distributions._inverse_ising import invert_bethe


def _random(dimension, seed, scale, mask=None):
    rng = np.random.default_rng(seed)
    coupling = np.triu(rng.normal(scale=scale, size=(dimension, dimension)), 1)
    if mask is not None:
        coupling *= mask
    coupling += coupling.T
    return Ising(rng.normal(scale=0.7, size=dimension) - coupling.sum(axis=0) / 2, coupling)


def _tree(dimension, seed):
    rng, mask = np.random.default_rng(seed), np.zeros((dimension, dimension))
    for i in range(1, dimension):
        mask[rng.integers(i), i] = 1.0
    return mask


def _binary(mean, **covariances):
    mean = np.array(mean)
    result = np.diag(mean * (1 - mean))
    for pair, value in covariances.items():
        i, j = int(pair[1]), int(pair[2])
        result[i, j] = result[j, i] = value
    return mean, result


@pytest.mark.parametrize("dimension", [1, 2, 7, 15, 20])
def test_exact_inversion(dimension):
    law = _random(dimension, dimension, 1.5 / np.sqrt(dimension))
    again = Ising.from_moments(law.mean, law.covariance)
    np.testing.assert_allclose(again.mean, law.mean, rtol=0, atol=1e-11)
    np.testing.assert_allclose(again.covariance, law.covariance, rtol=0, atol=1e-11)
    np.testing.assert_allclose(again.coupling, law.coupling, atol=1e-7)


@pytest.mark.parametrize("gap", [1e-2, 1e-5, 1e-8, 1e-10])
def test_exact_inversion_close_to_a_bound(gap):
    mean, covariance = _binary([0.5, 0.3], c01=-0.15 + gap)
    law = Ising.from_moments(mean, covariance)
    np.testing.assert_allclose(law.covariance, covariance, rtol=0, atol=1e-11)
    assert law.pmf([1, 1]) == pytest.approx(gap, rel=1e-3)


@pytest.mark.parametrize("seed", range(4))
def test_bethe_is_exact_on_trees(seed):
    law = _random(12, seed, 2.0, _tree(12, seed))
    fit = invert_bethe(law.mean, law.covariance)
    np.testing.assert_allclose(fit.coupling, law.coupling, atol=1e-7)
    np.testing.assert_allclose(fit.field, law.field, atol=1e-7)


def test_bethe_is_exact_for_independent_variables_of_any_number():
    mean = np.linspace(0.02, 0.98, 200)
    law = Ising.from_moments(mean, np.diag(mean * (1 - mean)))
    np.testing.assert_allclose(law.coupling, 0.0, atol=1e-12)
    np.testing.assert_allclose(law.field, np.log(mean / (1 - mean)), atol=1e-10)


def test_bethe_error_on_weak_dense_couplings():
    law = _random(14, 0, 2.0 / np.sqrt(14))
    fit = invert_bethe(law.mean, law.covariance)
    again = Ising(fit.field, fit.coupling)
    pairs = np.triu_indices(14, 1)
    assert np.sqrt(np.mean((again.mean - law.mean) ** 2)) < 0.02
    missed = np.sqrt(np.mean((again.covariance - law.covariance)[pairs] ** 2))
    assert missed < 0.15 * np.sqrt(np.mean(law.covariance[pairs] ** 2))


def test_refinement_reduces_the_error_of_strong_couplings():
    # Seven copies of a strongly coupled block of four: small enough to know, too large for the exact
    # inversion.
    block = _random(4, 1, 3.0)
    mean, covariance = np.tile(block.mean, 7), np.kron(np.eye(7), block.covariance)

    def error(law):
        parts = [law.condition({j: 0 for j in range(28) if not 4 * b <= j < 4 * b + 4}) for b in range(7)]
        return np.mean([np.abs(part.covariance - block.covariance).mean() for part in parts])

    plain = Ising.from_moments(mean, covariance)
    refined = Ising.from_moments(mean, covariance, n_rounds=100, rng=np.random.default_rng(0))
    assert error(refined) < 0.5 * error(plain)


def test_refinement_needs_a_generator():
    mean = np.full(30, 0.5)
    with pytest.raises(TypeError, match=r"rng must be a numpy\.random\.Generator"):
        Ising.from_moments(mean, np.eye(30) / 4, n_rounds=10)


def test_correlations_beyond_bethe_are_reported():
    block = _random(6, 0, 4.0)
    mean, covariance = np.tile(block.mean, 5), np.kron(np.eye(5), block.covariance)
    with pytest.warns(RuntimeWarning, match=r"pair \(\d+, \d+\), are beyond the Bethe approximation"):
        Ising.from_moments(mean, covariance)


@pytest.mark.parametrize(
    ("moments", "message"),
    [
        (([0.5, 1.2], np.eye(2)), r"mean must lie between 0 and 1, got 1.2 at index \(1,\)"),
        (([], np.zeros((0, 0))), "mean must not be empty"),
        (([0.5, 0.5], np.eye(3)), r"covariance must have shape \(2, 2\)"),
        (([0.5, np.nan], np.eye(2)), "mean must be finite"),
        (_binary([0.5] * 30 + [1.0]), r"mean\[30\] is 1: variable 30 is constant"),
        (_binary([0.0] + [0.5] * 30), r"mean\[0\] is 0: variable 0 is constant"),
        (
            ([0.5, 0.5], [[0.25, 0.1], [0.0, 0.25]]),
            r"covariance must be symmetric, got 0.1 at \(0, 1\) and 0.0 at \(1, 0\)",
        ),
        (([0.5, 0.5], [[0.25, 0.0], [0.0, 0.3]]), r"covariance\[1, 1\] is 0.3, .* = 0.25 .*ddof=0"),
        (
            _binary([0.5, 0.3, 0.4], c02=0.21),
            r"0.21 of the pair \(0, 2\) must lie .* and 0.2 ",
        ),
        (_binary([0.5, 0.3], c01=-0.2), r"pair \(0, 1\) must lie between the Frechet bounds -0.15 and 0.15"),
        (_binary([0.5] * 30, c01=0.25), r"pair \(0, 1\) is on a Frechet bound"),
        (_binary([0.1] * 30, c01=-0.01), r"pair \(0, 1\) is on a Frechet bound"),
        (
            _binary([0.5] * 4, c12=0.2, c23=0.2, c13=-0.2),
            r"semidefinite, .* pair \(\d, \d\) contributes",
        ),
        (
            _binary([0.5] * 3, c01=-0.09, c02=-0.09, c12=-0.09),
            r"pairs \(0, 1\), \(0, 2\) and \(1, 2\) contradict one another by 0.02",
        ),
    ],
)
def test_impossible_moments_are_named(moments, message):
    with pytest.raises(ValueError, match=message):
        Ising.from_moments(*moments)


def test_moments_outside_the_polytope_that_pairs_and_triples_allow():
    # Five signs never sum to zero, so that equal correlations cannot be below -1/5; semidefinite allows -1/4.
    covariance = np.full((5, 5), 0.25 * -0.22)
    np.fill_diagonal(covariance, 0.25)
    with pytest.raises(ValueError, match=r"no Ising law has these moments: .* pair \(\d, \d\)"):
        Ising.from_moments(np.full(5, 0.5), covariance)
