"""A million asks and tells with flat memory: takes minutes, run by `make soak`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "soak.py"


@pytest.mark.soak
def test_a_million_cycles_leave_memory_flat():
    done = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True, timeout=3600)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_same_briefly():
    command = [sys.executable, str(SCRIPT), "--cycles", "4000", "--strategy", "random"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.stdout.count("\n") == 12
