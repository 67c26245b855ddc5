"""The report: one file that needs nothing else, no network, and runs no script but its own."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from dcmaes.report._payload import as_json, payload
from dcmaes.report._run import read_run

_SCRIPTS = ("elements.js", "charts.js", "figures.js", "table.js", "page.js")


def write_html(
    result: Any,
    path: str | os.PathLike[str],
    *,
    title: str = "dcmaes report",
    outputs: Mapping[int, str] | None = None,
    command: str | None = None,
) -> Path:
    """Write a report of a run: one HTML file, to be opened in a browser, sent or kept.

    Parameters
    ----------
    result : Result or StoredRun
        The run, which may still be in progress.
    path : path
        The file; one that exists is replaced.
    title : str
        What the report is called.
    outputs : dict of int and str, or None
        What evaluations had printed, by the number of the trial; shown with failures and in the details.
    command : str or None
        How to repeat the run; by default, the call in Python.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> import dcmaes as dc
    >>> result = dc.minimize(sum, dc.Space.binary(8), budget=40, seed=0)
    >>> path = write_html(result, tempfile.mkdtemp() + "/report.html", title="Bits")
    >>> "<title>Bits</title>" in path.read_text(encoding="utf-8")
    True
    """
    path = Path(path)
    text = render_html(result, title=title, outputs=outputs, command=command)
    path.write_text(text, encoding="utf-8", errors="replace", newline="\n")
    return path


def render_html(
    result: Any,
    *,
    title: str = "dcmaes report",
    outputs: Mapping[int, str] | None = None,
    command: str | None = None,
) -> str:
    """Return the text of the report; everything is as in `write_html`.

    >>> import dcmaes as dc
    >>> render_html(dc.minimize(sum, dc.Space.binary(8), budget=40, seed=0))[:15]
    '<!doctype html>'
    """
    if not isinstance(title, str):
        raise TypeError(f"title must be a string, got {title!r}")
    if command is not None and not isinstance(command, str):
        raise TypeError(f"command must be a string or None, got {command!r}")
    run = read_run(result, outputs)
    style, script = _asset("page.css"), "\n".join(_asset(name) for name in _SCRIPTS)
    # The browser runs and applies what has these digests, and loads nothing: should text of the user ever
    # slip through as markup, it stays dead.
    policy = f"default-src 'none'; script-src {_digest(script)}; style-src {_digest(style)}; base-uri 'none'"
    parts = {
        "title": escape(title),
        "policy": escape(policy, quote=True),
        "style": style,
        "data": as_json(payload(run, title, command)),
        "script": script,
    }
    return _filled(_asset("page.html"), parts)


def _asset(name: str) -> str:
    return (files("dcmaes.report") / "page" / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _filled(template: str, parts: Mapping[str, str]) -> str:
    """Fill the places `{{name}}` of a template, once each, without looking into what was filled in."""
    pieces = template.split("{{")
    filled = [pieces[0]]
    for piece in pieces[1:]:
        name, _, rest = piece.partition("}}")
        filled += [parts[name], rest]
    return "".join(filled)
