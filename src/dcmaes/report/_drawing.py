"""What the plots have in common: colours, new axes, short labels, remarks."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colours, which people with any of the common colour deficiencies tell apart; marks and line
# styles differ as well.
BLUE, ORANGE, RED, GREY = "#0072B2", "#E69F00", "#D55E00", "#7f7f7f"
STATUS_COLOURS = {"ok": BLUE, "infeasible": ORANGE, "failed": RED}
SEQUENTIAL, DIVERGING = "cividis", "RdBu_r"
_LONGEST_LABEL = 18
_REMARK_WIDTH = 70


def new_axes(width: float, height: float) -> Axes:
    """Return the axes of a new figure, made so that notebooks show it and `plt.close` frees it."""
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def short(text: str) -> str:
    """Return a text short enough for an axis, dollar signs taken literally.

    >>> short("a" * 30), short("$x$")
    ('aaaaaaaaaaaaaaaaa…', '\\\\$x\\\\$')
    """
    text = text if len(text) <= _LONGEST_LABEL else text[: _LONGEST_LABEL - 1] + "…"
    return literal(text)


def literal(text: str) -> str:
    """Return a text in which dollar signs are no formula.

    >>> literal("costs $5")
    'costs \\\\$5'
    """
    return text.replace("$", r"\$")


def add_remark(ax: Axes, text: str) -> None:
    """Write a remark below the axes, under the label if there is one."""
    if text:
        lines = [ax.get_xlabel(), *wrap(literal(text), _REMARK_WIDTH)]
        ax.set_xlabel("\n".join(line for line in lines if line), fontsize="small")


def strip(ax: Axes) -> None:
    """Take away everything of the axes but their labels."""
    ax.set_xticks([])
    ax.set_yticks([])
    ax.spines[:].set_visible(False)
