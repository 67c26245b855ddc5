"""Strategies that take several objectives do so in every kind of space, and are saved exactly."""

import numpy as np
import pytest

import dcmaes as dc
from dcmaes.pareto import is_nondominated
from dcmaes.strategies import Multiobjective, make_strategy, strategy_names
from dcmaes.testing import conformance_spaces

SPACES = conformance_spaces()
STRATEGIES = [name for name in strategy_names() if isinstance(make_strategy(name), Multiobjective)]


def test_which_they_are():
    assert STRATEGIES == ["front", "random"]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("n_objectives", [2, 3])
def test_every_space(strategy, name, n_objectives, tmp_path):
    space = SPACES[name]
    sites = space.sites
    targets = sites.coordinate(sites.uniform(np.full(sites.dimension, 0.3)))

    def values(point):
        u = sites.coordinate(space.encode(point))
        each = [((u - targets) ** 2).sum(), ((u - 1) ** 2).sum(), abs(u.sum() - 1)]
        if u[0] > 0.95:
            return ValueError("beyond")
        return dc.Outcome(each[:n_objectives], u[-1] - 0.9)

    opt = dc.Optimizer(space, budget=36, seed=3, objectives=n_objectives, strategy=strategy)
    while opt.n_evaluations < 24 and (trials := opt.ask(4)):
        assert all(space.contains(trial.point) for trial in trials)
        opt.tell(trials, [values(trial.point) for trial in trials])
    opt.save(tmp_path / "run.db")
    again = dc.Optimizer.load(tmp_path / "run.db", space=space)
    mine, theirs = opt.ask(4), again.ask(4)
    np.testing.assert_array_equal(
        space.encode_many([t.point for t in mine]) if mine else [],
        space.encode_many([t.point for t in theirs]) if theirs else [],
    )
    result = opt.result()
    assert result.distribution.step_size >= 0
    assert all(pair.strength > 0 for pair in result.interactions("f1"))
    found = result.history.values[result.history.statuses == "ok"]
    assert len(result.front) == int(is_nondominated(found).sum())


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("name", SPACES)
def test_every_space_with_noise(strategy, name, tmp_path):
    space = SPACES[name]
    sites = space.sites

    def values(trial):
        u = sites.coordinate(space.encode(trial.point))
        noise = np.random.default_rng(trial.id).normal(size=2)
        return dc.Outcome((u.sum() + noise[0], ((u - 1) ** 2).sum() + noise[1]), u[-1] - 0.9)

    opt = dc.Optimizer(
        space, budget=60, seed=3, objectives=2, strategy=strategy, duplicates="reevaluate", reference=(9, 9)
    )
    for _ in range(12):
        trials = opt.ask(4)
        opt.tell(trials, [values(trial) for trial in trials])
    opt.save(tmp_path / "run.db")
    again = dc.Optimizer.load(tmp_path / "run.db", space=space)
    np.testing.assert_array_equal(
        *(space.encode_many([trial.point for trial in one.ask(4)]) for one in (opt, again))
    )
    result = opt.result()
    assert result.nfev == 48  # known points may come again, so that no space is exhausted
    groups = {}
    for x, record in zip(space.encode_many(result.history.points), result.history, strict=True):
        groups.setdefault(x.tobytes(), []).append((*record.value, record.violation))
    means = np.array([np.mean(told, axis=0) for told in groups.values()])
    feasible = means[means[:, 2] == 0, :2]
    front = feasible[is_nondominated(feasible)]
    np.testing.assert_allclose(result.front.values, front[np.lexsort(front.T[::-1])])
