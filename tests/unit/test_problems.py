"""Test problems against brute force: the stated optimum is the smallest value, the solution reaches it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest

from dcmaes import problems
from dcmaes.problems import Problem
from dcmaes.problems._engineering import WIRES
from dcmaes_bench import Domain

SMALL: dict[str, Callable[[int], Problem]] = {
    "onemax": lambda i: problems.onemax(6, instance=i),
    "leadingones": lambda i: problems.leadingones(6, instance=i),
    "linear": lambda i: problems.linear(6, instance=i),
    "trap": lambda i: problems.trap(8, 4, instance=i),
    "labs": lambda i: problems.labs(5 + i, instance=i),
    "max_sat": lambda i: problems.max_sat(8, instance=i),
    "nk1": lambda i: problems.nk_landscape(7, 1, instance=i),
    "nk3": lambda i: problems.nk_landscape(9, 3, instance=i),
    "ring": lambda i: problems.ising_ring(7, instance=i),
    "ring disorder": lambda i: problems.ising_ring(7, disorder=True, instance=i),
    "torus": lambda i: problems.ising_torus(9, instance=i),
    "torus disorder": lambda i: problems.ising_torus(9, disorder=True, instance=i),
    "qubo": lambda i: problems.qubo(8, instance=i),
    "planted graph": lambda i: problems.planted_graph(8, instance=i),
    "sphere": lambda i: problems.sphere(3, -3, 4, instance=i),
    "ellipsoid": lambda i: problems.ellipsoid(3, -3, 4, instance=i),
    "rotated": lambda i: problems.rotated_ellipsoid(3, -3, 4, instance=i),
    "rosenbrock": lambda i: problems.rosenbrock(3, -3, 4, instance=i),
    "rastrigin": lambda i: problems.rastrigin(3, -3, 4, instance=i),
    "closest vector": lambda i: problems.closest_vector(3, -3, 4, instance=i),
    "step": lambda i: problems.step(3, -3, 4, instance=i),
    "categorical onemax": lambda i: problems.categorical_onemax(4, 4, instance=i),
    "categorical leadingones": lambda i: problems.categorical_leadingones(4, 4, instance=i),
    "matching pairs": lambda i: problems.matching_pairs(4, 4, instance=i),
    "preferred pairs": lambda i: problems.matching_pairs(4, 4, preferred=True, instance=i),
    "colouring": lambda i: problems.graph_colouring(6, 3, instance=i),
}


def states(spec):
    if spec["type"] == "binary":
        return range(2)
    if spec["type"] == "categorical":
        return range(len(spec["choices"]))
    return range(spec["low"], spec["high"] + 1)


@pytest.mark.parametrize("instance", range(4))
@pytest.mark.parametrize("name", SMALL)
def test_optimum_is_the_smallest_value_of_all_points(name, instance):
    problem = SMALL[name](instance)
    points = itertools.product(*(states(spec) for spec in problem.variables))
    smallest = min(problem(np.array(point, dtype=float)) for point in points)
    assert smallest == pytest.approx(problem.optimum, abs=1e-12)
    if problem.solution is not None:
        assert problem(problem.solution) == pytest.approx(problem.optimum, abs=1e-12)


@pytest.mark.parametrize("n", range(3, 15))
def test_labs_table_against_enumeration(n):
    spins = 2 * np.indices((2,) * n).reshape(n, -1) - 1
    energies = sum((spins[k:] * spins[:-k]).sum(axis=0) ** 2 for k in range(1, n))
    assert problems.labs(n).optimum == energies.min()


@pytest.mark.parametrize("name", SMALL)
def test_instances_are_reproducible_and_differ(name):
    rng = np.random.default_rng(0)
    problem = SMALL[name](1)
    points = [
        np.array([rng.choice(list(states(spec))) for spec in problem.variables], float) for _ in range(40)
    ]
    first = [problem(x) for x in points]
    assert first == [SMALL[name](1)(x) for x in points]
    if name != "labs":  # its size changes with the instance here
        assert first != [SMALL[name](2)(x) for x in points]


# Designs of the literature, with their cost rounded up to the digits that are given.
DESIGNS = {
    "pressure_vessel": ([13, 7, 42.09844, 176.6367], 6059.73),
    "speed_reducer": ([3.50001, 0.7, 17, 7.3, 7.715325, 3.350219, 5.286659], 2994.48),
    "coil_spring": ([9, 1.22304105, WIRES.index(0.283)], 2.65857),
    "stepped_beam": ([3, 60, 3, 2, 1, 1, 2.28089, 45.6178, 1.74976, 34.9952], 64578.5),
}


@pytest.mark.parametrize("name", DESIGNS)
def test_designs_of_the_literature_are_feasible_and_cost_what_is_stated(name):
    problem, (design, cost) = getattr(problems, name)(), DESIGNS[name]
    value, violation = problem.outcome(np.array(design, dtype=float))
    assert violation == pytest.approx(0, abs=2e-6)
    assert problem.optimum - problem.tolerance <= value <= cost


@pytest.mark.parametrize("name", DESIGNS)
def test_no_penalised_design_near_the_best_is_below_the_optimum(name):
    """A penalty that is too weak would make the best point an infeasible one."""
    problem, (design, _) = getattr(problems, name)(), DESIGNS[name]
    domain, rng = Domain.of(problem), np.random.default_rng(0)
    for scale in np.repeat([1e-6, 1e-4, 1e-2, 1e-1], 500):
        step = rng.normal(size=len(design)) * scale * (domain.high - domain.low)
        x = domain.nearest(np.array(design) + step)
        assert problem(x) >= problem.optimum - problem.tolerance


def test_the_penalty_grows_with_the_violation():
    problem = problems.pressure_vessel()
    thin, thinner = (problem(np.array([t, 7, 42.09844, 176.6367])) for t in (12, 11))
    _, violation = problem.outcome(np.array([12, 7, 42.09844, 176.6367]))
    assert violation == pytest.approx(0.0193 * 42.09844 / 0.75 - 1, abs=1e-6)
    assert problem.optimum < thin < thinner


def test_the_best_wire_and_number_of_coils_by_enumeration():
    """For a wire and a number of coils the cost grows with the diameter, so that the smallest is best."""
    problem = problems.coil_spring()
    best = math.inf
    for wire in range(WIRES.index(0.244), WIRES.index(0.331) + 1):
        for coils in range(5, 15):
            for diameter in np.linspace(1.0, 1.5, 2001):
                value, violation = problem.outcome(np.array([coils, diameter, wire]))
                if violation == 0.0:
                    best = min(best, value)
                    break
    assert problem.optimum <= best <= 1.0005 * problem.optimum


def test_ackley_is_solved_at_its_hidden_point_only():
    problem = problems.mixed_ackley(5, 2, instance=3)
    assert problem(problem.solution) == pytest.approx(0.0, abs=1e-12)
    for i in range(7):
        x = problem.solution.copy()
        x[i] = 1 - x[i] if i < 5 else x[i] + 0.01
        assert problem(x) > 1e-3


def test_categories_choose_among_different_functions():
    problem = problems.chosen_functions((3, 5, 4), instance=2)
    x = np.array([0, 0, 0, 0.3, -0.2])
    for place, n in enumerate((3, 5, 4)):
        values = {round(problem(np.r_[x[:place], k, x[place + 1 :]]), 9) for k in range(n)}
        assert len(values) == n


def test_mixed_problems_are_solved_at_their_solution_only_up_to_the_tolerance():
    for problem in (problems.mixed_sphere(6, instance=2), problems.mixed_ellipsoid(6, instance=2)):
        kinds = [spec["type"] for spec in problem.variables]
        assert kinds == ["integer"] * 3 + ["float"] * 3
        assert (problem.solution[:3] == np.rint(problem.solution[:3])).all()
        assert problem(problem.solution) == 0
        assert problem(problem.solution + np.array([0, 0, 0, 0, 0, 1e-3])) > problem.tolerance


def test_interactions_are_the_pairs_with_a_mixed_difference():
    problem = problems.planted_graph(7, 2.0, instance=3)
    base = np.zeros(7)
    found = set()
    for i, j in itertools.combinations(range(7), 2):
        corner = {bits: base.copy() for bits in itertools.product((0, 1), repeat=2)}
        for (a, b), x in corner.items():
            x[i], x[j] = a, b
        value = {bits: problem(x) for bits, x in corner.items()}
        if abs(value[0, 0] + value[1, 1] - value[0, 1] - value[1, 0]) > 1e-9:
            found.add((i, j))
    assert found == set(problem.interactions)


def test_pest_control_by_hand():
    problem = problems.pest_control(3, instance=5)
    uniform = np.random.default_rng(5).random((7, 100))
    start = 1 - (1 - uniform[0]) ** (1 / 30)
    spread = 1 - (1 - uniform[1:4]) ** (3 / 17)
    second = start + spread[0] * (1 - start)
    killed = second * (1 - (1 - (1 - uniform[5]) ** (7 / 5)))
    share = sum((fraction > 0.1).mean() for fraction in (start, second, killed))
    assert problem(np.array([0.0, 4.0, 0.0])) == pytest.approx(0.5 + share)


def test_contamination_control_never_and_always():
    problem = problems.contamination_control(4, instance=1)
    assert problem(np.ones(4)) < 4.2
    assert problem(np.zeros(4)) == pytest.approx(sum(_grown(problem, k) for k in range(1, 5)))


def _grown(problem, stages):
    uniform = np.random.default_rng(problem.instance).random((9, 100))
    clean = (1 - uniform[0]) ** (1 / 30) * np.prod((1 - uniform[1 : stages + 1]) ** (3 / 17), axis=0)
    return (1 - clean > 0.1).mean()


def test_heat_exchanger_optimum_is_a_local_minimum_of_all_single_changes():
    problem = problems.heat_exchanger()
    best = {
        "material": "stainless",
        "tubes": 80,
        "baffles": 6,
        "diameter": 12.7,
        "passes": 2,
        "fins": True,
        "length": 2.6451354,
    }
    assert problem(best) == pytest.approx(problem.optimum, abs=1e-3)
    for name, spec in problem.variables.items():
        values = {
            "categorical": lambda spec=spec: spec["choices"],
            "ordinal": lambda spec=spec: spec["values"],
            "integer": lambda spec=spec: range(spec["low"], spec["high"] + 1),
            "binary": lambda: (False, True),
            "float": lambda spec=spec: np.linspace(spec["low"], spec["high"], 500),
        }[spec["type"]]()
        assert min(problem(best | {name: value}) for value in values) >= problem.optimum - 1e-6


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: problems.onemax(0), "n must be at least 1, got 0"),
        (lambda: problems.trap(7, 3), "n must be a multiple of k, got n=7 and k=3"),
        (lambda: problems.ising_torus(10), "n must be a square, got 10"),
        (lambda: problems.sphere(3, 5, 5), "high must be at least 6, got 5"),
        (lambda: problems.ellipsoid(3, condition=0.5), "condition must be between 1.0 and inf, got 0.5"),
        (lambda: problems.matching_pairs(5), "n must be even, got 5"),
    ],
)
def test_bad_arguments_name_the_argument(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_solution_cannot_be_written_to():
    with pytest.raises(ValueError, match="read-only"):
        problems.onemax(4).solution[0] = 1
