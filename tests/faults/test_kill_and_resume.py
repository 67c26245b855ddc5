"""A run that is killed or interrupted thirty times ends as if nothing had happened."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

DRIVER = Path(__file__).with_name("kill_driver.py")
N_ENDS = 30
# In how many evaluations a sitting may be when it is ended.
N_RUNNING = {"serial": 1, "rounds": 2, "async": 2, "front": 1, "noisy": 1}


@pytest.fixture(scope="module", params=["serial", "rounds", "async", "front", "noisy"])
def summary(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    command = [sys.executable, str(DRIVER), str(folder), "--mode", request.param, "--ends", str(N_ENDS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return {"mode": request.param, **json.loads((folder / "summary.json").read_text())}


def test_every_finished_evaluation_is_there_once(summary):
    found = summary["found"]
    assert summary["n_sittings"] >= N_ENDS // 2
    # One number was given with x0.
    assert sorted(found["ids"]) == list(range(len(summary["told"]) + 1))
    assert found["message"] == f"budget of {len(summary['told'])} evaluations used"
    for held in summary["held"]:
        assert held["told"].items() <= summary["told"].items()
    assert {held["way"] for held in summary["held"]} == {"killed", "interrupted", "twice", "at_once"}
    n_again = summary["n_finished"] - len(summary["told"])
    assert 0 <= n_again <= N_ENDS * N_RUNNING[summary["mode"]]


def test_the_result_is_that_of_an_undisturbed_run(summary):
    if summary["mode"] != "async":  # there, two workers may finish in another order each time
        assert summary["found"] == summary["expected"]
