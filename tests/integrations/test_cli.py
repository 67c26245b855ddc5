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
from click.testing import CliRunner

import dcmaes as dc
from dcmaes.cli import main
from dcmaes.cli._execution import shell_line

SPACE = """
[space]
n = { type = "integer", low = -9, high = 9 }
mode = { type = "categorical", choices = ["good", "bad", "it's $(touch pwned); `x` \\"q\\""] }
flag = { type = "binary" }
"""
SPEC = (
    """
command = [
    "sh", "-c", 'test "$2" = bad && exit 3; echo "value $(( $1 * $1 ))$3"', "sh",
    "{n}", "{mode}", "{flag?.5}",
]
value = { regex = 'value (.*)' }
budget = 24
seed = 3
workers = 2
"""
    + SPACE
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("tune.toml").write_text(SPEC)
    return tmp_path


def run(*arguments, code=0):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result


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


def test_a_store_of_another_run(folder):
    run("minimize", "tune.toml", "--quiet")
    message = run("minimize", "tune.toml", "--quiet", "--seed", 9, code=3).stderr
    assert "seed" in message
    Path("tune.toml").write_text(SPEC.replace("high = 9", "high = 8"))
    for command in ("minimize", "resume"):
        assert "'n' is Integer(-9, " in run(command, "tune.toml", "--quiet", code=3).stderr


def test_what_is_no_store(folder):
    Path("tune.db").write_text("no database")
    for arguments in (
        ("minimize", "tune.toml"),
        *((command, "tune.db") for command in ("resume", "status", "best", "report")),
        ("export", "tune.db", "--csv", "-"),
    ):
        assert "tune.db" in run(*arguments, code=3).stderr
    assert Path("tune.db").read_text() == "no database"
    assert "does not exist" in run("status", "none.db", code=3).stderr


def test_output_of_an_older_run_is_set_aside(folder):
    run("minimize", "tune.toml", "--quiet")
    Path("tune.db").unlink()
    assert "is now tune.db.outputs.1" in run("minimize", "tune.toml", "--quiet", "--budget", 5).stderr
    assert len(list(Path("tune.db.outputs").iterdir())) == 5
    assert len(list(Path("tune.db.outputs.1").iterdir())) == 24


def test_resume_needs_its_specification(folder):
    run("minimize", "tune.toml", "--quiet")
    Path("copy.toml").write_text("store = 'tune.db'\n" + SPEC)
    assert "more than one specification" in run("resume", "tune.db", code=2).stderr
    run("resume", "tune.db", "--quiet", "--spec", "copy.toml")
    Path("copy.toml").unlink()
    Path("tune.toml").rename("else.toml")
    assert "no specification beside it" in run("resume", "tune.db", code=2).stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("minimize", "none.toml"), "none.toml: cannot be read: No such file"),
        (("minimize", "tune.toml", "--budget", "0"), "--budget"),
        (("minimize", "tune.toml", "--workers", "many"), "--workers"),
        (("minimize", "tune.toml", "--seed", "-1"), "--seed"),
        (("minimize", "tune.toml", "--strategy", "best"), "'best' is not one of 'auto'"),
        (("minimize", "tune.toml", "--time-limit", "soon"), "90s"),
        (("minimize",), "SPEC"),
        (("minimise", "tune.toml"), "minimise"),
        (("export", "tune.db"), "say where to"),
        (("minimize", "tune.toml", "--nonsense"), "--nonsense"),
    ],
)
def test_wrong_usage(folder, arguments, words):
    assert words in run(*arguments, code=2).stderr


def test_mistakes_in_the_file(folder):
    Path("tune.toml").write_text(SPEC.replace("low = -9", "low = 90"))
    for command in ("check", "minimize"):
        line = 1 + SPEC[: SPEC.index("low = -9")].count("\n")
        text = run(command, "tune.toml", code=2).stderr
        assert text.startswith(f"Error: tune.toml:{line}: space.n"), text
    Path("tune.toml").write_text(SPEC.replace("budget = 24", ""))
    assert "budget is missing" in run("minimize", "tune.toml", code=2).stderr
    assert "use --budget" in run("check", "tune.toml").stdout


def test_a_program_that_is_not_there(folder):
    Path("tune.toml").write_text("command = './nowhere {n}'\nbudget = 3\n" + SPACE)
    for command in ("check", "minimize"):
        assert "nowhere' is not there" in run(command, "tune.toml", code=2).stderr
    assert not Path("tune.db").exists()


def test_check_tries_one_evaluation(folder):
    text = run("check", "tune.toml", "--try").stdout
    assert "--- stdout ---" in text
    assert {path.name for path in folder.iterdir()} == {"tune.toml"}
    Path("tune.toml").write_text("command = 'sh -c \"echo oh no; exit 9\"'\nbudget = 3\n" + SPACE)
    text = run("check", "tune.toml", "--try", code=1).stdout
    assert "exit code 9" in text
    assert "oh no" in text


def test_nothing_found(folder):
    Path("tune.toml").write_text("command = 'false'\nbudget = 4\n" + SPACE)
    assert "nothing found" in run("minimize", "tune.toml", code=1).stdout
    assert "no evaluation gave a value" in run("best", "tune.db", code=1).stderr
    assert "4 failed" in run("status", "tune.db").stdout
    assert json.loads(run("status", "tune.db", "--json").stdout)["best"] is None


def test_workers_of_the_command_line_must_not_share_a_file(folder):
    Path("tune.toml").write_text("command = 'false'\nvalue = { json = 'out.json' }\nbudget = 4\n" + SPACE)
    run("minimize", "tune.toml", "--quiet", code=1)
    assert "value: 2 workers would write one file" in run("resume", "tune.db", "--workers", 2, code=2).stderr


def test_functions_that_take_too_long(folder):
    Path("my_sleep_for_the_test.py").write_text("import time\ndef f(point):\n    time.sleep(60)\n")
    Path("tune.toml").write_text("objective = 'my_sleep_for_the_test:f'\ntimeout = 0.2\nbudget = 2\n" + SPACE)
    run("minimize", "tune.toml", "--quiet", code=1)
    assert "timed out" in dc.store.read("tune.db").failures[0].reason


def test_an_infeasible_best(folder):
    Path("tune.toml").write_text("command = 'sh -c \"exit 7\"'\ninfeasible_codes = 7\nbudget = 4\n" + SPACE)
    run("minimize", "tune.toml", code=1)
    assert json.loads(run("best", "tune.db", code=1).stdout)["violation"] == 1.0


def test_errors_that_stop_the_run(folder):
    Path("tune.toml").write_text("command = 'sh -c \"exit 7\"'\non_error = 'raise'\nbudget = 4\n" + SPACE)
    result = run("minimize", "tune.toml", code=1)
    assert "exit code 7" in result.stderr
    assert "evaluations 1, 1 failed" in result.stdout


def test_limits_of_the_command_line(folder):
    Path("tune.toml").write_text("command = 'sh -c \"sleep 0.1; echo 1\"'\nbudget = 4000\n" + SPACE)
    result = run("minimize", "tune.toml", "--time-limit", "0.4s", "--quiet", "--json")
    assert json.loads(result.stdout)["stop_reason"] == "time_limit"


@pytest.fixture
def stored(folder):
    run("minimize", "tune.toml", "--quiet")
    return dc.store.read("tune.db")


def test_best(stored):
    result = stored.result()
    assert json.loads(run("best", "tune.db").stdout)["point"] == result.x
    assert float(run("best", "tune.db", "--value").stdout) == result.fun
    assert json.loads(run("best", "tune.db", "--point").stdout) == result.x
    command = run("best", "tune.db", "--command").stdout
    assert command.startswith("sh -c ")
    assert str(result.x["n"]) in command


def test_status_as_json(stored):
    data = json.loads(run("status", "tune.db", "--json").stdout)
    assert (data["is_running"], data["n_told"], data["budget"]) == (False, 24, 24)
    assert data["best"]["value"] == stored.result().fun
    values = [record.value for record in stored.history]
    assert data["best_number"] == values.index(stored.result().fun) + 1
    assert data["pending"] == []


def test_export(stored):
    run("export", "tune.db", "--csv", "all.csv", "--json", "all.json")
    rows = list(csv.DictReader(Path("all.csv").read_text().splitlines()))
    assert [int(row["id"]) for row in rows] == stored.history.ids.tolist()
    assert [row["mode"] for row in rows] == [point["mode"] for point in stored.history.points]
    assert [row["status"] for row in rows] == stored.history.statuses.tolist()
    records = json.loads(Path("all.json").read_text())
    assert [record["point"] for record in records] == stored.history.points
    assert [record["value"] is None for record in records] == [row["value"] == "nan" for row in rows]
    assert run("export", "tune.db", "--csv", "-").stdout == Path("all.csv").read_text()
    assert "cannot be written" in run("export", "tune.db", "--csv", "no/such/file", code=2).stderr


def test_export_to_parquet(stored):
    pytest.importorskip("pyarrow")
    run("export", "tune.db", "--parquet", "all.parquet")
    import pandas

    assert pandas.read_parquet("all.parquet")["value"].notna().any()


def test_export_to_parquet_without_its_package(stored, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "fastparquet", None)
    assert "dcmaes[parquet]" in run("export", "tune.db", "--parquet", "all.parquet", code=2).stderr


def test_report_has_the_output_of_failures(stored):
    run("report", "tune.db", "--html", "out.html", "--title", "A <b> title")
    text = Path("out.html").read_text()
    assert "A &lt;b&gt; title" in text
    assert "value 81" in text or "value 0" in text
    seed = stored.settings["seed"]
    assert f"dcmaes minimize tune.toml --seed {seed} --budget 24 --strategy auto --no-store" in text
    Path("tune.toml").rename("elsewhere.txt")
    run("report", "tune.db", "--html", "out.html")
    assert "dc.minimize(objective, space, budget=24" in Path("out.html").read_text()
    assert "cannot be written" in run("report", "tune.db", "--html", "no/such/file.html", code=2).stderr


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


def test_a_place_where_nothing_can_be_written(folder):
    Path("occupied").write_text("")
    assert "occupied" in run("minimize", "tune.toml", "--store", "occupied/tune.db", code=3).stderr


def test_no_time_at_all(stored):
    result = run("resume", "tune.db", "--budget", 50, "--time-limit", 0, "--quiet", "--json")
    assert json.loads(result.stdout)["n_evaluations"] == 24


def test_warnings_are_lines(folder):
    Path("tune.toml").write_text(
        "command = 'echo 1'\nbudget = 40\nconstraints = ['n / flag <= 100']\n" + SPACE
    )
    done = subprocess.run(
        [sys.executable, "-m", "dcmaes", "minimize", "tune.toml"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "dcmaes: warning: constraint 'n / flag <= 100' failed at" in done.stderr
    assert "ZeroDivisionError" in done.stderr
    assert "showwarning" not in done.stderr


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


def test_csv_is_written_as_it_is_read(stored):
    from dcmaes.cli._answers import write_csv

    file = io.StringIO()
    write_csv(stored.history, file)
    nasty = [row["mode"] for row in csv.DictReader(io.StringIO(file.getvalue()))]
    assert 'it\'s $(touch pwned); `x` "q"' in nasty


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


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        ('["n > 20"]', "nothing can be evaluated: all .* points of the space are known: none satisfies"),
        ('["n + x > 99"]', "nothing can be evaluated: no new point satisfied the constraints in 40000 draws"),
    ],
)
def test_check_says_that_nothing_satisfies_the_constraints(folder, constraints, message):
    space = SPACE + 'x = { type = "float", low = 0, high = 1 }\n' * ("x" in constraints)
    Path("tune.toml").write_text(f"command = 'true {{n}}'\nbudget = 4\nconstraints = {constraints}\n{space}")
    assert re.search(f"^Error: tune.toml: constraints: {message}", run("check", "tune.toml", code=2).stderr)


def test_check_warns_of_variables_that_the_command_never_uses(folder):
    Path("tune.toml").write_text("command = 'echo {n}'\nbudget = 4\n" + SPACE)
    out = run("check", "tune.toml").stdout
    assert out.startswith("tune.toml: see the warnings\nwarning     the command does not use mode, flag: ")
    assert "warning: the command does not use mode, flag: " in run("minimize", "tune.toml", "-q").stderr


def test_ten_failures_end_a_run_with_what_was_printed(folder):
    command = """command = ["sh", "-c", "echo reading >&2; echo no file $1 >&2; exit 4", "sh", "{n}"]"""
    Path("tune.toml").write_text(f"{command}\nbudget = 19\n{SPACE}")
    done = run("minimize", "tune.toml", "-q", code=1)
    assert done.stderr.count("--- stderr ---\nreading\nno file ") == 1
    assert "Traceback" not in done.stderr
    assert (
        "Error: none of 10 evaluations gave a value, and the last 10 failed for the same reason: "
        in done.stderr
    )
    assert "evaluations 10, 10 failed\n" in done.stdout
    Path("tune.toml").write_text(f'{command}\nbudget = 19\non_error = "continue"\n{SPACE}')
    assert "evaluations 19, 19 failed\n" in run("minimize", "tune.toml", "-q", code=1).stdout


def test_a_function_with_a_mistake_shows_its_traceback(folder):
    Path("broken.py").write_text("def f(point):\n    return undefined\n")
    Path("tune.toml").write_text('objective = "broken:f"\nbudget = 40\n' + SPACE)
    done = run("minimize", "tune.toml", "-q", "--json", code=1)
    assert "    return undefined\n" in done.stderr
    assert json.loads(done.stdout)["stop_reason"] == "failures"


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


def test_differences_say_which_is_the_file_and_advice_is_a_command_line(folder):
    run("minimize", "tune.toml", "-q", "--budget", 3)
    Path("tune.toml").write_text(SPEC.replace("high = 9", "high = 8"))
    error = run("minimize", "tune.toml", "-q", code=3).stderr
    assert "space: 'n' is Integer(-9, 8) in tune.toml and Integer(-9, 9) in the store" in error
    assert error.endswith("begin a new run: dcmaes minimize tune.toml --store tune-2.db\n")
    Path("tune.toml").write_text(SPEC)
    error = run("minimize", "tune.toml", "-q", "--seed", 9, code=3).stderr
    assert "seed is 9 in tune.toml and the options and 3 in the store" in error


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


def test_a_store_of_objects_that_only_python_knows_is_an_error_in_a_line(folder):
    space = dc.Space({"f": dc.Categorical([len, sum])})
    dc.minimize(lambda p: 1.0, space, budget=2, strategy="random", store="run.db")
    assert "this store can be used from Python only: " in run("status", "run.db", code=3).stderr


def test_a_strategy_that_does_not_take_the_space_is_a_mistake_in_the_file(folder):
    error = run("minimize", "tune.toml", "-q", "--strategy", "paper", code=2).stderr
    assert error.startswith("Error: tune.toml: ")


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


def test_mistakes_in_a_file_to_start_from(folder):
    Path("wrong.csv").write_text("n,mode\n1,good\n")
    assert "--x0: " in run("minimize", "tune.toml", "--x0", "wrong.csv", code=2).stderr
    assert "nowhere.csv cannot be read" in run("minimize", "tune.toml", "--x0", "nowhere.csv", code=2).stderr
    Path("tune.toml").write_text(f'x0 = "wrong.csv"\n{SPEC}')
    assert run("check", "tune.toml", code=2).stderr.startswith("Error: tune.toml:1: x0: ")
    Path("tune.toml").write_text(f"x0 = 3\n{SPEC}")
    assert (
        "x0 must be a list of points, or the name of a file, got 3"
        in run("check", "tune.toml", code=2).stderr
    )


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
