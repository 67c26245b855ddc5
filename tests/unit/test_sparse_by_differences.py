"""Functions with few interactions among many sites: found from what single changes make of the value."""

from dataclasses import replace

import numpy as np
import pytest
from alone import Alone
from sparse_functions import points, random_function, told

from dcmaes import problems
from dcmaes.models import sparse_quadratic_by_differences
from dcmaes.models._interacting import single_changes
from dcmaes.space import Space
from dcmaes.store._restoring import dumps, loads
from dcmaes.strategies import Evaluations, Memory
from dcmaes.strategies._credit import Credit
from dcmaes.strategies.auto import POPULATION, SPARSE, Auto
from dcmaes.strategies.mixing import Mixing


class Nothing:
    """Nothing is known."""

    pending = np.empty((0, 64))

    def contains(self, x):
        return np.zeros(len(x), dtype=bool)


def climbs(function, n_states, n_values, seed):
    """The points and values of climbs by single changes, each from a random point."""
    rng, d = np.random.default_rng(seed), len(n_states)
    x, values = [], []
    while len(x) < n_values:
        at = np.floor(rng.random(d) * n_states)
        value = function(at[None])[0]
        x.append(at)
        values.append(value)
        for site in np.tile(rng.permutation(d), 2):
            other = at.copy()
            other[site] = (other[site] + rng.integers(1, n_states[site])) % n_states[site]
            x.append(other)
            values.append(function(other[None])[0])
            if values[-1] < value:
                at, value = other, values[-1]
    x, first = np.unique(np.array(x[:n_values]), axis=0, return_index=True)
    return x, np.array(values)[first]


def test_single_changes_are_all_pairs_of_neighbours():
    n_states = np.array([2, 3, 2, 2])
    x = np.unique(points(18, n_states, 0), axis=0)
    for site, (first, second) in enumerate(single_changes(x, n_states)):
        others = np.delete(x, site, axis=1)
        assert (others[first] == others[second]).all()
        assert (x[first, site] != x[second, site]).all()
        # In each line of k points k - 1 differences say all there is to say.
        _, size = np.unique(others, axis=0, return_counts=True)
        assert len(first) == (size - 1).sum()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("n_states", "n_pairs", "n_values"),
    [(np.full(120, 2), 150, 5000), (np.full(40, 4), 30, 4000), (np.array([2, 5] * 15), 15, 4000)],
    ids=["bits", "four states", "two and five states"],
)
def test_pairs_and_values_are_found_exactly(n_states, n_pairs, n_values, seed):
    function = random_function(n_states, n_pairs, seed)
    x, values = climbs(function.predict, n_states, n_values, seed)
    found = sparse_quadratic_by_differences(x, values, n_states)
    assert found is not None
    assert {tuple(pair) for pair in function.pairs.tolist()} <= {tuple(pair) for pair in found.pairs.tolist()}
    unseen = points(200, n_states, seed + 200)
    assert found.predict(unseen) == pytest.approx(function.predict(unseen), abs=1e-7)
    assert found.strength == pytest.approx(function.strength, abs=1e-7)


@pytest.mark.parametrize(
    "name", ["noise", "dense", "third order", "few values", "random points", "one wrong"]
)
def test_nothing_is_found_where_differences_do_not_tell(name):
    n_states, rng = np.full(60, 2), np.random.default_rng(0)
    sparse = random_function(n_states, 60, 0)
    function = random_function(n_states, 1770, 0) if name == "dense" else sparse
    x, values = climbs(function.predict, n_states, 300 if name == "few values" else 3000, 1)
    if name == "random points":
        x = points(3000, n_states, 2)
        values = sparse.predict(x)
    values = values + {
        "noise": 1e-3 * rng.standard_normal(len(x)),
        "third order": x[:, 0] * x[:, 1] * x[:, 2],
    }.get(name, 0.0)
    values[7] += name == "one wrong"
    assert sparse_quadratic_by_differences(x, values, n_states) is None


def test_auto_finds_the_function_in_the_climbs_of_its_partner(monkeypatch):
    monkeypatch.setattr("dcmaes.strategies.sparse.SMALL_SPACE", 30)
    problem = problems.ising_torus(64, disorder=True, instance=0)
    sites, rng, strategy = Space.binary(64).sites, np.random.default_rng(0), Alone(Auto())
    state = strategy.init(sites, Evaluations.empty(64), 0, rng)
    x = points(20, sites.n_states, 0)
    state = strategy.update(state, told(x, [problem(row) for row in x]))
    n = 0
    # The regression and the process have spent so much that they never get a turn.
    never = Credit(np.zeros(3), np.array([1e9, 1e9, 0.0]), 0.0, np.ones(3))
    population = Mixing().init(sites, Memory(sites), 0, rng)
    state = replace(
        state.with_part(POPULATION, population), credit=never, turn=POPULATION, turns=((20, POPULATION),)
    )
    while state.turn == POPULATION and n < 4000:
        x = strategy.sample(state, 1, rng, Nothing())
        state = strategy.update(state, told(x, [problem(x[0])]))
        n += 1
        if n == 900:
            state = strategy.state_from_dict(loads(dumps(strategy.state_to_dict(state))), sites)
    assert state.turn == SPARSE
    assert problem(state.parts[SPARSE].promised[0]) == problem.optimum
    assert state.collected == ((20, 20 + n),)
