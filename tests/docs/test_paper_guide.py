"""The guide on the paper quotes the table that the benchmark wrote, and its example runs."""

import doctest
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "guides" / "the-paper.md"


def test_the_table_is_the_measured_one():
    measured = (ROOT / "benchmarks" / "results" / "paper_failures.txt").read_text()
    assert measured.count("\n") == 2 + 13 * 3
    assert f"\n\n{measured}\n" in GUIDE.read_text()


def test_the_table_of_updates_is_the_measured_one():
    measured = (ROOT / "benchmarks" / "results" / "paper_update.txt").read_text()
    assert measured.count("\n") == 2 + 6 * 4
    assert f"\n\n{measured}\n" in GUIDE.read_text()


def test_the_example_runs():
    outcome = doctest.testfile(str(GUIDE), module_relative=False)
    assert (outcome.failed, outcome.attempted) == (0, 4)


def test_every_test_that_the_guide_and_the_errata_name_exists():
    sources = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    defined = set(re.findall(r"def (test_\w+)", sources))
    for page in (GUIDE, ROOT / "docs" / "errata.md"):
        named = set(re.findall(r"`(test_\w+)`", page.read_text()))
        assert named
        assert named - defined == set()


def test_every_erratum_with_a_test_is_numbered_as_in_the_page():
    text = (ROOT / "docs" / "errata.md").read_text()
    numbers = [int(n) for n in re.findall(r"^## (\d+)\. ", text, re.MULTILINE)]
    assert numbers == list(range(1, len(numbers) + 1))
    sources = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("test_errata*.py"))
    tested = {int(n) for n in re.findall(r"def test_erratum_(\d+)_", sources)}
    assert tested == set(numbers) - {24, 25}  # a slip of the pen, and earlier work
