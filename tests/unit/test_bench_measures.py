"""Measures of the benchmark on traces small enough to be computed by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dcmaes.bench import _measures as measures
from dcmaes.bench._measures import Scale
from dcmaes.bench._references import update_references
from dcmaes.bench._report import (
    evaluations_table,
    losses,
    readme_block,
    replace_block,
    suite_section,
    summary_table,
)
from dcmaes.bench._results import RunRecord


def run(
    optimizer="a", problem="p", instance=0, trace=((1, 8.0), (10, 0.0)), budget=100, optimum=0.0, **changes
):
    trace = list(trace)
    best = trace[-1][1]
    solved = trace[-1][0] if optimum is not None and best <= optimum + 1e-9 else None
    fields = {
        "optimizer": optimizer,
        "problem": problem,
        "instance": instance,
        "dimension": 3,
        "budget": budget,
        "optimum": optimum,
        "tolerance": 1e-9,
        "n_evaluations": solved or budget,
        "n_distinct": 5,
        "best": best,
        "solved_at": solved,
        "stop": "target" if solved else "budget",
        "own_time": 1e-3,
        "trace": trace,
    }
    return RunRecord(**(fields | changes))


def test_targets_run_from_the_median_first_gap_to_half_of_the_smallest_gap():
    records = [run(trace=[(1, 8.0), (3, 2.0), (10, 0.0)]), run("b", trace=[(1, 32.0), (5, 4.0)]), run("c")]
    scale = measures.scales(records)["p", 0]
    assert scale.reference == 0.0
    assert len(scale.targets) == 51
    assert scale.targets[0] == pytest.approx(8.0)
    assert scale.targets[-1] == pytest.approx(1.0)  # half of the smallest positive gap, 2
    assert np.allclose(np.diff(np.log(scale.targets)), np.log(1 / 8) / 50)


def test_unknown_optimum_is_the_best_of_all_runs_and_of_the_references():
    records = [run(trace=[(1, 8.0), (4, 3.0)], optimum=None), run("b", trace=[(1, 6.0)], optimum=None)]
    assert measures.scales(records)["p", 0].reference == 3.0
    assert measures.scales(records, {"p": 2.5})["p", 0].reference == 2.5
    assert measures.scales(records, {"p": 9.0, "p #0": 1.0})["p", 0].reference == 1.0


def test_hits_and_area_by_hand():
    scale = Scale(0.0, np.array([8.0, 4.0, 2.0, 1.0]))
    trace = [(1, 8.0), (10, 3.0), (100, 2.0)]
    assert measures.hits(trace, scale).tolist() == [1, 10, 100, math.inf]
    # on a log axis from 1 to 10,000 the four targets count for 1, 3/4, 2/4 and 0
    assert measures.area(trace, scale, 10_000) == pytest.approx((1 + 0.75 + 0.5 + 0) / 4)
    assert measures.area([], scale, 100) == 0.0


def test_running_times_by_hand():
    solved, failed = run(trace=[(1, 8.0), (10, 0.0)]), run(trace=[(1, 8.0)])
    late = run(trace=[(1, 8.0), (30, 0.0)])
    assert measures.expected_running_time([solved, late, failed]) == (10 + 30 + 100) / 2
    assert measures.expected_running_time([failed]) == math.inf
    assert measures.median_evaluations([solved, late, failed]) == 30
    assert measures.median_evaluations([solved, failed]) == math.inf
    assert measures.median_evaluations([solved, late]) == 20


def test_value_at():
    trace = [(3, 8.0), (10, 2.0)]
    assert [measures.value_at(trace, n) for n in (2, 3, 9, 10, 99)] == [math.inf, 8.0, 8.0, 2.0, 2.0]


def test_score_by_hand():
    solved = run(trace=[(1, 8.0), (50, 0.0)], budget=1000)
    failed = run(trace=[(1, 8.0), (120, 2.0)], budget=1000, instance=1)
    score = measures.table([solved, failed])["p"]["a"]
    assert (score.n_runs, score.success, score.median, score.ert) == (2, 0.5, math.inf, 1050)
    assert score.gap_at == {100: 4.0, 1000: 1.0}  # 10,000 is beyond the budget
    assert score.distinct == pytest.approx((5 / 50 + 5 / 1000) / 2)


def test_only_runs_with_one_budget_are_compared():
    records = [run(instance=i) for i in range(2)] + [run("b"), run("b", instance=1, budget=999)]
    kept = measures.comparable(records)
    assert {(r.optimizer, r.instance) for r in kept} == {("a", 0), ("a", 1), ("b", 0)}


def test_table_counts_the_runs_of_each_optimizer():
    table = measures.table([run(instance=0), run(instance=1), run("b")])
    assert "| p (1 to 2 runs) |" in evaluations_table(table)


def test_ranks_share_ties_and_leave_out_those_who_did_not_run_all_rows():
    fast, slow = [(1, 8.0), (2, 0.0)], [(1, 8.0), (90, 0.0)]
    records = [run("a", trace=fast), run("b", trace=slow), run("c", trace=fast)]
    assert measures.mean_ranks(measures.table(records)) == {"a": 1.5, "b": 3.0, "c": 1.5}
    records += [run("a", "q", trace=fast), run("b", "q", trace=slow)]
    assert measures.mean_ranks(measures.table(records)) == {"a": 1.0, "b": 2.0}


def test_virtual_best_peer_takes_the_best_of_each_row():
    fast, slow = [(1, 8.0), (2, 0.0)], [(1, 8.0), (90, 0.0)]
    records = [
        run("own", "p", trace=fast),
        run("own", "q", trace=slow),
        run("x", "p", trace=fast),
        run("x", "q", trace=slow),
        run("y", "p", trace=slow),
        run("y", "q", trace=fast),
    ]
    table = measures.table(records)
    best = table["p"]["x"].area + table["q"]["y"].area
    ratio = measures.virtual_best_ratio(table, "own", ["x", "y"])
    assert ratio == pytest.approx((table["p"]["own"].area + table["q"]["own"].area) / best)
    assert ratio < 1


def test_ecdf_counts_pairs_of_run_and_target():
    scale = {("p", 0): Scale(0.0, np.array([8.0, 1.0]))}
    curve = measures.ecdf([run(), run(trace=[(5, 8.0)])], scale, np.array([1.0, 5.0, 10.0]))
    assert curve.tolist() == [0.25, 0.5, 0.75]


def test_report_says_where_the_library_loses():
    fast, slow = [(1, 8.0), (2, 0.0)], [(1, 8.0), (90, 0.0)]
    records = [
        run("dcmaes cma", "p", trace=slow),
        run("peer", "p", trace=fast),
        run("dcmaes cma", "q", trace=fast),
        run("peer", "q", trace=slow),
    ]
    table = measures.table(records)
    text = losses(table)
    assert "1 of 2 rows" in text
    assert "- p: peer has area" in text
    assert "- q:" not in text
    assert "| q (1 runs) | **2** | 90 |" in evaluations_table(table)
    assert summary_table(table).count("\n") == 3
    assert suite_section("s", table).startswith("## Suite `s`")


def test_report_without_runs_of_the_library_says_so():
    assert "no runs here yet" in losses(measures.table([run("peer")]))


def test_readme_block_names_the_best_entries_and_replaces_only_the_marked_part():
    records = [run("dcmaes cma"), run("peer"), run("worse", trace=[(1, 8.0)])]
    block = readme_block({"s": measures.table(records)})
    assert block.splitlines()[-1] == "| s | 1 | dcmaes cma | 1.00 | peer | 1.00 |"
    assert replace_block("no markers", block) == "no markers"


def test_references_keep_the_best_value_and_its_source(tmp_path):
    first = run("a", optimum=None, trace=[(1, 8.0), (4, 3.0)])
    assert update_references(tmp_path, [first, run("b", optimum=None, trace=[(1, 5.0)])]) == {"p #0": 3.0}
    assert update_references(tmp_path, [run("c", optimum=None, trace=[(1, 4.0)])]) == {"p #0": 3.0}
    assert '"source": "a, 100 evaluations, seed 0"' in (tmp_path / "references.json").read_text()
    assert update_references(tmp_path, [run("known", problem="q")]) == {"p #0": 3.0}
