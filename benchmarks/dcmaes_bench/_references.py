"""Best known values of problems whose optimum is unknown, kept with their source next to the results."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from dcmaes_bench._results import RunRecord

FILE = "references.json"


def read_references(results: Path) -> dict[str, float]:
    """Best known values, by problem or by "problem #instance"."""
    return {name: float(entry["value"]) for name, entry in _load(results).items()}


def update_references(results: Path, records: Iterable[RunRecord]) -> dict[str, float]:
    """Put better values found by these runs into the file and return all of them."""
    entries, changed = dict(_load(results)), False
    for record in records:
        key = f"{record.problem} #{record.instance}"
        known = entries.get(key)
        if record.optimum is not None or (known is not None and float(known["value"]) <= record.best):
            continue
        source = f"{record.optimizer}, {record.n_evaluations} evaluations, seed {record.instance}"
        entries[key] = {"value": record.best, "source": source}
        changed = True
    if changed:
        text = json.dumps(dict(sorted(entries.items())), indent=1)
        (results / FILE).write_text(text + "\n", encoding="utf-8")
    return {name: float(entry["value"]) for name, entry in entries.items()}


def _load(results: Path) -> Mapping[str, Mapping[str, float | str]]:
    path = results / FILE
    if not path.exists():
        return {}
    entries: Mapping[str, Mapping[str, float | str]] = json.loads(path.read_text(encoding="utf-8"))
    return entries
