"""What is shown of a run while it goes on: lines, a terminal, a notebook, or nothing."""

import io
import math
import os
import pty
import re
import sys
import threading
import time
import types

import numpy as np
import pytest

import dcmaes as dc
from dcmaes.optimizer import _progress
from dcmaes.optimizer._progress import Observer
from dcmaes.progress import _display
from dcmaes.progress._display import Standing, describe, describe_point, estimate_left, open_display

SPACE = dc.Space({"n": dc.Integer(-9, 9), "act": dc.Categorical(["<script>", "[red]b"])})


def objective(point):
    if point["n"] == 3:
        raise ValueError("three\nis bad")
    return point["n"] ** 2


def test_observer_sees_what_the_result_says():
    opt = dc.Optimizer(SPACE, budget=40, seed=1, x0=({"n": 5, "act": "[red]b"}, 25.0))
    observe = Observer(opt)
    first = observe()
    assert (first.n_told, first.best_value, first.best_number) == (0, 25.0, 0)
    assert math.isnan(first.seconds_left)
    while len(opt.history) < 30:
        (trial,) = opt.ask(1)
        try:
            point = {"n": 3} if len(opt.history) == 9 else trial.point
            opt.tell(trial, objective(point), seconds=0.5)
        except ValueError as error:
            opt.tell(trial, error, seconds=0.5)
    out = opt.ask(3)
    seen, result = Observer(opt)(), opt.result()
    assert (seen.n_told, seen.n_pending, seen.n_failures) == (29, len(out), result.n_failures)
    assert seen.n_failures >= 1
    assert seen.last_failure.startswith("ValueError: three")
    assert (seen.best_value, seen.best_point) == (result.fun, result.x)
    found = next(i for i, record in enumerate(opt.history) if record.value == result.fun)
    assert (seen.best_number, seen.best_at) == (found, opt.history[found].told_at)
    assert seen.step_size == result.distribution.step_size
    assert (seen.objective_time, seen.own_time) == (result.objective_time, result.optimizer_time)
    assert observe().seconds_left >= 0.0


def test_values_are_shown_in_the_sign_of_the_user():
    opt = dc.Optimizer(dc.Space.binary(4), budget=10, seed=0, direction="maximize")
    trials = opt.ask(4)
    opt.tell(trials, [float(trial.point.sum()) for trial in trials])
    assert Observer(opt)().best_value == max(trial.point.sum() for trial in trials)


def test_time_left():
    standing = Standing(n_told=30, budget=100)
    assert estimate_left(standing, 10, 40.0, None) == 140.0
    assert estimate_left(standing, 10, 40.0, 60.0) == 20.0
    assert estimate_left(standing, 10, 40.0, 30.0) == 0.0
    assert math.isnan(estimate_left(standing, 30, 40.0, None))
    assert estimate_left(standing, 30, 40.0, 60.0) == 20.0


def test_descriptions():
    text = describe(Standing(5, 10, 2, 1, 1, 0.5, 0.25, {"a": 1}, 4, elapsed=3700.0))
    assert text == "   5/10  best 0.5 at 4, infeasible by 0.25, 1 restart, 2 running, 1 failed  (1:01:40)"
    assert describe_point(np.array([1, 2])) == "1  2"
    assert describe_point({"a": "x\x1b[31m\n"}) == r"a=x\x1b[31m\n"
    assert len(describe_point(dict.fromkeys(map(str, range(1000)), 1))) == 300


def test_plain_lines(capsys):
    dc.minimize(objective, SPACE, budget=30, seed=0, progress=True, strategy="random")
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].split()[0] == "3/30"
    assert len(lines) == 11
    assert lines[-1].startswith("budget of 30")


@pytest.mark.parametrize("progress", [None, False])
def test_silence(capsys, progress):
    dc.minimize(objective, SPACE, budget=30, seed=0, progress=progress)
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_a_reader_that_has_gone_does_not_stop_the_run():
    tried = []

    class Gone(io.StringIO):
        def write(self, text):
            tried.append(text)
            raise BrokenPipeError

    display = open_display(lambda: Standing(1, 1), 1, True, Gone())
    display.update(1)
    display.close("over")
    assert tried


class Terminal:
    """A pseudo-terminal, and what was written to it."""

    def __init__(self):
        self._leader, follower = pty.openpty()
        self.stream = os.fdopen(follower, "w")
        self._chunks = []
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        while True:
            try:
                chunk = os.read(self._leader, 65536)
            except OSError:
                return
            if not chunk:
                return
            self._chunks.append(chunk)

    def text(self):
        self.stream.close()
        self._thread.join(120)
        os.close(self._leader)
        return b"".join(self._chunks).decode()


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    return Terminal()


def plain(text):
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)


def test_live_display_of_a_terminal(terminal, monkeypatch):
    monkeypatch.setattr(sys, "stderr", terminal.stream)

    def slow(point):
        time.sleep(0.02)
        return objective(point)

    dc.minimize(slow, SPACE, budget=36, seed=0, progress=True, strategy="random")
    monkeypatch.undo()
    text = plain(terminal.text())
    last = text[text.rindex("36/36") :]
    assert re.search(r"36/36 evaluations, \d failed", last)
    assert re.search(r"best +0 +found at evaluation \d+ after", last)
    assert "n=0  act=" in last
    assert "random: step size" in last
    assert "optimizer" in last
    assert re.search(r"the last: ValueError: three *\r", last)
    assert last.rstrip().endswith("budget of 36 evaluations used")
    assert "is bad" not in text


def test_choices_are_not_taken_for_markup(terminal):
    from dcmaes.progress._terminal import TerminalSurface

    surface = TerminalSurface(terminal.stream)
    surface.draw(Standing(1, 2, best_value=1.0, best_point={"a": "[red]b[/red]"}, last_failure="[bold]x"))
    surface.close("[blink]over")
    text = terminal.text()
    assert "a=[red]b[/red]" in text
    assert "[bold]x" in text
    assert "[blink]over" in text


def test_a_short_run_shows_nothing_unasked(terminal, monkeypatch):
    monkeypatch.setattr(sys, "stderr", terminal.stream)
    monkeypatch.setattr(_display, "_PATIENCE_SECONDS", 600.0)  # on a busy machine a second is short
    dc.minimize(objective, SPACE, budget=5, seed=0)
    monkeypatch.undo()
    assert terminal.text() == ""


def test_a_dumb_terminal_gets_lines(terminal, monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    display = open_display(lambda: Standing(1, 1), 1, True, terminal.stream)
    display.update(1)
    display.close("over")
    assert terminal.text().splitlines() == ["  1/1  nothing found yet  (0.0 s)", "over"]


def test_a_display_that_breaks_does_not_stop_the_run(terminal):
    def broken():
        raise RuntimeError("no standing")

    display = open_display(broken, 1, True, terminal.stream)
    display.update(1)
    display.close("over")
    assert "over" in terminal.text()


class Handle:
    def __init__(self):
        self.bundles = []

    def update(self, bundle, raw):
        assert raw
        self.bundles.append(bundle)


def test_notebooks(monkeypatch):
    handle = Handle()

    def display(bundle, raw, display_id):
        assert raw
        assert display_id
        handle.bundles.append(bundle)
        return handle

    shell = types.SimpleNamespace(kernel=object())
    package = types.ModuleType("IPython")
    package.get_ipython = lambda: shell
    package.display = types.ModuleType("IPython.display")
    package.display.display = display
    monkeypatch.setitem(sys.modules, "IPython", package)
    monkeypatch.setitem(sys.modules, "IPython.display", package.display)
    dc.minimize(lambda point: float(point["act"] != "<script>"), SPACE, budget=20, seed=0, progress=True)
    last = handle.bundles[-1]
    assert "budget of 20 evaluations used" in last["text/plain"]
    assert "act=<script>" in last["text/plain"]
    assert "optimizer" in last["text/plain"]
    assert "&lt;script&gt;" in last["text/html"]
    assert "<script>" not in last["text/html"]


@pytest.mark.parametrize("batch_size", [None, 6])
@pytest.mark.parametrize("workers", [1, 2])
def test_no_more_evaluations_are_running_than_there_are_workers(monkeypatch, workers, batch_size):
    seen = []

    class Recorder:
        def __init__(self, observe):
            self._observe = observe

        def update(self, n_told):
            seen.append((self._observe().n_running, n_told))

        def close(self, message):
            pass

    monkeypatch.setattr(_progress, "open_display", lambda observe, *_: Recorder(observe))
    space = dc.Space.integers(3, 0, 9)
    dc.minimize(sum, space, budget=20, seed=0, workers=workers, batch_size=batch_size, strategy="cma")
    assert len(seen) == 20
    assert max(n for n, _ in seen) <= workers
