"""The tables in the guide are those that the benchmarks wrote."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["search_cv", "feature_selection"])
def test_the_tables_are_the_measured_ones(name):
    measured = (ROOT / "benchmarks" / "results" / f"{name}.txt").read_text()
    assert f"\n\n{measured}" in (ROOT / "docs" / "guides" / "sklearn.md").read_text()
