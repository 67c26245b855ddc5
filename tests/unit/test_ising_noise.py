"""What `ising` and `auto` make of values that differ at the same point."""

from dataclasses import replace

import numpy as np
import pytest
from alone import Alone

import dcmaes as dc
from dcmaes.space import Space
from dcmaes.strategies import Evaluations, IsingSearch
from dcmaes.strategies._credit import Credit
from dcmaes.strategies.auto import POPULATION, Auto

D = 8


class Known:
    """What was evaluated is known, and what is out."""

    def __init__(self, memory, out=()):
        self.pending = np.array(out).reshape(-1, D)
        self.keys = {row.tobytes() for row in (*memory.x, *self.pending)}

    def contains(self, x):
        return np.array([row.tobytes() in self.keys for row in x])


def drawn(strategy, state, out=()):
    """Return sixteen batches of points."""
    rng, known = np.random.default_rng(0), Known(strategy.known(state), out)
    return np.concatenate([strategy.sample(state, 4, rng, known) for _ in range(16)])


def evaluated(x, values, counts=None, is_repeat=False):
    x = np.atleast_2d(x)
    counts = np.ones(len(x), dtype=int) if counts is None else np.array(counts)
    values = np.array(values, dtype=float)
    return Evaluations(x, values, np.zeros(len(x)), np.full(len(x), is_repeat), counts)


def started(strategy):
    return strategy.init(Space.binary(D).sites, Evaluations.empty(D), 1000, np.random.default_rng(0))


def with_a_lucky_point(lucky=-1.0):
    """Return the state after noisy numbers of ones at some points, and a lucky value where all are ones."""
    strategy, rng = Alone(IsingSearch()), np.random.default_rng(1)
    x = (rng.permutation(2**D - 1)[:60, None] >> np.arange(D) & 1).astype(float)
    values = x.sum(axis=1) + 0.5 * rng.normal(size=60)
    state = strategy.update(started(strategy), evaluated(x, values))
    return strategy, strategy.update(state, evaluated(np.ones(D), [lucky])), x


def test_the_centre_leaves_a_lucky_point():
    strategy, state, x = with_a_lucky_point()
    assert state.centre.tolist() == [1.0] * D
    # Other points turn out to be noisy; the value of the lucky one stays the lowest.
    for row in range(8):
        state = strategy.update(state, evaluated(x[row], [x[row].sum() + 0.3 * (-1) ** row], [2]))
    memory = strategy.known(state)
    assert memory.value.argmin() == memory.x.sum(axis=1).argmax()
    assert state.centre.sum() <= 2


def test_without_noise_the_best_value_holds_the_centre():
    strategy, state, x = with_a_lucky_point()
    for row in range(8):
        state = strategy.update(state, evaluated(x[row], [x[row].sum() + 0.3 * (-1) ** row]))
    assert state.centre.tolist() == [1.0] * D
    assert not strategy.memory(state).is_noisy


def test_repeats_that_agree_change_nothing():
    strategy, state, _ = with_a_lucky_point()
    known = strategy.known(state).take(slice(0, 5))
    again = evaluated(known.x, known.value, [2, 3, 2, 2, 2], is_repeat=True)
    reminded = strategy.remember(state, again)
    assert strategy.memory(reminded).deviation == 0.0
    assert len(strategy.known(reminded)) == len(strategy.known(state))
    np.testing.assert_array_equal(drawn(strategy, state), drawn(strategy, reminded))


def test_the_mean_replaces_what_was_known_of_a_point():
    strategy = Alone(IsingSearch())
    state = strategy.update(started(strategy), evaluated(np.eye(D)[:4], [4.0, 3.0, 2.0, 1.0]))
    state = strategy.remember(state, evaluated(np.eye(D)[1], [5.0], [2], is_repeat=True))
    memory = strategy.known(state)
    assert memory.x.argmax(axis=1).tolist() == [0, 2, 3, 1]
    assert memory.value.tolist() == [4.0, 2.0, 1.0, 5.0]
    assert memory.count.tolist() == [1, 1, 1, 2]


def test_the_deviation_by_hand():
    """Values 3 and 7 at one point, 1, 1 and 4 at another: squares 4 + 4 and 1 + 1 + 4, three degrees."""
    strategy = Alone(IsingSearch())
    state = strategy.update(started(strategy), evaluated(np.eye(D)[:2], [3.0, 1.0]))
    for site, mean, count in [(0, 5.0, 2), (1, 1.0, 2), (1, 2.0, 3)]:
        state = strategy.remember(state, evaluated(np.eye(D)[site], [mean], [count], is_repeat=True))
    assert strategy.memory(state).deviation == pytest.approx(np.sqrt(14 / 3))


def test_huge_differences_do_not_overflow():
    strategy = Alone(IsingSearch())
    state = strategy.update(started(strategy), evaluated(np.eye(D)[:4], [1e308, 3.0, 2.0, 1.0]))
    state = strategy.update(state, evaluated(np.eye(D)[0], [-1e308], [2]))
    assert np.isfinite(strategy.memory(state).deviation)
    assert set(np.unique(drawn(strategy, state))) <= {0.0, 1.0}


def test_points_may_come_again_once_values_are_noisy_but_not_while_they_are_out():
    strategy, state, x = with_a_lucky_point(lucky=9.0)
    best = np.zeros((1, D))
    state = strategy.update(state, evaluated(best, [0.0]))

    def n_batches(out=()):
        """Return how many of sixteen batches have the best point."""
        return int((drawn(strategy, state, out) == best).all(axis=1).sum())

    # Where the search finds nothing new, a random change of the centre may be no change at all.
    assert n_batches() <= 2
    state = strategy.remember(state, evaluated(x[0], [x[0].sum() + 0.5], [2], is_repeat=True))
    assert n_batches() >= 8
    assert n_batches(out=best) <= 2


def test_ties_say_nothing_once_values_are_noisy():
    strategy, state, x = with_a_lucky_point()
    state = strategy.update(state, evaluated(x[:3], [-1.0] * 3))
    assert state.blame.tie_rate > 0
    state = strategy.update(state, evaluated(x[0], [-8.0], [2]))
    assert (state.blame.tie_rate, len(state.blame.suspects)) == (0.0, 0)


def test_a_restart_begins_at_the_point_that_is_best_beyond_doubt():
    strategy = Alone(IsingSearch())
    state = strategy.update(started(strategy), evaluated(np.eye(D)[:3], [1.0, 3.0, 5.0]))
    state = strategy.remember(state, evaluated(np.eye(D)[1], [2.0], [9], is_repeat=True))
    # 1 + 2 s against 2 + 2 s / 3, with s near 1.
    assert 0.75 < strategy.memory(state).deviation < 2
    assert strategy.restart(state, np.random.default_rng(0)).centre.tolist() == np.eye(D)[1].tolist()


def test_under_noise_the_population_of_auto_averages():
    spent = Credit(np.zeros(3), np.array([1e9, 1e9, 0.0]), 0.0, np.ones(3))
    for is_noisy, expected in ((False, "MixingState"), (True, "CmaState")):
        strategy = Alone(Auto())
        state = strategy.update(started(strategy), evaluated(np.eye(D)[:4], [4.0, 3.0, 2.0, 1.0]))
        if is_noisy:
            state = strategy.remember(state, evaluated(np.eye(D)[0], [2.0], [2], is_repeat=True))
        begun = strategy.update(replace(state, credit=spent), evaluated(np.eye(D)[4:5], [5.0]))
        assert (begun.turn, type(begun.parts[POPULATION]).__name__) == (POPULATION, expected)
        again = strategy.state_from_dict(strategy.state_to_dict(begun), Space.binary(D).sites)
        assert type(again.parts[POPULATION]).__name__ == expected


@pytest.mark.parametrize("strategy", ["ising", "auto"])
def test_a_saved_noisy_run_goes_on_exactly(tmp_path, strategy):
    def value(point):
        return float(point.sum() + np.random.default_rng(len(seen)).normal())

    def go_on(opt, n):
        for _ in range(n):
            (trial,) = opt.ask(1)
            seen.append(trial.point.tolist())
            opt.tell(trial, value(trial.point))

    seen = []
    opt = dc.Optimizer(
        Space.integers(3, 0, 9), budget=300, seed=0, strategy=strategy, duplicates="reevaluate"
    )
    go_on(opt, 120)
    opt.save(tmp_path / "run")
    go_on(opt, 40)
    expected, seen = seen, seen[:120]
    go_on(dc.Optimizer.load(tmp_path / "run"), 40)
    assert seen == expected


def test_excluded_points_are_not_proposed_again_and_again():
    rng = np.random.default_rng(0)
    result = dc.minimize(
        lambda x: float(x.sum() + rng.normal()),
        Space.binary(10),
        budget=200,
        seed=0,
        duplicates="reevaluate",
        constraints=lambda x: 4 - x.sum(),
    )
    assert result.nfev == 200
    assert 4 <= result.x.sum() <= 5
