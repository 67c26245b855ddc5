"""Points that were not asked for, and optimizers that go their own way."""

from __future__ import annotations

import numpy as np
import pytest

import dcmaes as dc
from dcmaes.strategies import strategy_names
from dcmaes.testing import conformance_spaces

SPACE = dc.Space.integers(4, 0, 50)


def quadratic(x):
    return float(((x - 7) ** 2).sum())


def opened(**arguments):
    return dc.Optimizer(SPACE, **{"budget": 400, "seed": 0, **arguments})


def points(trials):
    return [(trial.id, repr(trial.point)) for trial in trials]


def advance(opt, n=5):
    """Ask and tell a few batches, and return what was asked for."""
    asked = []
    for _ in range(n):
        trials = opt.ask(3)
        asked += points(trials)
        opt.tell(trials, [float(np.sum(opt.space.encode(trial.point) ** 2)) for trial in trials])
    return asked


def test_attached_points_are_learned_from():
    opt = opened(strategy="ising")
    for x in np.random.default_rng(0).integers(0, 51, size=(30, 4)):
        opt.tell(opt.attach(x), quadratic(x))
    assert (opt.n_evaluations, opt.pending) == (30, ())
    assert min(quadratic(trial.point) for trial in opt.ask(4)) < opt.best.value


def test_an_attached_point_is_pending_and_not_handed_out():
    space = dc.Space.integers(1, 0, 9)
    opt = dc.Optimizer(space, budget=100, seed=0)
    out = opt.attach([4])
    assert opt.pending == (out,)
    asked = opt.ask(9)
    assert sorted(int(trial.point[0]) for trial in asked) == [0, 1, 2, 3, 5, 6, 7, 8, 9]
    opt.tell([out, *asked], [0.0] * 10)
    assert opt.should_stop() is dc.StopReason.SPACE_EXHAUSTED


def test_a_known_point_that_is_attached_again_leaves_the_others_to_be_asked_for():
    opt = dc.Optimizer(dc.Space.integers(1, 0, 4), budget=100, seed=0)
    opt.tell(opt.attach([2]), 1.0)
    again = opt.attach([2])
    asked = opt.ask(4)
    assert sorted(int(trial.point[0]) for trial in asked) == [0, 1, 3, 4]
    opt.tell(again, 3.0)
    assert [record.value for record in opt.history] == [1.0, 3.0]


@pytest.mark.parametrize(
    ("point", "message"),
    [([1, 2, 3, 51], "must be an integer from 0 to 50"), ([1, 2, 3], "4"), ([1, 2, 3, 0], "violates")],
)
def test_a_wrong_point_is_refused_and_changes_nothing(point, message):
    opt = opened(constraints=lambda x: 1 - x[3])
    with pytest.raises((ValueError, TypeError), match=message):
        opt.attach(point)
    assert opt.pending == ()
    assert len(opt.ask(2)) == 2


def test_points_can_be_attached_when_the_budget_is_used_up():
    opt = opened(budget=1)
    opt.tell(opt.ask(1), [5.0])
    assert opt.should_stop() is dc.StopReason.BUDGET
    opt.tell(opt.attach([7, 7, 7, 7]), 0.0)
    assert (opt.n_evaluations, opt.best.value, opt.ask(1)) == (2, 0.0, [])


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_stored_run_with_attached_points_goes_on_exactly(tmp_path, is_killed):
    def begin(**arguments):
        opt = opened(**arguments)
        advance(opt)
        opt.attach([1, 1, 1, 1])
        opt.tell(opt.attach([9, 9, 9, 9]), quadratic(np.full(4, 9)))
        advance(opt, 2)
        return opt

    straight, stopped = begin(), begin(store=tmp_path / "run.db")
    if is_killed:
        stopped._store.journal.close()
    else:
        stopped.close()
    with opened(store=tmp_path / "run.db") as stored:
        assert points(stored.pending) == points(straight.pending)
        assert advance(stored) == advance(straight)
        assert [repr(record.point) for record in stored.history] == [
            repr(record.point) for record in straight.history
        ]


@pytest.mark.parametrize(
    ("strategy", "name"),
    # The paper's strategy has no categorical variables.
    [
        (s, name)
        for s in strategy_names()
        for name in ("integers", "all_kinds")
        if (s, name) != ("paper", "all_kinds")
    ],
)
def test_a_fork_leaves_the_original_as_it_was(strategy, name):
    space = conformance_spaces()[name]
    opt, same = (dc.Optimizer(space, budget=200, seed=3, strategy=strategy) for _ in range(2))
    assert advance(opt) == advance(same)
    out = opt.ask(2)
    same.ask(2)
    fork = opt.fork(seed=5)
    assert points(fork.pending) == points(out)
    first = advance(fork)
    fork.tell(fork.pending, [0.0, 1.0])
    assert (opt.n_evaluations, len(opt.history)) == (15, 15)
    assert points(opt.pending) == points(out)
    assert advance(opt) == advance(same)
    assert advance(opt.fork(seed=6)) != first


def test_a_fork_with_the_same_seed_asks_for_the_same_points():
    opt = opened()
    advance(opt)
    first, second, other = opt.fork(seed=1), opt.fork(seed=1), opt.fork(seed=2)
    assert advance(first) == advance(second)
    assert advance(first) != advance(other)


def test_a_fork_has_no_store_and_no_callbacks(tmp_path):
    called = []
    with opened(store=tmp_path / "run.db", callbacks=called.append) as opt:
        advance(opt, 1)
        advance(opt.fork())
        assert called == [opt]
    assert len(dc.store.read(tmp_path / "run.db").history) == 3


def test_a_fork_under_repeats_averages_by_itself():
    opt = opened(duplicates="reevaluate", strategy="cma")
    opt.tell(opt.attach([7, 7, 7, 7]), 1.0)
    fork = opt.fork(seed=0)
    fork.tell(fork.attach([7, 7, 7, 7]), 3.0)
    assert (fork.result().fun, opt.result().fun) == (2.0, 1.0)


def test_a_fork_may_have_another_budget():
    opt = opened(budget=1)
    opt.tell(opt.ask(1), [5.0])
    fork = opt.fork(seed=0, budget=3)
    assert (fork.should_stop(), fork.budget, len(fork.ask(9))) == (None, 3, 2)
    assert opt.should_stop() is dc.StopReason.BUDGET
