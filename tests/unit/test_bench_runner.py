"""Recorder, results and runner of the benchmark."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from dcmaes import problems
from dcmaes.problems import Problem
from dcmaes_bench import Domain, Row, RunEnded, optimizer, optimizers, suite, suites
from dcmaes_bench import _main as main_module
from dcmaes_bench import _results as results_module
from dcmaes_bench._main import main
from dcmaes_bench._recorder import Recorder
from dcmaes_bench._rows import missing_package
from dcmaes_bench._runner import Job, plan, run_all, run_once

ROW = Row("mine", "onemax n=8", partial(problems.onemax, 8), 50)


@pytest.fixture
def registered():
    """Register optimizers for one test only."""
    added = []

    def register(name, run, **kwargs):
        optimizer(name, **kwargs)(run)
        added.append(name)

    yield register
    for name in added:
        del optimizers()[name]


def test_recorder_counts_evaluations_and_different_points():
    recorder = Recorder(problems.sphere(2, 0, 10), budget=10)
    for x in ([0, 0], [0, 1], [0, 0], [-0.0, 0.0]):
        recorder(x)
    assert (recorder.n_evaluations, recorder.n_distinct) == (4, 2)


def test_recorder_stops_at_the_budget_and_does_not_count_beyond():
    recorder = Recorder(problems.onemax(4), budget=1)
    recorder(1 - problems.onemax(4).solution)
    for _ in range(2):
        with pytest.raises(RunEnded, match="budget"):
            recorder(np.zeros(4))
    assert recorder.n_evaluations == 1


def test_recorder_stops_when_time_is_over():
    recorder = Recorder(problems.onemax(4), budget=5, time_limit=-1.0)
    with pytest.raises(RunEnded, match="time"):
        recorder(np.zeros(4))


@pytest.mark.parametrize("x", [[0, 0, 0], [0, 0, 0, 2], [0, 0, 0, 0.5], [0, 0, 0, np.nan], [[0, 0, 0, 0]]])
def test_recorder_refuses_points_outside(x):
    with pytest.raises(ValueError, match="not a point of the domain"):
        Recorder(problems.onemax(4), budget=5)(x)


def test_trace_keeps_the_last_improvement_of_each_twentieth_of_a_decade():
    values = iter(range(1000, 0, -1))
    problem = Problem("falling", ({"type": "binary"},), lambda x: next(values))
    recorder = Recorder(problem, budget=1000)
    for _ in range(1000):
        recorder([0])
    evaluations = [n for n, _ in recorder.trace]
    assert evaluations[:5] == [1, 2, 3, 4, 5]
    assert evaluations[-1] == 1000
    assert all(value == 1001 - n for n, value in recorder.trace)
    assert len(evaluations) <= 61
    assert max(np.diff(np.log10(evaluations[20:]))) < 0.11


def test_domain_gives_every_state_its_share():
    problem = Problem(
        "p",
        ({"type": "integer", "low": -1, "high": 1}, {"type": "float", "low": 1e-4, "high": 1.0, "log": True}),
        sum,
    )
    domain, rng = Domain.of(problem), np.random.default_rng(0)
    draws = np.array([domain.sample(rng) for _ in range(3000)])
    counts = np.bincount((draws[:, 0] + 1).astype(int))
    assert abs(counts - 1000).max() < 100  # 3.9 standard deviations: false alarm about 3e-4
    assert np.log10(draws[:, 1]).mean() == pytest.approx(-2, abs=0.09)  # 4.3 standard errors
    assert all(domain.contains(x) for x in draws)


def test_record_survives_the_file(tmp_path):
    record = run_once(Job(ROW, "random", 0, 50, 60.0))
    path = results_module.path_of(tmp_path, "mine", "a (b) + c")
    results_module.append(path, record)
    with path.open("a") as file:
        file.write('{"optimizer": "cut sho')
    assert results_module.read(tmp_path, "mine") == [
        record.__class__(**(vars(record) | {"own_time": float(f"{record.own_time:.3g}")}))
    ]


def test_runs_are_resumed_not_repeated(tmp_path, registered):
    calls = []

    def counting(domain, evaluate, budget, seed):
        calls.append(seed)
        while True:
            evaluate(np.zeros(domain.dimension))

    registered("counting", counting)
    jobs = plan([ROW], ["counting"], range(3))
    assert run_all(jobs[:2], tmp_path, workers=1) == 2
    assert run_all(jobs, tmp_path, workers=1) == 1
    assert calls == [0, 1, 2]
    assert len(results_module.read(tmp_path, "mine")) == 3


def test_runs_are_made_again_after_the_optimum_was_corrected(tmp_path):
    jobs = plan([ROW], ["random"], range(2))
    run_all(jobs, tmp_path, workers=1)
    path = results_module.path_of(tmp_path, "mine", "random")
    first, second = path.read_text().splitlines(keepends=True)
    path.write_text(first.replace('"optimum":0.0', '"optimum":1.0') + second)
    assert run_all(jobs, tmp_path, workers=1) == 1
    assert {record.optimum for record in results_module.read(tmp_path, "mine")} == {0.0}


def test_runs_made_again_replace_the_old_ones(tmp_path):
    jobs = plan([ROW], ["random"], range(2))
    run_all(jobs, tmp_path, workers=1)
    assert run_all(jobs[:1], tmp_path, workers=1, again=True) == 1
    path = results_module.path_of(tmp_path, "mine", "random")
    newest = path.read_text().splitlines()[-1]
    results_module.compact(tmp_path, "mine")
    lines = path.read_text().splitlines()
    assert len(lines) == 2
    assert newest in lines


def test_plan_fills_all_rows_with_the_first_seeds_first():
    rows = [ROW, Row("mine", "onemax n=9", partial(problems.onemax, 9), 50)]
    jobs = plan(rows, ["random"], range(7), budget=20)
    assert [(job.row.label[-1], job.instance) for job in jobs][4:8] == [
        ("8", 4),
        ("9", 0),
        ("9", 1),
        ("9", 2),
    ]
    assert [job.instance for job in jobs[10:]] == [5, 6, 5, 6]
    assert {job.budget for job in jobs} == {20}


def test_optimizer_that_returns_early_is_started_again_with_another_seed(registered):
    seeds = []

    def short(domain, evaluate, budget, seed):
        seeds.append((seed, budget))
        for _ in range(20):
            evaluate(1 - problems.onemax(8, instance=4).solution)

    registered("short", short)
    record = run_once(Job(ROW, "short", 4, 50, 60.0))
    assert (record.stop, record.n_evaluations, record.n_distinct) == ("budget", 50, 1)
    assert [budget for _, budget in seeds] == [50, 30, 10]
    assert len({seed for seed, _ in seeds}) == 3


def test_optimizer_that_fails_keeps_what_it_found(registered):
    def failing(domain, evaluate, budget, seed):
        evaluate(np.zeros(domain.dimension))
        raise KeyError("inside")

    registered("failing", failing)
    record = run_once(Job(ROW, "failing", 0, 50, 60.0))
    assert record.stop == "error: KeyError: 'inside'"
    assert record.n_evaluations == 1


def test_optimizer_that_never_evaluates_does_not_hang(registered):
    registered("idle", lambda domain, evaluate, budget, seed: None)
    assert run_once(Job(ROW, "idle", 0, 50, 60.0)).stop == "error: returned without evaluating anything"


def test_optimizer_stuck_outside_the_objective_is_stopped(registered):
    def stuck(domain, evaluate, budget, seed):
        evaluate(np.zeros(domain.dimension))
        time.sleep(60)

    registered("stuck", stuck)
    assert run_once(Job(ROW, "stuck", 0, 50, 0.01)).stop == "time"


def test_the_example_of_the_guide_runs():
    guide = Path(__file__).parents[2] / "docs" / "guides" / "adding-an-optimizer.md"
    code = re.search(r"```python\n(.*?)```", guide.read_text(), re.DOTALL).group(1)
    # The tests of the guides may have run it in this process too.
    optimizers().pop("my hill climber", None)
    exec(compile(code, str(guide), "exec"), {})  # noqa: S102
    try:
        record = run_once(Job(ROW, "my hill climber", 0, 2000, 60.0))
    finally:
        del optimizers()["my hill climber"]
    assert record.stop == "target"


def test_two_optimizers_cannot_share_a_name():
    with pytest.raises(ValueError, match="'random' is registered already"):
        optimizer("random")(lambda *_: None)


def test_optimizers_refuse_domains_they_cannot_search(registered):
    registered("small", lambda *_: None, kinds="i", max_states=2, uniform_states=True)
    small = optimizers()["small"]
    assert small.accepts(Domain.of(problems.onemax(3)))
    assert not small.accepts(Domain.of(problems.sphere(3)))
    assert not small.accepts(Domain.of(problems.categorical_onemax(3, 2)))


@pytest.mark.parametrize("name", suites())
def test_suites_have_different_labels_that_their_problems_carry(name):
    if (package := missing_package(name)) is not None:
        pytest.skip(f"suite {name} needs the package {package!r}: make bench-setup")
    rows = suite(name)
    assert len({row.label for row in rows}) == len(rows)
    assert any(row.is_quick for row in rows)
    for row in rows[:: max(1, len(rows) // 8)]:
        problem = row.problem(3)
        assert problem.name == row.label
        x = Domain.of(problem).sample(np.random.default_rng(0))
        assert problem(x) == problem(x)
        assert problem.optimum is None or problem(x) >= problem.optimum - 1e-9


@pytest.mark.parametrize("name", ["pbo", "mixint", "integer", "categorical", "combinatorial"])
def test_budgets_are_about_500_evaluations_per_variable(name):
    if (package := missing_package(name)) is not None:
        pytest.skip(f"suite {name} needs the package {package!r}: make bench-setup")
    rows = suite(name)[::7]
    shares = [row.budget / row.problem(0).dimension for row in rows]
    exact = name in ("pbo", "mixint", "integer")
    assert all(share == 500 if exact else 250 <= share <= 750 for share in shares)


def test_unknown_suite_is_named():
    with pytest.raises(ValueError, match="got 'nonsense'"):
        suite("nonsense")


def test_command_line_runs_shows_and_reports(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    results, page = tmp_path / "results", tmp_path / "docs" / "benchmarks.md"
    run = ["run", "--suite", "categorical", "--only", "onemax 20x3", "--optimizers", "random,(1+1)-EA"]
    run += ["--seeds", "2", "--budget", "40", "--workers", "1", "--results", str(results)]
    assert main(run) == 0
    assert main(run) == 0
    assert "0 runs made, 4 were there" in capsys.readouterr().out
    assert main(["show", "--results", str(results)]) == 0
    assert "| categorical onemax 20x3 |" in capsys.readouterr().out
    report = ["report", "--results", str(results), "--page", str(page), "--readme", str(tmp_path / "none.md")]
    assert main(report) == 0
    assert "## Suite `categorical`" in page.read_text()
    lines = (tmp_path / "tables" / "categorical.csv").read_text().splitlines()
    assert lines[0].startswith("problem,optimizer,runs,area 50 d,area half,area,VBP 50 d,VBP half,VBP,")
    assert len(lines) == 3
    first = (page.parent / "images" / "bench-categorical.svg").read_bytes()
    assert main(report) == 0
    assert (page.parent / "images" / "bench-categorical.svg").read_bytes() == first


def test_quick_runs_need_no_command_and_leave_the_committed_files_alone(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    for name, path in (("PAGE", "page.md"), ("README", "README.md"), ("RESULTS", "results")):
        monkeypatch.setattr(main_module, name, tmp_path / path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "README.md").write_text("<!-- bench --> old <!-- /bench -->")
    run = [
        "--quick",
        "--report",
        "--suite",
        "categorical",
        "--optimizers",
        "dcmaes cma,random",
        "--workers",
        "1",
    ]
    assert main(run) == 0
    assert "categorical: 4 runs made" in capsys.readouterr().out
    assert [path.name for path in tmp_path.iterdir() if not path.name.startswith("dcmaes-bench")] == [
        "README.md"
    ]
    assert "old" in (tmp_path / "README.md").read_text()
    (folder,) = tmp_path.glob("dcmaes-bench-*")
    assert "**Where dcmaes cma loses**" in (folder / "page.md").read_text()
    assert (folder / "tables" / "categorical.csv").exists()


def test_the_folder_is_a_program_that_runs_from_anywhere(tmp_path):
    """Two workers: processes that are started anew find the package too."""
    folder = Path(__file__).parents[2] / "benchmarks"
    run = [sys.executable, folder, "run", "--suite", "categorical", "--only", "onemax 20x3", "--seeds", "2"]
    run += ["--optimizers", "random", "--budget", "40", "--workers", "2", "--results", tmp_path / "results"]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "categorical: 2 runs made, 0 were there" in done.stdout


def test_command_line_names_what_is_unknown(tmp_path, capsys):
    assert main(["run", "--optimizers", "nonsense", "--results", str(tmp_path)]) == 2
    assert "unknown optimizer 'nonsense'" in capsys.readouterr().err


def test_command_line_says_which_runs_cannot_be_compared(tmp_path, capsys):
    record = run_once(Job(ROW, "random", 1, 30, 60.0))
    path = results_module.path_of(tmp_path, "categorical", "random")
    results_module.append(path, replace(record, best=-5.0))
    assert main(["show", "--suite", "categorical", "--results", str(tmp_path)]) == 1
    assert "error: onemax n=8 #1: random found -5, better than the optimum 0.0" in capsys.readouterr().err


def test_committed_lines_are_plain_json(tmp_path):
    record = run_once(Job(ROW, "random", 1, 30, 60.0))
    path = results_module.path_of(tmp_path, "mine", "random")
    results_module.append(path, record)
    data = json.loads(path.read_text())
    assert data["trace"][0][0] == 1
    assert len(data["trace"][0]) == len(data["trace"][1])


def test_a_quick_run_fails_if_an_optimizer_breaks_off(tmp_path, registered, capsys):
    def failing(domain, evaluate, budget, seed):
        evaluate(np.zeros(domain.dimension))
        raise KeyError("inside")

    registered("failing", failing)
    chosen = ["--suite", "categorical", "--optimizers", "failing,random"]
    assert main(["--quick", *chosen, "--workers", "1", "--results", str(tmp_path)]) == 1
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 3
    assert said[1] == "categorical onemax 20x5 #0 failing: error: KeyError: 'inside'"
