"""The turns of the `auto` strategy."""

from dataclasses import replace

import numpy as np
import pytest
from alone import Alone

import dcmaes as dc
from dcmaes.space import Categorical, Float, Integer, Space
from dcmaes.strategies import Evaluations, make_strategy
from dcmaes.strategies.auto import Auto


class Nothing:
    """Nothing is known."""

    pending = np.empty((0, 6))

    def contains(self, x):
        return np.zeros(len(x), dtype=bool)


def told(strategy, state, values, rng):
    x = strategy.sample(state, len(values), rng, Nothing())
    return strategy.update(state, Evaluations(x, np.array(values, dtype=float), np.zeros(len(values))))


def until_partners_turn(strategy, rng):
    """Return the state after a first turn of the model in which only its first points were any good."""
    state = strategy.init(Space.binary(6).sites, Evaluations.empty(6), 1000, rng)
    state = told(strategy, state, [3.0, 2.0, 1.0, 0.0], rng)
    while strategy.convergence(state) is None:
        state = told(strategy, state, [5.0] * 4, rng)
    state = strategy.restart(state, rng)
    if state.turn == "partner":
        return state
    while strategy.convergence(state) is None:
        state = told(strategy, state, [5.0], rng)
    return strategy.restart(state, rng)


@pytest.mark.parametrize(
    ("space", "expected"),
    [
        (Space.binary(3), "mixing"),
        (Space({"a": Categorical(list(range(9))), "b": Integer(0, 3)}), "mixing"),
        (Space.integers(3, 0, 10), "cma"),
        (Space({"a": Categorical(["x", "y"]), "b": Float(0.0, 1.0)}), "cma"),
    ],
)
def test_the_partner_suits_the_space(space, expected):
    assert Auto()._other_for(space.sites).name == expected
    assert Auto(partner="cma")._other_for(space.sites).name == "cma"
    assert Auto(partner="mixing")._other_for(space.sites).name == "mixing"


def test_unknown_partners_are_refused():
    with pytest.raises(ValueError, match="partner must be one of"):
        Auto(partner="ising")


def test_the_model_begins_and_the_partner_follows_when_it_has_converged():
    strategy, rng = Alone(Auto()), np.random.default_rng(0)
    state = until_partners_turn(strategy, rng)
    assert state.turn == "partner"
    assert state.spent[0] > 0
    assert state.spent[1] == 0
    assert state.share == 1.0  # the first turn did find something


def test_the_partner_begins_with_the_best_point_of_the_model():
    strategy, rng = Alone(Auto()), np.random.default_rng(0)
    state = until_partners_turn(strategy, rng)
    memory = strategy.memory(state)
    best = memory.x(memory.best)
    assert state.partner.pyramid[0].contains(best)


def test_a_turn_without_improvement_leaves_more_to_the_other():
    strategy, rng = Alone(Auto()), np.random.default_rng(0)
    state = until_partners_turn(strategy, rng)
    while strategy.convergence(state) is None:
        state = told(strategy, state, [5.0], rng)
    assert state.spent[1] >= state.spent[0]
    state = strategy.restart(state, rng)
    assert state.turn == "model"
    assert state.share == 0.5
    while strategy.convergence(state) is None:
        state = told(strategy, state, [5.0] * 4, rng)
    assert strategy.restart(state, rng).share == 1.0


def test_improvements_keep_the_shares():
    strategy, rng = Alone(Auto()), np.random.default_rng(0)
    state = told(strategy, until_partners_turn(strategy, rng), [-1.0], rng)
    while strategy.convergence(state) is None:
        state = told(strategy, state, [5.0], rng)
    assert strategy.restart(state, rng).share == 1.0


def test_the_model_learns_what_the_partner_evaluates():
    strategy, rng = Alone(Auto()), np.random.default_rng(0)
    state = until_partners_turn(strategy, rng)
    for value in range(30):
        state = told(strategy, state, [-float(value)], rng)
        state = replace(state, spent=(10**6, state.spent[1]), due=np.inf)
    while strategy.convergence(state) is None:
        state = replace(told(strategy, state, [5.0], rng), spent=(1, state.spent[1]))
    state = strategy.restart(state, rng)
    memory = strategy.memory(state)
    assert memory.evaluation(memory.best).value == -29.0
    np.testing.assert_array_equal(state.model.centre, memory.x(memory.best))


def test_the_model_begins_whatever_the_space():
    space = Space({"a": Categorical(["x", "y", "z"]), "b": Integer(0, 50)})
    strategy, rng = Alone(Auto()), np.random.default_rng(0)
    state = strategy.init(space.sites, Evaluations.empty(2), 1000, rng)
    assert state.turn == "model"
    while strategy.convergence(state) is None:
        state = told(strategy, state, rng.random(strategy.batch_size(state)) + 1, rng)
    state = strategy.restart(state, rng)
    assert state.turn == "partner"  # no blocks are looked for beside cma
    assert state.blocks is None


def test_interactions_know_what_the_partner_evaluates():
    strategy, rng = Alone(Auto()), np.random.default_rng(0)
    before = until_partners_turn(strategy, rng)
    after = told(strategy, before, [-1.0], rng)
    assert (strategy.interactions(before) != strategy.interactions(after)).any()


@pytest.mark.parametrize("partner", ["cma", "mixing"])
def test_a_saved_state_has_its_turn(partner):
    strategy, rng = Alone(make_strategy("auto", {"partner": partner})), np.random.default_rng(0)
    state = until_partners_turn(strategy, rng)
    for value in range(3):
        state = told(strategy, state, [float(value)], rng)
    again = strategy.state_from_dict(strategy.state_to_dict(state), state.model.sites)
    assert (again.turn, type(again.partner)) == ("partner", type(state.partner))
    assert again.spent == state.spent
    assert again.best == state.best


def test_it_is_the_default():
    assert dc.minimize(sum, dc.Space.binary(20), budget=60, seed=0).strategy == "auto"
