"""Functions with few interactions: found from values, minimised without any, given up when contradicted."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from alone import Alone
from sparse_functions import points, random_function, told

from dcmaes import problems
from dcmaes.models import SparseQuadratic, _interacting, annealed, sparse_quadratic
from dcmaes.models._interacting import NOISE, _shares
from dcmaes.models._sparse import contrasts, least_squares
from dcmaes.space import Categorical, Integer, Space
from dcmaes.strategies import Evaluations
from dcmaes.strategies.auto import SHARING, SPARSE, Auto
from dcmaes.strategies.sparse import BATCH, Sparse, next_look


def of_ring(n_values, seed=0, n=30):
    """A ring of spins, and the values of some random points."""
    problem = problems.ising_ring(n, instance=seed)
    x = points(n_values, np.full(n, 2), seed)
    return problem, told(x, [problem(row) for row in x])


def identified(x, values, n_states):
    """The function if these values identify it, else None."""
    found = sparse_quadratic(x, values, n_states)
    return found[0] if found is not None and found[1] else None


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("n_states", "n_pairs", "n_values"),
    [(np.full(40, 2), 30, 500), (np.full(20, 3), 15, 400), (np.array([2, 5] * 6), 6, 400)],
    ids=["bits", "three states", "two and five states"],
)
def test_pairs_and_values_are_found_exactly(n_states, n_pairs, n_values, seed):
    function = random_function(n_states, n_pairs, seed)
    x = points(n_values, n_states, seed + 100)
    found = identified(x, function.predict(x), n_states)
    assert found is not None
    assert found.pairs.tolist() == function.pairs.tolist()
    unseen = points(200, n_states, seed + 200)
    assert found.predict(unseen) == pytest.approx(function.predict(unseen), abs=1e-8)
    assert found.strength == pytest.approx(function.strength, abs=1e-8)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["noise", "dense", "third order", "few values"])
def test_nothing_is_found_where_values_do_not_tell(name, seed):
    n_states, rng = np.full(30, 2), np.random.default_rng(seed)
    x = points(60 if name == "few values" else 400, n_states, seed)
    sparse = random_function(n_states, 20, seed).predict(x)
    values = {
        "noise": sparse + 1e-3 * rng.standard_normal(len(x)),
        "dense": random_function(n_states, 435, seed).predict(x),
        "third order": sparse + x[:, 0] * x[:, 1] * x[:, 2],
        "few values": sparse,
    }[name]
    assert identified(x, values, n_states) is None


@pytest.mark.parametrize("outlier", [1e6, 1e30, 1e90])
def test_one_huge_value_does_not_hide_the_others(outlier):
    n_states = np.full(30, 2)
    x = points(400, n_states, 0)
    values = random_function(n_states, 20, 0).predict(x)
    assert identified(x, values, n_states) is not None
    values[7] = outlier
    assert identified(x, values, n_states) is None


def test_pairs_that_values_leave_open_are_not_told():
    x = np.random.default_rng(0).integers(0, 2, (30, 4)).astype(float)
    x[:, 3] = x[:, 2]
    pairs = np.array([[0, 1], [0, 2], [0, 3], [1, 2]])
    function, is_exact = least_squares(pairs, x, x[:, 0] * x[:, 1] + x[:, 0] * x[:, 2], np.full(4, 2))
    assert is_exact
    assert {tuple(pair) for pair in np.argwhere(np.triu(function.strength)).tolist()} == {
        (0, 1),
        (0, 2),
        (0, 3),
    }
    # Sites 2 and 3 are always alike: it may be either of them. Sites 1 and 2 do not interact.
    assert np.argwhere(np.triu(function.told_pairs(x))).tolist() == [[0, 1]]


def test_a_covariance_that_rounding_errors_spoil_tells_nothing(monkeypatch):
    n_states = np.full(30, 2)
    x = points(400, n_states, 0)
    values = random_function(n_states, 20, 0).predict(x)
    monkeypatch.setattr(_interacting, "NOISE", -1.0)
    assert identified(x, values, n_states) is None


def test_equal_values_tell_nothing():
    x = points(50, np.full(5, 2), 0)
    assert identified(x, np.full(50, 7.0), np.full(5, 2)) is None


def test_a_pair_of_tiny_effect_is_found_too():
    n_states = np.full(30, 2)
    x = points(400, n_states, 0)
    values = random_function(n_states, 20, 0).predict(x) + 1e-4 * x[:, 3] * x[:, 4]
    found = identified(x, values, n_states)
    assert [3, 4] in found.pairs.tolist()


def test_names_of_states_and_order_of_sites_make_no_difference():
    n_states = np.full(12, 3)
    function = random_function(n_states, 6, 0)
    x = points(300, n_states, 1)
    values, rng = function.predict(x), np.random.default_rng(2)
    plain = identified(x, values, n_states)
    names, order = [rng.permutation(3) for _ in range(12)], rng.permutation(12)
    renamed = np.stack([name[column.astype(int)] for name, column in zip(names, x.T, strict=True)], axis=1)
    other = identified(renamed[:, order].astype(float), values, n_states)
    assert other.strength == pytest.approx(plain.strength[np.ix_(order, order)], abs=1e-8)


def test_shares_are_the_same_by_values_and_by_coefficients():
    rng = np.random.default_rng(0)
    columns, variance = rng.standard_normal((30, 20)), rng.random(20)
    targets = rng.standard_normal(30)
    inverse = np.linalg.inv(columns * variance @ columns.T + NOISE * np.eye(30))
    explained, expected = _shares(columns, variance, targets)
    assert explained == pytest.approx((columns.T @ inverse @ targets) ** 2, rel=1e-6)
    assert expected == pytest.approx(np.diag(columns.T @ inverse @ columns), rel=1e-6)
    some = _shares(columns[:10], variance, targets[:10])
    inverse = np.linalg.inv(columns[:10] * variance @ columns[:10].T + NOISE * np.eye(10))
    assert some[0] == pytest.approx((columns[:10].T @ inverse @ targets[:10]) ** 2, rel=1e-6)


def test_contrasts_have_length_one_and_sum_to_zero():
    every = np.arange(4.0)[:, None]
    z = contrasts(every, np.array([4]))
    assert (z**2).sum(axis=1) == pytest.approx(np.ones(4))
    assert z.sum(axis=0) == pytest.approx(np.zeros(3))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n_states", [np.full(12, 2), np.full(7, 3), np.array([1, 2, 4, 3, 2, 5])])
def test_annealing_finds_the_lowest_of_all_points(n_states, seed):
    function = random_function(n_states, len(n_states), seed)
    every = np.array(list(product(*(range(c) for c in n_states))), dtype=float)
    lowest = annealed(function, n_chains=16, n_sweeps=100, rng=np.random.default_rng(seed))
    assert function.predict(lowest).min() == pytest.approx(function.predict(every).min())


def test_annealing_follows_terms_of_very_different_size():
    # Every site on a line gains 1, two neighbours lose 64: every second one is best. A site is (1 - z) / 2.
    n, coupling = 20, np.zeros((20, 20))
    coupling[np.arange(n - 1), np.arange(1, n)] = 16.0
    field = 0.5 - 16.0 * np.array([1, *[2] * (n - 2), 1])
    constant = -n / 2 + 16.0 * (n - 1)
    none = np.zeros((0, 2), dtype=np.int64)
    function = SparseQuadratic(np.full(n, 2), none, constant, field, coupling + coupling.T)
    assert function.predict(np.array([[1.0, 0.0] * 10, [1.0] * 20])).tolist() == [-10.0, -20.0 + 19 * 64]
    x = annealed(function, n_chains=8, n_sweeps=200, rng=np.random.default_rng(0))
    assert function.predict(x).min() == -10.0


@pytest.mark.parametrize("seed", range(5))
def test_the_minimum_of_the_function_is_promised_first(seed):
    problem, known = of_ring(300, seed)
    strategy, rng = Alone(Sparse()), np.random.default_rng(0)
    state = strategy.init(Space.binary(30).sites, known, 0, rng)
    assert problem(state.promised[0]) == problem.optimum < known.value.min()
    state = strategy.update(state, told(state.promised[:1], [problem.optimum]))
    assert strategy.convergence(state) == "no better point is predicted"
    assert (strategy.interactions(state) > 1e-9).sum() == 2 * 30


def test_a_value_that_contradicts_ends_the_search():
    problem, known = of_ring(300)
    strategy = Alone(Sparse())
    state = strategy.init(Space.binary(30).sites, known, 0, np.random.default_rng(0))
    state = strategy.update(state, told(state.promised[:1], [problem.optimum + 1.5]))
    assert "contradicts" in strategy.convergence(state)
    assert not strategy.interactions(state).any()


def test_states_that_should_differ_are_told_from_few_values():
    # 60 coefficients of pairs tell it, where four for each pair and two for each site would be too many.
    problem = problems.graph_colouring(30, 3, instance=1)
    n_states = np.full(30, 3)
    x = points(300, n_states, 0)
    found = identified(x, np.array([problem(row) for row in x]), n_states)
    assert found.is_tied
    assert {tuple(pair) for pair in found.pairs.tolist()} == set(problem.interactions)
    unseen = points(200, n_states, 1)
    assert found.predict(unseen) == pytest.approx([problem(row) for row in unseen], abs=1e-8)


def test_the_lowest_points_of_a_guess_are_evaluated_once():
    problem, known = of_ring(110)
    strategy, rng = Alone(Sparse()), np.random.default_rng(0)
    state = strategy.init(Space.binary(30).sites, known, 0, rng)
    assert state.function is None
    assert 0 < len(state.promised) <= BATCH
    assert strategy.convergence(state) is None
    x = strategy.sample(state, strategy.batch_size(state), rng)
    assert x.tolist() == state.promised.tolist()
    state = strategy.update(state, told(x, [problem(row) for row in x]))
    assert "no sum over few pairs" in strategy.convergence(state)
    assert not strategy.interactions(state).any()


def test_values_that_are_no_such_sum_end_the_search_at_once():
    x = points(300, np.full(30, 2), 0)
    values = np.random.default_rng(0).random(300)
    strategy = Alone(Sparse())
    state = strategy.init(Space.binary(30).sites, told(x, values), 0, np.random.default_rng(0))
    assert "no sum over few pairs" in strategy.convergence(state)


def test_failures_and_violations_are_left_out():
    _, known = of_ring(300)
    value, violation = known.value.copy(), known.violation.copy()
    value[::50], violation[::50] = np.nan, np.inf
    value[7::50], violation[7::50] = -1e9, 1.0
    value[9::50] = 1e300
    strategy = Alone(Sparse())
    state = strategy.init(
        Space.binary(30).sites, Evaluations(known.x, value, violation), 0, np.random.default_rng(0)
    )
    assert state.function is not None
    assert len(state.rows) == 300 - 18
    later = strategy.update(state, Evaluations(state.promised[:1], np.array([np.nan]), np.array([np.inf])))
    assert later.function is not None
    assert later.idle == 1


def best_of(strategy, state):
    """Return the best of the points that the function has to explain."""
    explained = strategy.memory(state).evaluations(state.rows)
    return explained.x[explained.order()[0]]


def test_short_ranges_of_integers_count_as_choices():
    function, rng = random_function(np.full(10, 4), 8, 0), np.random.default_rng(0)
    x = points(300, function.n_states, 1)
    strategy, sites = Alone(Sparse()), Space.integers(10, 5, 8).sites
    state = strategy.init(sites, told(x, function.predict(x)), 0, rng)
    assert state.function.pairs.tolist() == function.pairs.tolist()
    summary = strategy.summary(state)
    assert [len(shares) for shares in summary.probabilities] == [0] * 10
    assert summary.mean == pytest.approx(best_of(strategy, state) / 3)


class Excluding:
    """Every promised point is excluded."""

    pending = np.empty((0, 30))

    def contains(self, x):
        return np.ones(len(x), dtype=bool)


def test_it_gives_up_where_no_promised_point_may_be_evaluated():
    _, known = of_ring(300)
    strategy, rng = Alone(Sparse()), np.random.default_rng(0)
    state = strategy.init(Space.binary(30).sites, known, 0, rng)
    n = 0
    while strategy.convergence(state) is None:
        x = strategy.sample(state, 4, rng, Excluding())
        assert (np.abs(x - best_of(strategy, state)).sum(axis=1) <= 1).all()
        state = strategy.update(state, Evaluations(x, np.full(4, np.nan), np.ones(4)))
        n += 4
    assert n == 32


def test_looks_are_rare_and_only_where_they_suit():
    sites = Space.binary(64).sites
    looks = [next_look(sites, 0)]
    while looks[-1] < 32_000:
        looks.append(next_look(sites, int(looks[-1])))
    assert looks[0] == 4 * 64
    assert len(looks) == 17
    assert next_look(Space.binary(101).sites, 0) == 16 * 101
    assert next_look(Space.binary(101).sites, 16 * 101) == 20 * 101
    assert next_look(Space.binary(101).sites, 100 * 101) == np.inf
    assert next_look(Space.binary(401).sites, 0) == np.inf
    assert next_look(Space.integers(5, 0, 3).sites, 0) == 4 * 15
    assert next_look(Space.integers(5, 0, 4).sites, 0) == np.inf
    assert next_look(Space({"a": Categorical(["a", "b", "c"]), "b": Integer(0, 1)}).sites, 0) == 4 * 3


def test_a_state_survives_being_saved():
    _, known = of_ring(300)
    strategy, sites = Alone(Sparse()), Space.binary(30).sites
    state = strategy.init(sites, known, 0, np.random.default_rng(0))
    copy = strategy.state_from_dict(strategy.state_to_dict(state), sites)
    assert copy.function.predict(known.x).tolist() == state.function.predict(known.x).tolist()
    x = told(state.promised[:1], [0.0])
    assert strategy.update(copy, x).promised.tolist() == strategy.update(state, x).promised.tolist()


def test_auto_gives_it_a_turn_and_reports_the_graph():
    problem, rng, strategy = problems.ising_ring(30, instance=1), np.random.default_rng(0), Alone(Auto())
    sites = Space.binary(30).sites
    state = strategy.init(sites, Evaluations.empty(30), 5000, rng)
    x = points(115, np.full(30, 2), 0)
    state = strategy.update(state, told(x, [problem(row) for row in x]))
    assert state.turn in SHARING
    x = points(400, np.full(30, 2), 1)
    state = strategy.update(state, told(x, [problem(row) for row in x]))
    assert state.turn == SPARSE
    assert state.look_at == 644
    data, promised = strategy.state_to_dict(state), state.parts[SPARSE].promised
    assert strategy.state_from_dict(data, sites).parts[SPARSE].promised.tolist() == promised.tolist()
    state = strategy.update(state, told(promised[:1], [problem(promised[0])]))
    assert state.parts[SPARSE].why_over == "no better point is predicted"
    assert state.turn in SHARING
    assert state.best == (0.0, 0.0)
    pairs = np.argwhere(np.triu(strategy.interactions(state)) > 1e-9)
    assert sorted(map(tuple, pairs.tolist())) == sorted([*((i, i + 1) for i in range(29)), (0, 29)])


def test_a_turn_that_leads_to_nothing_leaves_the_others_as_they_were():
    _, known = of_ring(300)
    strategy, rng, sites = Alone(Auto()), np.random.default_rng(0), Space.binary(30).sites
    state = strategy.init(sites, Evaluations.empty(30), 5000, rng)
    state = replace(strategy.update(state, known.take(slice(100))), look_at=300)
    state = strategy.update(state, known.take(slice(100, 300)))
    assert state.turn == SPARSE
    run, reach = state.model.run, state.model.reach
    wrong = told(state.parts[SPARSE].promised[:1], [known.value.max() + 1.5])
    state = strategy.update(state, wrong)
    assert "contradicts" in state.parts[SPARSE].why_over
    assert state.turn in SHARING
    assert (state.model.run, state.model.reach) == (run, reach)
    assert len(strategy.memory(state)) == 301
