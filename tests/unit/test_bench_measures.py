"""Measures of the benchmark on traces small enough to be computed by hand."""

from __future__ import annotations

import csv
import math

import numpy as np
import pytest

from dcmaes_bench import _compare as compare
from dcmaes_bench import _measures as measures
from dcmaes_bench._early import rows_lost, won_and_lost
from dcmaes_bench._measures import EARLY, FULL, HALF, Scale
from dcmaes_bench._plots import common_runs, ecdf_figure
from dcmaes_bench._references import update_references
from dcmaes_bench._report import readme_block, replace_block, write_csv
from dcmaes_bench._results import RunRecord
from dcmaes_bench._tables import cut_short, failures, losses, row_table, singles, suite_section, summary_table

FAST, SLOW = [(1, 8.0), (2, 0.0)], [(1, 8.0), (90, 0.0)]


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
        "dimension": 1,
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


def test_runs_better_than_the_optimum_are_refused():
    with pytest.raises(ValueError, match=r"p #0: b found -1\.0, better than the optimum 0\.0"):
        measures.scales([run(), run("b", trace=[(1, -1.0)])])


def test_runs_on_different_versions_of_a_problem_are_refused():
    with pytest.raises(ValueError, match=r"a ran it with the optimum 0\.0, b with 1\.0"):
        measures.scales([run(), run("b", optimum=1.0, trace=[(1, 8.0)])])


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
    assert score.gap_at == {50: 4.0, 100: 4.0, 200: 1.0, 1000: 1.0}  # 10,000 is beyond the budget
    assert score.distinct == pytest.approx((5 / 50 + 5 / 1000) / 2)


def test_area_at_50_evaluations_per_variable_keeps_the_targets_and_shortens_the_axis():
    records = [run(trace=[(1, 8.0), (10, 4.0), (150, 0.0)], budget=1000, dimension=2)]
    score = measures.table(records)["p"]["a"]
    scale = measures.scales(records)["p", 0]
    n_first = int((scale.targets >= 8.0).sum())
    n_second = int((scale.targets >= 4.0).sum()) - n_first
    # up to 100 evaluations the targets below 4 have not been hit yet
    assert score.area(EARLY) == pytest.approx((n_first + n_second * 0.5) / 51)
    rest = (51 - n_first - n_second) * (1 - math.log(150) / math.log(1000))
    assert score.area(FULL) == score.area() == pytest.approx((n_first + n_second * 2 / 3 + rest) / 51)


@pytest.mark.parametrize(("budget", "has_early"), [(1000, True), (999, False)])
def test_the_early_area_is_at_half_of_a_budget_below_100_evaluations_per_variable(budget, has_early):
    table = measures.table([run(budget=budget, dimension=10)])
    assert (EARLY in table["p"]["a"].areas) == has_early
    assert math.isnan(table["p"]["a"].area(EARLY)) != has_early
    assert compare.ends(table) == ((EARLY, FULL) if has_early else (HALF, FULL))
    for text in (summary_table(table), row_table(table)):
        assert ("50 d |" in text, "499 |" in text) == (has_early, not has_early)
    assert ("no figures at 50 d, but at half: 499." in suite_section("s", table)) != has_early


def test_area_at_half_of_the_budget_is_that_of_the_shorter_trace():
    records = [run(trace=[(1, 8.0), (10, 2.0), (150, 0.0)], budget=200, dimension=9)]
    scale = measures.scales(records)["p", 0]
    score = measures.table(records)["p"]["a"]
    assert score.area(HALF) == measures.area([(1, 8.0), (10, 2.0)], scale, 100)
    assert score.area() > score.area(HALF)  # the last targets are hit between the two


def test_gaps_within_the_tolerance_of_the_optimum_are_equal():
    records = [
        run(name, trace=[(1, 8.0), (10, end)], tolerance=0.1) for name, end in (("a", 0.05), ("b", 0.0))
    ]
    row = measures.table(records)["p"]
    assert row["a"].gaps[50] == row["b"].gaps[50] == {0: 0.0}


def test_only_runs_with_one_budget_are_compared():
    records = [run(instance=i) for i in range(2)] + [run("b"), run("b", instance=1, budget=999)]
    kept = measures.comparable(records)
    assert {(r.optimizer, r.instance) for r in kept} == {("a", 0), ("a", 1), ("b", 0)}


def test_problems_are_sorted_with_their_numbers_by_size():
    table = measures.table([run(problem=name) for name in ("f10 d=5", "f2 d=40", "f2 d=5")])
    assert list(table) == ["f2 d=5", "f2 d=40", "f10 d=5"]


def test_ranks_share_ties_and_count_those_who_ran_the_row():
    records = [run("a", trace=FAST), run("b", trace=SLOW), run("c", trace=FAST)]
    assert compare.mean_ranks(measures.table(records)) == {"a": 1.5, "b": 3.0, "c": 1.5}
    records += [run("a", "q", trace=FAST), run("b", "q", trace=SLOW)]
    assert compare.mean_ranks(measures.table(records)) == {"a": 1.25, "b": 2.5, "c": 1.5}


def test_virtual_best_peer_takes_the_best_of_each_row():
    records = [
        run("own", "p", trace=FAST),
        run("own", "q", trace=SLOW),
        run("x", "p", trace=FAST),
        run("x", "q", trace=SLOW),
        run("y", "p", trace=SLOW),
        run("y", "q", trace=FAST),
    ]
    table = measures.table(records)
    best = table["p"]["x"].area() + table["q"]["y"].area()
    ratio = compare.virtual_best_ratio(table, "own", ["x", "y"])
    assert ratio == pytest.approx((table["p"]["own"].area() + table["q"]["own"].area()) / best)
    assert ratio < 1
    assert {p: d.peer for p, d in compare.virtual_best(table, "own").items()} == {"p": "x", "q": "y"}


def test_no_peer_is_better_than_the_virtual_best_peer():
    table = measures.table(
        [run("dcmaes auto", trace=FAST), run("good", trace=SLOW), run("poor", trace=[(1, 8.0)])]
    )
    assert compare.virtual_best_ratio(table, "dcmaes auto") > 1
    assert compare.virtual_best_ratio(table, "good") == 1.0
    assert compare.virtual_best_ratio(table, "poor") < 1


def test_optimizers_are_compared_on_the_instances_that_both_ran():
    # instance 1 is hard for everybody; x ran only the easy one, y shares none with own
    records = [run("own", trace=FAST), run("own", instance=1, trace=[(1, 8.0)])]
    records += [run("x", trace=FAST), run("y", instance=2, trace=FAST), run("z", trace=SLOW)]
    table = measures.table(records)
    assert table["p"]["own"].n_runs == 2
    assert [(d.peer, d.n_shared) for d in compare.duels(table["p"], "own")] == [("x", 1), ("z", 1)]
    assert compare.virtual_best_ratio(table, "own") == 1.0  # though its mean area is lower than that of x
    assert table["p"]["own"].area() < table["p"]["x"].area()
    assert math.isnan(compare.virtual_best_ratio(table, "own", ["y"]))
    assert compare.against(table, "own", "y") is None


def test_a_peer_with_few_seeds_takes_nothing_from_the_others():
    records = [run(name, instance=i, trace=FAST) for name in ("dcmaes auto", "x") for i in range(4)]
    before = measures.table(records)
    after = measures.table([*records, run("few", instance=3, trace=SLOW)])
    assert {name: after["p"][name].n_runs for name in after["p"]} == {"dcmaes auto": 4, "x": 4, "few": 1}
    assert compare.against(after, "dcmaes auto", "x") == compare.against(before, "dcmaes auto", "x")


def test_virtual_best_peer_differs_between_the_two_ends():
    early, late = [(1, 8.0), (20, 2.0)], [(1, 8.0), (60, 0.0)]
    records = [run(name, trace=t, budget=10_000) for name, t in (("early", early), ("late", late))]
    table = measures.table([*records, run("dcmaes auto", trace=[(1, 8.0)], budget=10_000)])
    best = {when: compare.virtual_best(table, "dcmaes auto", when=when)["p"].peer for when in (EARLY, FULL)}
    assert best == {EARLY: "early", FULL: "late"}


def test_ecdf_counts_pairs_of_run_and_target_by_evaluations_per_variable():
    scale = {("p", 0): Scale(0.0, np.array([8.0, 1.0]))}
    curve = measures.ecdf([run(), run(trace=[(5, 8.0)])], scale, np.array([1.0, 5.0, 10.0]))
    assert curve.tolist() == [0.25, 0.5, 0.75]
    halved = measures.ecdf([run(dimension=2)], scale, np.array([0.4, 0.5, 5.0]))
    assert halved.tolist() == [0.0, 0.5, 1.0]


def test_default_is_the_entry_that_counts_or_else_the_best_of_the_library():
    records = [run("dcmaes auto", trace=SLOW), run("dcmaes cma", trace=FAST), run("peer", trace=FAST)]
    assert compare.chosen_entry(measures.table(records)) == "dcmaes auto"
    records = [run("dcmaes ising", trace=SLOW), run("dcmaes cma", trace=FAST), run("peer", trace=FAST)]
    assert compare.chosen_entry(measures.table(records)) == "dcmaes cma"
    assert compare.chosen_entry(measures.table([run("peer")])) is None


def test_report_says_where_the_default_loses_whatever_other_entries_do():
    records = [
        run("dcmaes auto", "p", trace=SLOW),
        run("dcmaes cma", "p", trace=FAST),
        run("peer", "p", trace=FAST),
        run("dcmaes auto", "q", trace=FAST),
        run("peer", "q", trace=SLOW),
    ]
    table = measures.table(records)
    text = losses(table)
    assert text.startswith("**Where dcmaes auto loses**")
    assert "behind the best peer on 1 of 2 rows" in text
    assert "\n- p: peer has" in text
    assert "- q:" not in text
    assert "At 50 d it is behind on 1 of 2 rows: p (peer)." in text
    assert summary_table(table).count("\n") == 4
    assert "| **dcmaes auto** |" in summary_table(table)
    assert suite_section("s", table).startswith("## Suite `s`")


def test_row_table_has_the_default_and_the_two_best_of_all_peers():
    traces = {"dcmaes auto": (10, 0.0), "good": (5, 0.0), "fair": (20, 0.0), "poor": (80, 0.0)}
    table = measures.table([run(name, trace=[(1, 8.0), end]) for name, end in traces.items()])
    cells = [cell.strip() for cell in row_table(table).splitlines()[-1].split("|")[1:-1]]
    areas = {name: entry.area() for name, entry in table["p"].items()}
    lead = {name: areas[name] - areas["dcmaes auto"] for name in areas}
    assert cells[:3] == ["p", "1", f"{areas['dcmaes auto']:.3f}"]
    assert cells[3] == f"**good {areas['good']:.3f} ({lead['good']:+.3f})**"
    assert cells[4] == f"fair {areas['fair']:.3f} ({lead['fair']:+.3f})"
    assert cells[6:] == ["10", "5", "3"]
    alone = row_table(measures.table([run("good", trace=FAST), run("poor", trace=SLOW)]))
    assert "| good" in alone.splitlines()[-1]


def test_single_peers_that_are_ahead_are_named():
    records = [
        run("dcmaes auto", trace=[(1, 8.0), (10, 0.0)]),
        run("good", trace=FAST),
        run("poor", trace=SLOW),
    ]
    text = singles(measures.table(records))
    assert "at the budget it is ahead of 1 of 2 peers, behind good (" in text
    assert "poor" not in text
    assert singles(measures.table([run("good")])) == ""


def test_runs_cut_short_and_failed_runs_are_shown():
    late = [run("slow", instance=i, trace=[(1, 8.0)], stop="time" if i else "budget") for i in range(4)]
    broken = run("broken", trace=[(1, 8.0)], stop="error: KeyError: 'inside'")
    table = measures.table([*late, broken, run("a")])
    assert (table["p"]["slow"].timed_out, table["p"]["slow"].failed) == (0.75, 0.0)
    lines = {line.split(" | ")[0]: line for line in summary_table(table).splitlines()}
    assert lines["| slow"].endswith("| 75 % | 1 | 4 |")
    assert lines["| a"].endswith("|  | 1 | 1 |")
    assert failures(table).endswith("until then: broken (100 %).")
    cut = [run("slow", instance=i, stop="time", n_evaluations=n, own_time=3.0) for i, n in ((4, 20), (5, 80))]
    text = cut_short(measures.table([*late, *cut]))
    assert text.endswith("wall time: slow (5 of 6 runs, after 20 to 100 evaluations and 0 to 4 minutes).")
    assert cut_short(measures.table([run("a")])) == ""
    assert failures(measures.table([run("a")])) == ""


def test_entries_with_fewer_rows_are_recognisable():
    table = measures.table([run("a"), run("a", "q"), run("b")])
    assert {
        line.split(" | ")[0]: line.split(" | ")[-2] for line in summary_table(table).splitlines()[2:]
    } == {
        "| a": "2",
        "| b": "1 of 2",
    }


def test_report_without_runs_of_the_library_says_so():
    assert "no runs here yet" in losses(measures.table([run("peer")]))


def test_readme_block_has_both_ends_rows_and_seeds_and_replaces_only_the_marked_part():
    records = [run("dcmaes auto", instance=i) for i in range(2)]
    records += [run("peer"), run("worse", trace=[(1, 8.0)])]
    table = measures.table(records)
    line = [cell.strip() for cell in readme_block({"s": table}, {}).splitlines()[-1].split("|")[1:-1]]
    area = f"{table['p']['peer'].area(EARLY):.3f} / {table['p']['peer'].area():.3f}"
    assert line == [
        "s",
        "1",
        "2; peers 1",
        *("dcmaes auto", area, "1.00 / 1.00"),
        *("peer", area, "1.00 / 1.00"),
    ]
    assert replace_block("no markers", "block") == "no markers"


def test_readme_prefers_a_rival_that_ran_at_least_half_of_the_rows():
    rows = ["p", "q", "r"]
    records = [run("dcmaes auto", row, trace=[(1, 8.0), (10, 0.0)]) for row in rows]
    records += [run("whole", row, trace=SLOW) for row in rows] + [run("lucky", "p", trace=FAST)]
    assert "| whole |" in readme_block({"s": measures.table(records)}, {})


def test_csv_has_both_ends_and_the_shares_of_runs_cut_short(tmp_path):
    records = [run("dcmaes auto"), run("peer", trace=FAST), run("slow", trace=[(1, 8.0)], stop="time")]
    table = measures.table(records)
    path = write_csv(tmp_path / "s.csv", table)
    with path.open(newline="") as file:
        lines = {line["optimizer"]: line for line in csv.DictReader(file)}
    own = table["p"]["dcmaes auto"]
    assert float(lines["dcmaes auto"]["area 50 d"]) == pytest.approx(own.area(EARLY), rel=1e-4)
    ratio = own.area() / table["p"]["peer"].area()
    assert float(lines["dcmaes auto"]["VBP"]) == pytest.approx(ratio, rel=1e-4)
    assert (lines["slow"]["timed out"], lines["slow"]["failed"]) == ("1", "0")


def test_figure_draws_those_that_ran_the_rows_that_most_ran(tmp_path):
    names = ["dcmaes auto", "dcmaes cma", *"abcdefgh"]
    records = [run(name, problem) for name in names for problem in ("p", "q")]
    records += [run("dcmaes auto", "extra"), run("partial", "p")]
    assert {name: len(runs) for name, runs in common_runs(records).items()} == dict.fromkeys(names, 2)
    pytest.importorskip("matplotlib")
    path = tmp_path / "f.svg"
    assert sorted(ecdf_figure(records, {}, path)) == sorted(names)
    assert "3 other peers" in path.read_text()


def test_references_keep_the_best_value_and_its_source(tmp_path):
    first = run("a", optimum=None, trace=[(1, 8.0), (4, 3.0)])
    assert update_references(tmp_path, [first, run("b", optimum=None, trace=[(1, 5.0)])]) == {"p #0": 3.0}
    assert update_references(tmp_path, [run("c", optimum=None, trace=[(1, 4.0)])]) == {"p #0": 3.0}
    assert '"source": "a, 100 evaluations, seed 0"' in (tmp_path / "references.json").read_text()
    assert update_references(tmp_path, [run("known", problem="q")]) == {"p #0": 3.0}


def test_ranks_after_so_many_evaluations_by_hand():
    records = [
        run("a", "p", trace=[(1, 8.0), (40, 2.0), (90, 1.0)]),
        run("b", "p", trace=[(1, 8.0), (60, 1.0)]),
        run("c", "p", trace=[(1, 8.0), (50, 2.0)]),
        run("a", "q", trace=[(1, 8.0), (2, 0.0)]),
        run("b", "q", trace=[(1, 8.0)]),
    ]
    scores = measures.table(records)
    assert compare.mean_ranks_at(scores, 50, "abc") == {"a": (1.5 + 1) / 2, "b": (3 + 2) / 2, "c": 1.5}
    assert compare.mean_ranks_at(scores, 100, "abc") == {"a": (1.5 + 1) / 2, "b": (1.5 + 2) / 2, "c": 3.0}
    assert compare.mean_ranks_at(scores, 100, "ab") == {"a": (1.5 + 1) / 2, "b": (1.5 + 2) / 2}
    assert compare.mean_ranks_at(scores, 200, "abc") == {}


def test_ranks_are_taken_on_the_instances_that_all_of_those_ranked_ran():
    records = [run("a", trace=[(1, 8.0), (9, 2.0)]), run("a", instance=1, trace=[(1, 8.0)])]
    records += [run("b", trace=[(1, 8.0), (9, 4.0)]), run("b", instance=1, trace=[(1, 8.0), (9, 0.0)])]
    scores = measures.table([*records, run("c", trace=[(1, 8.0), (9, 3.0)])])
    assert compare.mean_ranks_at(scores, 100, "ab") == {"a": 2.0, "b": 1.0}
    assert compare.mean_ranks_at(scores, 100, "abc") == {"a": 1.0, "c": 2.0, "b": 3.0}
    apart = measures.table([run("a"), run("b", instance=1)])
    assert compare.mean_ranks_at(apart, 100, "ab") == {}


def test_the_suite_of_small_budgets_has_a_table_of_ranks_with_the_held_out_rows():
    records = [
        run(name, row, trace=[(1, 8.0), (when, 1.0)], budget=200, dimension=9)
        for name, when in (("dcmaes auto", 10), ("b", 150))
        for row in ("inventory", "staffing")
    ]
    scores = measures.table(records)
    text = suite_section("small", scores)
    assert "1 of the 2 rows are held out: nothing is tuned on them" in text
    assert "| dcmaes auto | 1.0 | 1.0 | 1.5 | 1.0 | 1.0 | 1.5 | 2 |" in text
    assert "on the seeds that all of them ran" not in text
    assert "held out" not in suite_section("cma", scores)
    slow = measures.table([*records, run("slow", "staffing", trace=[(1, 8.0), (40, 2.0)], budget=200)])
    text = suite_section("small", slow).split("on the seeds that all of them ran:")[1]
    assert "| slow | 2.0 | 2.0 | 3.0 | - | - | - | 1 |" in text


def test_wins_are_counted_by_instance_and_rows_lost_are_named():
    late = [run("dcmaes auto", row, i, [(1, 8.0), (90, 0.0)]) for row in "pq" for i in range(3)]
    early = [run("fast", row, i, [(1, 8.0), (40, 2.0)]) for row in "pq" for i in range(3)]
    cut = run("slow", "q", 0, [(1, 8.0), (40, 2.0)], n_evaluations=70, stop="time")
    same = run("dcmaes auto", "r", 0, [(1, 8.0)])
    scores = measures.table([*late, *early, cut, same, run("fast", "r", 0, [(1, 8.0)])])
    assert compare.outcomes(scores, "dcmaes auto", "fast", 50)["p"] == compare.Outcomes(0, 3, 0)
    assert compare.outcomes(scores, "dcmaes auto", "slow", 100) == {}  # it had ended by then
    lines = won_and_lost(scores).splitlines()
    assert "| fast | 3 | 0 : 6 (1) | 6 : 0 (1) | - |" in lines
    assert "| slow | 1 | 0 : 1 | - | - |" in lines
    assert rows_lost(scores).splitlines()[2:] == [
        "- fast: at 50 on 2 of 3 rows (p, q)",
        "- slow: at 50 on 1 of 1 rows (q)",
    ]
    assert rows_lost(measures.table(late)) == won_and_lost(measures.table(late)) == ""
