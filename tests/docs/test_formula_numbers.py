"""Formulas numbered in docs/maths.md are tagged where the code computes them, and tags have their formula."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
MATHS = (ROOT / "docs" / "maths.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## ([A-Z])\. .*?\n(.*?)(?=^## |\Z)", MATHS, re.DOTALL | re.MULTILINE))


def test_formulas_and_code_refer_to_each_other():
    formulas = re.findall(r"\\tag\{([A-Z]\d+)\}", MATHS)
    assert len(set(formulas)) == len(formulas)
    sources = "\n".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    tags = set(re.findall(r"\(([A-Z]\d+)\)", sources))
    assert set(formulas) - tags == set()
    sections = {formula[0] for formula in formulas}
    assert {tag for tag in tags if tag[0] in sections} - set(formulas) == set()


def test_formulas_are_in_numeric_order():
    for letter, text in SECTIONS.items():
        tags = re.findall(r"\\tag\{([A-Z]\d+)\}", text)
        assert tags == [f"{letter}{i}" for i in range(1, len(tags) + 1)]


def test_every_section_has_its_symbols_in_a_table():
    common = MATHS[MATHS.index("## Symbols") : MATHS.index("\n## ", MATHS.index("## Symbols"))]
    listed = set(",".join(re.findall(r"^\| ([A-Z, ]+) \|", common, re.MULTILINE)).replace(" ", "").split(","))
    own = {letter for letter, text in SECTIONS.items() if "| symbol | meaning |" in text}
    assert set(SECTIONS) == listed | own
    assert listed & own == set()


def test_no_line_is_a_wall():
    prose = [line for line in MATHS.splitlines() if not line.startswith("|")]
    assert [line for line in prose if len(line) > 150] == []
    paragraphs = [block for block in MATHS.split("\n\n") if block[:1].isalnum()]
    assert [block[:60] for block in paragraphs if len(block.split()) > 170] == []
