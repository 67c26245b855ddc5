"""The report: one file that needs nothing else, no network, and runs no script but its own.

Its page is drawn from plain data, `payload`, in which what would be too much is left out, and counted.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
import re
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from dcmaes._html import value_text
from dcmaes._validation import FloatArray, IntArray
from dcmaes.report._course import Convergence, convergence_data, timeline_data
from dcmaes.report._front import coordinates_data, front_data, front_path_data
from dcmaes.report._importance import importance_data
from dcmaes.report._interactions import correlations_data, graph_data, interactions_data
from dcmaes.report._marginals import marginals_data
from dcmaes.report._run import RunData, one_objective, read_run, reproduction
from dcmaes.run._history import STATUSES, point_texts

_MOST_MARKS = 2000
_MOST_BARS = 20
_DIGITS = 6
_LONGEST_OUTPUT = 20_000
_MOST_OUTPUT = 4_000_000
_LARGEST_EXACT = 2**53
_SCRIPTS = ("elements.js", "charts.js", "figures.js", "front.js", "table.js", "page.js")


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
    return re.sub(r"{{(\w+)}}", lambda place: parts[place[1]], template)


def payload(run: RunData, title: str, command: str | None = None) -> dict[str, Any]:
    """Return everything that the page shows, as data that JSON can hold; `command` repeats the run.

    >>> import dcmaes as dc
    >>> sorted(payload(read_run(dc.minimize(sum, dc.Space.binary(2), budget=4, seed=0)), "sum"))
    ['charts', 'failures', 'reproduction', 'summary', 'table', 'title']
    """
    return {
        "title": title,
        "summary": _summary(run),
        "charts": _charts(run),
        "table": _table(run),
        "failures": _failures(run),
        "reproduction": reproduction(run, command),
    }


def as_json(data: Any) -> str:
    """Return JSON that can stand inside a script element: no NaN, and nothing that could end the element.

    >>> as_json({"a": float("nan"), "b": "</script>"})
    '{"a":null,"b":"\\\\u003c/script\\\\u003e"}'
    """
    text = json.dumps(_plain(data), allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _plain(data: Any) -> Any:
    if isinstance(data, (str, int)) or data is None:
        return data
    if isinstance(data, float):
        return data if math.isfinite(data) else None
    if isinstance(data, np.ndarray):
        is_whole = data.dtype.kind != "f" or bool(np.isfinite(data).all())
        return data.tolist() if is_whole else _plain(data.tolist())
    if isinstance(data, (list, tuple)):
        return [_plain(value) for value in data]
    if isinstance(data, Mapping):
        return {str(key): _plain(value) for key, value in data.items()}
    return data.item() if isinstance(data, np.generic) else _plain(vars(data))


def _summary(run: RunData) -> dict[str, Any]:
    result = run.result
    reason = result.stop_reason
    return {
        "direction": run.direction,
        "value": None if run.objective is not None else result.fun,
        "objectives": _objectives(run),
        "violation": result.violation,
        "best": run.find(run.result.x),  # of several objectives, the knee
        "point": None if result.x is None else _best_point(run),
        "copy": None if result.x is None else _point_text(result.x),
        "stop_reason": None if reason is None else reason.value,
        "is_running": run.is_running,
        "n_pending": run.n_pending,
        "message": result.message,
        "n": run.n,
        "n_evaluations": result.nfev,
        "n_infeasible": int((run.statuses == "infeasible").sum()),
        "n_failures": result.n_failures,
        "n_restarts": result.n_restarts,
        "n_variables": run.space.dimension,
        "objective_time": result.objective_time,
        "optimizer_time": result.optimizer_time,
        "strategy": result.strategy,
    }


def _objectives(run: RunData) -> dict[str, Any] | None:
    """Return names, directions and values at the knee of several objectives; None if there is one."""
    several = run.result._settings.objectives
    if several is None:
        return None
    return {
        "names": several.names,
        "directions": several.directions,
        "knee": run.result.fun,
        "n_front": len(run.result.front),
        "hypervolume": run.result.hypervolume(),
    }


def _best_point(run: RunData) -> list[list[str]]:
    """Return name, value and range of each active variable."""
    texts = point_texts(run.space, run.result.x)
    rows = zip(run.names, texts, run.space.variables, strict=True)
    return [[label, text, repr(variable)] for label, text, variable in rows if text]


def _point_text(point: Any) -> str:
    """Return the exact point: JSON where it can be, else as Python writes it."""
    plain = point.tolist() if isinstance(point, np.ndarray) else point
    try:
        return json.dumps(plain, allow_nan=False, indent=None if isinstance(plain, list) else 2)
    except (TypeError, ValueError):
        return repr(plain)


def _charts(run: RunData) -> dict[str, Any]:
    """Return the numbers of all charts; with several objectives, those of one are there for `each`."""
    if run.objective is None:
        return {**_charts_of_one(run), "marginals": _marginals(run), "timeline": timeline_data(run)}
    names = run.result.objectives
    return {
        "front": _front(run),
        "path": front_path_data(run),
        "each": [{"name": name, **_charts_of_one(one_objective(run, name))} for name in names],
        "marginals": _marginals(run),
        "timeline": timeline_data(run),
    }


def _charts_of_one(run: RunData) -> dict[str, Any]:
    importance = importance_data(run)
    shown = importance.order[:_MOST_BARS]
    return {
        "convergence": _thinned(convergence_data(run)),
        "importance": {
            "names": [importance.names[i] for i in shown],
            "share": _rounded(importance.share[shown]),
            "remark": importance.remark,
            "n_left_out": len(importance.share) - len(shown),
        },
        "interactions": interactions_data(run),
        "correlations": correlations_data(run),
        "graph": graph_data(run),
        "coordinates": coordinates_data(run),
    }


def _front(run: RunData) -> dict[str, Any]:
    """Return the values of several objectives, thinned to what can be told apart, and all of the front."""
    data = front_data(run)
    ok = np.flatnonzero(data.status == "ok")
    kept = np.union1d(ok[_evenly(len(ok))], data.front)
    is_step = data.growth != np.concatenate([[0.0], data.growth[:-1]])[: run.n]
    return {
        "names": data.names,
        "directions": data.directions,
        "index": kept,
        "value": data.value[kept],
        "front": data.front,
        "front_value": data.value[data.front],
        "knee": data.knee,
        "n": run.n,
        "steps": np.flatnonzero(is_step),
        "growth": data.growth[is_step],
        "reference": data.reference,
        "n_left_out": len(ok) - int(np.isin(kept, ok).sum()),
    }


def _marginals(run: RunData) -> dict[str, Any]:
    data = marginals_data(run)
    panels = [dict(vars(panel)) for panel in data.panels]
    for panel in panels:
        for key in ("share", "quantile"):
            if key in panel:
                panel[key] = np.round(panel[key], 4)
    return {**vars(data), "panels": panels}


def _thinned(data: Convergence) -> dict[str, Any]:
    """Return at most as many marks as can be distinguished; all steps of the best value are kept."""
    n = len(data.value)
    is_step = np.ones(n, dtype=bool)
    is_step[1:] = (data.best[1:] != data.best[:-1]) & np.isfinite(data.best[1:])
    steps = np.flatnonzero(is_step & np.isfinite(data.best))
    kept = np.union1d(_evenly(n), steps)
    return {
        "n": n,
        "index": kept,
        "value": data.value[kept],
        "status": _codes(data.status)[kept],
        "steps": steps,
        "best": data.best[steps],
        "restarts": data.restarts,
        "is_log": data.is_log,
        "linear": data.linear and data.linear._asdict(),
        "log": data.log and data.log._asdict(),
        "n_left_out": n - len(kept),
    }


def _evenly(n: int) -> IntArray:
    """Return the places of at most as many of n marks as can be distinguished."""
    return np.unique(np.linspace(0, max(n - 1, 0), min(n, _MOST_MARKS)).astype(np.int64))


def _table(run: RunData) -> dict[str, Any]:
    """Return the columns of all evaluations; reasons and outputs only where there are some."""
    values, names = run.history.values, run.result.objectives
    several = (
        [{"name": name, "number": values[:, k]} for k, name in enumerate(names)] if run.objective else None
    )
    columns = [_column(run, i) for i in range(run.space.dimension)]
    room = _MOST_OUTPUT
    outputs = {}
    for i, output in enumerate(run.outputs):
        if output and room > 0:
            outputs[i] = _shortened(output)
            room -= len(outputs[i])
    return {
        "id": run.history.ids,
        "value": run.values,
        "values": several,
        "violation": run.history.violations,
        "status": _codes(run.statuses),
        "restart": run.history.restarts,
        "seconds": _rounded(run.ends - run.starts),
        "worker": _texts(run.workers),
        "variables": columns,
        "reasons": {i: reason for i, reason in enumerate(run.history.reasons) if reason},
        "outputs": outputs,
    }


def _column(run: RunData, site: int) -> dict[str, Any]:
    """Return one variable: numbers, or labels and which of them; None or no label where it is inactive."""
    variable, x, is_active = run.space.variables[site], run.x[:, site], run.is_active[:, site]
    name = run.names[site]
    if run.space.sites.is_continuous[site]:
        return {"name": name, "number": np.where(is_active, _rounded(x), np.nan)}
    scale = variable.scale
    if scale is not None and max(abs(scale.low), abs(scale.high)) < _LARGEST_EXACT:
        numbers = zip(variable.decode(x.tolist()), is_active, strict=True)
        return {"name": name, "number": [value if is_there else None for value, is_there in numbers]}
    state, which = np.unique(x.astype(np.int64), return_inverse=True)
    if variable.is_flag and not run.space.is_named:
        return {"name": name, "number": x.astype(np.int64)}
    labels = [value_text(v) for v in variable.decode(state.tolist())]
    if not is_active.all():
        labels, which = ["", *labels], np.where(is_active, which + 1, 0)
    return {"name": name, "labels": labels, "which": which}


def _texts(texts: tuple[str | None, ...]) -> dict[str, Any] | None:
    if not any(texts):
        return None
    labels, which = np.unique([text or "" for text in texts], return_inverse=True)
    return {"labels": labels.tolist(), "which": which}


def _failures(run: RunData) -> list[dict[str, Any]]:
    """Return the failures with the same first line together, the most frequent first."""
    groups: dict[str, list[int]] = {}
    reasons = run.history.reasons
    for i in np.flatnonzero(run.statuses == "failed").tolist():
        lines = (reasons[i] or "").strip().splitlines()
        groups.setdefault(lines[0] if lines else "no reason given", []).append(i)
    found = [{"reason": reason, "evaluations": where} for reason, where in groups.items()]
    return sorted(found, key=lambda group: -len(group["evaluations"]))


def _codes(status: Any) -> IntArray:
    return np.array([STATUSES.index(s) for s in status.tolist()], dtype=np.int64)


def _shortened(text: str) -> str:
    if len(text) <= _LONGEST_OUTPUT:
        return text
    half = _LONGEST_OUTPUT // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"


def _rounded(values: FloatArray) -> FloatArray:
    """Return numbers with six significant digits: a column of them is half as long to read and to send.

    >>> _rounded(np.array([1 / 3, 0.0, -123456789.0, np.nan]))
    array([ 3.33333e-01,  0.00000e+00, -1.23457e+08,          nan])
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        power = _DIGITS - 1 - np.floor(np.log10(np.abs(values)))
    power = np.where(np.isfinite(power), np.clip(power, -300, 300), 0.0)
    up, down = 10.0 ** np.maximum(power, 0.0), 10.0 ** np.maximum(-power, 0.0)
    return np.asarray(np.rint(values * up / down) / up * down)
