"""The guide on the ising strategy quotes the tables that the benchmarks wrote."""

from pathlib import Path

import numpy as np
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


def test_what_is_unexplained_in_rows_that_are_lost_is_the_measured_share():
    lines = (ROOT / "benchmarks" / "results" / "explained.txt").read_text().splitlines()[2:]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    pbo = [row for row in rows if "n=64" in row[0]]
    assert (len(pbo), len(rows)) == (25, 38)
    lost = [row for row in pbo if row[0].startswith("**")]
    guide = " ".join((ROOT / "docs" / "guides" / "the-ising-strategy.md").read_text().split())
    names, shares = ([row[i].strip("*").split()[0] for row in lost] for i in (0, 1))
    assert f"rows, {', '.join(names[:-1])} and {names[-1]}." in guide
    assert f"leaves {', '.join(shares[:-1])} and {shares[-1]} of the variance" in guide
    ahead = [float(row[1]) for row in pbo if row not in lost and row[1] != "-"]
    assert f"the figure is at most {max(ahead):.2f} and mostly below 0.5" in guide
    assert np.median(ahead) < 0.5
