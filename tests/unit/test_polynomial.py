"""Polynomials over sets of sites that interact, against enumeration."""

import numpy as np
import pytest

from dcmaes.models import cliques, low_point_of, minimum_of, polynomial_of
from dcmaes.models._polynomial import MOST_TERMS


def graph(d, edges):
    interacts = np.zeros((d, d), dtype=bool)
    for i, j in edges:
        interacts[i, j] = interacts[j, i] = True
    return interacts


def test_cliques_of_a_graph():
    found = cliques(graph(5, [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4)]), np.full(5, 2))
    assert [sorted(level) for level in found] == [
        [(0,), (1,), (2,), (3,), (4,)],
        [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4)],
        [(0, 1, 2)],
    ]


def test_too_many_terms_are_refused():
    assert cliques(np.ones((12, 12), dtype=bool), np.full(12, 2)) is None
    assert 2**11 < MOST_TERMS < 2**12


@pytest.mark.parametrize("seed", range(5))
def test_the_function_and_its_minimum_are_exact(seed):
    """Random tables over triples of sites with two, three and four states."""
    rng = np.random.default_rng(seed)
    n_states = rng.integers(2, 5, size=7)
    triples = [rng.choice(7, 3, replace=False) for _ in range(4)]
    tables = [rng.standard_normal(n_states[t]) for t in triples]
    every = np.indices(n_states).reshape(7, -1).T
    values = sum(table[tuple(every[:, t].T)] for t, table in zip(triples, tables, strict=True))
    edges = [(i, j) for t in triples for i in t for j in t if i != j]
    sets = cliques(graph(7, edges), n_states)
    some = rng.choice(len(every), min(len(every), 1500), replace=False)
    function = polynomial_of(sets, every[some].astype(float), values[some], n_states)
    np.testing.assert_allclose(function.predict(every.astype(float)), values, atol=1e-8)
    # A site may be in no triple, so the lowest point need not be the only one.
    for point in (minimum_of(function), low_point_of(function)):
        lowest = (every == point).all(axis=1)
        assert values[lowest].item() == values.min()


def test_no_more_orders_than_needed():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, size=(100, 4)).astype(float)
    sets = cliques(graph(4, [(0, 1), (0, 2), (1, 2)]), np.full(4, 2))
    function = polynomial_of(sets, x, x[:, 0] * x[:, 1], np.full(4, 2))
    assert len(function.parent) == 1 + 4 + 3


def test_values_of_another_function_are_refused():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, size=(200, 6)).astype(float)
    sets = cliques(graph(6, [(0, 1), (1, 2)]), np.full(6, 2))
    assert polynomial_of(sets, x, x[:, 3] * x[:, 4], np.full(6, 2)) is None
    assert polynomial_of(sets, x, rng.random(200), np.full(6, 2)) is None


def test_too_few_values_are_refused():
    x = np.random.default_rng(0).integers(0, 2, size=(25, 6)).astype(float)
    sets = cliques(graph(6, [(0, 1), (1, 2)]), np.full(6, 2))
    assert polynomial_of(sets, x, x[:, 0] * x[:, 1], np.full(6, 2)) is None


def test_a_minimum_that_needs_too_large_a_table_is_not_sought():
    x = np.random.default_rng(0).integers(0, 2, size=(800, 25)).astype(float)
    interacts = ~np.eye(25, dtype=bool)
    sets = [[(i,) for i in range(25)], [(i, j) for i in range(25) for j in range(i + 1, 25)]]
    assert interacts.sum() == 2 * len(sets[1])
    values = ((x @ np.arange(25)) ** 2).astype(float)
    function = polynomial_of(sets, x, values, np.full(25, 2))
    assert function is not None
    assert minimum_of(function) is None


def test_sizes_without_sets_add_nothing():
    x = np.random.default_rng(0).integers(0, 2, size=(80, 5)).astype(float)
    sets = [[(i,) for i in range(5)], [], []]
    assert polynomial_of(sets, x, x[:, 0] * x[:, 1], np.full(5, 2)) is None
