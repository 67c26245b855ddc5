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
    "step trap": lambda i: problems.trap(8, 4, step=2, instance=i),
    "trap, own targets": lambda i: problems.trap(8, 4, own_targets=True, instance=i),
    "hiff": lambda i: problems.hiff(8, instance=i),
    "labs": lambda i: problems.labs(5 + i, instance=i),
    "max_sat": lambda i: problems.max_sat(8, instance=i),
    "max_sat balanced": lambda i: problems.max_sat(8, balanced=True, instance=i),
    "nk1": lambda i: problems.nk_landscape(7, 1, instance=i),
    "nk3": lambda i: problems.nk_landscape(9, 3, instance=i),
    "ring": lambda i: problems.ising_ring(7, instance=i),
    "ring disorder": lambda i: problems.ising_ring(7, disorder=True, instance=i),
    "torus": lambda i: problems.ising_torus(9, instance=i),
    "torus disorder": lambda i: problems.ising_torus(9, disorder=True, instance=i),
    "qubo": lambda i: problems.qubo(8, instance=i),
    "bqp": lambda i: problems.bqp(8, 0.5, instance=i),
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
    "categorical ackley": lambda i: problems.categorical_ackley(4, 5, instance=i),
    "ehrlich": lambda i: problems.ehrlich(6, 2, 2, 4, instance=i),
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


@pytest.mark.parametrize("instance", range(3))
def test_spin_glass_on_a_torus_against_enumeration(instance):
    problem = problems.ising_torus(16, disorder=True, instance=instance)
    differs = np.random.default_rng(instance).integers(0, 2, 32).reshape(2, 4, 4, 1)
    spin = np.indices((2,) * 16).reshape(4, 4, -1)
    to_right, to_below = spin != np.roll(spin, -1, axis=1), spin != np.roll(spin, -1, axis=0)
    unsatisfied = (to_right != differs[0]).sum(axis=(0, 1)) + (to_below != differs[1]).sum(axis=(0, 1))
    assert problem.optimum == unsatisfied.min()
    assert problem(np.zeros(16)) == unsatisfied[0]


def test_the_best_of_many_climbs_is_the_optimum_of_a_quadratic_too_large_to_enumerate():
    problem = problems.bqp(50, instance=1)
    best = min(problem(climbed(problem, seed)) for seed in range(30))
    assert problem.optimum == best


def climbed(problem, seed):
    """A point that no change of one or two bits improves."""
    n = problem.dimension
    x = np.random.default_rng(seed).integers(0, 2, n).astype(float)
    flips = [np.eye(n)[i] for i in range(n)] + [
        np.eye(n)[i] + np.eye(n)[j] for i in range(n) for j in range(i)
    ]
    while True:
        better = next((y for y in (np.abs(x - flip) for flip in flips) if problem(y) < problem(x)), None)
        if better is None:
            return x
        x = better


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


def test_ackley_as_published_is_solved_at_zero():
    problem = problems.mixed_ackley(5, 2, is_moved=False, instance=3)
    assert problem(np.zeros(7)) == pytest.approx(0.0, abs=1e-12)
    far = 20 - 20 * math.exp(-0.2) + math.e - math.exp(1)  # every coordinate one away: the cosines are all 1
    assert problem(np.ones(7)) == pytest.approx(far)


def test_categorical_ackley_knows_the_numbers_of_its_choices():
    problem = problems.categorical_ackley(1, 3, instance=4)
    end = 20 - 20 * math.exp(-0.2 * 32.768) + math.e - math.exp(math.cos(2 * math.pi * 32.768))
    assert sorted(problem(np.array([c])) for c in range(3)) == pytest.approx([0.0, end, end], abs=1e-12)


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


def test_frozen_pest_control_repeats_the_draws_of_the_published_code():
    problem = problems.pest_control(3, is_frozen=True, instance=5)

    def rates(b):
        return np.random.RandomState(5).beta(1.0, b, 100)

    pests = [rates(30.0)]
    pests.append(pests[0] * (1 - rates(5 / 7)))
    pests.append(pests[1] * (1 - rates(5 / 7 + 0.5 / 7 / 3)))
    share = sum((fraction > 0.1).mean() for fraction in pests)
    assert problem(np.array([4.0, 4.0, 0.0])) == pytest.approx(0.5 + 0.5 + share)
    assert problem.reference is None


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
        (lambda: problems.hiff(12), "n must be a power of two, got 12"),
        (lambda: problems.trap(8, 4, step=5), "step must be at most 4, got 5"),
        (lambda: problems.categorical_ackley(3, 4), "k must be odd, got 4"),
        (lambda: problems.ehrlich(8, 2, 5), "length must be at least 10, got 8"),
        (lambda: problems.ehrlich(quantization=2), "quantization must divide motif_length, got 2 and 5"),
        (lambda: problems.weighted_max_sat("1 2 0"), "dimacs must have a line that begins with 'p wcnf'"),
        (lambda: problems.bqp(data="1\n1 0", instance=1), "instance must be at most 0, got 1"),
    ],
)
def test_bad_arguments_name_the_argument(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_solution_cannot_be_written_to():
    with pytest.raises(ValueError, match="read-only"):
        problems.onemax(4).solution[0] = 1


def values(problem):
    """The values of all points of a problem of bits."""
    return [problem(np.array(x, dtype=float)) for x in itertools.product((0, 1), repeat=problem.dimension)]


def test_hiff_by_hand():
    """Four bits: both pairs equal to each other, opposed, one of them broken, both broken."""
    assert sorted(values(problems.hiff(4, instance=3))) == [0.0] * 2 + [2.0] * 2 + [3.0] * 8 + [4.0] * 4


def test_step_trap_has_the_steps_of_the_published_one():
    problem, x = problems.trap(7, 7, step=2), 1 - problems.trap(7, 7, step=2).solution
    costs = [problem(x)]
    for i in range(7):
        x[i] = 1 - x[i]
        costs.append(problem(x))
    assert costs == [1, 1, 2, 2, 3, 3, 4, 0]


@pytest.mark.parametrize("instance", range(5))
def test_a_trap_with_own_targets_pulls_to_one_point_that_is_not_the_complement(instance):
    problem = problems.trap(7, 7, own_targets=True, instance=instance)
    points = [np.array(x, dtype=float) for x in itertools.product((0, 1), repeat=7)]
    neighbours = np.eye(7)
    is_lowest = [all(problem(np.abs(x - flip)) > problem(x) for flip in neighbours) for x in points]
    lowest = [x for x, low in zip(points, is_lowest, strict=True) if low]
    (pull,) = [x for x in lowest if (x != problem.solution).any()]
    assert problem(pull) == 1
    assert 4 <= (pull != problem.solution).sum() <= 7
    assert problem(1 - pull) == 8


def test_balanced_clauses_agree_with_the_hidden_string_as_published():
    problem = problems.max_sat(200, 20.0, balanced=True, instance=1)
    z, n_clauses = problem.solution, 4000
    only_one = sum(problem(np.abs(z - flip)) for flip in np.eye(200))
    assert only_one / n_clauses == pytest.approx(4 / 6, abs=4 * math.sqrt(2 / 9 / n_clauses))
    assert problem(1 - z) / n_clauses == pytest.approx(1 / 6, abs=4 * math.sqrt(5 / 36 / n_clauses))


FORMULA = """c a comment
p wcnf 3 3 100
4 1 -2 0
1 3 0
1 -1 -2 -3 0
"""


def test_weighted_clauses_by_hand():
    problem = problems.weighted_max_sat(FORMULA, reference=-1.0)
    heavy, light = 2 / math.sqrt(2), -1 / math.sqrt(2)
    assert problem(np.array([0.0, 0.0, 0.0])) == pytest.approx(-(heavy + light))
    assert problem(np.array([0.0, 1.0, 1.0])) == pytest.approx(-(light + light))
    assert problem(np.array([1.0, 1.0, 1.0])) == pytest.approx(-(heavy + light))
    assert problem.reference == -1.0


def test_flipped_clauses_have_the_same_values_at_other_points():
    plain, flipped = (values(problems.weighted_max_sat(FORMULA, instance=i)) for i in (0, 3))
    assert sorted(plain) == pytest.approx(sorted(flipped))
    assert plain != flipped


def test_bqp_reads_the_matrices_of_a_file_one_after_another():
    text = "2\n2 1\n1 2 7\n3 3\n1 1 -10\n1 3 4\n2 2 -1\n"
    first, second = (problems.bqp(data=text, instance=i) for i in range(2))
    assert (first.dimension, first.optimum, first(np.ones(2))) == (2, -14, -14)
    assert (second.dimension, second.optimum) == (3, 0)
    assert second(np.array([1.0, 1.0, 1.0])) == 10 - 8 + 1


def test_ehrlich_with_one_motif_as_long_as_the_string_counts_letters():
    problem = problems.ehrlich(25, 1, 25, 5, instance=2)  # with five letters, all may follow each other
    for n_wrong in (0, 1, 6):
        x = problem.solution.copy()
        x[:n_wrong] = (x[:n_wrong] + 1) % 5
        assert problem(x) == pytest.approx(-(25 - n_wrong) / 25)


def test_ehrlich_fails_exactly_where_a_letter_may_not_follow_another():
    problem = problems.ehrlich(6, 2, 2, 4, instance=1)
    strings = list(itertools.product(range(4), repeat=6))
    fine = {s for s in strings if math.isfinite(problem(np.array(s, dtype=float)))}
    pairs = {pair for s in fine for pair in itertools.pairwise(s)}
    assert {(c, c) for c in range(4)} <= pairs
    assert len(pairs) in range(12, 16)  # three of four letters may follow, and the letter itself
    assert fine == {s for s in strings if set(itertools.pairwise(s)) <= pairs}


def test_ehrlich_rounds_a_motif_down_and_takes_its_best_place():
    problem = problems.ehrlich(4, 1, 4, 5, quantization=2, instance=3)
    x = problem.solution.copy()
    x[0] = (x[0] + 1) % 5
    assert problem(x) == -0.5
    moved = problems.ehrlich(9, 1, 3, 5, instance=3)
    span = np.flatnonzero(np.diff(moved.solution))[-1] + 2
    shifted = np.concatenate([np.full(1, moved.solution[0]), moved.solution[:-1]])
    assert span < 9
    assert moved(shifted) == -1.0


def test_ehrlich_starts_are_feasible_and_read_only():
    problem = problems.ehrlich(64, 4, 10, instance=4)
    assert problem.starts.shape == (10, 64)
    assert all(-1 <= problem(x) <= 0 for x in problem.starts)
    assert not problem.starts.flags.writeable
