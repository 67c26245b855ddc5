"""The guide on the paper quotes the table that the benchmark wrote, and its example runs."""

import doctest
from pathlib import Path

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "guides" / "the-paper.md"


def test_the_table_is_the_measured_one():
    measured = (ROOT / "benchmarks" / "results" / "paper_failures.txt").read_text()
    assert measured.count("\n") == 2 + 13 * 3
    assert f"\n\n{measured}\n" in GUIDE.read_text()


def test_the_example_runs():
    outcome = doctest.testfile(str(GUIDE), module_relative=False)
    assert (outcome.failed, outcome.attempted) == (0, 4)
