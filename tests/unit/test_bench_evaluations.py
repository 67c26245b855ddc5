"""How many times fewer evaluations: the measure on runs made by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dcmaes_bench._evaluations import Saving, best_saving, log_ratio, saving, sentence
from dcmaes_bench._measures import Scale
from dcmaes_bench._results import RunRecord

SCALE = Scale(0.0, np.array([8.0, 4.0, 0.0]))


def run(name, trace, *, problem="p", instance=0, budget=100, n_evaluations=None):
    solved = trace[-1][0] if trace[-1][1] == 0.0 else None
    n_evaluations = n_evaluations or solved or budget
    return RunRecord(
        optimizer=name,
        problem=problem,
        instance=instance,
        dimension=1,
        budget=budget,
        optimum=0.0,
        tolerance=1e-9,
        n_evaluations=n_evaluations,
        n_distinct=1,
        best=trace[-1][1],
        solved_at=solved,
        stop="",
        own_time=0.0,
        trace=trace,
    )


def test_the_ratio_is_the_geometric_mean_over_targets():
    own, peer = run("a", [(1, 8.0), (2, 4.0), (10, 0.0)]), run("b", [(1, 8.0), (8, 4.0), (90, 0.0)])
    # 1 / 1, 8 / 2 and 90 / 10
    assert log_ratio(own, peer, SCALE) == pytest.approx(math.log(1 * 4 * 9) / 3)
    assert log_ratio(peer, own, SCALE) == pytest.approx(-math.log(36) / 3)


def test_a_target_that_was_not_reached_counts_as_reached_at_the_end():
    own, peer = run("a", [(1, 8.0), (2, 4.0), (10, 0.0)]), run("b", [(1, 8.0), (8, 4.0)])
    assert log_ratio(own, peer, SCALE) == pytest.approx(math.log(1 * 4 * 10) / 3)


def test_targets_that_neither_reached_do_not_count():
    own, peer = run("a", [(1, 8.0), (2, 4.0)]), run("b", [(1, 8.0), (8, 4.0)])
    assert log_ratio(own, peer, SCALE) == pytest.approx(math.log(4) / 2)
    assert log_ratio(run("a", [(1, 9.0)]), run("b", [(1, 9.0)]), SCALE) is None


def test_a_run_that_was_cut_short_is_compared_up_to_its_end_only():
    own = run("a", [(1, 8.0), (50, 4.0), (60, 0.0)])
    cut = run("b", [(2, 8.0)], n_evaluations=20)
    # What the first does after 20 evaluations says nothing about the other: one target is left, 2 / 1.
    assert log_ratio(own, cut, SCALE) == pytest.approx(math.log(2))


def test_rows_are_compared_on_the_instances_that_both_ran():
    records = [
        run("a", [(1, 8.0)], instance=0),
        run("b", [(4, 8.0)], instance=0),
        run("a", [(2, 8.0)], instance=1),
        run("b", [(2, 8.0)], instance=1),
        run("a", [(90, 8.0)], instance=2),
        run("b", [(1, 8.0)], problem="q"),
    ]
    scale_of = dict.fromkeys([("p", 0), ("p", 1), ("p", 2), ("q", 0)], Scale(0.0, np.array([8.0])))
    found = saving(records, scale_of, "a", "b")
    assert found.ratios == pytest.approx({"p": 2.0})


def test_rows_lost_to_any_peer_are_counted():
    scale_of = {("p", 0): Scale(0.0, np.array([8.0])), ("q", 0): Scale(0.0, np.array([8.0]))}
    records = [
        *(run("a", [(10, 8.0)], problem=problem) for problem in "pq"),
        *(run("b", [(20, 8.0)], problem=problem) for problem in "pq"),
        run("c", [(5, 8.0)], problem="q"),
    ]
    found = best_saving(records, scale_of, "a", "b", ["b", "c"])
    assert (found.ratios, found.lost, found.n_behind) == (
        {"p": pytest.approx(2), "q": pytest.approx(2)},
        [],
        1,
    )


def test_median_quartiles_and_lost_rows():
    found = Saving("b", {"p": 1.0, "q": 2.0, "r": 3.0, "s": 0.5, "t": 0.95})
    assert found.middle == 1.0
    assert found.quartiles == (0.95, 2.0)
    assert found.lost == ["s"]  # 0.95 is a draw


@pytest.mark.parametrize(
    ("ratios", "n_behind", "expected"),
    [
        ({"p": 3.0}, 0, "**3.0 times fewer** evaluations than b"),
        ({"p": 1.05}, 0, "**about as many** evaluations as b"),
        ({"p": 0.25}, 1, "**4.0 times more** evaluations than b"),
        ({"p": 3.0}, 0, "No other optimizer needs fewer on any of them."),
        ({"p": 3.0, "q": 2.0}, 1, "On 1 of them some other optimizer needs fewer, though not b."),
        ({"p": 3.0, "q": 0.5}, 2, "On 2 of them some other optimizer needs fewer, b on 1: q (2.0 times)."),
    ],
)
def test_sentences(ratios, n_behind, expected):
    assert expected in sentence("s", "things", Saving("b", ratios, n_behind)).replace("\n", " ")
