"""Pairs and triples of sites found in values, against the function that they are of."""

import numpy as np
import pytest

from dcmaes.models import MOST_INDICATORS, polynomial_of, sparse_sets
from dcmaes.models._cubic import _covariance, _pairs, _Regression, _sums, _triples


def table_of(rng, n_states, triples):
    """Return a function with a random table over each of some triples of sites."""
    tables = [rng.standard_normal(n_states[t]) for t in triples]
    return lambda x: sum(
        table[tuple(x[:, t].astype(int).T)] for t, table in zip(triples, tables, strict=True)
    )


@pytest.mark.parametrize("seed", range(3))
def test_every_triple_is_found_with_its_parts(seed):
    rng = np.random.default_rng(seed)
    n_states = np.full(25, 2)
    triples = [sorted(rng.choice(25, 3, replace=False).tolist()) for _ in range(20)]
    function = table_of(rng, n_states, triples)
    x = rng.integers(0, 2, size=(600, 25)).astype(float)
    singles, pairs, found = sparse_sets(x, function(x), n_states)
    assert singles == [(i,) for i in range(25)]
    assert {tuple(t) for t in triples} <= set(found)
    assert {(t[0], t[2]) for t in found} <= set(pairs)
    other = rng.integers(0, 2, size=(100, 25)).astype(float)
    polynomial = polynomial_of([singles, pairs, found], x, function(x), n_states)
    np.testing.assert_allclose(polynomial.predict(other), function(other), atol=1e-8)


def test_values_of_a_walk_tell_too():
    rng = np.random.default_rng(0)
    n_states = np.full(20, 2)
    triples = [sorted(rng.choice(20, 3, replace=False).tolist()) for _ in range(10)]
    function = table_of(rng, n_states, triples)
    x = np.unique(np.cumsum(np.eye(20)[rng.integers(0, 20, size=600)], axis=0) % 2, axis=0)
    assert {tuple(t) for t in triples} <= set(sparse_sets(x, function(x), n_states)[2])


def test_choices_of_several_states():
    rng = np.random.default_rng(0)
    n_states = np.array([3, 2, 4, 1, 3, 2, 3, 2])
    triples = [[0, 2, 4], [1, 5, 6], [4, 6, 7]]
    function = table_of(rng, n_states, triples)
    x = np.floor(rng.random((500, 8)) * n_states)
    singles, _, found = sparse_sets(x, function(x), n_states)
    assert (3,) not in singles
    assert {tuple(t) for t in triples} <= set(found)


def test_values_that_do_not_tell_are_refused():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, size=(200, 20)).astype(float)
    assert sparse_sets(x, rng.standard_normal(200), np.full(20, 2)) is None
    assert sparse_sets(x, x.prod(axis=1) + rng.standard_normal(200), np.full(20, 2)) is None


def test_no_values_tell_nothing():
    assert sparse_sets(np.empty((0, 20)), np.empty(0), np.full(20, 2)) is None


def test_too_many_sites_are_refused():
    d = MOST_INDICATORS + 1
    assert sparse_sets(np.zeros((1, d)), np.zeros(1), np.full(d, 2)) is None


@pytest.mark.parametrize("slope", [0.0, 1.0, 1e6])
def test_a_sum_over_single_sites_has_no_terms(slope):
    x = np.random.default_rng(0).integers(0, 2, size=(50, 6)).astype(float)
    values = 1.0 + slope * x @ np.arange(6)
    assert sparse_sets(x, values, np.full(6, 2)) == [[(i,) for i in range(6)], [], []]


def test_the_covariance_is_that_of_the_terms():
    rng = np.random.default_rng(0)
    states = rng.integers(0, 2, size=(8, 5)).astype(float)
    pairs = states[:, _pairs(5)[:, :2]].prod(axis=2)
    triples = states[:, _triples(5)].prod(axis=2)
    expected = 10 * (1 + states @ states.T) + 0.3 * pairs @ pairs.T + 0.1 * triples @ triples.T
    np.testing.assert_allclose(_covariance(states, [0.3, 0.1]), expected + 1e-4 * np.eye(8))


def test_sums_over_the_points_that_have_a_pair_or_triple():
    rng = np.random.default_rng(0)
    states, weights = rng.integers(0, 2, size=(9, 6)).astype(float), rng.standard_normal(9)
    columns = np.hstack([states[:, _pairs(6)[:, :2]].prod(axis=2), states[:, _triples(6)].prod(axis=2)])
    np.testing.assert_allclose(_sums(states, weights), weights @ columns, atol=1e-12)


def test_indicators_are_of_states_that_the_best_point_does_not_have():
    x = np.array([[0.0, 2.0], [1.0, 0.0], [2.0, 1.0], [2.0, 2.0]])
    regression = _Regression.of(x, np.array([3.0, 1.0, 0.0, 2.0]), np.array([3, 3]))
    expected = [[1, 0, 0, 1], [0, 1, 1, 0], [0, 0, 0, 0], [0, 0, 0, 1]]
    np.testing.assert_array_equal(regression.states, expected)
