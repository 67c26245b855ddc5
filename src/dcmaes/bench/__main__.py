"""Command line of the benchmark: ``python -m dcmaes.bench run|show|report|list``."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from dcmaes.bench._registry import optimizers
from dcmaes.bench._report import read_references, suite_section, write
from dcmaes.bench._results import RESULTS, RunRecord, read
from dcmaes.bench._rows import suite, suites
from dcmaes.bench._runner import plan, run_all


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command given by `arguments` (those of the process by default) and return its exit code."""
    options = _parser().parse_args(arguments)
    command = {"run": _run, "show": _show, "report": _report, "list": _list}[options.command]
    return command(options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m dcmaes.bench", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="make the runs that have no result yet")
    run.add_argument(
        "--suite", action="append", help=f"one of {', '.join(suites())} (repeatable; default: all)"
    )
    run.add_argument("--optimizers", "--peers", help="comma-separated names (default: all installed)")
    run.add_argument("--only", default="", help="only rows whose label contains this")
    run.add_argument("--seeds", type=int, default=10, help="instances 0..N-1, each with its own seed")
    run.add_argument("--budget", type=int, help="cap on evaluations per run")
    run.add_argument("--time-limit", type=float, default=600.0, help="seconds per run")
    run.add_argument("--workers", type=int, default=2)
    run.add_argument("--results", type=Path, default=RESULTS)
    for name, text in (("show", "print a suite's tables"), ("report", "write the page and its figures")):
        shown = commands.add_parser(name, help=text)
        shown.add_argument("--suite", action="append")
        shown.add_argument("--results", type=Path, default=RESULTS)
        shown.add_argument("--page", type=Path, default=Path("docs") / "benchmarks.md")
    commands.add_parser("list", help="show suites and optimizers")
    return parser


def _run(options: argparse.Namespace) -> int:
    table = optimizers()
    names = (
        options.optimizers.split(",")
        if options.optimizers
        else [n for n, o in table.items() if o.is_installed]
    )
    unknown = [name for name in names if name not in table]
    if unknown:
        print(f"unknown optimizer {unknown[0]!r}; there are: {', '.join(table)}", file=sys.stderr)
        return 2
    missing = [name for name in names if not table[name].is_installed]
    if missing:
        print(f"{missing[0]!r} needs the package {table[missing[0]].package!r}", file=sys.stderr)
        return 2
    for name in options.suite or suites():
        rows = [row for row in suite(name) if options.only in row.label]
        jobs = plan(rows, names, range(options.seeds), budget=options.budget, time_limit=options.time_limit)
        made = run_all(jobs, options.results, workers=options.workers, report=_progress())
        print(f"{name}: {made} runs made, {len(jobs) - made} were there", flush=True)
    return 0


def _progress() -> Callable[[int, int, RunRecord], None]:
    start = time.perf_counter()

    def show(n: int, total: int, record: RunRecord) -> None:
        left = (time.perf_counter() - start) / n * (total - n)
        found = (
            f"solved at {record.solved_at}" if record.solved_at else f"best {record.best:.4g} ({record.stop})"
        )
        print(
            f"[{n}/{total}, {left / 60:.0f} min left] "
            f"{record.problem} #{record.instance} {record.optimizer}: {found}",
            flush=True,
        )

    return show


def _show(options: argparse.Namespace) -> int:
    references = read_references(options.results)
    for name in options.suite or suites():
        records = read(options.results, name)
        if records:
            print(suite_section(name, records, references))
    return 0


def _report(options: argparse.Namespace) -> int:
    for path in write(options.results, options.page, options.suite or suites()):
        print(f"wrote {path}")
    return 0


def _list(_: argparse.Namespace) -> int:
    for name in suites():
        print(f"suite {name}: {len(suite(name))} rows")
    for name, entry in optimizers().items():
        print(f"optimizer {name}: variables {entry.kinds}{'' if entry.is_installed else ' (not installed)'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
