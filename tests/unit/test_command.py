"""Programs as objectives: values, exit codes, timeouts, retries, folders, environment, kept output."""

import json
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import dcmaes as dc
from dcmaes.cli._command import Command, CommandError, CommandObjective, output_folder
from dcmaes.cli._program import (
    InterruptedProcessError,
    JsonKey,
    LastMatch,
    LastNumber,
    NoValueError,
    Printed,
    ProcessGroups,
)
from dcmaes.cli._template import Template
from dcmaes.optimizer import Outcome, Trial

POINT = {"a": 3, "b": "x y", "flag": True}


def shell(script, *arguments):
    """A program of its own: what a test wants to happen, in the language that says it shortest."""
    return tuple(Template((text,)) for text in ("sh", "-c", script, "sh")) + tuple(
        Template.parse(argument) for argument in arguments
    )


def objective(tmp_path, script, *arguments, outputs=True, **options):
    command = Command(arguments=shell(script, *arguments), folder=tmp_path, **options)
    return CommandObjective(command, tmp_path, tmp_path / "run.db.outputs" if outputs else None)


def evaluate(*arguments, trial_id=0, **options):
    return objective(*arguments, **options)(Trial(trial_id, POINT))


def kept(tmp_path, trial_id=0):
    folder = output_folder(tmp_path / "run.db.outputs", trial_id)
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


def test_a_run_hands_over_trials(tmp_path):
    running = objective(tmp_path, "echo $1", "{trial}", outputs=False)
    space = dc.Space({"a": dc.Integer(0, 9), "b": dc.Categorical(["x y"]), "flag": dc.Binary()})
    with ThreadPoolExecutor(2) as pool:
        for executor in (None, pool):
            history = dc.minimize(running, space, budget=6, seed=0, executor=executor).history
            assert history.values.tolist() == history.ids.tolist()


def test_value_of_the_last_number(tmp_path):
    assert evaluate(tmp_path, 'echo "epoch 7"; echo "loss $1"', "{a}") == 3.0


def test_arguments_arrive_whole(tmp_path):
    assert evaluate(tmp_path, 'test "$1" = "x y" && echo $#', "{b}", "{flag?--yes}") == 2.0


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", 1.0), ("-1.5e-3 done", -0.0015), ("a=.5", 0.5), ("3 v2 12ms", 3.0), ("5.", 5.0), ("+4%", 4.0)],
)
def test_numbers_that_are_found(text, value):
    assert LastNumber().read(Printed(text, "", Path()), {}) == value


@pytest.mark.parametrize("text", ["loss 3 then nan", "1 -inf", "7\nInfinity"])
def test_no_number_before_nan_is_taken(text):
    assert not abs(LastNumber().read(Printed(text, "", Path()), {})) < 100


@pytest.mark.parametrize("text", ["", "no number", "v2", "1.2.3.a"])
def test_no_number(text):
    with pytest.raises(NoValueError, match="no number on stdout"):
        LastNumber().read(Printed(text, "", Path()), {})


@pytest.mark.parametrize(
    "text", ["1,234.5", "loss 1,234.5 ms", "0,5", "1.234,5", "1,234ms", "1'234.5", "[1,2,3]"]
)
def test_separators_between_digits_are_not_guessed_at(text):
    with pytest.raises(NoValueError, match="the last number on stdout is part of"):
        LastNumber().read(Printed(f"step 7\n{text}\n", "", Path()), {})


@pytest.mark.parametrize("text", ["1, 2", "a,2", "2, done", "it's 2", "'2'"])
def test_commas_and_quotes_that_separate_no_digits(text):
    assert LastNumber().read(Printed(text, "", Path()), {}) == 2.0


def test_a_million_digits_are_read_in_one_pass():
    for text in ("1" * 1_000_000 + "x", "1." * 500_000 + "x", "1e" * 500_000 + "x"):
        with pytest.raises(NoValueError, match="no number on stdout"):
            LastNumber().read(Printed(text, "", Path()), {})


def test_value_by_regular_expression(tmp_path):
    reader = LastMatch(re.compile(r"^loss=(.*)$", re.MULTILINE), "stderr")
    assert evaluate(tmp_path, "echo loss=1 >&2; echo loss=2 >&2; echo loss=3", value=reader) == 2.0
    with pytest.raises(CommandError, match="does not match"):
        evaluate(tmp_path, "echo 3", value=reader)
    with pytest.raises(CommandError, match="is no number: 'low'"):
        evaluate(tmp_path, "echo loss=low >&2", value=reader)


def test_value_in_a_json_file(tmp_path):
    reader = JsonKey(Template.parse("out.json"), ("test", "0", "loss"))
    script = """echo '{"test": [{"loss": 0.25}]}' > out.json"""
    assert evaluate(tmp_path, script, value=reader, has_own_folder=True) == 0.25
    assert not (tmp_path / "out.json").exists()
    assert evaluate(tmp_path, script, value=reader) == 0.25
    with pytest.raises(CommandError, match="was there before and has not been written"):
        evaluate(tmp_path, "true", value=reader)
    with pytest.raises(CommandError, match="cannot be read: No such file"):
        evaluate(tmp_path, "true", value=reader, has_own_folder=True)
    for text, words in (
        ("{", "is no JSON"),
        ("{}", "has no key 'test'"),
        ('{"test": [{"loss": "a"}]}', "no number"),
    ):
        with pytest.raises(CommandError, match=words):
            evaluate(tmp_path, f"echo '{text}' > out.json", value=reader)


def test_violation(tmp_path):
    found = evaluate(tmp_path, "echo 7 v=0.5", value=LastMatch(re.compile(r"^\d+")), violation=LastNumber())
    assert found == Outcome(7.0, 0.5)


def test_exit_codes(tmp_path):
    with pytest.raises(CommandError, match=r"^exit code 3: no licence\n--- stdout"):
        evaluate(tmp_path, "echo 1; echo no licence >&2; exit 3")
    assert evaluate(tmp_path, "echo 1; exit 3", success_codes=(0, 3)) == 1.0
    assert evaluate(tmp_path, "exit 4", infeasible_codes=(4,)) == Outcome(None, 1.0)
    with pytest.raises(CommandError, match="killed by SIGSEGV"):
        evaluate(tmp_path, "kill -SEGV $$")


def test_a_program_that_is_not_there(tmp_path):
    command = Command(arguments=(Template.parse("no-such-program-anywhere"),), folder=tmp_path)
    with pytest.raises(CommandError, match="'no-such-program-anywhere' cannot be run: No such file"):
        CommandObjective(command, tmp_path, None)(Trial(0, POINT))


def test_relative_programs_count_from_the_folder(tmp_path):
    program = tmp_path / "bin" / "prog"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\npwd\necho 5\n")
    program.chmod(0o755)
    command = Command(arguments=(Template.parse("bin/prog"),), folder=tmp_path, has_own_folder=True)
    assert CommandObjective(command, tmp_path, tmp_path / "out")(Trial(1, POINT)) == 5.0
    where = (tmp_path / "out" / "000001" / "stdout.txt").read_text().splitlines()[0]
    assert Path(where) == (tmp_path / "out" / "000001" / "files").resolve()


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def until(condition, seconds=120.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def test_timeout_ends_the_whole_group(tmp_path):
    script = "trap '' TERM; sleep 600 & echo $! > child; echo $$ > leader; wait; sleep 600"
    with pytest.raises(CommandError, match=r"timeout after 1\.5 s"):
        evaluate(tmp_path, script, timeout=1.5)
    for name in ("child", "leader"):
        until(lambda name=name: not is_alive(int((tmp_path / name).read_text())))


def test_what_a_program_leaves_running_is_ended(tmp_path):
    assert evaluate(tmp_path, "sleep 600 & echo $! > child; echo 3") == 3.0
    until(lambda: not is_alive(int((tmp_path / "child").read_text())))


def test_a_program_that_closes_its_output_is_waited_for(tmp_path):
    script = "exec 1>&- 2>&-; sleep 0.4; echo '{\"v\": 2}' > out.json"
    reader = JsonKey(Template.parse("out.json"), ("v",))
    assert evaluate(tmp_path, script, value=reader) == 2.0


def test_retries(tmp_path):
    script = "echo x >> count; test $(wc -l < count) -ge 3 && echo 7"
    assert evaluate(tmp_path, script, n_retries=2) == 7.0
    assert json.loads(kept(tmp_path)["evaluation.json"])["attempt"] == 3
    (tmp_path / "count").unlink()
    with pytest.raises(CommandError, match=r"exit code 1 \(attempt 2 of 2\)"):
        evaluate(tmp_path, script, n_retries=1)


def test_environment(tmp_path):
    script = 'test "$DCMAES_VAR_b" = "x y" && test "$MINE" = "3!" && echo "$DCMAES_POINT" $DCMAES_TRIAL'
    assert evaluate(tmp_path, script, environment={"MINE": Template.parse("{a}!")}, trial_id=12) == 12.0
    printed = kept(tmp_path, 12)["stdout.txt"]
    assert json.loads(printed.rpartition(" ")[0]) == POINT


def test_standard_input_is_empty(tmp_path):
    assert evaluate(tmp_path, "cat; echo 1") == 1.0


def test_output_is_kept(tmp_path):
    evaluate(tmp_path, "echo 5; echo warning >&2; echo data > file", has_own_folder=True)
    files = kept(tmp_path)
    assert (files["stdout.txt"], files["stderr.txt"]) == ("5\n", "warning\n")
    record = json.loads(files["evaluation.json"])
    assert (record["value"], record["exit_code"], record["point"]) == (5.0, 0, POINT)
    assert (tmp_path / "run.db.outputs/000000/files/file").read_text() == "data\n"


def test_what_is_kept_can_be_chosen(tmp_path):
    evaluate(tmp_path, "echo 5", keep="failed")
    assert list((tmp_path / "run.db.outputs").iterdir()) == []
    with pytest.raises(CommandError):
        evaluate(tmp_path, "echo bad; exit 1", keep="failed")
    assert kept(tmp_path)["stdout.txt"] == "bad\n"
    assert evaluate(tmp_path, "echo 5; pwd > where", keep="none", has_own_folder=True, trial_id=1) == 5.0
    assert not (tmp_path / "run.db.outputs/000001").exists()


def test_an_evaluation_made_again_starts_in_an_empty_folder(tmp_path):
    script = "test ! -e mark && touch mark && echo 1"
    for _ in range(2):
        assert evaluate(tmp_path, script, has_own_folder=True) == 1.0


def test_endless_output_is_capped(tmp_path):
    script = "echo first; yes padding | head -c 3000000; echo 42"
    assert evaluate(tmp_path, script, output_limit=10_000) == 42.0
    text = kept(tmp_path)["stdout.txt"]
    assert text.startswith("first\n")
    assert len(text) < 10_100
    assert "bytes left out" in text


def test_output_that_is_no_text(tmp_path):
    assert evaluate(tmp_path, r"printf '\377\376 8'") == 8.0


def test_reasons_carry_the_end_of_the_output(tmp_path):
    with pytest.raises(CommandError) as error:
        evaluate(tmp_path, "echo one; echo two >&2; exit 1")
    notes = "\n".join(error.value.__notes__)
    assert "one" in notes
    assert "two" in notes


def test_closing_ends_all_programs(tmp_path):
    running = objective(tmp_path, "echo $$ > pid-$1; sleep 600", "{trial}")
    errors = []

    def run(trial_id):
        try:
            running(Trial(trial_id, POINT))
        except InterruptedProcessError as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    paths = [tmp_path / f"pid-{i}" for i in range(3)]
    until(lambda: all(path.exists() and path.read_text() for path in paths))
    running.close()
    for thread in threads:
        thread.join(120)
    assert len(errors) == 3
    assert not any(is_alive(int(path.read_text())) for path in paths)
    with pytest.raises(InterruptedProcessError):
        running(Trial(9, POINT))


def test_an_interrupt_while_a_program_starts_leaves_none_running(tmp_path, monkeypatch):
    started = []

    class Interrupted(subprocess.Popen):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            started.append(self.pid)
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        ProcessGroups().run(["sleep", "600"], tmp_path, {"PATH": "/usr/bin:/bin"}, None, 1000)
    assert len(started) == 1
    assert not is_alive(started[0])


def test_programs_do_not_get_the_interrupt_of_the_terminal(tmp_path):
    """A Ctrl-C goes to the group of the terminal; evaluations have groups of their own."""
    code = (
        "import os; from pathlib import Path; from dcmaes.cli._program import ProcessGroups;"
        "program = ['sh', '-c', 'ps -o pgid= -p $$'];"
        "done = ProcessGroups().run(program, Path('.'), dict(os.environ), None, 1000);"
        "print(int(done.stdout) != os.getpgid(0))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


def test_a_value_counts_although_its_output_cannot_be_kept(tmp_path):
    (tmp_path / "run.db.outputs").write_text("a file where a folder should be")
    running = objective(tmp_path, "echo 4")
    with pytest.warns(RuntimeWarning, match="output is not kept: .*run.db.outputs"):
        assert running(Trial(0, POINT)) == 4.0
    assert running(Trial(1, POINT)) == 4.0  # said once
