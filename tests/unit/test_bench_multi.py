"""The problems with two objectives of the benchmark: their fronts against brute force."""

import numpy as np
import pytest

import dcmaes as dc
from dcmaes.pareto import is_nondominated
from dcmaes_bench._suite_multi import (
    ds_int_lftl,
    mnk_landscape,
    problems,
    trap_and_inverse,
    tree_tuning,
    two_knapsacks,
    two_qubos,
)


def every_point(n):
    return (np.arange(2**n)[:, None] >> np.arange(n)) & 1


def sorted_rows(values):
    return values[np.lexsort(values.T[::-1])]


@pytest.mark.parametrize(
    "problem",
    [two_qubos(10, seed=3), mnk_landscape(10, 2, seed=3), two_knapsacks(10, seed=3), trap_and_inverse(10, 5)],
)
def test_fronts_of_few_bits_are_those_of_all_points(problem):
    values = np.array([problem(x) for x in every_point(10)], dtype=float)
    np.testing.assert_allclose(sorted_rows(problem.front), sorted_rows(values[is_nondominated(values)]))
    assert problem.relative_volume(values) == pytest.approx(1.0)


def test_nothing_is_beyond_the_front_of_dsintlftl():
    problem = ds_int_lftl()
    space = dc.Space.from_dict(problem.variables)
    points = space.sample(np.random.default_rng(1), 500)
    values = np.array([problem(point) for point in points])
    assert not any((value < problem.front - 1e-9).all(axis=1).any() for value in values)
    best = {f"x{i}": 0.0 for i in range(3)} | {f"z{i}": 0 for i in range(3)} | {f"c{i}": 0 for i in range(3)}
    assert problem(best) == (0.0, 3.0)
    assert 0 < problem.relative_volume(values) < 1


def test_overloaded_knapsacks_lose_more_than_they_gain():
    problem = two_knapsacks(32, seed=1)
    full, empty = problem(np.ones(32, dtype=int)), problem(np.zeros(32, dtype=int))
    assert empty == (0.0, 0.0)
    assert min(full) > 0.0


def test_trees_are_scored_by_loss_and_size():
    pytest.importorskip("sklearn")
    problem = tree_tuning()
    space = dc.Space.from_dict(problem.variables)
    point = space.sample(np.random.default_rng(0), 1)[0]
    loss, size = problem({**point, "depth": 1, "leaves": 2})
    assert 0 < loss < 1
    assert size == 2


def test_names_are_different():
    names = [problem.name for problem in problems()]
    assert len(set(names)) == len(names)
