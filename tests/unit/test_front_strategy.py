"""Single steps of the strategy for several objectives, computed by hand."""

import numpy as np
import pytest

import dcmaes as dc
from dcmaes.models import Energy
from dcmaes.strategies import Evaluations, FrontSearch, Memory
from dcmaes.strategies.front._constants import FIRST_VARIANCES
from dcmaes.strategies.front._known import Known
from dcmaes.strategies.front._model import local_model, refitted, weighted_sum
from dcmaes.strategies.front._proposals import _centres, propose
from dcmaes.strategies.front._state import MODEL, POPULATION
from dcmaes.strategies.front._strategy import _credited

SPACE = dc.Space.binary(6)


def memory_of(values, x=None, violation=None, reference=None, space=SPACE):
    values = np.array(values, dtype=float)
    n = len(values)
    if x is None:
        x = (np.arange(n)[:, None] >> np.arange(space.dimension)) & 1
    memory = Memory(space.sites, values.shape[1], reference)
    violation = np.zeros(n) if violation is None else np.array(violation, dtype=float)
    memory.tell(Evaluations(np.array(x, dtype=float), np.full(n, np.nan), violation), values)
    return memory


def test_values_are_in_units_of_the_front_and_bent_beyond_it():
    known = Known.of(memory_of([[0, 10], [4, 2], [8, 8], [4, 6]]))
    assert known.front.tolist() == [0, 1]
    np.testing.assert_allclose(known.values[:2], [[0, 1], [1, 0]])
    np.testing.assert_allclose(known.values[2], [1 + np.log(2), 6 / 8])


def test_infeasible_points_are_behind_by_their_violation():
    known = Known.of(memory_of([[0, 1], [1, 0], [0, 0], [0, 0]], violation=[0, 0, 1, 9]))
    assert known.front.tolist() == [0, 1]
    assert (known.values[2] > 1).all()
    assert (known.values[3] > known.values[2]).all()


def test_without_a_feasible_point_the_violation_is_what_counts():
    known = Known.of(memory_of([[0, 1], [1, 0], [0, 0]], violation=[3, 1, np.inf]))
    assert known.values.shape == (3, 1)
    assert known.front.tolist() == [1]


def test_a_reference_says_what_is_of_interest():
    known = Known.of(memory_of([[0, 10], [4, 2]], reference=np.array([1.0, 8.0])))
    np.testing.assert_allclose(known.limit, [0.25, 0.75])


def test_centres_are_the_points_that_are_best_by_the_weights():
    known = Known.of(memory_of([[0, 4], [3, 3], [4, 0]]))
    found = _centres(known, np.array([[0.99, 0.01], [0.5, 0.5], [0.01, 0.99]]))
    assert found.tolist() == [0, 1, 2]


def test_weighted_sums_of_energies_are_energies():
    rng = np.random.default_rng(0)
    coupling = rng.standard_normal((2, 2, 3, 3))
    coupling = coupling + coupling.transpose(0, 1, 3, 2)
    coupling[..., np.arange(3), np.arange(3)] = 0.0
    parts = [
        Energy(
            2,
            rng.standard_normal(2),
            rng.standard_normal((2, 3)),
            rng.standard_normal((2, 1)),
            coupling[k],
            rng.standard_normal(2),
        )
        for k in range(2)
    ]
    weights = np.array([[0.25, 0.75], [2.0, 1.0]])
    total, features = weighted_sum(parts, weights), np.array([[1.0, 0.0, 0.3], [1.0, 1.0, -2.0]])
    expected = sum(weights[:, [k]] * parts[k].values_at(features) for k in range(2))
    np.testing.assert_allclose(total.values_at(features), expected)


def test_models_of_quadratics_predict_each_objective():
    rng = np.random.default_rng(0)
    x = rng.permutation(((np.arange(64)[:, None] >> np.arange(6)) & 1).astype(float))
    one, other = (np.triu(rng.standard_normal((6, 6))) for _ in range(2))
    values = np.stack([np.einsum("ni,ij,nj->n", x, w, x) for w in (one, other)], axis=1)
    memory = memory_of(values[:-8], x[:-8])
    known = Known.of(memory)
    centre, first = int(known.front[len(known.front) // 2]), np.tile(FIRST_VARIANCES, (3, 1))
    variances = refitted(known, centre, SPACE.sites, first, 10)
    predicted = local_model(known, centre, SPACE.sites, variances).predict(x[-8:])
    low = values[:-8][known.front].min(axis=0)
    unit = np.ptp(values[:-8][known.front], axis=0)
    scaled = (values[-8:] - low) / unit
    is_plain = scaled <= 1
    np.testing.assert_allclose(predicted[is_plain], scaled[is_plain], atol=0.15)


def test_proposals_are_new_and_different():
    rng = np.random.default_rng(0)
    memory = memory_of(rng.standard_normal((20, 2)))
    strategy = FrontSearch()
    state = strategy.init(SPACE.sites, memory, 100, rng)
    found = np.array(propose(state, Known.of(memory), 6, rng, memory))
    assert not memory.contains(found).any()
    assert len(np.unique(found, axis=0)) == len(found)


def test_who_gains_gets_the_next_batches():
    memory = memory_of([[5, 5], [4, 6], [6, 4], [9, 9]])
    strategy = FrontSearch()
    state = strategy.init(SPACE.sites, memory, 100, np.random.default_rng(0))
    known = Known.of(memory)
    on_front, behind = known.x[:1], known.x[3:]
    credited = _credited(state, known, on_front)
    assert credited.gains[0] > 0
    assert credited.gains[1] == 0
    assert credited.turn == MODEL
    # Nobody gains: both sides take turns.
    idle, turns = state, []
    for _ in range(4):
        idle = _credited(idle, known, behind)
        turns.append(idle.turn)
    assert turns == [MODEL, POPULATION, MODEL, POPULATION]


@pytest.mark.parametrize("m", [2, 3])
def test_the_first_update_starts_from_what_is_known(m):
    values = np.random.default_rng(1).standard_normal((30, m))
    memory = memory_of(values, space=dc.Space.binary(8))
    strategy = FrontSearch()
    state = strategy.init(memory.sites, memory, 100, np.random.default_rng(0))
    told = memory.evaluations(np.arange(30))
    updated = strategy.update(state, told, memory)
    assert updated.n_fits == 1
    assert updated.variances.shape == (m + 1, 7)
    again = strategy.state_from_dict(strategy.state_to_dict(updated), memory.sites)
    mine, theirs = (strategy.sample(s, 4, np.random.default_rng(3), memory) for s in (updated, again))
    np.testing.assert_array_equal(mine, theirs)
