"""The guide on the ising strategy quotes the tables that the benchmarks wrote."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("mark", "file", "n_rows"),
    [
        ("targets", "targets.txt", 17),
        ("few evaluations", "few_evaluations.txt", 4),
        ("constraints", "constraints.txt", 5),
        ("penalties", "penalties.txt", 7),
    ],
)
def test_the_table_is_the_measured_one(mark, file, n_rows):
    measured = (ROOT / "benchmarks" / "results" / file).read_text()
    guide = (ROOT / "docs" / "guides" / "the-ising-strategy.md").read_text()
    assert measured.count("\n") == 2 + n_rows
    assert f"<!-- {mark} -->\n{measured}<!-- /{mark} -->" in guide
