"""Single steps of the `mixing` strategy, and what is told to it from elsewhere."""

import math
from dataclasses import replace

import numpy as np
import pytest
from alone import Alone

import dcmaes as dc
from dcmaes.space import CATEGORY
from dcmaes.strategies import Evaluations, Mixing
from dcmaes.strategies.mixing import _search
from dcmaes.strategies.mixing._plans import Climb, Mix
from dcmaes.strategies.mixing._state import BEGIN, CLIMB, Population, Tally
from dcmaes.testing import conformance_spaces


class Nothing:
    """What is known: these points are out for evaluation."""

    def __init__(self, pending):
        self.pending = pending

    def contains(self, x):
        return np.zeros(len(x), dtype=bool)


strategy = Alone(Mixing())


def start(d=8, seed=0, sites=None):
    sites = sites or dc.Space.binary(d).sites
    return strategy.init(sites, Evaluations.empty(sites.dimension), 100, np.random.default_rng(seed))


def ask(state, n=1, pending=()):
    known = Nothing(np.array(pending).reshape(-1, len(state.x)))
    return strategy.sample(state, n, np.random.default_rng(0), known)


def told(x, *values):
    return Evaluations(np.atleast_2d(x), np.array(values, dtype=float), np.zeros(len(values)))


def climbed(function, d=8, seed=0):
    """Return the state when the second solution has just been begun."""
    state = start(d, seed)
    while not (state.phase == BEGIN and state.pyramid):
        x = ask(state)
        state = strategy.update(state, told(x, function(x[0])))
    return state


def test_the_first_point_is_the_solution_and_then_all_single_changes_come_once():
    state = start()
    points = ask(state, 9)
    np.testing.assert_array_equal(points[0], state.x)
    changed = (points[1:] != state.x).astype(int)
    np.testing.assert_array_equal(np.sort(changed.argmax(axis=1)), np.arange(8))
    assert (changed.sum(axis=1) == 1).all()


def test_better_changes_are_kept_and_others_are_not():
    state = start()
    state = strategy.update(state, told(state.x, 5.0))
    assert state.phase == CLIMB
    first = ask(state)
    state = strategy.update(state, told(first, 6.0))
    assert not (state.x == first[0]).all()
    second = ask(state)
    state = strategy.update(state, told(second, 4.0))
    np.testing.assert_array_equal(state.x, second[0])
    assert state.level == (0.0, 4.0)


def test_a_plateau_is_walked_by_every_change_once_and_none_back():
    """By hand: after the first point, three flip a bit each and two go through the other states of d."""
    space = dc.Space({**{name: dc.Binary() for name in "abc"}, "d": dc.Categorical(["x", "y", "z"])})
    state = start(sites=space.sites)
    walked = []
    while not state.pyramid:
        x = ask(state)
        walked.append(x[0])
        state = strategy.update(state, told(x, 5.0))
    changes = np.diff(walked, axis=0) != 0
    assert changes.sum(axis=0).tolist() == [1, 1, 1, 2]
    assert changes.sum(axis=1).tolist() == [1, 1, 1, 1, 1]
    assert {x[3] for x in walked} == {0.0, 1.0, 2.0}
    np.testing.assert_array_equal(state.pyramid[0].x, walked[-1:])


def test_changes_without_a_difference_are_tried_again_after_an_improvement():
    state = strategy.update(start(), told(start().x, 5.0))
    for value, n_left in ((5.0, 7), (5.0, 6), (4.0, 7)):
        x = ask(state)
        state = strategy.update(state, told(x, value))
        np.testing.assert_array_equal(state.x, x[0])
        changes = ask(state, n_left) != state.x
        assert changes.sum(axis=1).tolist() == [1] * n_left
        assert changes.any(axis=0).sum() == n_left


def test_a_climb_ends_when_nothing_is_left_to_try_and_costs_no_evaluation_twice():
    seen = []
    state = climbed(lambda x: seen.append(x.tobytes()) or x.sum())
    np.testing.assert_array_equal(state.pyramid[0].x, np.zeros((1, 8)))
    assert len(set(seen)) == len(seen) <= 17


def test_changes_are_tried_again_as_often_as_that_improves_as_mixing_does():
    """(L5), by hand: mixing improves 3 times in 30."""
    improved = np.array([3.0, 20, 9, 1, 0])
    assert Tally(np.array([30.0, 40, 99, 99, 99]), improved).n_tries == 2  # 10 / 100 against 2 / 100
    assert Tally(np.array([30.0, 40, 100, 99, 99]), improved).n_tries == 1  # 10 / 101
    assert Tally(np.array([30.0, 40, 99, 19, 9]), improved).n_tries == math.inf  # 10 / 100, 2 / 20, 1 / 10
    assert Tally(np.array([0.0, 40, 99, 99, 99]), np.zeros(5)).n_tries == math.inf


def test_what_improves_is_counted_by_how_often_it_was_tried():
    state = climbed(lambda x: x.sum())
    n_ones = state.tally.improved[1]
    np.testing.assert_array_equal(state.tally.tried[:2], [0, 8])
    assert state.tally.improved.tolist() == [0, n_ones, 0, 0, 0]
    assert n_ones > 0 < state.tally.tried[2] <= 8


def test_a_climb_in_which_second_tries_are_useless_is_over_after_first_ones():
    useless = Tally(np.array([100.0, 0, 100, 100, 100]), np.array([50.0, 0, 0, 0, 0]))
    state = replace(start(), tally=useless)
    seen = []
    while not state.pyramid:
        x = ask(state)
        seen.append(x[0].tobytes())
        state = strategy.update(state, told(x, x.sum()))
    assert len(seen) == 1 + 8


def test_points_out_for_evaluation_are_not_drawn_again():
    state = start()
    points = ask(state, 4)
    again = ask(state, 4, pending=points)
    assert not {p.tobytes() for p in points} & {p.tobytes() for p in again}


def test_results_in_any_order_and_all_at_once_are_used():
    state = start()
    points = ask(state, 9)
    values = points.sum(axis=1)
    for order in (np.arange(9), np.arange(9)[::-1]):
        after = strategy.update(state, told(points[order], *values[order]))
        assert after.level == (0.0, values.min())
        one_by_one = state
        for k in order:
            one_by_one = strategy.update(one_by_one, told(points[k], values[k]))
        np.testing.assert_array_equal(one_by_one.proposal, after.proposal)


def test_a_far_point_is_taken_only_if_it_is_the_best_of_all():
    state = climbed(lambda x: x.sum())
    state = strategy.update(state, told(state.x, 100.0))
    far = 1.0 - state.x
    assert not (strategy.update(state, told(far, 50.0)).x == far).all()
    np.testing.assert_array_equal(strategy.update(state, told(far, -1.0)).x, far)


def test_a_near_point_is_taken_if_it_is_better():
    state = climbed(lambda x: x.sum())
    state = strategy.update(state, told(state.x, 100.0))
    near = np.where(np.arange(8) < 2, 1.0 - state.x, state.x)
    assert not (strategy.update(state, told(near, 100.0)).x == near).all()
    np.testing.assert_array_equal(strategy.update(state, told(near, 99.0)).x, near)


def test_infeasible_and_failed_points_are_worse_than_any_feasible_one():
    state = start()
    state = strategy.update(state, Evaluations(state.x[None], np.array([np.nan]), np.array([np.inf])))
    worse = ask(state)
    state = strategy.update(state, Evaluations(worse, np.array([-9.0]), np.array([1.0])))
    np.testing.assert_array_equal(state.x, worse[0])
    better = ask(state)
    state = strategy.update(state, told(better, 9.0))
    assert state.level == (0.0, 9.0)


@pytest.mark.parametrize("name", conformance_spaces())
def test_every_single_change_of_a_climb_can_be_found_again(name):
    sites, rng = conformance_spaces()[name].sites, np.random.default_rng(3)
    plan, x = Climb(sites, rng), sites.canonical(sites.uniform(rng.random(sites.dimension)))
    none_done = np.zeros(plan.n_steps, dtype=bool)
    for step in range(plan.n_steps):
        y = plan.apply(x, step)
        if y is not None:
            assert (y != x).sum() == 1 or sites.has_conditions
            np.testing.assert_array_equal(plan.apply(x, plan.find(x, y, none_done)), y)


def test_a_climb_tries_all_choices_and_both_directions():
    space = dc.Space({"a": dc.Integer(0, 9), "b": dc.Binary(), "c": dc.Categorical(list("abc"))})
    plan, x = Climb(space.sites, np.random.default_rng(0)), np.array([5.0, 0.0, 1.0])
    points = [plan.apply(x, step) for step in range(plan.n_steps)]
    found = {tuple(y) for y in points if y is not None}
    lattice = {(s, 0.0, 1.0) for s in (1.0, 3.0, 4.0, 6.0, 7.0, 9.0)}
    assert found == lattice | {(5.0, 1.0, 1.0), (5.0, 0.0, 0.0), (5.0, 0.0, 2.0)}
    assert space.sites.kind[2] == CATEGORY


def test_mixing_copies_clusters_from_solutions_that_differ_there():
    members = np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 0.0]])
    sites = dc.Space.binary(3).sites
    plan = Mix(sites, members, [np.array([0, 1]), np.array([2])], np.random.default_rng(0))
    np.testing.assert_array_equal(plan.apply(np.zeros(3), 0), [1.0, 1.0, 0.0])
    assert plan.apply(np.zeros(3), 1) is None
    assert plan.find(np.zeros(3), np.array([1.0, 1.0, 0.0]), np.zeros(2, dtype=bool)) == 0
    assert plan.find(np.zeros(3), np.array([1.0, 1.0, 0.0]), np.ones(2, dtype=bool)) is None


def test_only_what_it_was_told_is_passed_over():
    """Points that others evaluated are drawn, and told for nothing."""
    state = strategy.update(start(), told(start().x, 5.0))
    first = ask(state)[0]
    elsewhere = strategy.memory(state).copy()
    elsewhere.tell(told(first, 7.0))
    rng = np.random.default_rng(0)
    np.testing.assert_array_equal(Mixing().sample(state, 1, rng, elsewhere)[0], first)
    repeat = Evaluations(first[None], np.array([7.0]), np.zeros(1), np.array([True]), row=np.array([1]))
    state = Mixing().update(state, repeat, elsewhere)
    assert not (Mixing().sample(state, 1, rng, elsewhere)[0] == first).all()
    assert state.told == ((0, 2),)


def test_solutions_of_the_pyramid_are_copied_from():
    """A solution that needs eight changes at once gets them from one that has them."""
    rng = np.random.default_rng(2)

    def function(x):
        return x[8:].sum() + (-5.0 if x[:8].all() else x[:8].sum())

    x = rng.integers(0, 2, (6, 16)).astype(float)
    x[:, :8] = np.array([0.0, 1.0, 0.0, 1.0, 0.0, 1.0])[:, None]
    values = []
    for pyramid in ((), (Population(x, seed=0),)):
        state = replace(start(16), pyramid=pyramid)
        for _ in range(90):
            y = ask(state)
            state = strategy.update(state, told(y, function(y[0])))
        values.append(state.record[1])
    assert values == [0.0, -5.0]


def test_what_others_have_found_does_not_enter_the_pyramid():
    state = start()
    memory = strategy.memory(state).copy()
    memory.tell(told(np.zeros(8), -1.0))
    assert Mixing().join(state, memory) is state


def test_interactions_show_a_planted_pair():
    rng = np.random.default_rng(8)
    x = rng.integers(0, 2, (60, 5)).astype(float)
    x[:, 4] = x[:, 1]
    strength = strategy.interactions(replace(start(5), pyramid=(Population(x, seed=0),)))
    assert np.unravel_index(strength.argmax(), strength.shape) == (1, 4)


def test_steps_to_points_that_are_out_are_passed_over_only_while_these_are_few(monkeypatch):
    """Asking again and again without telling must not take longer and longer."""
    state = start(d=12)
    points = np.random.default_rng(1).integers(0, 2, size=(100, 12)).astype(float)
    n_settled = []
    settle = _search.Walk.settle
    monkeypatch.setattr(_search.Walk, "settle", lambda walk: (n_settled.append(1), settle(walk)))
    few, many = ask(state, 3, pending=points[:20]), ask(state, 3, pending=points[:65])
    assert len(n_settled) >= 2
    del n_settled[:]
    assert np.array_equal(ask(state, 3, pending=points[:65]), many)
    assert not np.array_equal(ask(state, 3, pending=points[:66]), many)
    assert not n_settled
    assert few.shape == many.shape == (3, 12)
