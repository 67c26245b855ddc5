"""Single steps of the strategy for several objectives, computed by hand."""

import numpy as np
import pytest

import dcmaes as dc
from dcmaes.models import Energy, Scales
from dcmaes.pareto import hypervolume
from dcmaes.strategies import Evaluations, FrontSearch, Memory
from dcmaes.strategies.front._front import MODEL, POPULATION, PROCESS, _credited, _with_turn
from dcmaes.strategies.front._observations import Observations
from dcmaes.strategies.front._processes import Processes, expected_gains, promising, refitted_scales
from dcmaes.strategies.front._regressions import _centres, local_model, propose, refitted, weighted_sum
from dcmaes.strategies.ising._settings import DEFAULT

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
    observed = Observations.of(memory_of([[0, 10], [4, 2], [8, 8], [4, 6]]))
    assert observed.front.tolist() == [0, 1]
    np.testing.assert_allclose(observed.values[:2], [[0, 1], [1, 0]])
    np.testing.assert_allclose(observed.values[2], [1 + np.log(2), 6 / 8])


def test_infeasible_points_are_behind_by_their_violation():
    observed = Observations.of(memory_of([[0, 1], [1, 0], [0, 0], [0, 0]], violation=[0, 0, 1, 9]))
    assert observed.front.tolist() == [0, 1]
    assert (observed.values[2] > 1).all()
    assert (observed.values[3] > observed.values[2]).all()


def test_without_a_feasible_point_the_violation_is_what_counts():
    observed = Observations.of(memory_of([[0, 1], [1, 0], [0, 0]], violation=[3, 1, np.inf]))
    assert observed.values.shape == (3, 1)
    assert observed.front.tolist() == [1]


def test_a_reference_says_what_is_of_interest():
    observed = Observations.of(memory_of([[0, 10], [4, 2]], reference=np.array([1.0, 8.0])))
    np.testing.assert_allclose(observed.limit, [0.25, 0.75])


def test_centres_are_the_points_that_are_best_by_the_weights():
    observed = Observations.of(memory_of([[0, 4], [3, 3], [4, 0]]))
    found = _centres(observed, np.array([[0.99, 0.01], [0.5, 0.5], [0.01, 0.99]]))
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
    observed = Observations.of(memory)
    centre, first = int(observed.front[len(observed.front) // 2]), np.tile(DEFAULT.first_variances, (3, 1))
    variances = refitted(observed, centre, SPACE.sites, first, 10)
    predicted = local_model(observed, centre, SPACE.sites, variances).predict(x[-8:])
    low = values[:-8][observed.front].min(axis=0)
    unit = np.ptp(values[:-8][observed.front], axis=0)
    scaled = (values[-8:] - low) / unit
    is_plain = scaled <= 1
    np.testing.assert_allclose(predicted[is_plain], scaled[is_plain], atol=0.15)


def test_proposals_are_new_and_different():
    rng = np.random.default_rng(0)
    memory = memory_of(rng.standard_normal((20, 2)))
    strategy = FrontSearch()
    state = strategy.init(SPACE.sites, memory, 100, rng)
    found = np.array(propose(state.variances, Observations.of(memory), 6, SPACE.sites, rng, memory))
    assert not memory.contains(found).any()
    assert len(np.unique(found, axis=0)) == len(found)


@pytest.mark.parametrize("m", [1, 2, 3])
def test_expected_gains_are_the_mean_gains_of_normal_values(m, monkeypatch):
    monkeypatch.setattr("dcmaes.strategies.front._processes.N_EXPECTED", 20_000)
    rng = np.random.default_rng(m)
    front = {1: [[0.6]], 2: [[0.0, 1.0], [0.4, 0.3], [1.0, 0.0]], 3: np.eye(3)}[m]
    mean, deviation = rng.uniform(0.4, 0.8, (4, m)), rng.uniform(0.1, 0.2, (4, m))
    found = expected_gains(mean, deviation, np.array(front), np.full(m, 2.0))
    drawn = mean + deviation * rng.standard_normal((1000, 4, m))
    before = hypervolume(front, np.full(m, 2.0))
    after = [[hypervolume(np.vstack([front, one]), np.full(m, 2.0)) for one in some] for some in drawn]
    gains = np.array(after) - before
    # Twelve comparisons in all, each wrong by chance once in 15,000 times.
    tolerance = 4 * gains.std(axis=0) / np.sqrt(len(gains))
    assert (np.abs(found - gains.mean(axis=0)) < tolerance).all()


def test_a_certain_point_is_expected_to_gain_what_it_gains():
    front, limit = np.array([[1.0, 3.0], [2.0, 1.0]]), np.full(2, 4.0)
    mean = np.array([[0.0, 3.5], [1.5, 2.0], [3.0, 3.0]])
    found = expected_gains(mean, np.full((3, 2), 1e-9), front, limit)
    np.testing.assert_allclose(found, [0.5, 0.5, 0.0], atol=1e-8)


def test_processes_predict_each_objective_in_its_own_units():
    x = np.array(
        [[0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1], [1, 0, 1, 0, 1, 0], [0, 1, 0, 1, 0, 1]], dtype=float
    )
    observed = Observations.of(memory_of([[0, 10], [4, 2], [8, 8], [4, 6]], x))
    scales = np.tile(Scales.expected(SPACE.sites).vector(), (2, 1))
    scales[:, -1] = np.log(1e-6)  # hardly any noise
    mean, deviation = Processes.of(observed, SPACE.sites, scales).predict(x)
    np.testing.assert_allclose(mean, observed.values, atol=1e-3)
    assert (deviation < 0.01).all()


def test_refitted_processes_know_which_sites_matter_to_which_objective():
    rng = np.random.default_rng(0)
    x = rng.permutation(((np.arange(64)[:, None] >> np.arange(6)) & 1).astype(float))[:40]
    values = np.stack([x[:, 0] + 2 * x[:, 1], 3 - x[:, 1] + x[:, 2] + 0.5 * x[:, 0]], axis=1)
    observed = Observations.of(memory_of(values, x))
    first = np.tile(Scales.expected(SPACE.sites).vector(), (2, 1))
    relevance = refitted_scales(observed, SPACE.sites, first)[:, :-2]
    assert relevance[0, :2].min() > relevance[0, 2:].max()
    assert relevance[1, 1:3].min() > relevance[1, 3:].max()


def test_promising_points_are_new_different_and_better_than_most():
    rng = np.random.default_rng(0)
    x = rng.permutation(((np.arange(64)[:, None] >> np.arange(6)) & 1).astype(float))[:24]
    worth = np.array([5.0, 4.0, 3.0, 3.0, 2.0, 1.0])
    memory = memory_of(np.stack([x.sum(axis=1), -x @ worth], axis=1), x)
    observed = Observations.of(memory)
    first = np.tile(Scales.expected(SPACE.sites).vector(), (2, 1))
    scales = refitted_scales(observed, SPACE.sites, first)
    found = np.array(promising(scales, observed, 4, SPACE.sites, rng, memory))
    assert found.shape == (4, 6)
    assert not memory.contains(found).any()
    assert len(np.unique(found, axis=0)) == 4
    # The front has the most worthy things first.
    ranked = np.cumsum(worth)
    lost = [ranked[int(one.sum()) - 1] - one @ worth for one in found if one.any()]
    assert np.mean(lost) < 1.0


def test_gains_are_counted_for_whose_turn_it_was():
    memory = memory_of([[5, 5], [4, 6], [6, 4], [9, 9]])
    strategy = FrontSearch()
    state = strategy.init(SPACE.sites, memory, 100, np.random.default_rng(0))
    observed = Observations.of(memory)
    credited = _credited(state, observed, observed.x[[0, 3]])
    # The first improvement counts one, and the evaluations before it are forgotten a little.
    assert credited.credit.gains.tolist() == [1.0, 0.0, 0.0]
    assert credited.credit.spent.tolist() == [2.0, 0.0, 0.0]


def turns_if_only_one_gains(who, n=100):
    """Return how many of `n` batches each proposer gets; None: nobody gains."""
    memory = memory_of(np.random.default_rng(2).standard_normal((20, 2)))
    strategy, observed = FrontSearch(), Observations.of(memory)
    state = strategy.init(SPACE.sites, memory, 100, np.random.default_rng(0))
    turns = np.zeros(3, dtype=int)
    on_front, behind = observed.front[:1], np.setdiff1d(np.arange(20), observed.front)[:4]
    for _ in range(n):
        state = _with_turn(state, observed, memory)
        turns[state.turn] += 1
        rows = np.append(on_front, behind[:3]) if state.turn == who else behind
        state = _credited(state, observed, observed.x[rows])
    return turns


@pytest.mark.parametrize("who", [MODEL, PROCESS, POPULATION])
def test_who_gains_gets_the_next_batches(who):
    gaining, idle = turns_if_only_one_gains(who), turns_if_only_one_gains(None)
    assert gaining.argmax() == who
    assert gaining[who] > idle[who]
    assert (idle > 10).all()


def test_processes_are_for_few_evaluations():
    space = dc.Space.binary(12)
    x = (np.arange(400)[:, None] >> np.arange(12)) & 1
    values = np.random.default_rng(0).standard_normal((400, 2))
    strategy = FrontSearch()
    for n, is_there in ((20, True), (400, False)):
        memory = memory_of(values[:n], x[:n], space=space)
        observed = Observations.of(memory)
        state = strategy.init(space.sites, memory, 1000, np.random.default_rng(0))
        turns = set()
        for _ in range(20):
            state = _with_turn(state, observed, memory)
            turns.add(state.turn)
            state = _credited(state, observed, observed.x[np.setdiff1d(np.arange(n), observed.front)[:4]])
        assert (PROCESS in turns) == is_there


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
