"""Results on disk: one line of JSON per run, one file per suite and optimizer, only ever appended to."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
RESULTS = CHECKOUT / "benchmarks" / "results"


@dataclass(frozen=True)
class RunRecord:
    """What one run left behind.

    `trace` holds the improvements as (evaluations, value) with about 20 per decade of evaluations;
    `solved_at` the evaluation that hit the optimum; `own_time` the seconds per evaluation spent outside the
    objective.
    """

    optimizer: str
    problem: str
    instance: int
    dimension: int
    budget: int
    optimum: float | None
    tolerance: float
    n_evaluations: int
    n_distinct: int
    best: float
    solved_at: int | None
    stop: str
    own_time: float
    trace: list[tuple[int, float]]

    @property
    def key(self) -> tuple[str, str, int, int]:
        """What identifies a run: optimizer, problem, instance, budget."""
        return self.optimizer, self.problem, self.instance, self.budget


def path_of(results: Path, suite: str, optimizer: str) -> Path:
    """File that keeps an optimizer's runs on a suite.

    >>> path_of(Path("results"), "cma", "cmaes.CMAwM").name
    'cmaes.CMAwM.jsonl'
    """
    safe = "".join(c if c.isalnum() or c in "._+-" else "_" for c in optimizer)
    return results / suite / f"{safe}.jsonl"


def append(path: Path, record: RunRecord) -> None:
    """Append a run to a file, making the folder if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    line = json.dumps(_compact(asdict(record)), separators=(",", ":"))
    with path.open("a", encoding="utf-8") as file:
        file.write(line + "\n")


def read(results: Path, suite: str) -> list[RunRecord]:
    """All runs of a suite; a line cut short by a crash is skipped."""
    records: list[RunRecord] = []
    for path in sorted((results / suite).glob("*.jsonl")):
        records.extend(_parse(path.read_text(encoding="utf-8").splitlines()))
    return list({record.key: record for record in records}.values())


def compact(results: Path, suite: str) -> None:
    """Drop the lines of runs that were made again later in the same file."""
    for path in sorted((results / suite).glob("*.jsonl")):
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        newest = {record.key: line for line in lines for record in _parse([line])}
        if len(newest) < len(lines):
            path.write_text("".join(newest.values()), encoding="utf-8")


def _parse(lines: Iterable[str]) -> Iterator[RunRecord]:
    for line in lines:
        try:
            data = json.loads(line)
        except json.JSONDecodeError:
            continue
        data["trace"] = list(zip(*data["trace"], strict=True)) if data["trace"] else []
        yield RunRecord(**data)


def _compact(data: dict[str, object]) -> dict[str, object]:
    trace: list[tuple[int, float]] = data["trace"]  # type: ignore[assignment]
    data["trace"] = [[e for e, _ in trace], [_short(v) for _, v in trace]] if trace else []
    data["best"] = _short(float(data["best"]))  # type: ignore[arg-type]
    data["own_time"] = float(f"{data['own_time']:.3g}")
    return data


def _short(value: float) -> float:
    short = float(f"{value:.10g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short
