"""What users of spaces rely on: the public names, and that the guide says what happens."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import dcmaes
import dcmaes.space

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "spaces.md"


def test_public_names():
    assert sorted(dcmaes.space.__all__) == [
        "Binary",
        "CATEGORY",
        "CONTINUOUS",
        "Categorical",
        "Float",
        "Integer",
        "LATTICE",
        "Ordinal",
        "Scale",
        "SiteKind",
        "Sites",
        "Space",
        "Variable",
    ]
    for name in ("Binary", "Categorical", "Float", "Integer", "Ordinal", "Space"):
        assert name in dcmaes.__all__
        assert getattr(dcmaes, name) is getattr(dcmaes.space, name)


def test_public_names_of_a_space():
    public = {name for name in vars(dcmaes.Space) if not name.startswith("_")}
    assert public == {
        *("array", "binary", "integers", "from_dict", "to_dict", "differences"),
        *("variables", "names", "is_named", "dimension", "size", "sites", "default"),
        *("contains", "sample", "encode", "encode_many", "decode", "decode_many", "decode_column"),
    }


def test_guide_runs():
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, GUIDE.name, str(GUIDE), 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert len(test.examples) > 10
    assert runner.run(test).failed == 0
