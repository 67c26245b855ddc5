"""How numbers, ranges and tables are written in the report."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dcmaes_bench._measures import EARLY, FULL, Table


def end_title(scores: Table, when: str) -> str:
    """What an end at which areas are taken is called: `50 d`, a number of evaluations, or the budget."""
    budgets = {entry.budget for row in scores.values() for entry in row.values()}
    if when == FULL:
        return "the budget"
    return EARLY if when == EARLY else f"{budgets.pop() // 2:,}" if len(budgets) == 1 else "half"


def number(value: float, form: str) -> str:
    """Format a number, `-` standing for those that are not finite.

    >>> number(0.5, "{:.2f}"), number(math.inf, "{:.2f}")
    ('0.50', '-')
    """
    return form.format(value) if math.isfinite(value) else "-"


def percent(share: float) -> str:
    """Format a share; what is not all and not nothing does not look like it.

    >>> percent(0.5), percent(0.001), percent(0.999)
    ('50 %', '1 %', '99 %')
    """
    return f"{100 * share if share in (0, 1) else min(max(100 * share, 1), 99):.0f} %"


def span(values: Sequence[int]) -> str:
    """The range of some numbers.

    >>> span([3, 1, 2]), span([5, 5])
    ('1 to 3', '5')
    """
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])
