"""How `auto` shares evaluations among its proposers."""

from dataclasses import replace

import numpy as np
import pytest
from alone import Alone, hand_out

import dcmaes as dc
from dcmaes.space import Categorical, Float, Integer, Space
from dcmaes.strategies import Evaluations, Memory, make_strategy
from dcmaes.strategies._credit import FADE, Credit
from dcmaes.strategies.auto import BLOCKS, MODEL, POPULATION, PROCESS, SHARING, Auto

# The regression and the process have spent so much that it is the population's turn.
SPENT = Credit(np.zeros(3), np.array([1e6, 1e6, 0.0]), 0.0, np.ones(3))


class Nothing:
    """Nothing is known."""

    pending = np.empty((0, 6))

    def contains(self, x):
        return np.zeros(len(x), dtype=bool)


def started(strategy, rng):
    return strategy.init(Space.binary(6).sites, Evaluations.empty(6), 1000, rng)


def told(strategy, state, values, rng):
    x = strategy.sample(state, len(values), rng, Nothing())
    return strategy.update(state, Evaluations(x, np.array(values, dtype=float), np.zeros(len(values))))


def at_population(strategy, rng):
    """Return a state in which it is the population's turn, after four results of the model."""
    state = told(strategy, started(strategy, rng), [3.0, 2.0, 1.0, 0.0], rng)
    return told(strategy, replace(state, credit=SPENT), [5.0] * 4, rng)


@pytest.mark.parametrize(
    ("space", "expected"),
    [
        (Space.binary(3), "mixing"),
        (Space({"a": Categorical(list(range(9))), "b": Integer(0, 3)}), "mixing"),
        (Space.integers(3, 0, 10), "cma"),
        (Space({"a": Categorical(["x", "y"]), "b": Float(0.0, 1.0)}), "cma"),
    ],
)
def test_the_population_suits_the_space(space, expected):
    memory = Memory(space.sites)
    assert Auto()._population(memory).name == expected
    assert Auto(partner="cma")._population(memory).name == "cma"
    assert Auto(partner="mixing")._population(memory).name == "mixing"


def test_unknown_partners_are_refused():
    with pytest.raises(ValueError, match="partner must be one of"):
        Auto(partner="ising")


def test_the_model_begins_and_the_process_joins_once_it_has_enough_values():
    strategy, rng = Alone(Auto()), np.random.default_rng(0)
    state = started(strategy, rng)
    assert state.turn == MODEL
    state = told(strategy, state, [3.0, 2.0, 1.0, 0.0], rng)
    assert state.turn == MODEL  # six variables: the process waits for six values
    state = told(strategy, state, [5.0] * 4, rng)
    assert state.turn == PROCESS


def test_while_points_are_out_it_is_the_turn_of_the_process():
    strategy, rng = Auto(), np.random.default_rng(0)
    memory = Memory(Space.binary(10).sites)
    state = strategy.init(memory.sites, memory, 1000, rng)
    x = rng.permutation(2**10)[:24, None] >> np.arange(10) & 1
    for part in np.split(x.astype(float), 6):
        state = strategy.update(state, memory.tell(Evaluations(part, part.sum(axis=1), np.zeros(4))), memory)
    spent = replace(state, credit=SPENT)
    assert strategy._next(spent, memory).turn == POPULATION
    hand_out(memory, np.ones(10))
    assert strategy._next(spent, memory).turn == PROCESS


def test_who_gains_gets_more_of_the_evaluations():
    def shares(gains_of):
        strategy, rng = Alone(Auto()), np.random.default_rng(0)
        state, best, spent = started(strategy, rng), 0.0, np.zeros(3)
        for _ in range(40):
            n = strategy.batch_size(state)
            spent[state.turn] += n
            best -= state.turn == gains_of
            state = told(strategy, state, [best] + [9.0] * (n - 1), rng)
            if state.turn not in SHARING:
                state = replace(state, turn=MODEL)
        return spent / spent.sum()

    assert shares(MODEL)[MODEL] > 0.6
    assert shares(PROCESS)[PROCESS] > 0.6
    assert shares(MODEL)[PROCESS] < 0.3


def test_a_population_begins_once_models_gain_nothing():
    strategy, rng = Alone(Auto()), np.random.default_rng(0)
    state = told(strategy, started(strategy, rng), [3.0, 2.0, 1.0, 0.0], rng)
    n = 4
    while state.turn in (MODEL, PROCESS):
        assert state.parts[POPULATION] is None
        n += (size := strategy.batch_size(state))
        state = told(strategy, replace(state, look_at=np.inf), [5.0] * size, rng)
    assert state.turn == POPULATION
    assert 40 < n < 200  # the model's patience is 58


def test_the_population_begins_without_the_points_of_the_others():
    strategy, rng = Alone(Auto()), np.random.default_rng(0)
    state = at_population(strategy, rng)
    assert state.parts[POPULATION].pyramid == ()


def test_the_model_moves_to_what_others_find():
    strategy, rng = Alone(Auto()), np.random.default_rng(0)
    state = told(strategy, at_population(strategy, rng), [-7.0], rng)
    back = Credit(np.zeros(3), np.array([0.0, 1e6, 1e6]), 0.0, np.ones(3))
    state = told(strategy, replace(state, credit=back), [8.0], rng)
    memory = strategy.memory(state)
    assert state.turn == MODEL
    assert state.model.level.value == -7.0
    np.testing.assert_array_equal(state.model.centre, memory.x(memory.best))


def test_results_that_come_late_count_for_the_one_that_proposed_them():
    sites, rng, strategy = Space.binary(6).sites, np.random.default_rng(0), Auto()
    memory = Memory(sites)
    state = strategy.init(sites, memory, 100, rng)
    first = strategy.sample(state, 5, rng, memory)
    # Trial 4 of the model stays out while the others come back and the turn passes on.
    for i, row in enumerate(memory.codec.rows(first)):
        memory.hand_out(i, row)
    for i in range(4):
        memory.take_back(i)
    state = strategy.update(state, memory.tell(Evaluations(first[:4], np.arange(4.0), np.zeros(4))), memory)
    state = replace(state, turn=POPULATION, turns=(*state.turns, (5, POPULATION)))
    spent = state.credit.spent.copy()
    memory.take_back(4)
    state = strategy.update(state, memory.tell(Evaluations(first[4:], np.full(1, 9.0), np.zeros(1))), memory)
    np.testing.assert_array_equal(state.credit.spent - spent, [1.0, 0.0, 0.0])


def test_blocks_are_looked_for_when_the_model_has_converged():
    strategy, rng = Alone(Auto()), np.random.default_rng(0)
    state = told(strategy, started(strategy, rng), [3.0, 2.0, 1.0, 0.0], rng)
    only_model = Credit(np.zeros(3), np.array([0.0, 1e9, 1e9]), 0.0, np.ones(3))
    while strategy.convergence(state) is None:
        state = told(strategy, replace(state, credit=only_model, look_at=np.inf), [5.0] * 4, rng)
    state = strategy.restart(state, rng)
    np.testing.assert_array_equal(state.credit.trust, [FADE, 1.0, 1.0])
    assert state.parts[BLOCKS] is not None
    assert state.turn == BLOCKS


def test_no_blocks_are_looked_for_among_numbers():
    space = Space({"a": Categorical(["x", "y", "z"]), "b": Integer(0, 50)})
    strategy, rng = Alone(Auto()), np.random.default_rng(0)
    state = strategy.init(space.sites, Evaluations.empty(2), 1000, rng)
    only_model = Credit(np.zeros(3), np.array([0.0, 1e9, 1e9]), 0.0, np.ones(3))
    while strategy.convergence(state) is None:
        state = replace(state, credit=only_model)
        state = told(strategy, state, rng.random(strategy.batch_size(state)) + 1, rng)
    assert strategy.restart(state, rng).parts[BLOCKS] is None


def test_interactions_know_what_the_population_evaluates():
    strategy, rng = Alone(Auto()), np.random.default_rng(0)
    before = at_population(strategy, rng)
    after = told(strategy, before, [-1.0], rng)
    assert (strategy.interactions(before) != strategy.interactions(after)).any()


@pytest.mark.parametrize("partner", ["cma", "mixing"])
def test_a_saved_state_has_its_turn(partner):
    strategy, rng = Alone(make_strategy("auto", {"partner": partner})), np.random.default_rng(0)
    state = at_population(strategy, rng)
    state = told(strategy, state, [1.0], rng)
    again = strategy.state_from_dict(strategy.state_to_dict(state), state.model.sites)
    assert (again.turn, again.turns, again.best) == (state.turn, state.turns, state.best)
    assert type(again.parts[POPULATION]) is type(state.parts[POPULATION])
    np.testing.assert_array_equal(again.credit.spent, state.credit.spent)
    memory, population = strategy.memory(state), make_strategy(partner)
    one, two = (
        population.sample(s.parts[POPULATION], 4, np.random.default_rng(1), memory) for s in (state, again)
    )
    np.testing.assert_array_equal(one, two)


def test_pending_points_are_not_proposed_again():
    strategy, rng = Alone(Auto()), np.random.default_rng(0)
    state = told(strategy, started(strategy, rng), [3.0, 2.0, 1.0, 0.0], rng)
    state = told(strategy, state, [5.0] * 4, rng)
    assert state.turn == PROCESS
    memory = strategy.memory(state)
    hand_out(memory, strategy.strategy.sample(state, 2, rng, memory))
    more = strategy.strategy.sample(state, 6, rng, memory)
    assert not memory.contains(more).any()
    assert len(np.unique(more, axis=0)) == 6


def test_it_is_the_default():
    assert dc.minimize(sum, dc.Space.binary(20), budget=60, seed=0).strategy == "auto"
