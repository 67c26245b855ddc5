"""Problems of other packages in the benchmark: the optima stated for them are theirs."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from dcmaes_bench import suite
from dcmaes_bench._suite_pbo import LABS, MIS, NK, TRAP, pbo_problem

EPISTASIS, QUEENS = (7, 14), 23  # the package tells their optimum, but not where it is

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def trap(size, ones):
    """The best is `size` ones, the next best none; beyond `size` it goes on falling, as in the package."""
    return 1.0 if ones == size else (size - 1 - ones) / size


def test_concatenated_trap_with_64_bits_has_the_optimum_of_its_formula():
    pytest.importorskip("ioh", reason="make bench-setup")
    problem, rng = pbo_problem(TRAP, 64), np.random.default_rng(0)
    for share in (0.1, 0.3, 0.5, 0.9):
        for x in (rng.random((20, 64)) < share).astype(float):
            value = sum(trap(5, x[i : i + 5].sum()) for i in range(0, 60, 5)) + trap(4, x[48:].sum())
            assert problem(x) == pytest.approx(-value)
    # nine blocks lie before the last 16 bits, which hold 2 bits of the tenth, two blocks and 4 more bits
    counts = itertools.product(range(4), range(3), range(6), range(6), range(5))
    totals = (trap(5, a + b) + trap(5, c) + trap(5, d) + trap(4, b + c + d + e) for a, b, c, d, e in counts)
    assert problem.optimum == pytest.approx(-(9 + max(totals)))
    best = np.r_[np.ones(50), np.zeros(12), np.ones(2)]
    assert problem(best) == pytest.approx(problem.optimum, abs=problem.tolerance)


@pytest.mark.parametrize("function", sorted(set(range(1, 26)) - {LABS, MIS, NK, TRAP, *EPISTASIS, QUEENS}))
def test_optimum_of_the_package_is_the_value_of_its_solution(function):
    ioh = pytest.importorskip("ioh", reason="make bench-setup")
    for instance, n in itertools.product(range(2), (64, 100)):
        problem = pbo_problem(function, n, instance=instance)
        wrapped = ioh.get_problem(function, instance + 2, n, ioh.ProblemClass.PBO)
        solution = np.array(wrapped.optimum.x, dtype=float)
        assert problem(solution) == pytest.approx(problem.optimum, rel=0, abs=problem.tolerance)


@pytest.mark.parametrize("n", [64, 100])
def test_epistasis_reaches_its_optimum_block_by_block(n):
    pytest.importorskip("ioh", reason="make bench-setup")
    problem, x = pbo_problem(7, n), np.zeros(n)
    for start in range(0, n, 4):
        blocks = [
            np.r_[x[:start], block, x[start + 4 :]] for block in itertools.product((0.0, 1.0), repeat=4)
        ]
        x = min(blocks, key=problem)
    assert problem(x) == pytest.approx(problem.optimum)
    assert pbo_problem(14, n)(x) == pytest.approx(pbo_problem(14, n).optimum)


@pytest.mark.parametrize("function", range(1, 26))
def test_equal_bits_where_some_optimizers_start_solve_nothing(function):
    pytest.importorskip("ioh", reason="make bench-setup")
    for bit, instance in itertools.product((0.0, 1.0), range(3)):
        problem = pbo_problem(function, 64, instance=instance)
        if problem.optimum is not None:
            assert problem(np.full(64, bit)) > problem.optimum + problem.tolerance


@pytest.mark.parametrize("name", ["pbo", "mixint", "integer", "categorical", "combinatorial"])
def test_no_random_point_is_better_than_the_optimum(name):
    from dcmaes_bench import Domain

    pytest.importorskip({"pbo": "ioh", "mixint": "cocoex"}.get(name, "numpy"), reason="make bench-setup")
    rng = np.random.default_rng(0)
    for row in suite(name)[::5]:
        problem = row.problem(1)
        domain = Domain.of(problem)
        values = [problem(domain.sample(rng)) for _ in range(30)]
        assert all(math.isfinite(value) for value in values)
        if problem.optimum is not None:
            assert min(values) >= problem.optimum - problem.tolerance
