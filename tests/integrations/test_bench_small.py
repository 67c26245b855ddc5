"""The suite of small budgets: what it holds, disguises, and who is told of violations."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import dcmaes
from dcmaes import problems
from dcmaes_bench import Domain, Row, suite
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
