"""Guides say where their steps are in the code; what they name is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = {path.relative_to(ROOT / "src" / "dcmaes"): path.read_text() for path in ROOT.glob("src/**/*.py")}
POINTERS = [
    (page.name, name)
    for page in sorted(ROOT.glob("docs/guides/*.md"))
    for sentence in re.findall(r"[Cc]ode:\s+((?:[^`.)]|`[^`]*`)*)", page.read_text())
    for name in re.findall(r"`([^`]+)`", sentence)
]


def test_there_are_pointers():
    assert len(POINTERS) > 10


@pytest.mark.parametrize(("page", "name"), POINTERS)
def test_what_a_guide_points_to_exists(page, name):
    if name.endswith(".py"):
        assert any(path.as_posix().endswith(name) for path in SOURCES)
    else:
        assert any(re.search(rf"^\s*(class|def) {name}\b", text, re.M) for text in SOURCES.values())
