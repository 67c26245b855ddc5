"""Figures of the report; the numbers come from `_measures`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dcmaes_bench._compare import DEFAULT, is_own
from dcmaes_bench._evaluations import Saving
from dcmaes_bench._measures import EARLY_PER_VARIABLE, comparable, ecdf, scales
from dcmaes_bench._results import RunRecord

# The best peers get a name and one of these: colours that the colour-blind can tell apart, with line styles
# for print without colours. The others are grey.
_NAMED: tuple[tuple[str, Any], ...] = (
    ("#d55e00", "--"),
    ("#009e73", "-."),
    ("#cc79a7", (0, (5, 1))),
    ("#8a6d00", (0, (1, 1))),
    ("#56b4e9", (0, (3, 1, 1, 1))),
)
_OWN, _GREY = "#00436b", "#b0b0b0"
_OWN_STYLES: tuple[Any, ...] = ("-", (0, (6, 2)), (0, (2, 1)), ":")


def common_runs(records: Sequence[RunRecord]) -> dict[str, list[RunRecord]]:
    """Runs by optimizer on the rows that at least half of the optimizers ran, of those that ran them all.

    Curves over different rows cannot be compared, so an optimizer that lacks some is left out.
    """
    kept = comparable(records)
    ran: dict[str, set[str]] = {}
    for record in kept:
        ran.setdefault(record.problem, set()).add(record.optimizer)
    n_optimizers = len({record.optimizer for record in kept})
    rows = {problem for problem, names in ran.items() if 2 * len(names) >= n_optimizers} or set(ran)
    complete = set.intersection(*(ran[problem] for problem in rows)) if rows else set()
    return {name: [r for r in kept if r.optimizer == name and r.problem in rows] for name in sorted(complete)}


def ecdf_figure(records: Sequence[RunRecord], references: Mapping[str, float], path: Path) -> list[str]:
    """Draw the share of targets hit against evaluations per variable; return the optimizers drawn.

    The library's default is highlighted, the five peers with the highest curves have colours, the rest is
    grey.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    scale_of, runs = scales(records, references), common_runs(records)
    figure = Figure(figsize=(7.5, 4.6), layout="constrained")
    axes = figure.add_subplot()
    ends = [(1 / r.dimension, r.budget / r.dimension) for some in runs.values() for r in some] or [
        (0.1, 10.0)
    ]
    first, last = min(low for low, _ in ends), max(high for _, high in ends)
    grid = np.geomspace(first, last, 200)
    curves = {name: ecdf(some, scale_of, grid) for name, some in runs.items()}
    order = sorted(curves, key=lambda name: -float(curves[name].mean()))
    for name, look in _looks(order).items():
        axes.plot(grid, curves[name], **look)
    if first < EARLY_PER_VARIABLE < last:
        axes.axvline(EARLY_PER_VARIABLE, color="#606060", lw=1.0, ls=":")
        axes.annotate("50 d", (EARLY_PER_VARIABLE, 0.01), (3, 0), textcoords="offset points", fontsize=8)
    axes.set(xscale="log", xlabel="evaluations per variable", ylabel="share of targets hit")
    axes.set(xlim=(first, last), ylim=(0, 1))
    axes.grid(alpha=0.25)
    if order:
        axes.legend(fontsize=8, loc="upper left", framealpha=0.9)
    path.parent.mkdir(parents=True, exist_ok=True)
    with rc_context({"svg.hashsalt": "dcmaes"}):  # the same data give the same bytes
        figure.savefig(path, metadata={"Date": None})
    return order


def _looks(order: Sequence[str]) -> dict[str, dict[str, Any]]:
    """How each curve is drawn, by name, in the order of the legend: the library, the best peers, the rest."""
    own = sorted((name for name in order if is_own(name)), key=lambda name: name != DEFAULT)
    peers = [name for name in order if not is_own(name)]
    looks: dict[str, dict[str, Any]] = {}
    for i, name in enumerate(own):
        is_main = name == DEFAULT or len(own) == 1
        width, style = (2.8, "-") if is_main else (1.4, _OWN_STYLES[i % len(_OWN_STYLES)])
        looks[name] = {"label": name, "color": _OWN, "lw": width, "ls": style, "zorder": 4 if is_main else 3}
    for name, (color, style) in zip(peers, _NAMED, strict=False):
        looks[name] = {"label": name, "color": color, "lw": 1.6, "ls": style, "zorder": 2}
    rest = peers[len(_NAMED) :]
    for i, name in enumerate(rest):
        label = f"{len(rest)} other peers" if i == 0 else None
        looks[name] = {"label": label, "color": _GREY, "lw": 0.8, "ls": "-", "zorder": 1}
    return looks


def savings_figure(savings: Mapping[str, Saving], path: Path) -> None:
    """Draw for each suite how many times fewer evaluations each row needed than with the best other."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 0.8 + 0.48 * len(savings)), layout="constrained")
    axes = figure.add_subplot()
    for place, found in enumerate(savings.values()):
        ratios = np.sort(list(found.ratios.values()))
        jitter = 0.16 * np.where(np.arange(len(ratios)) % 2, 1, -1) * (np.arange(len(ratios)) % 4 > 1)
        axes.scatter(ratios, place + jitter, s=14, color="#56b4e9", lw=0, zorder=2)
        axes.plot(found.quartiles, [place, place], color=_OWN, lw=3, alpha=0.55, zorder=3)
        axes.plot([found.middle] * 2, [place - 0.3, place + 0.3], color=_OWN, lw=3, zorder=4)
        text = f"{found.middle:.1f}"
        axes.annotate(text, (found.middle, place - 0.33), ha="center", va="bottom", fontsize=9, zorder=5)
    labels = [f"{name}\nbeside {found.peer}" for name, found in savings.items()]
    axes.set_yticks(range(len(savings)), labels, fontsize=8)
    axes.set(xscale="log", ylim=(len(savings) - 0.4, -0.7))
    axes.axvline(1.0, color="#606060", lw=1.0)
    low = min((min(found.ratios.values()) for found in savings.values()), default=1.0)
    high = max((max(found.ratios.values()) for found in savings.values()), default=1.0)
    ticks = [t for t in (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100) if low / 1.5 <= t <= high * 1.5]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_xlabel("evaluations of the best other optimizer / evaluations of dcmaes, to the same targets")
    axes.grid(axis="x", alpha=0.25)
    path.parent.mkdir(parents=True, exist_ok=True)
    with rc_context({"svg.hashsalt": "dcmaes"}):
        figure.savefig(path, metadata={"Date": None})
