"""What the command line says of mistakes: in its arguments, in files, in programs and functions."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import SPACE, SPEC, run

import dcmaes as dc


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


def test_errors_that_stop_the_run(folder):
    Path("tune.toml").write_text("command = 'sh -c \"exit 7\"'\non_error = 'raise'\nbudget = 4\n" + SPACE)
    result = run("minimize", "tune.toml", code=1)
    assert "exit code 7" in result.stderr
    assert "evaluations 1, 1 failed" in result.stdout


def test_a_place_where_nothing_can_be_written(folder):
    Path("occupied").write_text("")
    assert "occupied" in run("minimize", "tune.toml", "--store", "occupied/tune.db", code=3).stderr


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


def test_differences_say_which_is_the_file_and_advice_is_a_command_line(folder):
    run("minimize", "tune.toml", "-q", "--budget", 3)
    Path("tune.toml").write_text(SPEC.replace("high = 9", "high = 8"))
    error = run("minimize", "tune.toml", "-q", code=3).stderr
    assert "space: 'n' is Integer(-9, 8) in tune.toml and Integer(-9, 9) in the store" in error
    assert error.endswith("begin a new run: dcmaes minimize tune.toml --store tune-2.db\n")
    Path("tune.toml").write_text(SPEC)
    error = run("minimize", "tune.toml", "-q", "--seed", 9, code=3).stderr
    assert "seed is 9 in tune.toml and the options and 3 in the store" in error


def test_a_store_of_objects_that_only_python_knows_is_an_error_in_a_line(folder):
    space = dc.Space({"f": dc.Categorical([len, sum])})
    dc.minimize(lambda p: 1.0, space, budget=2, strategy="random", store="run.db")
    assert "this store can be used from Python only: " in run("status", "run.db", code=3).stderr


def test_a_strategy_that_does_not_take_the_space_is_a_mistake_in_the_file(folder):
    error = run("minimize", "tune.toml", "-q", "--strategy", "paper", code=2).stderr
    assert error.startswith("Error: tune.toml: ")


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
