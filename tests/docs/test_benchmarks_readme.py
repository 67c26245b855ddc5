"""The list of measurements in benchmarks/README.md is complete."""

import re
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "benchmarks"
TEXT = (FOLDER / "README.md").read_text(encoding="utf-8")


def test_every_script_is_listed_with_its_command():
    listed = set(re.findall(r"`python benchmarks/(\w+\.py)[^`]*`", TEXT))
    assert {path.name for path in FOLDER.glob("[a-z]*.py")} <= listed
