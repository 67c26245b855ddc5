"""The commands, called as a user calls them: what they print, write and exit with."""

import csv
import io
import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import SPACE, SPEC, run

import dcmaes as dc
from dcmaes.cli._execution import shell_line


def test_version():
    assert run("--version").stdout == f"dcmaes, version {dc.__version__}\n"


def test_help_says_the_exit_codes():
    text = run("--help").stdout
    for code in (
        "0 done",
        "1 nothing feasible",
        "2 wrong usage",
        "3 the store",
        "130 interrupted",
        "143 term",
    ):
        assert code in " ".join(text.split())


def test_from_init_to_report(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "wrote mine.toml" in run("init", "mine.toml").stdout
    assert "mine.toml: good" in run("check", "mine.toml").stdout
    assert "best value" in run("minimize", "mine.toml", "--budget", 30, "--seed", 1).stdout
    assert "not running: budget of 30" in run("status", "mine.db").stdout
    assert run("resume", "mine.db", "--budget", 40).exit_code == 0
    assert json.loads(run("best", "mine.toml").stdout)["value"] < 2.0
    assert run("report", "mine.db").stdout == "wrote mine.html\n"
    assert "mine.db" in Path("mine.html").read_text()


def test_the_defaults_are_what_a_run_begins_with(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run("init", "mine.toml")
    text = (tmp_path / "mine.toml").read_text()
    # As the comments of the example say.
    known = 'mode = { type = "categorical", choices = ["safe", "fast", "exact"], prior = [1, 3, 1] }'
    assert f"# {known}" in text
    text = re.sub(r"(?m)^mode = .*$", known, text).replace("high = 20 }", "high = 20, default = 5 }")
    (tmp_path / "mine.toml").write_text(text)
    assert "n=5" in run("check", "mine.toml").stdout
    run("minimize", "mine.toml", "--budget", "3", "--quiet")
    first = min(dc.store.read("mine.db").history, key=lambda record: record.id)
    assert first.point == {"x": 0.5, "n": 5, "mode": "fast", "extra": False}


def test_init_replaces_nothing_unasked(folder):
    assert "is there already" in run("init", "tune.toml", code=2).stderr
    assert Path("tune.toml").read_text() == SPEC
    run("init", "tune.toml", "--force")
    run("check", "tune.toml")
    assert "cannot be written" in run("init", "no/such/folder.toml", code=2).stderr


def test_minimize_in_words(folder):
    result = run("minimize", "tune.toml", "--quiet")
    assert result.stderr == ""
    assert result.stdout.startswith("best value  ")
    assert "stopped     budget of 24 evaluations used" in result.stdout
    assert not Path("pwned").exists()


def test_minimize_as_json(folder):
    result = run("minimize", "tune.toml", "--json", "--budget", 30, "--store", "other.db")
    assert "30/30" in result.stderr
    data = json.loads(result.stdout)
    assert (data["n_evaluations"], data["stop_reason"], data["seed"]) == (30, "budget", 3)
    assert data["store"] == "other.db"
    assert data["n_failures"] > 0
    run_ = dc.store.read("other.db")
    assert data["best"] == {"value": run_.result().fun, "violation": 0.0, "point": run_.result().x}
    assert run_.failures[0].reason.startswith("CommandError: exit code 3")


def test_output_of_every_evaluation_is_kept_beside_the_store(folder):
    run("minimize", "tune.toml", "--quiet")
    history = dc.store.read("tune.db").history
    assert len(history) == 24
    for record in history:
        kept = json.loads((folder / "tune.db.outputs" / f"{record.id:06d}" / "evaluation.json").read_text())
        assert kept["point"] == record.point
        assert (kept["value"] is None) == math.isnan(record.value)
        assert kept["value"] is None or kept["value"] == record.value


def test_no_store(folder):
    result = run("minimize", "tune.toml", "--quiet", "--no-store", "--json")
    assert json.loads(result.stdout)["store"] is None
    assert {path.name for path in folder.iterdir()} == {"tune.toml"}


def test_one_worker_gives_the_run_of_the_library(folder):
    run("minimize", "tune.toml", "--quiet", "--workers", 1)

    def objective(point):
        if point["mode"] == "bad":
            raise ValueError
        return point["n"] ** 2 + 0.5 * point["flag"]

    spec_space = dc.store.read("tune.db").space
    expected = dc.minimize(objective, spec_space, budget=24, seed=3)
    assert dc.store.read("tune.db").history.points == expected.history.points


def test_a_stored_run_goes_on(folder):
    run("minimize", "tune.toml", "--quiet", "--budget", 10)
    result = run("minimize", "tune.toml")
    assert "continuing the run in tune.db" in result.stderr
    assert len(dc.store.read("tune.db").history) == 24


def test_resume_keeps_what_the_command_line_said(folder):
    run("minimize", "tune.toml", "--quiet", "--budget", 10, "--strategy", "random", "--seed", 8)
    assert json.loads(run("resume", "tune.db", "--quiet", "--json").stdout)["n_evaluations"] == 10
    data = json.loads(run("resume", "tune.db", "--quiet", "--json", "--budget", 15).stdout)
    assert (data["n_evaluations"], data["strategy"], data["seed"]) == (15, "random", 8)


def test_output_of_an_older_run_is_set_aside(folder):
    run("minimize", "tune.toml", "--quiet")
    Path("tune.db").unlink()
    assert "is now tune.db.outputs.1" in run("minimize", "tune.toml", "--quiet", "--budget", 5).stderr
    assert len(list(Path("tune.db.outputs").iterdir())) == 5
    assert len(list(Path("tune.db.outputs.1").iterdir())) == 24


def test_functions_that_take_too_long(folder):
    Path("my_sleep_for_the_test.py").write_text("import time\ndef f(point):\n    time.sleep(60)\n")
    Path("tune.toml").write_text("objective = 'my_sleep_for_the_test:f'\ntimeout = 0.2\nbudget = 2\n" + SPACE)
    run("minimize", "tune.toml", "--quiet", code=1)
    assert "timed out" in dc.store.read("tune.db").failures[0].reason


def test_an_infeasible_best(folder):
    Path("tune.toml").write_text("command = 'sh -c \"exit 7\"'\ninfeasible_codes = 7\nbudget = 4\n" + SPACE)
    run("minimize", "tune.toml", code=1)
    assert json.loads(run("best", "tune.db", code=1).stdout)["violation"] == 1.0


def test_limits_of_the_command_line(folder):
    Path("tune.toml").write_text("command = 'sh -c \"sleep 0.1; echo 1\"'\nbudget = 4000\n" + SPACE)
    result = run("minimize", "tune.toml", "--time-limit", "1s", "--quiet", "--json")
    assert json.loads(result.stdout)["stop_reason"] == "time_limit"


def test_functions(folder):
    Path("my_functions_for_the_test.py").write_text(
        "def f(point):\n    return point['n'] ** 2\n\ndef bound(point):\n    return 3 - point['n']\n"
    )
    text = "objective = 'MODULE:f'\nconstraints = ['MODULE:bound']\nbudget = 40\ndirection = 'minimize'\n"
    spec = text.replace("MODULE", "my_functions_for_the_test") + SPACE
    Path("tune.toml").write_text(spec)
    assert "my_functions_for_the_test:f" in run("check", "tune.toml", "--try").stdout
    data = json.loads(run("minimize", "tune.toml", "--quiet", "--json", "--workers", 2).stdout)
    assert data["best"]["value"] == 9.0
    Path("tune.toml").write_text(spec.replace("'minimize'", "'maximize'"))
    assert run("minimize", "tune.toml", "--store", "b.db", "--quiet").stdout.startswith("best value  81")
    Path("tune.toml").write_text(spec.replace("test:f'", "test:g'"))
    assert "'g' is not in" in run("check", "tune.toml", code=2).stderr


def test_what_functions_print_is_kept_out_of_the_result(folder):
    Path("my_noise_for_the_test.py").write_text("def f(point):\n    print('noise')\n    return point['n']\n")
    Path("tune.toml").write_text("objective = 'my_noise_for_the_test:f'\nbudget = 4\n" + SPACE)
    for workers in (1, 2):
        arguments = ("minimize", "tune.toml", "--quiet", "--json", "--no-store", "--workers", str(workers))
        done = subprocess.run(
            [sys.executable, "-m", "dcmaes", *arguments], capture_output=True, text=True, check=True
        )
        assert json.loads(done.stdout)["n_evaluations"] == 4
        # Workers write at the same time, so lines may run into each other.
        assert sorted(done.stderr) == sorted(4 * "noise\n")


def test_positional_spaces(folder):
    Path("my_sum_for_the_test.py").write_text("def f(x):\n    return int(x.sum())\n")
    Path("tune.toml").write_text(
        "objective = 'my_sum_for_the_test:f'\nbudget = 40\n[[space.array]]\ntype = 'binary'\nrepeat = 4\n"
    )
    run("minimize", "tune.toml", "--quiet")
    assert json.loads(run("best", "tune.db", "--point").stdout) == [0, 0, 0, 0]
    header = run("export", "tune.db", "--csv", "-").stdout.splitlines()[0]
    assert header.startswith("id,x0,x1,x2,x3,value")


def test_constraints_and_starting_points(folder):
    head, _, tail = SPEC.partition("[space]")
    point = '{ n = 8, mode = "good", flag = true }'
    Path("tune.toml").write_text(f"{head}constraints = ['n >= 4']\nstart = [{point}]\n[space]{tail}")
    run("minimize", "tune.toml", "--quiet", "--workers", 1)
    history = dc.store.read("tune.db").history
    assert history[0].point == {"n": 8, "mode": "good", "flag": True}
    assert min(point["n"] for point in history.points) == 4


def test_demo():
    assert "known optimum" in run("demo", "--budget", 30).stdout


def test_bench_says_where_the_benchmark_is():
    done = run("bench", "run", "--quick", code=2)
    assert "run: make bench" in done.stderr
    assert "bench" not in run("--help").stdout


def test_importing_the_library_loads_neither_click_nor_rich():
    code = (
        "import sys, dcmaes; print([name for name in ('click', 'rich', 'dcmaes.cli') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shell_completion(shell, monkeypatch):

    environment = os.environ | {"_DCMAES_COMPLETE": f"{shell}_source"}
    done = subprocess.run(
        [str(Path(sys.executable).parent / "dcmaes")],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if "bash" in done.stderr.lower():
        pytest.skip("click completes for newer versions of bash only")
    assert "_DCMAES_COMPLETE" in done.stdout


def test_patience_in_the_file_and_on_the_command_line(folder):
    Path("tune.toml").write_text(
        "command = 'echo 1 {n}{mode}{flag}'\nvalue = { regex = '^1' }\nbudget = 40\npatience = 3\n" + SPACE
    )
    assert "patience of 3 evaluations used up: nothing better than 1 at evaluation 1" in (
        run("minimize", "tune.toml", "-q").stdout
    )
    assert "patience of 5 evaluations used up" in run("resume", "tune.db", "-q", "--patience", 5).stdout
    data = json.loads(run("minimize", "tune.toml", "-q", "--patience", 7, "--json").stdout)
    assert (data["stop_reason"], data["n_evaluations"]) == ("patience", 8)


def test_escape_sequences_never_reach_the_terminal(folder):
    text = SPEC.replace('"good", "bad"', '"\\u001b[31mred", "\\u001b]0;title\\u0007"').replace(
        "budget = 24", "budget = 4"
    )
    Path("tune.toml").write_text(text)
    outputs = [run("check", "tune.toml", "--try"), run("minimize", "tune.toml"), run("status", "tune.db")]
    outputs += [run("best", "tune.db", *form) for form in ((), ("--point",), ("--command",))]
    for done in outputs:
        assert "\x1b" not in done.output
        assert "\x07" not in done.output
    assert "mode  \\x1b" in outputs[1].stdout


def test_a_command_line_with_control_characters_reads_back(folder):
    arguments = ["echo", "it's", "\x1b[31m\\ 'é'\n"]
    done = subprocess.run(
        ["bash", "-c", shell_line(["printf", "%s|", *arguments])], capture_output=True, check=True
    )
    assert done.stdout.decode() == "".join(f"{argument}|" for argument in arguments)


def test_a_warm_start_from_a_file(folder):
    run("minimize", "tune.toml", "-q", "--store", "old.db", "--workers", 1, "--budget", 10)
    run("export", "old.db", "--csv", "old.csv")
    for source in ("old.db", "old.csv"):
        stem = source.replace(".", "-")
        Path(f"{stem}.toml").write_text(f'x0 = "{source}"\n{SPEC}')
        run("minimize", f"{stem}.toml", "-q", "--budget", 5)
        history = dc.store.read(f"{stem}.db").history
        assert (len(history), int(history.is_given.sum())) == (15, 10)
    known = dc.store.read("old.db").history
    assert [record.value for record in history][:10] == pytest.approx(known.values, nan_ok=True)
    # The option does the same, and a run that was begun with it is resumed without.
    run("minimize", "tune.toml", "-q", "--x0", "old.csv", "--budget", 5)
    assert json.loads(run("resume", "tune.db", "-q", "--budget", 7, "--json").stdout)["n_evaluations"] == 7
    error = run("minimize", "tune.toml", "-q", "--budget", 9, code=3).stderr
    assert "x0 has 0 points in tune.toml and 10 in the store" in error


CONDITIONAL = """
command = [
    "sh", "-c", 'echo "$@" >> calls.txt; echo "${{DCMAES_VAR_depth-none}}" >> depths.txt; echo $#', "sh",
    "--model", "{model}", "--depth", "{depth}", "{deep?--deep}",
]
budget = 100
seed = 1

[space]
model = { type = "categorical", choices = ["tree", "line"] }
depth = { type = "integer", low = 1, high = 3, when = { model = "tree" } }
deep = { type = "binary", when = { depth = { low = 3 } } }
"""


class TestConditions:
    @pytest.fixture
    def tuned(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        Path("tune.toml").write_text(CONDITIONAL)
        run("check", "tune.toml")
        return run("minimize", "tune.toml")

    def test_every_point_is_run_once_without_inactive_arguments(self, tuned):
        assert "all 5 points of the space are known" in tuned.stdout
        calls = sorted(Path("calls.txt").read_text().splitlines())
        assert calls == [
            "--model line",
            "--model tree --depth 1",
            "--model tree --depth 2",
            "--model tree --depth 3",
            "--model tree --depth 3 --deep",
        ]
        assert sorted(Path("depths.txt").read_text().split()) == ["1", "2", "3", "3", "none"]

    def test_what_is_exported_and_shown(self, tuned):
        assert json.loads(run("best", "tune.db").stdout)["point"] == {"model": "line"}
        rows = list(csv.DictReader(io.StringIO(run("export", "tune.db", "--csv", "-").stdout)))
        assert {(row["model"], row["depth"], row["deep"]) for row in rows} == {
            ("line", "", ""),
            ("tree", "1", ""),
            ("tree", "2", ""),
            ("tree", "3", "False"),
            ("tree", "3", "True"),
        }
