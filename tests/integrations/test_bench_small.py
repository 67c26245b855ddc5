"""The suite of small budgets: what it holds, disguises, and who is told of violations."""

from __future__ import annotations

import contextlib
import itertools

import numpy as np
import pytest

import dcmaes
from dcmaes import problems
from dcmaes_bench import Domain, Row, optimizers, suite
from dcmaes_bench._peers import _dcmaes
from dcmaes_bench._recorder import Recorder, RunEnded
from dcmaes_bench._small_problems import disguised
from dcmaes_bench._suite_small import HELD_OUT, design


def test_a_third_of_at_least_twenty_problems_is_held_out():
    labels = {row.label for row in suite("small")}
    assert len(labels) >= 20
    assert labels >= HELD_OUT
    assert len(labels) / 3 <= len(HELD_OUT) < len(labels) / 2


@pytest.mark.parametrize("row", suite("small"), ids=lambda row: row.label)
def test_instances_differ_and_are_reproducible(row: Row):
    problem, other = row.problem(1), row.problem(2)
    domain, rng = Domain.of(problem), np.random.default_rng(0)
    points = [domain.sample(rng) for _ in range(4)]
    values = [problem(x) for x in points]
    assert values == [row.problem(1)(x) for x in points]
    assert values != [other(Domain.of(other).nearest(x)) for x in points]
    assert problem.optimum is None or min(values) >= problem.optimum


@pytest.mark.parametrize("instance", range(5))
def test_a_disguise_permutes_and_mirrors_but_keeps_all_values(instance):
    plain = problems.categorical_onemax(2, 3, instance=instance)
    hidden = disguised(plain, instance)
    points = [np.array(x, dtype=float) for x in itertools.product(range(3), repeat=2)]
    assert sorted(map(hidden, points)) == sorted(map(plain, points))
    assert len({disguised(plain, i)(points[0]) for i in range(20)}) > 1


@pytest.mark.parametrize("instance", range(5))
def test_room_around_the_bounds_moves_the_optimum_inside(instance):
    plain = problems.speed_reducer()
    hidden = disguised(plain, instance, margin=0.25)
    old, new = Domain.of(plain), Domain.of(hidden)
    assert (new.low < old.low).all()
    assert (new.high > old.high).all()
    _, violation = hidden.outcome(new.low)
    assert violation > 0
    # The best design, wherever it is now, is as good as it was: some mirror image of it has its value.
    best = np.array([3.50001, 0.7, 17, 7.3, 7.715325, 3.350219, 5.286659])
    images = itertools.product(*zip(best, new.low + new.high - best, strict=True))
    assert min(hidden(np.array(x)) for x in images) == pytest.approx(plain.optimum, rel=1e-4)


def test_violations_are_told_to_the_library_and_added_to_the_value_for_others():
    told = design(problems.pressure_vessel, margin=0.25, is_told=True, instance=1)
    plain = design(problems.pressure_vessel, margin=0.25, instance=1)
    x = Domain.of(told).sample(np.random.default_rng(0))
    value, violation = Recorder(told, 10).outcome(x)
    assert violation > 0
    assert Recorder(told, 10)(x) == Recorder(plain, 10)(x) > value
    assert Recorder(plain, 10).outcome(x) == (plain(x), 0.0)


@pytest.mark.parametrize("is_told", [True, False])
def test_the_adapter_tells_violations_where_there_are_some(is_told, monkeypatch):
    outcomes, plain = [], dcmaes.Optimizer.tell

    def tell(self, trials, values):
        outcomes.extend(values)
        plain(self, trials, values)

    monkeypatch.setattr(dcmaes.Optimizer, "tell", tell)
    recorder = Recorder(design(problems.pressure_vessel, margin=0.25, is_told=is_told), 20)
    with pytest.raises(RunEnded):
        _dcmaes.search(recorder.domain, recorder, 40, 0, strategy="random")
    assert {isinstance(value, dcmaes.Outcome) for value in outcomes} == {is_told}


CONDITIONAL = [row for row in suite("small") if Domain.of(row.problem(0)).when]


def test_some_rows_have_conditions():
    assert {row.label for row in CONDITIONAL} == {"estimators digits", "phased solver", "nested branches"}


@pytest.mark.parametrize("row", CONDITIONAL, ids=lambda row: row.label)
def test_what_does_not_count_changes_nothing(row: Row):
    problem, rng = row.problem(3), np.random.default_rng(0)
    domain = Domain.of(problem)
    n_idle = 0
    for _ in range(6):
        x, other = domain.sample(rng), domain.sample(rng)
        counts = [domain.counts(x, i) for i in range(domain.dimension)]
        n_idle += counts.count(False)
        assert problem(x) == problem(np.where(counts, x, other))
    assert n_idle > 12


@pytest.mark.parametrize("row", CONDITIONAL[1:], ids=lambda row: row.label)
def test_optima_of_conditional_rows_can_be_reached(row: Row):
    problem = row.problem(1)
    recorder = Recorder(problem, 3000)
    with pytest.raises(RunEnded):
        _dcmaes.search(recorder.domain, recorder, 3000, 0, strategy="auto")
    assert recorder.best < 1e-2


@pytest.mark.parametrize("name", ["dcmaes auto", "dcmaes auto (flat)", "optuna TPE group", "random"])
def test_conditional_rows_can_be_run(name):
    chosen = optimizers()[name]
    (row,) = (row for row in CONDITIONAL if row.label == "phased solver")
    if not chosen.is_installed:
        pytest.skip(f"{name} needs the package {chosen.package}")
    assert chosen.accepts(Domain.of(row.problem(0)))
    assert chosen.accepts(Domain.of(problems.onemax(4))) == (name in ("dcmaes auto", "random"))
    recorder = Recorder(row.problem(0), 40)
    with contextlib.suppress(RunEnded):
        chosen.run(recorder.domain, recorder, 40, 1)
    assert recorder.n_evaluations == 40


def test_the_library_is_told_of_conditions_unless_it_is_to_be_flat(monkeypatch):
    seen = []
    monkeypatch.setattr(dcmaes, "Optimizer", lambda space, **_: seen.append(space) or _Over())
    domain = Domain.of(CONDITIONAL[-1].problem(0))
    for is_flat in (False, True):
        _dcmaes.search(domain, lambda x: 0.0, 1, 0, strategy="auto", is_flat=is_flat)
    assert [space.sites.has_conditions for space in seen] == [True, False]
    assert seen[0].variables[5].when == {"x1": 0}


class _Over:
    """An optimizer that has stopped."""

    def should_stop(self):
        return True
