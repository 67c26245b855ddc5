"""Sets of sites that show only together: found by bisection, kept where they help, soon over without them."""

import numpy as np
import pytest
from alone import Alone, hand_out

import dcmaes as dc
from dcmaes import problems
from dcmaes.space import Categorical, Space
from dcmaes.strategies import Evaluations, Memory
from dcmaes.strategies.auto import BLOCKS, HIDDEN
from dcmaes.strategies.hidden import PATIENCE, Hidden


def told(x, *values):
    return Evaluations(np.atleast_2d(x), np.array(values, dtype=float), np.zeros(len(values)))


def climbed(function, x):
    """Return the point where no single change of a bit is better."""
    value, is_better = function(x), True
    while is_better:
        is_better = False
        for site in range(len(x)):
            y = x.copy()
            y[site] = 1 - y[site]
            if function(y) < value:
                x, value, is_better = y, function(y), True
    return x


def run(function, start, space, *, seed=0, at_a_time=1, most=4000, target=-np.inf):
    """Return the strategy, its last state and the number of evaluations."""
    strategy, rng = Alone(Hidden()), np.random.default_rng(seed)
    state, n, best = strategy.init(space.sites, told(start, function(start)), most, rng), 0, np.inf
    while strategy.convergence(state) is None and n < most and best > target:
        x = strategy.sample(state, at_a_time, rng)
        values = [function(row) for row in x]
        n, best = n + len(x), min(best, *values)
        state = strategy.update(state, told(x, *values))
    return strategy, state, n


@pytest.mark.parametrize("seed", range(5))
def test_traps_with_targets_of_their_own_are_solved(seed):
    problem = problems.trap(60, 6, own_targets=True, instance=seed)
    start = climbed(problem, np.random.default_rng(seed).integers(0, 2, 60).astype(float))
    strategy, state, n = run(problem, start, Space.binary(60), seed=seed, target=0.0)
    assert strategy.memory(state).rank(state.best).value == 0.0
    # A state of six bits comes once in 64 points; 60 single changes; some six bisections for each set.
    assert n < 1000


def test_each_set_is_in_one_block_and_without_sites_that_do_not_matter():
    problem = problems.trap(30, 5, own_targets=True, instance=1)
    start = climbed(problem, np.zeros(30))
    _, state, _ = run(problem, start, Space.binary(30), target=0.0)
    changed = state.best != state.base
    np.testing.assert_array_equal(state.best[changed], problem.solution[changed])
    is_right = state.base[~changed] == problem.solution[~changed]
    assert is_right.all()


def test_blocks_that_are_right_already_do_not_end_the_search():
    right, pull = np.arange(30) % 2, np.ones(30, dtype=int)

    def function(x):
        is_right = (x == right).reshape(5, 6).all(axis=1)
        return float(np.where(is_right, 0, 1 + (x != pull).reshape(5, 6).sum(axis=1)).sum())

    start = np.where(np.arange(30) < 12, right, pull).astype(float)
    strategy, state, _ = run(function, start, Space.binary(30), target=0.0)
    assert strategy.memory(state).rank(state.best).value == 0.0


def test_choices_of_several_states_too():
    right, pull = np.array([2, 0, 1, 1, 2, 0, 0, 2]), np.array([0, 1, 2, 0, 1, 2, 1, 0])

    def function(x):
        blocks = (x == right).reshape(2, 4).all(axis=1)
        return float(np.where(blocks, 0, 1 + (x != pull).reshape(2, 4).sum(axis=1)).sum())

    space = Space({f"x{i}": Categorical(["a", "b", "c"]) for i in range(8)})
    strategy, state, n = run(function, pull.astype(float), space, target=0.0)
    assert strategy.memory(state).rank(state.best).value == 0.0
    assert n < 1000


def test_a_plain_sum_is_left_after_some_patience():
    problem = problems.linear(20)
    strategy, state, n = run(problem, problem.solution.astype(float), Space.binary(20))
    assert f"no surprise in {PATIENCE}" in state.why_over
    assert n <= PATIENCE + 20
    assert strategy.restart(state, np.random.default_rng(0)) is None


def test_where_pairs_interact_it_is_soon_over():
    problem = problems.qubo(40)
    start = climbed(problem, np.zeros(40))
    _, state, n = run(problem, start, Space.binary(40))
    assert "of no use" in state.why_over
    # Eleven pairs, each found by two bisections of at most 40 sites.
    assert n < 40 + 11 * 2 * 7


def test_a_failure_ends_the_search():
    _, state, _ = run(lambda x: np.nan if x.sum() > 6 else -x.sum(), np.zeros(12), Space.binary(12))
    assert "not feasible" in state.why_over


def test_points_asked_for_in_advance_change_nothing():
    problem = problems.trap(20, 5, own_targets=True)
    start = climbed(problem, np.zeros(20))
    _, one, _ = run(problem, start, Space.binary(20), most=120)
    _, several, _ = run(problem, start, Space.binary(20), most=600, at_a_time=5)
    assert (one.best != one.base).any()
    assert problem(several.best) <= problem(one.best)


def test_pending_points_are_not_proposed_again():
    rng, strategy, memory = np.random.default_rng(0), Hidden(), Memory(Space.binary(12).sites)
    memory.tell(told(np.zeros(12), 0.0))
    state = strategy.init(memory.sites, memory, 100, rng)
    hand_out(memory, strategy.sample(state, 3, rng, memory))
    assert not memory.contains(strategy.sample(state, 3, rng, memory)).any()


def test_sites_of_one_state_end_it_at_once():
    memory = Memory(Space({"x": Categorical(["a"])}).sites)
    memory.tell(told(np.zeros(1), 0.0))
    assert "in a set" in Hidden().init(memory.sites, memory, 10, np.random.default_rng(0)).why_over


def test_a_saved_state_goes_on_alike():
    problem = problems.trap(20, 5, own_targets=True)
    _, state, _ = run(problem, np.zeros(20), Space.binary(20), most=30)
    again = Hidden().state_from_dict(Hidden().state_to_dict(state), state.sites)
    assert (again.found, again.candidates, again.low, again.high) == (
        state.found,
        state.candidates,
        state.low,
        state.high,
    )
    np.testing.assert_array_equal(again.fixed, state.fixed)


def test_in_auto_it_begins_after_blocks_and_takes_half_of_the_evaluations_at_most():
    problem = problems.trap(30, 6, own_targets=True, instance=2)
    search = dc.Optimizer(Space.binary(30), budget=2500, seed=0, target=0)
    while search.should_stop() is None:
        trials = search.ask()
        search.tell(trials, [problem(np.asarray(trial.point, dtype=float)) for trial in trials])
        state, n = search._run.search.state, len(search._run.memory)
        part = state.parts[HIDDEN]
        if part is not None:
            assert state.parts[BLOCKS].is_sum
            assert 2 * part.n_told <= n + 2
    assert search.result().fun == 0
    assert part is not None
