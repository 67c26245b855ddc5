"""What the plots have in common: colours, new axes, short labels, remarks."""

from __future__ import annotations

from collections.abc import Sequence
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


def short_names(names: Sequence[str]) -> list[str]:
    """Return names short enough for an axis that can still be told apart.

    Of long ones, what all of them begin and end with is left out first, then the middle.

    >>> short_names(["train-cluster-node-1:4711", "train-cluster-node-2:4711", "here"])
    ['…1…', '…2…', 'here']
    """
    long = [name for name in set(names) if len(name) > _LONGEST_LABEL]
    head = _n_common(long)
    tail = _n_common([name[head:][::-1] for name in long])
    return [literal(name if len(name) <= _LONGEST_LABEL else _shortened(name, head, tail)) for name in names]


def _n_common(texts: Sequence[str]) -> int:
    """Return with how many characters all of several texts begin; none if there is but one."""
    if len(texts) < 2:
        return 0
    places = enumerate(zip(*texts, strict=False))
    return next((k for k, letters in places if len(set(letters)) > 1), min(map(len, texts)))


def _shortened(name: str, head: int, tail: int) -> str:
    """Return a name without its first and last characters, if those are some, and without its middle."""
    text = "…" + name[head:] if head > 2 else name
    text = text[:-tail] + "…" if tail > 2 else text
    if len(text) <= _LONGEST_LABEL:
        return text
    kept = _LONGEST_LABEL - 1
    return text[: kept - kept // 2] + "…" + text[-(kept // 2) :]


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
