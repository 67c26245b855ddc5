"""The live display of a notebook."""

from __future__ import annotations

from html import escape
from importlib import import_module
from typing import Any

from dcmaes.progress._standing import Standing, describe, describe_point, describe_time

_BAR = (
    '<div style="width:20em;height:.5em;background:#8884;border-radius:.25em">'
    '<div style="width:{percent:.1f}%;height:100%;background:#0072b2;border-radius:.25em"></div></div>'
)
_PAGE = '<div style="font-family:monospace;white-space:pre-wrap">{bar}{text}</div>'


class NotebookSurface:
    """One output of a cell that is replaced again and again; needs nothing but IPython."""

    def __init__(self) -> None:
        display: Any = import_module("IPython.display")
        self._last = Standing(0, 1)
        self._handle = display.display(self._bundle(""), raw=True, display_id=True)

    def draw(self, standing: Standing) -> None:
        """Show a standing in place of the one before."""
        self._last = standing
        self._handle.update(self._bundle(""), raw=True)

    def close(self, message: str) -> None:
        """Leave the last one standing, with a message below it."""
        self._handle.update(self._bundle(message), raw=True)

    def _bundle(self, message: str) -> dict[str, str]:
        standing = self._last
        lines = [describe(standing).strip(), describe_time(standing)]
        if standing.best_point is not None:
            lines.append(describe_point(standing.best_point))
        if standing.last_failure:
            lines.append(f"last failure: {standing.last_failure.splitlines()[0][:200]}")
        text = "\n".join(line for line in (*lines, message) if line)
        bar = _BAR.format(percent=100 * standing.fraction)
        return {"text/plain": text, "text/html": _PAGE.format(bar=bar, text=escape(text))}
