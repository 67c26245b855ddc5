"""Short texts of values and counts, and tables of them as notebooks show them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np

_LONGEST = 40


def value_text(value: Any) -> str:
    """Write a value in one short line.

    >>> value_text("relu"), value_text(True), value_text(0.30000000000000004), value_text((1, 2))
    ('relu', 'True', '0.3', '(1, 2)')
    """
    text = f"{value:.6g}" if isinstance(value, (float, np.floating)) else str(value)
    text = " ".join(text.split()) or repr(text)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def points_text(n: int) -> str:
    """Write a number of points.

    >>> points_text(0), points_text(1), points_text(2)
    ('0 points', '1 point', '2 points')
    """
    return f"{n} point{'' if n == 1 else 's'}"


def html_table(caption: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table in HTML: texts as they are, other values in one short line each.

    >>> html_table("1 row", ["name"], [["<b>"]])
    '<table><caption>1 row</caption><tr><th>name</th></tr><tr><td>&lt;b&gt;</td></tr></table>'
    """
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    lines = [f"<tr>{head}</tr>"] if header else []
    for row in rows:
        texts = [cell if isinstance(cell, str) else value_text(cell) for cell in row]
        lines.append("<tr>" + "".join(f"<td>{escape(text)}</td>" for text in texts) + "</tr>")
    return f"<table><caption>{escape(caption)}</caption>{''.join(lines)}</table>"
