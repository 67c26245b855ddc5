"""Problems in which few pairs of choices interact: the default strategy finds out which, then the optimum."""

import numpy as np
import pytest

import dcmaes as dc
from dcmaes import problems


@pytest.mark.parametrize("seed", range(2))
def test_a_ring_of_spins_is_solved_and_its_graph_known(seed):
    problem = problems.ising_ring(64, disorder=True, instance=seed)
    space = dc.Space.binary(64)
    result = dc.minimize(problem, space, budget=1500, seed=seed)
    assert result.fun == problem.optimum
    found = result.interactions()
    assert all(pair.is_certain for pair in found)
    pairs = {tuple(sorted((int(pair.first), int(pair.second)))) for pair in found}
    assert pairs == {(0, 63), *((i, i + 1) for i in range(63))}
    # Without a look at which pairs interact it takes thousands of evaluations.
    alone = dc.minimize(problem, space, budget=1500, seed=seed, strategy="ising")
    assert alone.fun > problem.optimum


@pytest.mark.slow
def test_sparse_graphs_are_coloured():
    space = dc.Space({f"v{i}": dc.Categorical([0, 1, 2]) for i in range(40)})
    for seed in range(4):
        problem = problems.graph_colouring(40, 3, instance=seed + 100)

        def conflicts(point, problem=problem):
            return problem(np.array(list(point.values())))

        assert dc.minimize(conflicts, space, budget=1500, seed=seed, target=0.0).fun == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_overlapping_tables_are_identified_and_minimized(seed):
    problem = problems.nk_landscape(25, 5, instance=seed)
    result = dc.minimize(problem, dc.Space.binary(25), budget=2500, seed=seed, target=problem.optimum + 1e-9)
    assert result.fun == pytest.approx(problem.optimum)
