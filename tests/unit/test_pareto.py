"""Fronts and hypervolumes against brute force."""

from itertools import combinations

import numpy as np
import pytest

from dcmaes.pareto import best_by_weights, hypervolume, hypervolume_gains, is_nondominated, knee


def by_inclusion_and_exclusion(points, reference):
    """Return the hypervolume from the definition: the volume of a union of boxes."""
    total = 0.0
    for k in range(1, len(points) + 1):
        for some in combinations(points, k):
            total -= (-1) ** k * np.prod(np.maximum(reference - np.max(some, axis=0), 0.0))
    return total


def random_points(n, m, seed, n_levels=None):
    rng = np.random.default_rng(seed)
    values = rng.random((n, m))
    return values if n_levels is None else np.floor(values * n_levels) / n_levels


@pytest.mark.parametrize("m", [1, 2, 3, 4])
@pytest.mark.parametrize("n_levels", [None, 4])
def test_nondominated_points_are_those_that_no_other_dominates(m, n_levels):
    values = random_points(60, m, seed=m, n_levels=n_levels)
    found = is_nondominated(values)
    for i, point in enumerate(values):
        is_dominated = any((other <= point).all() and (other < point).any() for other in values)
        is_second = any((other == point).all() for other in values[:i])
        assert found[i] == (not is_dominated and not is_second)


@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_hypervolume_is_that_of_the_union_of_boxes(m, seed):
    values = random_points(9, m, seed, n_levels=5 if seed % 2 else None)
    reference = np.full(m, 0.9)
    assert hypervolume(values, reference) == pytest.approx(by_inclusion_and_exclusion(values, reference))


def test_hypervolume_of_four_objectives_is_estimated_within_a_per_cent():
    for seed in range(3):
        direction = np.abs(np.random.default_rng(seed).standard_normal((50, 4)))
        front = 1 - direction / np.linalg.norm(direction, axis=1, keepdims=True)
        # By slices along the fourth objective, each a volume of three, which is exact.
        front = front[np.argsort(front[:, 3])]
        heights = np.diff(np.append(front[:, 3], 1.0))
        exact = sum(h * hypervolume(front[: i + 1, :3], np.ones(3)) for i, h in enumerate(heights))
        assert hypervolume(front, np.ones(4)) == pytest.approx(exact, rel=0.01)


def test_volumes_of_huge_values():
    assert hypervolume([[-1.7e308, -1.7e308]], [1.7e308, -1.7e308 * (1 - 1e-10)]) == np.inf
    assert hypervolume([[-1.7e308, 0.0]], [1.7e308, 1e-300]) == pytest.approx(3.4e8)
    assert hypervolume([[0.0, 0.0, 0.0]], [1e300, 1e-300, 1e300]) == pytest.approx(1e300)


@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.parametrize("seed", range(5))
def test_gains_are_differences_of_hypervolumes(m, seed):
    values, new = random_points(12, m, seed), random_points(20, m, seed + 100) - 0.1
    front, reference = values[is_nondominated(values)], np.full(m, 0.8)
    before = hypervolume(front, reference)
    expected = [hypervolume(np.vstack([front, one]), reference) - before for one in new]
    np.testing.assert_allclose(hypervolume_gains(new, front, reference), expected, atol=1e-12)


def test_gains_of_three_objectives_are_estimated():
    values, new = random_points(12, 3, 0), random_points(20, 3, 1)
    front, reference = values[is_nondominated(values)], np.full(3, 1.1)
    before = hypervolume(front, reference)
    expected = [hypervolume(np.vstack([front, one]), reference) - before for one in new]
    np.testing.assert_allclose(hypervolume_gains(new, front, reference), expected, atol=0.003)


@pytest.mark.parametrize("m", [1, 2, 3, 4])
def test_nothing_dominates_nothing(m):
    nothing = np.empty((0, m))
    assert hypervolume(nothing, np.ones(m)) == 0.0
    assert hypervolume(np.ones((2, m)), np.ones(m)) == 0.0
    assert hypervolume_gains(np.zeros((1, m)), nothing, np.ones(m)) == pytest.approx(1.0)
    assert hypervolume_gains(nothing, np.zeros((1, m)), np.ones(m)).shape == (0,)


def test_weights_reach_points_in_a_hollow_of_the_front():
    front = np.array([[0.0, 1.0], [0.6, 0.6], [1.0, 0.0]])
    assert best_by_weights(front) == 1
    assert best_by_weights(front, [1, 0]) == 0
    assert best_by_weights(front, [0, 1]) == 2


def test_the_knee_of_a_hollow_front_is_no_end_of_it():
    hollow = np.array([[0.0, 1.0], [0.6, 0.6], [0.7, 0.55], [1.0, 0.0]])
    assert knee(hollow) == 1
    assert knee(hollow[[0, 3]]) in (0, 1)
    assert knee([[3.0, 4.0]]) == 0
    assert knee([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0], [0.5, 0.6, 0.7]]) == 3


def test_choices_do_not_depend_on_units():
    front = np.array([[0.0, 1.0], [0.2, 0.3], [1.0, 0.0]])
    scaled = front * [1e300, 1e-300] - [5e299, 0]
    assert knee(front) == knee(scaled) == 1
    assert best_by_weights(scaled, [1, 2]) == best_by_weights(front, [1, 2])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: hypervolume([[1.0, 2.0]], [3.0]), r"reference must have shape \(2,\), got \(1,\)"),
        (lambda: hypervolume([1.0, 2.0], [3.0, 3.0]), r"values must have shape \(any, any\), got \(2,\)"),
        (lambda: best_by_weights(np.empty((0, 2))), "values must have at least one point, got none"),
        (lambda: knee(np.empty((0, 2))), "values must have at least one point, got none"),
        (lambda: best_by_weights([[1.0, 2.0]], [1, -1]), "weights must be at least 0"),
        (lambda: best_by_weights([[1.0, 2.0]], [0, 0]), "weights must be at least 0"),
    ],
)
def test_what_makes_no_sense_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
