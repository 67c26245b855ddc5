"""Figures of the report; the numbers come from `_measures`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from dcmaes.bench._measures import comparable, ecdf, scales
from dcmaes.bench._results import RunRecord


def ecdf_figure(records: Sequence[RunRecord], references: Mapping[str, float], path: Path) -> None:
    """Draw the share of targets hit against evaluations, one line per optimizer that ran all the rows."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    scale_of = scales(records, references)
    kept = comparable(records)
    n_rows = len({record.problem for record in kept})
    names = sorted({record.optimizer for record in kept})
    grid = np.geomspace(1, max(record.budget for record in kept), 200)
    figure = Figure(figsize=(7.5, 5), layout="constrained")
    axes = figure.add_subplot()
    for i, name in enumerate(names):
        runs = [record for record in kept if record.optimizer == name]
        if len({record.problem for record in runs}) < n_rows:
            continue
        own = name.startswith("dcmaes")
        axes.plot(
            grid,
            ecdf(runs, scale_of, grid),
            label=name,
            lw=2.5 if own else 1.2,
            ls="-" if own else _STYLES[i % 4],
        )
    axes.set(
        xscale="log", xlabel="evaluations", ylabel="share of targets hit", xlim=(1, grid[-1]), ylim=(0, 1)
    )
    axes.grid(alpha=0.3)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=7)
    path.parent.mkdir(parents=True, exist_ok=True)
    with rc_context({"svg.hashsalt": "dcmaes"}):  # the same data give the same bytes
        figure.savefig(path, metadata={"Date": None})


_STYLES = ("--", "-.", ":", "-")
