"""The rows of published tables: what they are made of, how they are judged, how the page is written."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

import published
from dcmaes import problems
from dcmaes_bench import Domain, optimizers
from dcmaes_bench._recorder import Recorder
from dcmaes_bench._results import RESULTS, read
from dcmaes_bench._suite_published import Entry, groups, merit_factor, negated

ENTRIES = [entry for group in groups() for entry in group.entries]
WITHOUT_FILES = {f"{entry.label}, {entry.budget}": entry for entry in ENTRIES if entry.file is None}
ENTRY = Entry("onemax", problems.onemax, 100, "others 50", 40)


def test_label_and_budget_tell_rows_apart():
    assert len({(entry.label, entry.budget) for entry in ENTRIES}) == len(ENTRIES)


@pytest.mark.parametrize("name", WITHOUT_FILES)
def test_rows_have_problems_that_can_be_judged(name):
    entry = WITHOUT_FILES[name]
    problem = entry.row(Path()).problem(2)
    assert entry.shown is not None or problem.optimum is not None
    point = Domain.of(problem).low if problem.starts is None else problem.starts[0]
    assert math.isfinite(problem(point))


def test_rows_of_files_read_them(tmp_path):
    (tmp_path / "bqp50.txt").write_text("1\n2 1\n1 2 3\n")
    entry = next(entry for entry in ENTRIES if entry.label == "bqp50")
    assert entry.row(tmp_path).problem(10).optimum == -6  # seeds beyond the file begin again
    (tmp_path / "maxcut-johnson8-2-4.clq.wcnf").write_text("p wcnf 2 2\n3 1 0\n1 -1 2 0")
    entry = next(entry for entry in ENTRIES if entry.label.startswith("weighted MaxSAT, 28"))
    assert entry.row(tmp_path).problem(0).reference == -38.162


@pytest.mark.parametrize(
    ("changes", "figures", "verdict"),
    [
        ({}, [30.0, 40.0, math.inf], True),
        ({}, [30.0, 41.0, 42.0], False),
        ({}, [30.0, 39.0, 42.0, 43.0], False),  # the median of an even number is between two
        ({}, [], None),
        ({"slowest": 80.0}, [30.0, 40.0, 81.0], False),
        ({"share": 0.9}, [30.0] * 9 + [50.0], True),
        ({"share": 0.9}, [30.0] * 8 + [50.0] * 2, False),
        ({"share": 1.0}, [30.0, 41.0], False),
        ({"shown": float, "goal": -38.162}, [-38.1621, -38.1616], True),
        ({"shown": negated, "goal": 0.6}, [0.7, 0.5, 0.4], False),
        ({"shown": negated, "goal": 0.6}, [0.7, 0.6, 0.4], True),
    ],
)
def test_a_row_is_reached_if_enough_seeds_are_at_the_goal(changes, figures, verdict):
    assert published.is_reached(replace(ENTRY, **changes), figures) is verdict


def test_a_row_without_a_goal_has_to_beat_the_best_of_the_others():
    entry = replace(ENTRY, goal=None, shown=merit_factor)
    assert published.is_reached(entry, [5.0, 4.0, 3.0], [3.5, 3.9]) is True
    assert published.is_reached(entry, [5.0, 4.0, 3.0], [3.5, 4.0]) is False
    assert published.is_reached(entry, [5.0, 4.0, 3.0]) is None


def test_the_page_in_the_documentation_is_that_of_the_committed_runs():
    assert published.PAGE.read_text(encoding="utf-8") == published.page(read(RESULTS, "published"))


def test_runs_are_made_once_and_shown(tmp_path, capsys):
    arguments = ["--only", "3-colouring", "--seeds", "2", "--optimizers", "dcmaes auto,random"]
    arguments += ["--time-limit", "0", "--results", str(tmp_path), "--page", str(tmp_path / "page.md")]
    published.main(arguments)
    assert capsys.readouterr().out.count("evaluations, ") == 4
    published.main(arguments)
    assert capsys.readouterr().out.count("evaluations, ") == 0
    rows = [line for line in (tmp_path / "page.md").read_text().splitlines() if "out of time" in line]
    assert [row.split(" | ")[0] for row in rows] == ["| 3-colouring, 40 vertices", "| *random*"]
    assert " | 2 (2 out of time) | - | - | - | **no** |" in rows[0]


def test_rows_without_their_file_are_left_out(tmp_path, capsys):
    published.main(
        ["--only", "bqp", "--seeds", "1", "--data", str(tmp_path), "--page", str(tmp_path / "p.md")]
    )
    assert capsys.readouterr().out.count("left out") == 2


def test_the_library_begins_with_the_points_that_come_with_a_problem():
    problem = problems.ehrlich(64, 4, 10, instance=1)  # hardly any other string is feasible
    recorder = Recorder(problem, budget=len(problem.starts))
    optimizers()["dcmaes mixing"].run(recorder.domain, recorder, recorder.budget, 0)
    assert recorder.best == min(problem(x) for x in problem.starts)
