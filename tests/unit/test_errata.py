"""The right forms of statements the paper prints with slips; numbers as in docs/errata.md."""

from itertools import chain, combinations

import numpy as np
import pytest
from scipy import optimize, special

from dcmaes.distributions import BivariateBernoulli, CenteredBinomial, Ising, MultivariateBernoulli


def _subsets(items):
    return chain.from_iterable(combinations(items, n) for n in range(len(items) + 1))


def _cell(subset, dimension):
    return tuple(int(i in subset) for i in range(dimension))


def _random_table(dimension, seed):
    return np.random.default_rng(seed).dirichlet(np.ones(2**dimension)).reshape((2,) * dimension)


@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
def test_erratum_2_the_even_product_includes_the_empty_set(dimension):
    p = _random_table(dimension, dimension)
    theta = MultivariateBernoulli(p).canonical
    for ones in _subsets(range(dimension)):
        if not ones:
            continue
        even = odd = 1.0
        for zeroed in _subsets(ones):  # the variables of `ones` put back to 0, the empty set among them
            factor = p[_cell(set(ones) - set(zeroed), dimension)]
            even, odd = (even * factor, odd) if len(zeroed) % 2 == 0 else (even, odd * factor)
        assert theta[_cell(ones, dimension)] == pytest.approx(np.log(even / odd), abs=1e-10)
        printed = np.log(even / p[_cell(ones, dimension)] / odd)
        assert abs(theta[_cell(ones, dimension)] - printed) > 1e-3


def test_erratum_3_the_sum_of_the_empty_set_is_zero():
    theta = np.random.default_rng(3).normal(size=(2, 2, 2))
    law = MultivariateBernoulli.from_canonical(theta)
    sums = {ones: sum(theta[_cell(a, 3)] for a in _subsets(ones) if a) for ones in _subsets(range(3))}
    assert sums[()] == 0
    total = sum(np.exp(s) for s in sums.values())
    for ones, s in sums.items():
        assert law.pmf(_cell(ones, 3)) == pytest.approx(np.exp(s) / total, rel=1e-12)
    assert law.log_partition == pytest.approx(np.log(total))


def test_erratum_4_an_ising_law_has_no_high_parameters_but_all_probabilities():
    coupling = np.array([[0.0, 1.0, -1.0], [1.0, 0.0, 0.5], [-1.0, 0.5, 0.0]])
    law = MultivariateBernoulli(Ising([0.2, -0.3, 0.1], coupling).probabilities)
    assert law.canonical[1, 1, 1] == pytest.approx(0.0, abs=1e-14)
    assert law.pmf([1, 1, 1]) > 0.05


@pytest.mark.parametrize("seed", range(5))
def test_erratum_5_two_variables_are_independent_iff_uncorrelated(seed):
    p, q = np.random.default_rng(seed).uniform(0.1, 0.9, size=2)
    law = BivariateBernoulli((1 - p) * (1 - q), p * (1 - q), (1 - p) * q, p * q)
    assert law.covariance[0, 1] == pytest.approx(0.0, abs=1e-16)
    assert law.is_independent()


def test_erratum_5_an_ising_law_with_every_pair_uncorrelated_is_independent():
    mean = np.array([0.1, 0.5, 0.7, 0.8])
    assert Ising.from_moments(mean, np.diag(mean * (1 - mean))).is_independent()


def test_erratum_5_one_uncorrelated_pair_of_an_ising_law_may_be_coupled():
    def law(first_with_second):
        coupling = np.array([[0.0, 0.0, 2.0], [0.0, 0.0, 2.0], [2.0, 2.0, 0.0]])
        coupling[0, 1] = coupling[1, 0] = first_with_second
        return Ising([0.0, 0.0, -1.0], coupling)

    assert law(0.0).covariance[0, 1] > 0.01  # uncoupled, yet correlated through the third
    balanced = law(optimize.brentq(lambda j: law(j).covariance[0, 1], -3.0, 0.0, xtol=1e-14))
    assert balanced.covariance[0, 1] == pytest.approx(0.0, abs=1e-13)
    assert balanced.coupling[0, 1] < -0.1  # uncorrelated, yet coupled
    assert not balanced.is_independent()
    assert not balanced.condition({2: 0}).is_independent()


def test_erratum_5_exclusive_or_is_uncorrelated_and_dependent():
    noise = 0.05
    table = np.array(
        [[[0.25 * (1 - noise if c == (a ^ b) else noise) for c in (0, 1)] for b in (0, 1)] for a in (0, 1)]
    )
    law = MultivariateBernoulli(table)
    np.testing.assert_allclose(law.covariance, np.eye(3) / 4, atol=1e-16)
    assert not law.is_independent()
    assert abs(law.canonical[1, 1, 1]) == pytest.approx(4 * np.log((1 - noise) / noise))
    # the law of maximum entropy with these moments knows nothing of the dependence
    assert Ising.from_moments(law.mean, law.covariance).is_independent()


def test_erratum_11_the_modulus_belongs_to_the_variable_not_to_the_dimension():
    law = CenteredBinomial(3, 0.5, center=2.0, wrap=4)  # one variable of four states
    points = law.sample(2000, np.random.default_rng(0))
    assert set(np.unique(points)) == {0, 1, 2, 3}
    assert set(np.unique(points % 1)) == {0}  # what "mod dim" would leave in one dimension


def test_erratum_12_a_discrete_centre_repeats_while_the_law_is_still_wide():
    # Ten bits, each flipped with probability 1/20; the centre moves to the better of two OneMax candidates.
    flips = np.random.default_rng(12).random((1000, 2, 10)) < 0.05
    centre = np.array([0, 1] * 5)
    candidates = centre ^ flips
    best = candidates[np.arange(1000), candidates.sum(axis=2).argmax(axis=1)]
    repeats = (best == centre).all(axis=1).mean()
    assert repeats > 0.3  # ||m - m'|| = 0 < eps: the rule fires here, half of the bits being wrong


def test_erratum_13_lattice_steps_have_another_expected_length_than_gaussian_ones():
    dimension = 4
    gaussian = np.sqrt(2) * special.gamma((dimension + 1) / 2) / special.gamma(dimension / 2)

    def expected_length(p):
        law = Ising(np.full(dimension, special.logit(p)), np.zeros((dimension, dimension)))
        states = np.array(list(np.ndindex(*(2,) * dimension)))
        steps = (states - law.mean) / np.sqrt(law.covariance.diagonal())
        assert law.pmf(states) @ (steps**2).sum(axis=1) == pytest.approx(dimension)
        return law.pmf(states) @ np.sqrt((steps**2).sum(axis=1))

    assert expected_length(0.5) == pytest.approx(2.0)
    assert gaussian == pytest.approx(1.88, abs=1e-3)
    assert expected_length(0.01) < 0.4 * gaussian


def test_erratum_14_the_log_partition_sums_exponentials():
    law = Ising([0.5, -1.0], [[0.0, 2.0], [2.0, 0.0]])
    weights = law.log_weight([[0, 0], [0, 1], [1, 0], [1, 1]])
    assert law.log_partition == pytest.approx(np.log(np.exp(weights).sum()), rel=1e-14)
    assert abs(law.log_partition - np.log(weights.sum())) > 0.5


def test_erratum_15_the_law_says_how_it_is_computed():
    dense = np.full((26, 26), 0.01) - 0.01 * np.eye(26)
    small, large = Ising(np.zeros(20), np.zeros((20, 20))), Ising(np.zeros(26), dense)
    assert (small.method, small.moments.method) == ("exact", "exact")
    assert (large.method, large.moments.method) == ("gibbs", "gibbs")
    assert (large.moments.mean_error > 0).all()
    assert (small.log_partition_error, large.log_partition_error > 0) == (0.0, True)
    with pytest.raises(ValueError, match=r"all 6.71e\+07 states"):
        _ = large.probabilities
