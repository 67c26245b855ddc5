"""Going on from a store: exactly, with other limits, and only with the run that is in it."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dcmaes as dc
from dcmaes.optimizer._loop import _Loop
from dcmaes.store import _run_store
from dcmaes.strategies import Cma, RandomSearch, strategy_names
from dcmaes.testing import conformance_spaces

SPACE = dc.Space({"n": dc.Integer(-9, 9), "m": dc.Integer(-9, 9), "act": dc.Categorical(["relu", "gelu"])})


def objective(point):
    return point["n"] ** 2 + point["m"] ** 2 + (point["act"] == "relu")


def value_of(space, point):
    return float((space.sites.coordinate(space.encode(point)) ** 2).sum())


def records(history):
    return [repr(record._replace(told_at=0.0, objective_time=0.0)) for record in history]


def stop_after(n):
    return lambda opt: opt.n_evaluations == n


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.db"


def step(opt, space, seed):
    """Ask for some, tell some of those that are out, one of them as a failure now and then."""
    rng = np.random.default_rng(seed)
    asked = opt.ask(int(rng.integers(1, 6)) if seed % 3 else None)
    out = [opt.pending[i] for i in rng.permutation(len(opt.pending))[: rng.integers(0, 6)]]
    opt.tell(out, [None if rng.random() < 0.1 else value_of(space, trial.point) for trial in out])
    return [(trial.id, repr(trial.point)) for trial in asked]


@pytest.mark.parametrize("snapshot_seconds", [0.0, math.inf])
@pytest.mark.parametrize("duplicates", ["cache", "reevaluate"])
@pytest.mark.parametrize(
    ("strategy", "name"),
    [
        (strategy, name)
        for strategy in strategy_names()
        for name in ("integers", "all_kinds", "single_values")
        if strategy != "paper" or name == "integers"
    ],
)
def test_a_run_goes_on_exactly(path, monkeypatch, strategy, name, duplicates, snapshot_seconds):
    monkeypatch.setattr(_run_store, "_SNAPSHOT_SECONDS", snapshot_seconds)
    monkeypatch.setattr(_run_store, "_SNAPSHOT_SHARE", 0.0)
    space = conformance_spaces()[name]
    start = space.sample(np.random.default_rng(0), 3)
    arguments = {"budget": 60, "seed": 3, "strategy": strategy, "duplicates": duplicates}
    arguments["x0"] = [start[0], (start[1], 0.5), start[2]]
    opt = dc.Optimizer(space, **arguments)
    for seed in range(8):
        stored = dc.Optimizer(space, store=path, **arguments)
        assert [(t.id, repr(t.point)) for t in stored.pending] == [(t.id, repr(t.point)) for t in opt.pending]
        assert stored.should_stop() == opt.should_stop()
        assert step(stored, space, seed) == step(opt, space, seed)
        assert records(stored.history) == records(opt.history)
        del stored  # as if killed: nothing is written any more
    assert len(opt.history) > 5


def test_what_took_long_to_replay_is_not_replayed_again(path, monkeypatch):
    monkeypatch.setattr(_run_store, "_SNAPSHOT_SECONDS", math.inf)
    opt = dc.Optimizer(SPACE, budget=60, seed=0, strategy="cma", store=path)
    opt.tell(opt.ask(5), [1.0, 2.0, 3.0, 4.0, 5.0])
    del opt
    monkeypatch.setattr(_run_store, "_SNAPSHOT_SECONDS", 0.0)
    again = dc.Optimizer(SPACE, budget=60, seed=0, strategy="cma", store=path)
    assert again._store.journal.reader.snapshot() is None
    again.ask(1)
    n_events = 7  # two asks and five results
    assert again._store.journal.reader.snapshot().seq == again._store.journal.reader.last_seq() == n_events


def test_minimize_again_goes_on_where_it_stopped(path):
    whole = dc.minimize(objective, SPACE, budget=90, seed=1, strategy="cma")
    seen = []

    def noting(point):
        seen.append(tuple(point.values()))
        return objective(point)

    arguments = {"budget": 90, "seed": 1, "strategy": "cma", "store": path}
    for n in (7, 33, 34, 80):
        part = dc.minimize(noting, SPACE, callbacks=stop_after(n), **arguments)
        assert part.nfev == n
        assert part.stop_reason is dc.StopReason.CALLBACK
    last = dc.resume(path, noting)
    assert records(last.history) == records(whole.history)
    assert len(seen) == len(set(seen)) == 90
    assert (last.message, last.fun) == (whole.message, whole.fun)
    assert np.array_equal(last.distribution.correlations, whole.distribution.correlations)
    assert last.objective_time == pytest.approx(last.history.objective_times.sum())
    assert dc.resume(path, noting).nfev == dc.minimize(noting, SPACE, **arguments).nfev == 90
    assert len(seen) == 90


def test_zero_has_one_sign(path):
    with dc.Optimizer(SPACE, budget=30, seed=0, store=path, strategy="random") as opt:
        opt.tell(opt.ask(3), [-0.0, np.float64(-0.0), dc.Outcome(-0.0, -0.0)])
        records_then = records(opt.history)
    assert "-0.0" not in "".join(records_then)
    assert records(dc.store.read(path).history) == records_then


def test_points_that_were_out_are_evaluated_first(path):
    opt = dc.Optimizer(SPACE, budget=30, seed=0, store=path)
    trials = opt.ask(6)
    opt.tell(trials[2], 1.0)
    opt.close()
    seen = []
    dc.resume(path, lambda point: seen.append(dict(point)) or 1.0)
    assert seen[:5] == [trial.point for trial in trials if trial.id != 2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": 2}, "seed is 2 in the arguments and 1 in the store"),
        ({"space": dc.Space({"n": dc.Integer(-9, 8)})}, "space: 'm' is missing in the arguments"),
        ({"strategy": "random"}, "strategy is random with .* in the arguments and cma with .* in the store"),
        ({"direction": "maximize"}, "direction is 'maximize' in the arguments and 'minimize'"),
        ({"duplicates": "allow"}, "duplicates is 'allow' in the arguments and 'cache' in the store"),
        ({"x0": {"n": 1, "m": 1, "act": "relu"}}, "x0 has 1 points in the arguments and 0 in the store"),
        ({"constraints": lambda point: 0.0}, "there are constraints in the arguments and none in the store"),
    ],
)
def test_another_run_is_refused_by_name(path, change, message):
    arguments = {"space": SPACE, "budget": 20, "seed": 1, "strategy": "cma"}
    with dc.Optimizer(**arguments, store=path) as opt:
        opt.tell(opt.ask(3), [1.0, 2.0, 3.0])
    content = path.read_bytes()
    with pytest.raises(ValueError, match=message):
        dc.Optimizer(**{**arguments, **change}, store=path)
    assert path.read_bytes() == content
    with dc.Optimizer(**{**arguments, "seed": None}, store=path) as again:
        assert again.n_evaluations == 3


def test_limits_may_change(path):
    dc.minimize(objective, SPACE, budget=30, seed=1, strategy="cma", store=path, target=-1.0)
    more = dc.minimize(objective, SPACE, budget=60, seed=1, strategy="cma", store=path)
    assert (more.nfev, more.stop_reason) == (60, dc.StopReason.BUDGET)
    again = dc.resume(path, objective, budget=200, target=more.fun)
    assert (again.nfev, again.stop_reason) == (60, dc.StopReason.TARGET)
    last = dc.resume(path, objective, target=-1.0)
    assert last.nfev == 200
    assert dc.resume(path, objective).nfev == 200
    limits = [sitting.limits["budget"] for sitting in dc.store.read(path).sittings]
    assert limits == [30, 60, 200, 200, 200]


def test_an_extended_run_goes_on_exactly_after_a_kill(path):
    """The strategy starts from the first budget: limits of later sittings must not leak into replays."""
    dc.minimize(objective, SPACE, budget=30, seed=1, strategy="cma", store=path)
    whole = dc.resume(path, objective, budget=80)
    other = path.with_name("other.db")
    dc.minimize(objective, SPACE, budget=30, seed=1, strategy="cma", store=other)
    for _ in range(3):
        opt = dc.Optimizer(SPACE, budget=80, seed=1, strategy="cma", store=other)
        out = list(opt.pending) or opt.ask()
        for trial in out[:5]:
            opt.tell(trial, objective(trial.point))
        del opt, out, trial
    assert records(dc.resume(other, objective).history) == records(whole.history)


class Planning(RandomSearch):
    """Starts differently with another budget."""

    @property
    def name(self):
        return "planning"

    def init(self, sites, memory, budget, rng):
        rng.random(budget)
        return super().init(sites, memory, budget, rng)


def test_a_killed_run_may_be_extended(path):
    opt = dc.Optimizer(SPACE, budget=30, seed=1, strategy=Planning(), store=path)
    opt.tell(opt.ask(5), [1.0, 2.0, 3.0, 4.0, 5.0])
    expected = [trial.point for trial in opt.ask(3)]
    del opt
    with dc.Optimizer(SPACE, budget=60, seed=1, strategy=Planning(), store=path) as again:
        assert [trial.point for trial in again.pending] == expected


def test_a_run_that_ended_in_an_error_goes_on_when_it_is_mended(path):
    def broken(point):
        if point["n"] < 0:
            raise ValueError("negative")
        return objective(point)

    with pytest.raises(dc.EvaluationError, match="negative"):
        dc.minimize(broken, SPACE, budget=40, seed=0, store=path, on_error="raise", strategy="cma")
    n_before = len(dc.store.read(path).history)
    result = dc.resume(path, objective)
    assert n_before < result.nfev == 40
    assert result.n_failures == 1
    assert records(result.history) == records(dc.resume(path, objective).history)


def test_time_that_ran_out_while_looking_for_a_point_is_no_obstacle(path):
    def slow(x):
        clock.append(None)
        return x.sum() - 2

    clock = []
    space = dc.Space.binary(12)
    opt = dc.Optimizer(space, budget=40, seed=0, constraints=slow, store=path, strategy="random")
    opt.tell(opt.ask(3), [1.0, 2.0, 3.0])
    opt._run.settings = opt._run.settings.__class__(40, 0, time_limit=opt._run.elapsed + 1e-4)
    assert len(opt.ask(30)) < 30
    assert opt.should_stop() is dc.StopReason.TIME_LIMIT
    out = opt.pending
    del opt
    again = dc.Optimizer(space, budget=40, seed=0, constraints=slow, store=path, strategy="random")
    assert [t.id for t in again.pending] == [t.id for t in out]
    assert again.should_stop() is None
    assert again.ask(1)


class Fickle(Cma):
    """Answers differently in each process, as on a machine with other floating point."""

    sitting = 0

    @property
    def name(self):
        return "fickle"

    def sample(self, state, n, rng, memory):
        return super().sample(state, n, np.random.default_rng([self.sitting, rng.integers(2**32)]), memory)


@pytest.mark.parametrize("duplicates", ["cache", "reevaluate", "allow"])
def test_a_run_that_cannot_be_repeated_goes_on(path, monkeypatch, duplicates):
    monkeypatch.setattr(_run_store, "_SNAPSHOT_SECONDS", math.inf)
    start = [{"n": 1, "m": 1, "act": "relu"}, {"n": 2, "m": 2, "act": "relu"}]
    arguments = {"budget": 90, "seed": 0, "strategy": Fickle(), "duplicates": duplicates, "x0": start}
    opt = dc.Optimizer(SPACE, store=path, **arguments)
    for _ in range(30):
        trials = opt.ask(2)
        opt.tell(trials[:1], [objective(trials[0].point)])
    out, told = [(t.id, t.point) for t in opt.pending], records(opt.history)
    means = opt.result().distribution.means
    del opt, trials  # as if killed
    monkeypatch.setattr(Fickle, "sitting", 1)
    with pytest.warns(RuntimeWarning, match=r"goes on, but is no longer bit for bit.*then dcmaes") as caught:
        again = dc.Optimizer(SPACE, store=path, **arguments)
    assert len(caught) == 1
    assert [(t.id, t.point) for t in again.pending] == out
    assert records(again.history) == told
    if duplicates == "allow":  # otherwise draws that are known are learned from as well
        assert again.result().distribution.means == means
    assert again.ask(1)[0].id == 60
    del again
    # From a snapshot, so there is nothing to warn of, which would be an error.
    result = dc.resume(path, objective, strategy=Fickle())
    assert (result.nfev, result.stop_reason) == (90, dc.StopReason.BUDGET)
    if duplicates == "cache":
        assert len({tuple(point.values()) for point in result.history.points}) == 90


def test_text_that_no_file_can_hold_is_spelled_out(path):
    def broken(point):
        raise OSError("data\udcff.csv")

    arguments = {"budget": 5, "seed": 0, "strategy": "random", "store": path}
    result = dc.minimize(broken, SPACE, **arguments, callbacks=stop_after(3))
    assert set(result.history.reasons) == {"OSError: data\\udcff.csv"}
    assert dc.minimize(broken, SPACE, **arguments).nfev == 5
    assert all("data\\udcff.csv" in failure.traceback for failure in dc.store.read(path).failures)


def test_constraints_must_be_passed_again(path):
    dc.minimize(objective, SPACE, budget=5, seed=0, store=path, constraints=lambda p: p["n"])
    with pytest.raises(ValueError, match="had constraints, which are not in the store"):
        dc.resume(path, objective)
    assert dc.resume(path, objective, constraints=lambda p: p["n"], budget=9).nfev == 9


def test_results_of_a_round_that_was_not_finished_are_not_paid_twice(path):
    seen = []

    def dying(point):
        if len(seen) == 7:
            raise KeyboardInterrupt
        seen.append(tuple(point.values()))
        return objective(point)

    class Killed(BaseException):
        pass

    arguments = {"budget": 20, "seed": 2, "strategy": "cma", "batch_size": 5}
    whole = dc.minimize(objective, SPACE, **arguments)
    with pytest.MonkeyPatch.context() as patch:
        # Interrupted in the second round, and killed before what had come of it was told.
        patch.setattr(_Loop, "_tell", _until(_Loop._tell, 5, Killed))
        with pytest.raises(Killed):
            dc.minimize(dying, SPACE, store=path, **arguments)
    assert len(dc.store.read(path).history) == 5
    result = dc.resume(path, lambda p: seen.append(tuple(p.values())) or objective(p), batch_size=5)
    assert len(seen) == len(set(seen)) == 20
    assert records(result.history) == records(whole.history)


def _until(method, n, error):
    """Return the method, which raises from call `n` on."""
    calls = iter(range(10**6))

    def limited(*args):
        if next(calls) >= n:
            raise error
        return method(*args)

    return limited
