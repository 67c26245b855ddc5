"""Changes that are interrupted: whole or never made, and the run goes on from its store exactly."""

from __future__ import annotations

import _thread
import io
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

import dcmaes as dc

SPACE = dc.Space({"n": dc.Integer(-9, 9), "m": dc.Integer(-9, 9), "act": dc.Categorical(["relu", "gelu"])})
RUN = {"space": SPACE, "budget": 24, "seed": 0, "strategy": "cma"}
LIBRARY = str(Path(dc.__file__).parent)


def objective(point):
    return float(point["n"] ** 2 + point["m"] ** 2 + (point["act"] == "relu"))


def finish(opt, n=None):
    """Go on to the end, or to `n` evaluations, and return all that was evaluated."""
    while opt.should_stop() is None and opt.n_evaluations != n:
        trial = next(iter(opt.pending), None) or opt.ask(1)[0]
        opt.tell(trial, objective(trial.point))
    return [(record.id, record.point, record.value) for record in opt.history]


@pytest.fixture(autouse=True)
def _interruptible():
    """Have Python's own handler, which a process in the background lacks."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def undisturbed():
    return finish(dc.Optimizer(**RUN))


class InterruptAt:
    """Raise KeyboardInterrupt before line number `at` that the library carries out; count the lines."""

    def __init__(self, at):
        self.at = at
        self.n_lines = 0

    def __enter__(self):
        sys.settrace(self.trace)
        return self

    def __exit__(self, *_):
        sys.settrace(None)

    def trace(self, frame, event, _):
        if not frame.f_code.co_filename.startswith(LIBRARY):
            return None
        if event == "line":
            self.n_lines += 1
            if self.n_lines == self.at:
                raise KeyboardInterrupt
        return self.trace


# The evaluation after which the strategy learns, so that the change is a long one.
N_BEFORE = 11


def change(opt, kind, at):
    """Ask or tell, interrupted in line `at`; return how many lines that took."""
    trial = next(iter(opt.pending), None) or (None if kind == "ask" else opt.ask(1)[0])
    with InterruptAt(at) as interrupt:
        if kind == "ask":
            opt.ask(1)
        else:
            opt.tell(trial, objective(trial.point))
    return interrupt.n_lines


@pytest.mark.parametrize("kind", ["ask", "tell"])
def test_a_run_interrupted_in_any_line_of_a_change_goes_on_exactly(tmp_path, kind, undisturbed):
    opt = dc.Optimizer(**RUN)
    finish(opt, N_BEFORE)
    n_lines = change(opt, kind, None)
    assert n_lines > 100
    for at in range(1, n_lines + 1, 1 + n_lines // 40):
        path = tmp_path / f"{at}.db"
        opt = dc.Optimizer(**RUN, store=path)
        finish(opt, N_BEFORE)
        with pytest.raises(KeyboardInterrupt):
            change(opt, kind, at)
        # Whoever catches it and goes on gets an exact run or is told that this is not possible.
        with suppress(RuntimeError):
            finish(opt, N_BEFORE + 2)
        opt.close()
        with dc.Optimizer(**RUN, store=path) as again:
            assert finish(again) == undisturbed


def test_an_interrupt_waits_for_the_end_of_the_change():
    def constraint(point):
        if opt.n_evaluations == 5 and not interrupts:
            interrupts.append(True)
            signal.raise_signal(signal.SIGINT)
        return -1.0

    interrupts = []
    opt = dc.Optimizer(**RUN, constraints=constraint)
    expected = finish(dc.Optimizer(**RUN, constraints=lambda point: -1.0))
    with pytest.raises(KeyboardInterrupt):
        finish(opt)
    assert len(opt.pending) == 1
    assert finish(opt) == expected
    assert len(expected) == RUN["budget"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_second_interrupt_of_a_change_does_not_wait(tmp_path):
    def constraint(point):
        if opt.n_evaluations == 5:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
        return -1.0

    path = tmp_path / "run.db"
    expected = finish(dc.Optimizer(**RUN, constraints=lambda point: -1.0))
    opt = dc.Optimizer(**RUN, constraints=constraint, store=path)
    with pytest.raises(KeyboardInterrupt):
        finish(opt)
    for use in (lambda: opt.ask(1), lambda: opt.tell([], [])):
        with pytest.raises(RuntimeError, match="cannot go on: load its store"):
            use()
    opt.close()
    with dc.Optimizer(**RUN, constraints=lambda point: -1.0, store=path) as again:
        assert finish(again) == expected


@pytest.mark.parametrize("n", [1, 2])
def test_interrupts_of_a_run_leave_a_store_that_goes_on_exactly(tmp_path, n):
    """The first one ends the run when the change is whole, the second one at once and by an exception."""

    def constraint(point):
        calls.append(True)
        if len(calls) == 15:
            for _ in range(n):
                signal.raise_signal(signal.SIGINT)
        return -1.0

    calls, path = [], tmp_path / "run.db"
    arguments = {**RUN, "batch_size": 4}
    whole = dc.minimize(objective, **arguments, constraints=lambda point: -1.0)
    if n == 1:
        result = dc.minimize(objective, **arguments, constraints=constraint, store=path)
        assert result.stop_reason is dc.StopReason.INTERRUPTED
    else:
        with pytest.raises(KeyboardInterrupt):
            dc.minimize(objective, **arguments, constraints=constraint, store=path)
        assert dc.store.read(path).stop_reason is dc.StopReason.INTERRUPTED
    again = dc.minimize(objective, **arguments, constraints=lambda point: -1.0, store=path)
    assert again.history.points == whole.history.points
    assert again.message == whole.message


@pytest.mark.parametrize("evaluation_timeout", [None, 600])
def test_an_interrupt_that_does_not_end_the_wait_is_noticed_all_the_same(monkeypatch, evaluation_timeout):
    """As when it comes just before the wait begins: the main thread has it, but sleeps on."""
    is_noticed = threading.Event()

    class Listening(io.StringIO):
        def write(self, text):
            if "interrupted: waiting for 1 evaluations" in text:
                is_noticed.set()
            return super().write(text)

    def stubborn(point):
        time.sleep(0.5)  # by then the main thread waits
        _thread.interrupt_main()
        assert is_noticed.wait(60)
        return 1.0

    monkeypatch.setattr(sys, "stderr", Listening())
    with ThreadPoolExecutor(1) as pool:
        result = dc.minimize(
            stubborn, SPACE, budget=5, executor=pool, workers=1, evaluation_timeout=evaluation_timeout
        )
    assert (result.stop_reason, result.nfev, result.n_failures) == (dc.StopReason.INTERRUPTED, 1, 0)
