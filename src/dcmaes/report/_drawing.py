"""What the plots have in common: axes and colours, and how values, variables and ticks are written."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from inspect import cleandoc
from textwrap import wrap
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from dcmaes._html import value_text
from dcmaes._validation import FloatArray
from dcmaes.space import Scale, Space

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Function = TypeVar("Function", bound=Callable[..., Any])

# Okabe and Ito's colours, which people with any of the common colour deficiencies tell apart; marks and line
# styles differ as well.
BLUE, ORANGE, RED, GREY = "#0072B2", "#E69F00", "#D55E00", "#7f7f7f"
STATUS_COLOURS = {"ok": BLUE, "infeasible": ORANGE, "failed": RED}
SEQUENTIAL, DIVERGING = "cividis", "RdBu_r"
_LONGEST_LABEL = 18
_REMARK_WIDTH = 70
_MOST_TICKS = 5

_PARAMETERS_TEXT = """\
Parameters
----------
result : Result or StoredRun
    What to plot.
"""
_AXES_TEXT = """\
ax : matplotlib Axes or None
    Where; a new figure if None.

Returns
-------
Axes
    Where it was drawn.

Examples
"""


def plot(function: Function) -> Function:
    """Add to the docstring of a plot what all plots take and return; its own parameters stand between.

    >>> from dcmaes.report import plot_importance
    >>> [line.strip() for line in plot_importance.__doc__.splitlines()[2:9:2]]
    ['Parameters', 'result : Result or StoredRun', 'limit : int', 'ax : matplotlib Axes or None']
    """
    if function.__doc__:  # there is none under python -OO
        head, examples = cleandoc(function.__doc__).split("Examples\n")
        summary, _, own = head.partition("Parameters\n----------\n")
        own = own.rstrip() + "\n" if own else ""
        function.__doc__ = f"{summary}{_PARAMETERS_TEXT}{own}{_AXES_TEXT}{examples}"
    return function


def axes(ax: Axes | None, width: float, height: float) -> Axes:
    """Return the axes given, or those of a new figure, which notebooks show and `plt.close` frees."""
    if ax is not None:
        return ax
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


class Tick(NamedTuple):
    """A place on an axis, from 0 to 1, and what is written there."""

    position: float
    label: str


def number_text(value: float) -> str:
    """Write a number with as many digits as one wants to read.

    >>> [number_text(v) for v in (3.0, 0.1234567, 1e-9, 123456.0, float("nan"))]
    ['3', '0.1235', '1e-09', '123456', 'none']
    """
    if math.isnan(value):
        return "none"
    if value == round(value) and abs(value) < 1e15:
        return str(round(value))
    return f"{value:.4g}"


def variable_labels(space: Space) -> tuple[str, ...]:
    """Return what the variables are called in figures.

    >>> from dcmaes.space import Float
    >>> variable_labels(Space.binary(2)), variable_labels(Space({"lr": Float(0, 1)}))
    (('x0', 'x1'), ('lr',))
    """
    return tuple(name if isinstance(name, str) else f"x{name}" for name in space.names)


def state_labels(space: Space, site: int) -> list[str]:
    """Return what the states of a variable that is not continuous are called.

    >>> state_labels(Space.integers(2, 1, 3), 0), state_labels(Space.binary(2), 0)
    (['1', '2', '3'], ['0', '1'])
    """
    return [value_text(value) for value in space.decode_column(site, range(space.sites.n_states[site]))]


def axis_position(space: Space, x: FloatArray) -> FloatArray:
    """Return where coded points lie on the axes of their variables, from 0 to 1, shape (..., d).

    >>> axis_position(Space.integers(2, 0, 4, periodic=True), np.array([[1.0, 4.0]]))
    array([[0.25, 1.  ]])
    """
    sites = space.sites
    last_state = np.maximum(sites.n_states - 1.0, 1.0)
    evenly = (sites.n_states > 0) & ~sites.log
    return np.where(evenly, x / last_state, sites.coordinate(x))


def axis_texts(space: Space, site: int, positions: FloatArray) -> list[str]:
    """Return the values at positions on the axis of a variable; nothing where there is no position.

    >>> axis_texts(Space.integers(1, 1, 100, log=True), 0, np.array([0.0, 0.5]))
    ['1', '10']
    """
    scale = space.variables[site].scale
    if scale is None:
        labels = state_labels(space, site)
        return ["" if p != p else labels[round(p * (len(labels) - 1))] for p in positions.tolist()]
    return ["" if p != p else number_text(float(f"{scale.value(p):.12g}")) for p in positions.tolist()]


def axis_ticks(space: Space, site: int) -> list[Tick]:
    """Return a few places on the axis of a variable, in the positions of `axis_position`.

    >>> from dcmaes.space import Float
    >>> [label for _, label in axis_ticks(Space.array([Float(1e-4, 1e-1, log=True)]), 0)]
    ['0.0001', '0.001', '0.01', '0.1']
    """
    scale = space.variables[site].scale
    if scale is not None:
        if scale.low == scale.high:
            return [Tick(0.0, number_text(scale.low))]
        return _log_ticks(scale) if scale.log else _linear_ticks(scale)
    labels = state_labels(space, site)
    last = len(labels) - 1
    if last == 0:
        return [Tick(0.0, labels[0])]
    shown = np.unique(np.linspace(0, last, min(last + 1, 2 * _MOST_TICKS)).round().astype(int))
    return [Tick(int(i) / last, labels[i]) for i in shown]


def _linear_ticks(scale: Scale) -> list[Tick]:
    low, high = scale.low, scale.high
    step = _nice_step((high - low) / (_MOST_TICKS - 1))
    if scale.step in (0.0, 1.0):
        step = max(step, scale.step)
        inside = [k * step for k in range(math.ceil(low / step), math.floor(high / step) + 1)]
    else:
        step = scale.step * max(round(step / scale.step), 1)
        inside = [low + k * step for k in range(math.floor((high - low) / step + 1e-6) + 1)]
    return [Tick((v - low) / (high - low), number_text(float(f"{v:.12g}"))) for v in inside]


def _log_ticks(scale: Scale) -> list[Tick]:
    first, last = math.log10(scale.low), math.log10(scale.high)
    decades = np.arange(math.ceil(first - 1e-9), math.floor(last + 1e-9) + 1)
    if len(decades) < 2:
        places = [float(scale.low), float(scale.high)]
    else:
        places = [10.0 ** int(k) for k in decades[:: math.ceil(len(decades) / _MOST_TICKS)]]
    return [Tick((math.log10(v) - first) / (last - first), number_text(v)) for v in places]


def _nice_step(rough: float) -> float:
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * m for m in (1, 2, 5, 10) if power * m >= rough * (1 - 1e-9))
