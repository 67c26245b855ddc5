"""What a run says to the standard logging module."""

import logging
import subprocess
import sys

import numpy as np
import pytest

import dcmaes as dc
from dcmaes.optimizer._loop import note_loss

SPACE = dc.Space({"n": dc.Integer(0, 99), "act": dc.Categorical(["relu", "\x1b[31mgelu"])})


def objective(point):
    if point["n"] % 3 == 0:
        raise ValueError("three\x1b[0m")
    return point["n"] + (point["act"] == "relu")


def test_start_improvements_failures_and_stop(caplog):
    caplog.set_level(logging.INFO, "dcmaes")
    result = dc.minimize(objective, SPACE, budget=30, seed=0, strategy="random")
    lines = [record.getMessage() for record in caplog.records]
    assert {record.name for record in caplog.records} == {"dcmaes"}
    assert lines[0] == "minimize 2 variables with random: budget 30, seed 0, 0 evaluations told"
    assert lines[-1] == "stopped after 30 evaluations: budget of 30 evaluations used"
    failed = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert len(failed) == result.n_failures > 0
    assert "failed: ValueError: three\\x1b[0m" in failed[0].getMessage()
    best = [line for line in lines if "is the best so far" in line]
    running = np.fmin.accumulate(result.history.values)
    assert len(best) == len(np.unique(running[~np.isnan(running)])) > 1
    assert f": {result.fun:.10g} at n={result.x['n']}  act=" in best[-1]
    assert "\x1b" not in "".join(lines)


def test_a_maximum_is_in_the_users_sign_and_a_lost_evaluation_is_a_warning(caplog):
    caplog.set_level(logging.INFO, "dcmaes")
    opt = dc.Optimizer(dc.Space.binary(3), budget=5, seed=0, direction="maximize", strategy="random")
    (trial,) = opt.ask(1)
    with pytest.warns(RuntimeWarning, match="was lost"):
        note_loss(opt, trial, "the worker died", None)
    opt.tell(trial, dc.Outcome(2.5, 0.5))
    assert [record.getMessage() for record in caplog.records][1:] == [
        "the evaluation of trial 0 was lost and is made again: the worker died",
        f"evaluation 1 is the best so far: 2.5, infeasible by 0.5 at {'  '.join(map(str, trial.point))}",
    ]


def test_a_stored_run_that_is_only_read_says_nothing(caplog, tmp_path):
    dc.minimize(objective, SPACE, budget=5, seed=0, strategy="random", store=tmp_path / "run.db")
    caplog.clear()
    caplog.set_level(logging.INFO, "dcmaes")
    assert dc.store.read(tmp_path / "run.db").result().nfev == 5
    assert caplog.records == []


def test_nothing_is_written_unless_a_program_sets_logging_up():
    code = (
        "import dcmaes as dc\n"
        "def f(x):\n"
        "    if x[0]: raise ValueError\n"
        "    return 1.0\n"
        "dc.minimize(f, dc.Space.binary(3), budget=8, seed=0, strategy='random')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")
