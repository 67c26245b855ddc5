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
