"""The guide to the command line runs as it is printed, from `dcmaes init` to the report."""

import doctest
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import dcmaes as dc
from dcmaes.cli import main

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "guides" / "command-line.md"
EXAMPLE = ROOT / "examples" / "tune-c-program"
CONSOLE = re.compile(r"^```console\n(.*?)^```", re.DOTALL | re.MULTILINE)
EXIT_CODE = re.compile(r"\[exit code (\d+)\]\n")


def steps(text):
    """Return commands, each with what it should print."""
    blocks = "".join(CONSOLE.findall(text))
    parts = re.split(r"^\$ (.*)\n", blocks, flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2], strict=True))


def interrupt_when_at_work(process, store):
    """Send the Ctrl-C of a terminal when some evaluations are there and some are running."""
    end = time.monotonic() + 300
    while not (store.exists() and len(list(store.with_name("tune.db.outputs").glob("*"))) >= 32):
        assert process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)


def run(command, folder, is_interrupted):
    # In the place of the shell, so that it is dcmaes itself that is interrupted.
    process = subprocess.Popen(
        ["sh", "-c", f"exec {command}" if is_interrupted else command],
        cwd=folder,
        env=os.environ | {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if is_interrupted:
        interrupt_when_at_work(process, folder / "tune.db")
    out, _ = process.communicate(timeout=600)
    return out, process.returncode


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="the example is a C program: it needs a compiler, cc")
def test_the_guide_runs(tmp_path):
    folder = tmp_path / "tune-c-program"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("anneal", "*.db*", "*.html", "*.csv"))
    (folder / "bin").mkdir()
    script = f'#!/bin/sh\nexec "{sys.executable}" -m dcmaes "$@"\n'
    (folder / "bin" / "dcmaes").write_text(script)
    (folder / "bin" / "dcmaes").chmod(0o755)
    checker = doctest.OutputChecker()
    found = steps(GUIDE.read_text(encoding="utf-8"))
    for command, wanted in found:
        expected = EXIT_CODE.search(wanted)
        out, code = run(command, folder, is_interrupted="^C\n" in wanted)
        assert code == (int(expected[1]) if expected else 0), f"$ {command}\n{out}"
        wanted = EXIT_CODE.sub("", wanted).replace("^C\n", "")
        flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        assert checker.check_output(wanted, out, flags), f"$ {command}\n{out}\n--- instead of ---\n{wanted}"
    names = {command.split()[1] for command, _ in found if command.startswith("dcmaes")}
    assert names == {"init", "check", "minimize", "status", "resume", "best", "export", "report"}
    check_what_came_of_it(folder)


def check_what_came_of_it(folder):
    stored = dc.store.read(folder / "tune.db")
    assert len(stored.sittings) == 2
    assert sorted(stored.history.ids.tolist()) == list(range(120))
    assert stored.result().fun < 6.5
    assert len(stored.history) == len(list((folder / "tune.db.outputs").iterdir()))
    # Four at a time: at some moment all were at work.
    starts = [(span.started, 1) for span in stored.timeline]
    ends = [(span.ended, -1) for span in stored.timeline]
    n_running = most = 0
    for _, change in sorted(starts + ends):
        n_running += change
        most = max(most, n_running)
    assert most == 4
    assert len((folder / "report.html").read_text(encoding="utf-8")) > 10_000


def test_the_specification_in_the_guide_is_that_of_the_example():
    shown = re.search(r"`tune.toml`:\n\n```toml\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)[1]
    lines = (EXAMPLE / "tune.toml").read_text(encoding="utf-8").splitlines()
    without_comments = [line for line in lines if not line.startswith("#")]
    assert [line for line in shown.splitlines() if line] == [line for line in without_comments if line]


def test_every_command_and_option_is_in_the_reference():
    text = (ROOT / "docs" / "api" / "cli.md").read_text(encoding="utf-8")
    for name, command in main.commands.items():
        if command.hidden:
            continue
        assert f"`dcmaes {name}" in text
        for parameter in command.params:
            for option in parameter.opts if parameter.param_type_name == "option" else ():
                assert f"`{option}" in text, f"dcmaes {name} {option}"


def test_every_exit_code_is_in_the_reference():
    from dcmaes.cli._answers import ExitCode

    text = (ROOT / "docs" / "api" / "cli.md").read_text(encoding="utf-8")
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)} == set(map(int, ExitCode))
