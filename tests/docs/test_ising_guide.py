"""The guide on the ising strategy quotes the table that the benchmark wrote."""

from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_table_is_the_measured_one():
    measured = (ROOT / "benchmarks" / "results" / "targets.txt").read_text()
    guide = (ROOT / "docs" / "guides" / "the-ising-strategy.md").read_text()
    assert measured.count("\n") == 2 + 16
    assert f"<!-- targets -->\n{measured}<!-- /targets -->" in guide
