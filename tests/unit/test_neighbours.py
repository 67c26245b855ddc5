"""Neighbours found by second differences, the function that they give, and what ends the search for them."""

from dataclasses import replace

import numpy as np
import pytest
from alone import Alone, hand_out

import dcmaes as dc
from dcmaes import problems
from dcmaes.space import Binary, Categorical, Space
from dcmaes.strategies import Evaluations, Memory
from dcmaes.strategies.auto import BLOCKS, NEIGHBOURS
from dcmaes.strategies.neighbours import FIT_FACTOR, MOST_NEIGHBOURS, MOST_RANDOM, Neighbours


def told(x, *values):
    return Evaluations(np.atleast_2d(x), np.array(values, dtype=float), np.zeros(len(values)))


def run(function, space, *, seed=0, at_a_time=1, most=4000):
    """Return the strategy, its last state and the number of evaluations."""
    strategy, rng = Alone(Neighbours()), np.random.default_rng(seed)
    start = np.zeros(space.sites.dimension)
    state, n = strategy.init(space.sites, told(start, function(start)), most, rng), 0
    while strategy.convergence(state) is None and n < most:
        x = strategy.sample(state, at_a_time, rng)
        n += len(x)
        state = strategy.update(state, told(x, *(function(row) for row in x)))
    return strategy, state, n


@pytest.mark.parametrize("seed", range(5))
def test_overlapping_tables_are_minimized_exactly(seed):
    problem = problems.nk_landscape(16, 3, instance=seed)
    strategy, state, n = run(problem, Space.binary(16), seed=seed)
    distance = np.abs(np.subtract.outer(np.arange(16), np.arange(16)))
    ring = np.minimum(distance, 16 - distance)
    np.testing.assert_array_equal(state.interacts, (ring > 0) & (ring <= 3))
    assert strategy.memory(state).rank(state.promised[0]).value == pytest.approx(problem.optimum)
    # 136 differences, two more points for each site, and at most two random points for each of 128 terms.
    assert n < 136 + 32 + 1.15 * 2 * 128


@pytest.mark.parametrize("seed", range(3))
def test_choices_of_several_states_too(seed):
    rng = np.random.default_rng(seed)
    tables = rng.random((8, 3, 3, 3))

    def function(x):
        x = np.append(x, x[:2]).astype(int)
        return sum(table[x[i], x[i + 1], x[i + 2]] for i, table in enumerate(tables))

    space = Space({f"x{i}": Categorical(["a", "b", "c"]) for i in range(8)})
    strategy, state, _ = run(function, space, seed=seed)
    every = np.indices((3,) * 8).reshape(8, -1).T
    optimum = min(function(x) for x in every)
    assert strategy.memory(state).rank(state.promised[0]).value == pytest.approx(optimum)


def test_points_asked_for_in_advance_change_nothing():
    problem = problems.nk_landscape(12, 2)
    _, one, _ = run(problem, Space.binary(12))
    _, several, _ = run(problem, Space.binary(12), at_a_time=5)
    assert one.asked == several.asked
    np.testing.assert_array_equal(one.promised, several.promised)


def test_pending_points_are_not_proposed_again():
    problem, rng, strategy = problems.nk_landscape(12, 2), np.random.default_rng(0), Neighbours()
    memory = Memory(Space.binary(12).sites)
    memory.tell(told(np.zeros(12), problem(np.zeros(12))))
    state = strategy.init(memory.sites, memory, 100, rng)
    hand_out(memory, strategy.sample(state, 3, rng, memory))
    assert not memory.contains(strategy.sample(state, 3, rng, memory)).any()


@pytest.mark.parametrize(("scale", "penalty"), [(1.0, 1e11), (1e-300, 0.0), (1e300, 0.0)])
def test_values_of_any_size_end_it(scale, penalty):
    # All pairs of nine sites with four states interact, which is more than a table for all that interact.
    tables = np.random.default_rng(0).standard_normal((9, 9, 4, 4))

    def function(x):
        sites, z = np.arange(9), x.astype(int)
        every = tables[sites[:, None], sites, z[:, None], z]
        return scale * float(every.sum()) + penalty * (z[0] == 3)

    _, state, _ = run(function, Space({f"x{i}": Categorical(list("abcd")) for i in range(9)}), most=1000)
    assert not state.is_near
    assert state.why_over == "the values are no function of few pairs and triples"


def test_where_many_interact_it_is_soon_over():
    _, state, n = run(problems.labs(40), Space.binary(40))
    assert state.why_over == "a variable interacts with most others"
    assert n <= 2 * 40


def test_a_dependence_that_no_pair_shows_is_found_in_the_values():
    def function(x):  # at zero no pair interacts
        return x[:3].prod() + x[3:].sum() - 4 * x[0] * x[4] * x[8]

    strategy, rng = Alone(Neighbours()), np.random.default_rng(0)
    x = rng.integers(0, 2, size=(180, 20)) * np.where(np.arange(20) == rng.choice([0, 4, 8], (180, 1)), 0, 1)
    x = np.vstack([np.zeros(20), x])  # nowhere lower than at zero
    state = strategy.init(Space.binary(20).sites, told(x, *map(function, x)), 1000, rng)
    assert not state.base.any()
    n = 0
    while strategy.convergence(state) is None:
        x = strategy.sample(state, 1, rng)
        n += len(x)
        state = strategy.update(state, told(x, function(x[0])))
    assert not state.is_near
    assert state.why_over == "the lowest point of the function is known"
    assert function(state.promised[0]) == -2
    assert n < 20 * 21 / 2 + 40


def test_clauses_of_three_variables_are_found_with_few_values_more():
    problem, rng = problems.max_sat(30, 4.27, balanced=True, instance=100), np.random.default_rng(0)
    strategy = Alone(Neighbours())
    x = rng.integers(0, 2, size=(1000, 30)).astype(float)
    state = strategy.init(Space.binary(30).sites, told(x, *map(problem, x)), 4000, rng)
    n = 0
    while strategy.convergence(state) is None:
        x = strategy.sample(state, 1, rng)
        n += len(x)
        state = strategy.update(state, told(x, problem(x[0])))
    assert state.why_over == "the lowest point of the function is known"
    assert problem(state.promised[0]) == problem.optimum
    assert not state.is_near
    assert n < 1000


def test_values_that_are_no_function_of_few_terms_cost_a_quarter_at_most():
    problem, rng = problems.labs(20), np.random.default_rng(0)
    strategy = Alone(Neighbours())
    x = rng.integers(0, 2, size=(300, 20)).astype(float)
    values = [problem(row) for row in x]
    state = strategy.init(Space.binary(20).sites, told(x, *values), 4000, rng)
    state, n = replace(state, why_over="", is_near=False, fit_at=300), 0
    while strategy.convergence(state) is None:
        x = strategy.sample(state, 1, rng)
        n += len(x)
        state = strategy.update(state, told(x, problem(x[0])))
    assert state.why_over == "the values are no function of few pairs and triples"
    assert n <= FIT_FACTOR * 300 / (1 - MOST_RANDOM) - 300 + 20


def test_with_very_many_choices_neighbours_that_are_too_many_end_the_search():
    rng = np.random.default_rng(0)
    pairs = np.array([rng.choice(130, 2, replace=False) for _ in range(3000)])
    _, state, n = run(lambda x: float((x[pairs[:, 0]] * x[pairs[:, 1]]).sum()), Space.binary(130))
    assert state.why_over == f"a variable interacts with more than {MOST_NEIGHBOURS} others"
    assert n < 260


def test_a_value_that_is_not_as_predicted_asks_for_more_values():
    problem = problems.nk_landscape(12, 3, instance=1)
    strategy, state, _ = run(problem, Space.binary(12))
    memory = strategy.memory(state)
    wrong = replace(state, predicted=state.predicted - 1.0, why_over="")
    wrong = Neighbours().update(wrong, Evaluations.empty(12), memory)
    assert not wrong.why_over
    assert len(wrong.promised) == 0
    assert wrong.fit_at > len(memory)


def test_noise_ends_the_search():
    rng = np.random.default_rng(0)
    _, state, n = run(lambda x: x.sum() + rng.random(), Space.binary(30))
    assert state.why_over
    assert n < 70


def test_it_does_not_begin_without_a_feasible_point_or_with_conditions():
    sites = Space.binary(5).sites
    memory = Memory(sites)
    memory.tell(Evaluations(np.zeros((1, 5)), np.zeros(1), np.ones(1)))
    rng = np.random.default_rng(0)
    assert Neighbours().init(sites, memory, 10, rng).why_over == "no feasible point is known"
    space = Space({"a": Binary(), "b": Binary(when={"a": 1}), "c": Binary()})
    memory = Memory(space.sites)
    memory.tell(told(np.zeros(3), 1.0))
    assert "active" in Neighbours().init(space.sites, memory, 10, rng).why_over


def test_a_saved_state_goes_on_alike():
    problem, rng = problems.nk_landscape(12, 2), np.random.default_rng(0)
    _, state, _ = run(problem, Space.binary(12), most=60)
    again = Neighbours().state_from_dict(Neighbours().state_to_dict(state), state.sites)
    memory = Memory(state.sites)
    memory.tell(told(np.zeros(12), problem(np.zeros(12))))
    for one, other in zip(
        Neighbours().sample(state, 3, rng, memory), Neighbours().sample(again, 3, rng, memory), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    assert (again.asked, again.found, again.at) == (state.asked, state.found, state.at)


def test_in_auto_it_begins_after_blocks_and_takes_half_of_the_evaluations_at_most():
    problem, space = problems.nk_landscape(14, 4), Space.binary(14)
    run = dc.Optimizer(space, budget=500, seed=0)
    n_before = None
    while run.should_stop() is None:
        trials = run.ask()
        run.tell(trials, [problem(np.asarray(trial.point, dtype=float)) for trial in trials])
        state, n = run._run.search.state, len(run._run.memory)
        part = state.parts[NEIGHBOURS]
        if part is not None:
            n_before = n_before or n
            assert state.parts[BLOCKS].is_large
            assert 2 * part.n_told <= n + 2
    assert n_before >= 14**2
