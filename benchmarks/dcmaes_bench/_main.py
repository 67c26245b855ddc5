"""Run optimizers side by side on the benchmark suites, and write tables of the results.

Options without a command are those of `run`: ``--quick`` is ``run --quick``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from dcmaes_bench._measures import table
from dcmaes_bench._references import read_references
from dcmaes_bench._registry import optimizers
from dcmaes_bench._report import write
from dcmaes_bench._results import CHECKOUT, RESULTS, RunRecord, read
from dcmaes_bench._rows import missing_package, suite, suites
from dcmaes_bench._runner import plan, run_all
from dcmaes_bench._tables import suite_section

QUICK_BUDGET = 40
PAGE, README = CHECKOUT / "docs" / "benchmarks.md", CHECKOUT / "README.md"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command given by `arguments` (those of the process by default) and return its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given and given[0].startswith("-") and given[0] not in ("-h", "--help"):
        given.insert(0, "run")
    options = _parser().parse_args(given)
    command = {"run": _run, "show": _show, "report": _report, "list": _list}[options.command]
    try:
        return command(options)
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python benchmarks", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="make the runs that have no result yet")
    run.add_argument(
        "--suite", action="append", help=f"one of {', '.join(suites())} (repeatable; default: all)"
    )
    run.add_argument("--optimizers", "--peers", help="comma-separated names (default: all installed)")
    run.add_argument("--only", default="", help="only rows whose label contains this")
    run.add_argument("--seeds", type=int, default=5, help="instances 0..N-1, each with its own seed")
    run.add_argument("--budget", type=int, help="cap on evaluations per run")
    run.add_argument("--time-limit", type=float, default=120.0, help="seconds per run")
    run.add_argument("--workers", type=int, default=2)
    run.add_argument(
        "--again", action="store_true", help="make runs again that are there; the new ones count"
    )
    run.add_argument("--quick", action="store_true", help="a few rows, small budgets: does everything work?")
    run.add_argument(
        "--logs", type=Path, help="also write what IOHanalyzer and cocopp read (with --workers 1)"
    )
    run.add_argument("--report", action="store_true", help="then write the page, its figures and the tables")
    _add_paths(run)
    for name, text in (("show", "print a suite's tables"), ("report", "write the page and its figures")):
        shown = commands.add_parser(name, help=text)
        shown.add_argument("--suite", action="append")
        _add_paths(shown)
    commands.add_parser("list", help="show suites and optimizers")
    return parser


def _add_paths(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--page", type=Path, default=PAGE)
    parser.add_argument("--readme", type=Path, default=README, help="its marked block is replaced")


def _run(options: argparse.Namespace) -> int:
    names, problem = _chosen(options.optimizers)
    if problem is not None:
        print(problem, file=sys.stderr)
        return 2
    if options.quick:
        _keep_apart(options)
    results: Path = options.results
    broken: list[str] = []
    for name in options.suite or suites():
        if (package := missing_package(name)) is not None:
            print(f"{name}: skipped, needs the package {package!r} (make bench-setup)")
            continue
        wanted = [
            row for row in suite(name) if options.only in row.label and (row.is_quick or not options.quick)
        ]
        jobs = plan(
            wanted,
            names,
            range(1 if options.quick else options.seeds),
            budget=QUICK_BUDGET if options.quick else options.budget,
            time_limit=10.0 if options.quick else options.time_limit,
            logs=options.logs,
        )
        made = run_all(jobs, results, workers=options.workers, again=options.again, report=_progress(broken))
        print(f"{name}: {made} runs made, {len(jobs) - made} were there", flush=True)
    print(f"results: {results}")
    if options.quick and broken:
        print("\n".join(["runs that broke off:", *broken]), file=sys.stderr)
        return 1
    return _report(options) if options.report else 0


def _keep_apart(options: argparse.Namespace) -> None:
    """Lead what a quick run would write over the committed files into another folder."""
    if options.results == RESULTS:
        options.results = Path(tempfile.mkdtemp(prefix="dcmaes-bench-")) / "results"
    if options.page == PAGE:
        options.page = options.results.parent / PAGE.name
    if options.readme == README:
        options.readme = options.results.parent / README.name


def _chosen(text: str | None) -> tuple[list[str], str | None]:
    """The optimizers asked for (all installed ones by default), or what is wrong with the request."""
    table = optimizers()
    if text is None:
        return [name for name, entry in table.items() if entry.is_installed], None
    names = text.split(",")
    for name in names:
        if name not in table:
            return [], f"unknown optimizer {name!r}; there are: {', '.join(table)}"
        if not table[name].is_installed:
            package = table[name].package
            return [], f"{name!r} needs the package {package!r} (see benchmarks/README.md)"
    return names, None


def _progress(broken: list[str]) -> Callable[[int, int, RunRecord], None]:
    """Return what shows each run as it ends, and adds to `broken` those that ended with an error."""
    start = time.perf_counter()

    def show(n: int, total: int, record: RunRecord) -> None:
        left = (time.perf_counter() - start) / n * (total - n)
        found = (
            f"solved at {record.solved_at}" if record.solved_at else f"best {record.best:.4g} ({record.stop})"
        )
        run = f"{record.problem} #{record.instance} {record.optimizer}"
        print(f"[{n}/{total}, {left / 60:.0f} min left] {run}: {found}", flush=True)
        if record.stop.startswith("error"):
            broken.append(f"{run}: {record.stop}")

    return show


def _show(options: argparse.Namespace) -> int:
    references = read_references(options.results)
    for name in options.suite or suites():
        records = read(options.results, name)
        if records:
            print(suite_section(name, table(records, references)))
    return 0


def _report(options: argparse.Namespace) -> int:
    for path in write(options.results, options.page, options.suite or suites(), options.readme):
        print(f"wrote {path}")
    return 0


def _list(_: argparse.Namespace) -> int:
    for name in suites():
        package = missing_package(name)
        print(f"suite {name}: " + (f"{len(suite(name))} rows" if package is None else f"needs {package!r}"))
    for name, entry in optimizers().items():
        print(f"optimizer {name}: variables {entry.kinds}{'' if entry.is_installed else ' (not installed)'}")
    return 0
