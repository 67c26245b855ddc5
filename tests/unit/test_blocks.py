"""Blocks found by second differences, and what ends the search for them."""

from dataclasses import replace

import numpy as np
import pytest
from alone import Alone, hand_out

import dcmaes as dc
from dcmaes import problems
from dcmaes.space import Binary, Categorical, Integer, Space
from dcmaes.strategies import Evaluations, Memory
from dcmaes.strategies.auto import BLOCKS
from dcmaes.strategies.blocks import MOST_SINGLES, Blocks


def told(x, *values):
    return Evaluations(np.atleast_2d(x), np.array(values, dtype=float), np.zeros(len(values)))


def run(function, sites, start, *, seed=0, most=20_000, at_a_time=1):
    """Return the last state and the number of evaluations."""
    strategy, rng = Alone(Blocks()), np.random.default_rng(seed)
    state = strategy.init(sites, told(start, function(start)), most, rng)
    n = 0
    while strategy.convergence(state) is None and n < most:
        x = strategy.sample(state, at_a_time, rng)
        n += len(x)
        state = strategy.update(state, told(x, *(function(row) for row in x)))
    return state, n


def groups(state):
    return sorted(sorted(block) for block in state.closed)


def tables(d, size, seed):
    """A sum of random tables over blocks of sites in random order, with those blocks."""
    rng = np.random.default_rng(seed)
    blocks = rng.permutation(d).reshape(-1, size)
    values, weights = rng.random((len(blocks), 2**size)), 2 ** np.arange(size)

    def function(x):
        return float(values[np.arange(len(blocks)), (x[blocks] @ weights).astype(int)].sum())

    return function, sorted(sorted(block) for block in blocks.tolist()), float(values.min(axis=1).sum())


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("size", [2, 4, 5])
def test_blocks_and_optimum_of_a_sum_of_tables_are_found(size, seed):
    function, blocks, optimum = tables(40, size, seed)
    state, n = run(function, Space.binary(40).sites, np.zeros(40), seed=seed)
    assert groups(state) == blocks
    assert state.level[1] == pytest.approx(optimum)
    assert function(state.base) == state.level[1]
    # Two passes; a site is found in two differences of two points for each halving, a state in one point.
    assert n < 2 * (40 * (2 * 6 + 2 * 5) + 40 / size * 2**size)


@pytest.mark.parametrize("seed", range(5))
def test_a_deceptive_trap_is_solved_from_a_local_optimum(seed):
    problem = problems.trap(60, 5, instance=seed)
    rng = np.random.default_rng(seed)
    blocks = np.random.default_rng(seed)
    blocks.integers(0, 2, 60)
    order = blocks.permutation(60).reshape(-1, 5)
    start = problem.solution.astype(float)
    wrong = order[rng.random(len(order)) < 0.7].ravel()
    start[wrong] = 1 - start[wrong]
    state, n = run(problem, Space.binary(60).sites, start, seed=seed)
    assert state.level == (0.0, 0.0)
    assert n < 2500


def test_choices_of_several_states_form_blocks():
    space = Space({f"v{i}": Categorical(["a", "b", "c"]) for i in range(8)})

    def function(x):
        return float(sum((x[i] + 2 * x[i + 4] * x[i]) % 5 for i in range(4)))

    state, _ = run(function, space.sites, np.zeros(8))
    assert groups(state) == [[i, i + 4] for i in range(4)]
    assert state.level[1] == 0.0


def test_a_dense_function_ends_it_soon():
    problem = problems.qubo(64, instance=1)
    state, n = run(problem, Space.binary(64).sites, np.zeros(64))
    assert "too many states" in state.why_over
    assert n < 150


def test_a_linear_function_ends_it_soon():
    problem = problems.linear(64, instance=1)
    state, n = run(problem, Space.binary(64).sites, np.zeros(64))
    assert state.why_over.startswith(f"more than {MOST_SINGLES}")
    assert n < 150


def test_noise_ends_it_soon():
    rng = np.random.default_rng(0)
    state, n = run(lambda x: float(x.sum() + rng.normal()), Space.binary(64).sites, np.zeros(64))
    assert "too many states" in state.why_over
    assert n < 150


def test_failures_count_as_dependence():
    state, n = run(lambda x: np.nan if x.sum() > 2 else float(x.sum()), Space.binary(64).sites, np.zeros(64))
    assert "too many states" in state.why_over
    assert n < 200


def test_without_a_feasible_point_there_is_nothing_to_do():
    memory = Memory(Space.binary(6).sites)
    memory.tell(Evaluations(np.zeros((1, 6)), np.full(1, np.nan), np.full(1, np.inf)))
    state = Blocks().init(memory.sites, memory, 100, np.random.default_rng(0))
    assert state.why_over == "no feasible point is known"


def test_a_large_block_beside_small_ones_is_left_as_it_is():
    function, blocks, _ = tables(36, 3, 0)
    large = sorted(site for block in blocks[:4] for site in block)

    def joined(x):
        return function(x) + 100 * float((x[large] == np.arange(12) % 2).all()) + float(x[large].sum() ** 2)

    for seed in range(4):
        state, _ = run(joined, Space.binary(36).sites, np.zeros(36), seed=seed)
        if state.why_over == "all states of all blocks were tried":
            assert large in groups(state)
            assert groups(state)[-1] in blocks
            break
    else:
        pytest.fail("every seed began with the large block")


def test_a_block_that_was_closed_too_early_is_joined():
    strategy, rng = Alone(Blocks()), np.random.default_rng(0)
    state = strategy.init(Space.binary(4).sites, told(np.zeros(4), 0.0), 100, rng)
    state = replace(state, closed=((0, 1),), block=(2,), candidates=(1,), low=0, high=0, n_checks=0)
    corners = np.array([[0, 0, 1, 0], [0, 1, 0, 0], [0, 1, 1, 0]], dtype=float)
    state = strategy.update(state, told(corners, 1.0, 1.0, 5.0))
    assert state.closed == ()
    assert sorted(state.block) == [0, 1, 2]


def test_points_out_for_evaluation_are_not_proposed_again():
    strategy, rng = Alone(Blocks()), np.random.default_rng(0)
    state = strategy.init(Space.binary(20).sites, told(np.zeros(20), 0.0), 100, rng)
    first = strategy.sample(state, 3, rng)
    hand_out(strategy.memory(state), first)
    more = strategy.sample(state, 3, rng)
    assert len(np.unique(first, axis=0)) == 3
    assert not (more[:, None] == first).all(axis=2).any(axis=1).all()


def test_many_points_at_a_time_lead_to_the_same_blocks():
    function, blocks, optimum = tables(30, 3, 1)
    state, _ = run(function, Space.binary(30).sites, np.zeros(30), at_a_time=8)
    assert groups(state) == blocks
    assert state.level[1] == pytest.approx(optimum)


def test_a_state_survives_being_written_and_read_at_any_time():
    function, _, _ = tables(20, 4, 2)
    strategy, rng, sites = Alone(Blocks()), np.random.default_rng(3), Space.binary(20).sites
    state = again = strategy.init(sites, told(np.zeros(20), function(np.zeros(20))), 100, rng)
    while strategy.convergence(state) is None:
        x = strategy.sample(state, 1, rng)
        np.testing.assert_array_equal(strategy.sample(again, 1, rng), x)
        result = told(x, function(x[0]))
        state = strategy.update(state, result)
        again = strategy.state_from_dict(strategy.state_to_dict(strategy.update(again, result)), state.sites)
    assert again.closed == state.closed
    assert again.why_over == state.why_over


def test_interactions_are_the_blocks():
    function, blocks, _ = tables(12, 3, 0)
    state, _ = run(function, Space.binary(12).sites, np.zeros(12))
    strength = Blocks().interactions(state, None)
    np.testing.assert_array_equal(np.flatnonzero(strength[blocks[0][0]]), blocks[0][1:])


def test_a_summary_is_certain_of_the_base():
    space = Space({"a": Categorical(["x", "y", "z"]), "b": Integer(0, 3), "c": Binary()})
    strategy = Alone(Blocks())
    state = strategy.init(space.sites, told(np.array([2.0, 1.0, 0.0]), 0.0), 100, np.random.default_rng(0))
    summary = strategy.summary(state)
    np.testing.assert_array_equal(summary.probabilities[0], [0, 0, 1])
    assert len(summary.probabilities[1]) == 0
    np.testing.assert_array_equal(summary.probabilities[2], [1, 0])
    np.testing.assert_array_equal(summary.deviation, [np.nan, 0.0, 0.0])


def test_sites_of_one_state_are_left_out():
    space = Space({"a": Categorical(["x"]), "b": Categorical(["x", "y"]), "c": Categorical(["x", "y"])})
    state, _ = run(lambda x: float(x[1] == x[2]), space.sites, np.zeros(3))
    assert groups(state) == [[1, 2]]
    assert state.level[1] == 0.0


def test_auto_gives_it_one_turn_and_solves_traps():
    problem = problems.trap(60, 5, instance=1)
    result = dc.minimize(problem, dc.Space.binary(60), budget=2500, seed=0, target=0.0)
    assert result.fun == 0.0
    without = dc.minimize(problem, dc.Space.binary(60), budget=2500, seed=0, target=0.0, strategy="mixing")
    assert without.fun > 0.0


def test_a_run_saved_in_the_turn_of_blocks_goes_on_as_if_it_had_not_been(tmp_path):
    problem, path = problems.trap(40, 5, instance=2), tmp_path / "run.json"
    optimizer = dc.Optimizer(dc.Space.binary(40), budget=2000, seed=1)
    again, n_saved = None, 0
    while optimizer.should_stop() is None and optimizer.n_evaluations < 600:
        (trial,) = optimizer.ask(1)
        if again is not None:
            (copy,) = again.ask(1)
            np.testing.assert_array_equal(copy.point, trial.point)
            again.tell(copy, problem(copy.point))
        optimizer.tell(trial, problem(trial.point))
        if optimizer._run.search.state.turn == BLOCKS and n_saved < 30:
            optimizer.save(path)
            again, n_saved = dc.Optimizer.load(path), n_saved + 1
    assert n_saved == 30
