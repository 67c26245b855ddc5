"""Formulas numbered in docs/maths.md are tagged where the code computes them, and tags have their formula."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_formulas_and_code_refer_to_each_other():
    formulas = re.findall(r"\\tag\{([A-Z]\d+)\}", (ROOT / "docs" / "maths.md").read_text())
    assert len(set(formulas)) == len(formulas)
    sources = "\n".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    tags = set(re.findall(r"\(([A-Z]\d+)\)", sources))
    assert set(formulas) - tags == set()
    sections = {formula[0] for formula in formulas}
    assert {tag for tag in tags if tag[0] in sections} - set(formulas) == set()
