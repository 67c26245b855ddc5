"""The live display of a terminal, drawn with rich."""

from __future__ import annotations

import math
from typing import TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from dcmaes.progress._display import (
    Standing,
    describe_best,
    describe_counts,
    describe_duration,
    describe_point,
    describe_time,
    printable,
)


def is_capable(stream: TextIO) -> bool:
    """Tell whether a terminal can be drawn over (a "dumb" one cannot)."""
    console = Console(file=stream)
    return console.is_terminal and not console.is_dumb_terminal


class TerminalSurface:
    """Some lines of a terminal; what others print meanwhile appears above them."""

    def __init__(self, stream: TextIO) -> None:
        self._console = Console(file=stream)
        self._live = Live(console=self._console, auto_refresh=False, transient=False)
        self._live.start()

    def draw(self, standing: Standing) -> None:
        """Show a standing in place of the one before."""
        self._live.update(render(standing), refresh=True)

    def close(self, message: str) -> None:
        """Leave the last one standing, with a message below it."""
        self._live.stop()
        self._console.print(Text(printable(message)), soft_wrap=True)


def render(standing: Standing) -> RenderableType:
    """Return what to draw: a bar, and a row for each thing that one wants to know."""
    head = Table.grid(padding=(0, 2), expand=False)
    bar = ProgressBar(total=standing.budget, completed=standing.n_told, width=30)
    head.add_row(bar, _counts(standing))
    rows = Table.grid(padding=(0, 2))
    rows.add_column(style="dim", no_wrap=True)
    rows.add_column(overflow="fold")
    rows.add_row("best", _best(standing))
    if standing.best_point is not None:
        rows.add_row("point", Text(describe_point(standing.best_point)))
    rows.add_row("search", _search(standing))
    rows.add_row("time", Text(describe_time(standing)))
    if standing.last_failure:
        first_line = printable(standing.last_failure.splitlines()[0])
        rows.add_row("failure", Text(f"the last: {first_line[:200]}", style="yellow"))
    return Group(head, rows)


def _counts(standing: Standing) -> Text:
    text = Text(f"{standing.n_told}/{standing.budget} evaluations", style="bold")
    for count in describe_counts(standing):
        text.append(f", {count}", style="not bold yellow" if count.endswith("failed") else "not bold")
    return text


def _best(standing: Standing) -> Text:
    if standing.n_front:
        return Text(describe_best(standing), style="bold green")
    if standing.best_point is None:
        return Text("nothing found yet")
    text = Text(f"{standing.best_value:.8g}", style="bold green")
    if standing.best_violation > 0.0:
        text = Text(f"{standing.best_value:.8g}, infeasible by {standing.best_violation:.3g}", style="yellow")
    where = f"at evaluation {standing.best_number}" if standing.best_number else "by a starting point"
    after = "" if math.isnan(standing.best_at) else f" after {describe_duration(standing.best_at)}"
    return text.append(f"  found {where}{after}", style="not bold default")


def _search(standing: Standing) -> Text:
    n = standing.n_restarts
    step = "" if math.isnan(standing.step_size) else f"step size {standing.step_size:.3g}, "
    return Text(f"{standing.strategy}: {step}{n} restart{'' if n == 1 else 's'}")
