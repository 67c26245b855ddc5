"""What every family of laws must satisfy: the conformance suite.

Seeds are fixed. Each chi-square test rejects a right sampler with probability 1e-4 over the choice of seed.
"""

import inspect

import numpy as np
import pytest
from scipy import stats

import dcmaes.distributions
from dcmaes.distributions._law import Law, ParametricLaw

FALSE_ALARM = 1e-4
SEEDS = range(3)


def probabilities(family, law):
    return np.asarray(law.pmf(family.states(law)))


@pytest.mark.parametrize("seed", SEEDS)
def test_parameters_build_the_law(family, seed):
    theta = family.draw(np.random.default_rng(seed))
    np.testing.assert_allclose(family.build(theta).parameters, theta, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_probabilities_sum_to_one_and_logs_agree(family, seed):
    law = family.law(seed)
    p = probabilities(family, law)
    assert p.sum() == pytest.approx(1.0, abs=1e-13)
    np.testing.assert_allclose(np.exp(law.log_pmf(family.states(law))), p, rtol=1e-12)
    np.testing.assert_array_equal(law.logpmf(family.states(law)), law.log_pmf(family.states(law)))


@pytest.mark.parametrize("seed", SEEDS)
def test_moments_and_entropy_are_those_of_the_probabilities(family, seed):
    law = family.law(seed)
    x, p = family.states(law), probabilities(family, law)
    mean = p @ x
    np.testing.assert_allclose(law.mean, mean, rtol=1e-11, atol=1e-13)
    if family.is_univariate:
        assert law.variance == pytest.approx(p @ (x - mean) ** 2, rel=1e-10)
    else:
        covariance = ((x - mean).T * p) @ (x - mean)
        np.testing.assert_allclose(law.covariance, covariance, rtol=1e-9, atol=1e-13)
        deviation = np.sqrt(np.diag(covariance))
        np.testing.assert_allclose(law.correlation, covariance / np.outer(deviation, deviation), atol=1e-11)
    assert law.entropy() == pytest.approx(-p[p > 0] @ np.log(p[p > 0]), rel=1e-10)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_score_is_the_gradient_of_the_log_probability(family, seed):
    theta = family.draw(np.random.default_rng(seed))
    law = family.build(theta)
    x, p = family.states(law), probabilities(family, law)
    likely = p > 1e-6
    for i, score in enumerate(law.score(x[likely]).T):
        move = np.zeros(theta.size)
        move[i] = 1e-5
        up, down = (np.asarray(family.build(theta + sign * move).log_pmf(x[likely])) for sign in (1, -1))
        np.testing.assert_allclose(score, (up - down) / 2e-5, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_score_has_mean_zero_and_the_information_as_covariance(family, seed):
    law = family.law(seed)
    x, p = family.states(law), probabilities(family, law)
    score = law.score(x)
    np.testing.assert_allclose(p @ score, 0.0, atol=1e-11)
    np.testing.assert_allclose(law.fisher_information, (score.T * p) @ score, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_fit_to_a_laws_own_probabilities_is_the_law(family, seed):
    law = family.law(seed)
    x, p = family.states(law), probabilities(family, law)
    fitted = family.fit(x, p)
    np.testing.assert_allclose(fitted.pmf(x), p, atol=2e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_nearby_law_is_likelier_than_the_fit(family, seed):
    law, rng = family.law(seed), np.random.default_rng(seed)
    data = law.sample(500, rng)
    fitted = family.fit(data)
    best = fitted.log_likelihood(data)
    assert best >= law.log_likelihood(data) - 1e-6
    counted = family.fit(*np.unique(data, axis=0, return_counts=True))
    assert counted.log_likelihood(data) == pytest.approx(best, abs=1e-5)


def test_fits_recover_the_parameters_as_data_grow(family):
    # The likelihood ratio, twice, is chi-square with at most m degrees of freedom: rejected with probability
    # 1e-4.
    law = family.law(1)
    data = law.sample(20_000, np.random.default_rng(2))
    ratio = 2 * (family.fit(data).log_likelihood(data) - law.log_likelihood(data))
    assert ratio < stats.chi2.isf(FALSE_ALARM, law.parameters.size)


@pytest.mark.parametrize("seed", SEEDS)
def test_draws_have_the_laws_frequencies(family, seed):
    law = family.law(seed)
    x, p = family.states(law), probabilities(family, law)
    drawn = law.sample(20_000, np.random.default_rng(seed + 10))
    assert drawn.dtype == np.int64
    places = {tuple(np.atleast_1d(state)): i for i, state in enumerate(x)}
    counts = np.bincount([places[tuple(np.atleast_1d(point))] for point in drawn], minlength=len(p))
    common = p * len(drawn) >= 5
    observed = np.append(counts[common], counts[~common].sum())
    expected = np.append(p[common], p[~common].sum()) * len(drawn)
    used = expected > 1e-9
    assert observed[~used].sum() == 0
    statistic = ((observed - expected)[used] ** 2 / expected[used]).sum()
    assert stats.chi2.sf(statistic, used.sum() - 1) > FALSE_ALARM


def test_aliases_are_those_of_scipy(family):
    law = family.law(0)
    np.testing.assert_array_equal(law.rvs(5, 3), law.sample(5, np.random.default_rng(3)))
    assert np.shape(law.rvs()) == np.shape(law.sample(None, np.random.default_rng()))


@pytest.mark.parametrize("seed", SEEDS)
def test_laws_are_equal_when_their_parameters_are(family, seed):
    law, same, other = family.law(seed), family.law(seed), family.law(seed + 100)
    assert law == same
    assert hash(law) == hash(same)
    assert law != other
    assert law != "something else"


@pytest.mark.parametrize("seed", SEEDS)
def test_distribution_functions_and_quantiles(family, seed):
    law = family.law(seed)
    if not family.is_univariate:
        assert not hasattr(law, "cdf")
        return
    x = law.support
    sums = np.cumsum(law.pmf(x))
    np.testing.assert_allclose(law.cdf(x), sums, atol=1e-13)
    np.testing.assert_allclose(law.sf(x), 1 - sums, atol=1e-13)
    np.testing.assert_allclose(law.cdf(x + 0.5), sums, atol=1e-13)
    assert (law.cdf(x[0] - 1), law.sf(x[-1]), law.sf(x[0] - 1)) == (0.0, 0.0, 1.0)
    levels = np.random.default_rng(seed).random(200)
    quantiles = law.ppf(levels)
    assert (law.cdf(quantiles) >= levels).all()
    assert (law.cdf(quantiles - 1) < levels).all()


def test_extreme_parameters_give_laws(family):
    for theta in family.extremes:
        law = family.build(theta)
        x, p = family.states(law), probabilities(family, law)
        assert np.isfinite(p).all()
        assert (p >= 0).all()
        assert p.sum() == pytest.approx(1.0, abs=1e-12)
        assert np.isfinite(law.mean).all()
        spread = np.atleast_1d(law.variance if family.is_univariate else np.diag(law.covariance))
        assert (spread >= 0).all()
        assert np.isfinite(law.entropy())
        assert law.entropy() >= 0
        assert np.isin(law.sample(50, np.random.default_rng(0)), x).all()


@pytest.mark.parametrize(
    ("data", "weights", "message"),
    [
        ("none", None, "data must hold at least one observation"),
        ("half", None, "data must hold whole numbers"),
        ("good", [-1.0, 1.0], "weights must not be negative, got -1.0 at index 0"),
        ("good", [0.0, 0.0], "weights must not all be zero"),
        ("good", [1.0], "weights must have shape"),
    ],
)
def test_bad_data_are_named(family, data, weights, message):
    law = family.law(0)
    points = np.asarray(law.sample(2, np.random.default_rng(0)), dtype=float)
    points = {"none": points[:0], "half": points + 0.5, "good": points}[data]
    with pytest.raises(ValueError, match=message):
        law.log_likelihood(points, weights)
    with pytest.raises(ValueError, match=message):
        family.fit(points, weights)


def test_arrays_of_a_law_are_read_only(family):
    law = family.law(0)
    found = {name: getattr(law, name) for name in dir(law) if not name.startswith("_")}
    arrays = {name: value for name, value in found.items() if isinstance(value, np.ndarray)}
    assert "parameters" in arrays
    assert [name for name, value in arrays.items() if value.flags.writeable] == []


@pytest.mark.parametrize("shift", [0.5, -1000, 1000])
def test_points_that_are_no_states_have_no_score(family, shift):
    law = family.law(0)
    with pytest.raises(ValueError, match="x must hold"):
        law.score(law.sample(2, np.random.default_rng(0)) + shift)


def test_every_public_family_is_in_the_suite(families):
    classes = [value for value in vars(dcmaes.distributions).values() if inspect.isclass(value)]
    assert all(issubclass(law, Law) for law in classes)
    assert {law for law in classes if issubclass(law, ParametricLaw)} == {
        type(family.law(0)) for family in families.values()
    }


def test_the_representation_names_the_family(family):
    law = family.law(0)
    assert type(law).__name__ in repr(law)
