"""Runs in processes of their own: Ctrl-C once and twice, termination, kill, and going on afterwards."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import dcmaes as dc

# Leaves a mark for every start and every end, and tells its process by the mark of the start. Trials from a
# number on wait until there is a file `may-end`.
PROGRAM = """\
#!/bin/sh
echo $$ > started-$DCMAES_TRIAL
sleep 0.05
while test $DCMAES_TRIAL -ge "$2" && test ! -e may-end; do sleep 0.05; done
touch ended-$DCMAES_TRIAL
echo "$1"
"""
SPEC = """\
command = ["./program", "{n}", "WAITING"]
budget = 12
seed = 1
workers = 3
[space]
n = { type = "integer", low = 0, high = 1000 }
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "program").write_text(PROGRAM)
    (tmp_path / "program").chmod(0o755)
    return tmp_path


@pytest.fixture
def start(folder):
    processes = []

    def start_process(*arguments, waiting=1000):
        """Start the command line; trials from the number `waiting` on wait."""
        (folder / "tune.toml").write_text(SPEC.replace("WAITING", str(waiting)))
        process = subprocess.Popen(
            [sys.executable, "-m", "dcmaes", *arguments],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        processes.append(process)
        return process

    yield start_process
    (folder / "may-end").touch()
    for process in processes:
        process.kill()
        process.communicate()


def finish(process, code, seconds=300):
    out, err = process.communicate(timeout=seconds)
    assert process.returncode == code, (out, err)
    return out, err


def until(condition, seconds=120.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def until_said(process, text):
    """Wait until a program says something on standard error, which it does before long."""
    watchdog = threading.Timer(120, process.kill)
    watchdog.start()
    said = any(text in line for line in process.stderr)
    watchdog.cancel()
    assert said, text


def marks(folder, kind):
    return {int(path.name.partition("-")[2]) for path in folder.glob(f"{kind}-*")}


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def living(folder):
    pids = [path.read_text().strip() for path in folder.glob("started-*")]
    return [pid for pid in pids if pid and is_alive(int(pid))]


def history(folder):
    return dc.store.read(folder / "tune.db").history


def test_an_interrupt_waits_for_what_is_running(folder, start):
    process = start("minimize", "tune.toml", "--json", waiting=3)
    until(lambda: len(marks(folder, "started")) == 6)
    process.send_signal(signal.SIGINT)
    until_said(process, "interrupted: waiting for 3 evaluations")
    (folder / "may-end").touch()
    out, _ = finish(process, 130)
    data = json.loads(out)
    assert data["stop_reason"] == "interrupted"
    assert marks(folder, "started") == marks(folder, "ended") == set(history(folder).ids.tolist())
    assert data["n_evaluations"] == 6
    out, _ = finish(start("resume", "tune.db", "--json"), 0)
    assert json.loads(out)["n_evaluations"] == 12
    assert sorted(history(folder).ids.tolist()) == list(range(12))


def test_a_second_interrupt_ends_everything_at_once(folder, start):
    process = start("minimize", "tune.toml", waiting=0)
    until(lambda: len(marks(folder, "started")) == 3)
    process.send_signal(signal.SIGINT)
    until_said(process, "interrupted: waiting for 3 evaluations")
    assert process.poll() is None
    assert len(living(folder)) == 3
    process.send_signal(signal.SIGINT)
    finish(process, 130)
    until(lambda: not living(folder))
    assert len(history(folder)) == 0
    out, _ = finish(start("resume", "tune.db", "--json"), 0)
    assert json.loads(out)["n_failures"] == 0
    assert sorted(history(folder).ids.tolist()) == list(range(12))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_termination_ends_everything_at_once(folder, start, number):
    process = start("minimize", "tune.toml", waiting=0)
    until(lambda: len(marks(folder, "started")) == 3)
    process.send_signal(number)
    finish(process, 143)
    until(lambda: not living(folder))
    run = dc.store.read(folder / "tune.db")
    assert len(run.history) == 0
    assert len(run.pending) == 3
    assert not run.is_running


def test_termination_of_a_function(folder, start):
    code = "import time, pathlib\ndef f(point):\n    pathlib.Path('started').touch()\n    time.sleep(600)\n"
    (folder / "slow_function.py").write_text(code)
    text = SPEC.replace('command = ["./program", "{n}", "WAITING"]', 'objective = "slow_function:f"')
    (folder / "function.toml").write_text(text)
    process = start("minimize", "function.toml")
    until((folder / "started").exists)
    process.send_signal(signal.SIGTERM)
    finish(process, 143)


def test_an_interrupted_trial_of_a_specification(folder, start):
    process = start("check", "tune.toml", "--try", waiting=0)
    until(lambda: marks(folder, "started"))
    process.send_signal(signal.SIGINT)
    _, err = finish(process, 130)
    assert "interrupted" in err
    until(lambda: not living(folder))


def test_a_killed_run_goes_on(folder, start):
    process = start("minimize", "tune.toml", waiting=4)
    until(lambda: len(marks(folder, "started")) == 7)
    process.kill()
    process.wait()
    (folder / "may-end").touch()  # what it started goes on
    until(lambda: not living(folder))
    assert len(history(folder)) == 4
    assert not dc.store.read(folder / "tune.db").is_running
    _, err = finish(start("resume", "tune.db", "--json"), 0)
    assert "continuing the run in tune.db" in err
    assert sorted(history(folder).ids.tolist()) == list(range(12))


def test_two_at_once(folder, start):
    process = start("minimize", "tune.toml", waiting=0)
    until(lambda: len(marks(folder, "started")) == 3)
    for command in ("minimize", "resume"):
        _, err = finish(start(command, "tune.toml", waiting=0), 3)
        assert "tune.db" in err
    assert len(living(folder)) == 3
    process.terminate()
    finish(process, 143)


def test_status_while_it_runs(folder, start):
    process = start("minimize", "tune.toml", "--budget", "500", waiting=4)
    until(lambda: len(marks(folder, "started")) == 7)
    out, _ = finish(start("status", "tune.db"), 0)
    assert "tune.db: running, last written" in out
    assert re.search(r"4/500 +best \d+", out)
    data = json.loads(finish(start("status", "tune.toml", "--json"), 0)[0])
    assert data["is_running"]
    assert data["n_pending"] == len(data["pending"]) == 3
    assert data["seconds_left"] > 0
    process.terminate()
    finish(process, 143)


def test_live_status_ends_with_the_run(folder, start):
    process = start("minimize", "tune.toml", "--budget", "900", waiting=4)
    until(lambda: len(marks(folder, "started")) == 7)
    leader, follower = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "100"}
    viewer = subprocess.Popen(
        [sys.executable, "-m", "dcmaes", "status", "tune.db"],
        cwd=folder,
        env=environment,
        stdin=follower,
        stdout=follower,
        stderr=follower,
    )
    os.close(follower)
    chunks = []

    def read():
        while True:
            try:
                chunks.append(os.read(leader, 65536))
            except OSError:
                return

    thread = threading.Thread(target=read)
    thread.start()
    until(lambda: b"running, last written" in b"".join(chunks))
    process.terminate()
    finish(process, 143)
    assert viewer.wait(300) == 0
    thread.join(120)
    os.close(leader)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", b"".join(chunks).decode())
    assert "tune.db: running" in text
    assert "tune.db: not running: interrupted after" in text
    assert "4/900 evaluations" in text


def test_the_reader_of_a_pipe_may_leave(folder, start):
    finish(start("minimize", "tune.toml", "--quiet"), 0)
    command = f"{sys.executable} -m dcmaes export tune.db --csv - | head -1"
    done = subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("id,n,value")
    assert "Traceback" not in done.stderr
