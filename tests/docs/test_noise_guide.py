"""The guide on noise quotes what the benchmark wrote."""

from pathlib import Path

ROOT = Path(__file__).parents[2]


def figures(line):
    """Return recommended, best mean and luckiest of one line, without the standard error."""
    return [cell for cell in line.split()[-5:] if "±" not in cell][1:]


def test_the_table_is_the_measured_one():
    lines = (ROOT / "benchmarks" / "results" / "noise.txt").read_text().splitlines()[1:19]
    measured = []
    for auto, cma, random in zip(lines[0::3], lines[1::3], lines[2::3], strict=True):
        recommended, *others = figures(auto)
        measured.append([recommended, figures(cma)[0], figures(random)[0], *others])
    guide = (ROOT / "docs" / "guides" / "noise.md").read_text().splitlines()
    rows = [line.split("|")[2:-1] for line in guide if line.startswith("|") and "deviation" in line]
    assert [[cell.strip() for cell in row] for row in rows] == measured
    assert len(measured) == 6
