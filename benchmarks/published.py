"""Tables that others have published, with the default strategy beside their figures.

Run `python benchmarks/published.py --seeds 10` for all rows, or `--only HIFF` for those whose label has the
word; `--optimizers P3,random` runs other optimizers of the benchmark on them. Runs that are in
results/published are not made again, except with `--again`. Then docs/published.md is written (`--seeds 0`
does nothing else). Rows with public data need its files in the folder `--data`, and are left out without.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dcmaes_bench._results import CHECKOUT, RESULTS, RunRecord, read
from dcmaes_bench._runner import plan, run_all
from dcmaes_bench._suite_published import NAME, Entry, Group, groups
from dcmaes_bench._text import markdown

OWN = "dcmaes auto"
PAGE = CHECKOUT / "docs" / "published.md"
DATA = CHECKOUT / "benchmarks" / "data"
# Published figures have three decimals or fewer; four are kept here.
TOLERANCE = 5e-4
HALF = 0.5  # the share of the seeds that is judged by the median
HEAD = """\
# Published tables

Problems that others have published figures for, in their own measure, and what the default strategy reaches
with nothing set. Written by `python benchmarks/published.py`; the runs are in `benchmarks/results/published`.

Figures are evaluations to the optimum, or where the text says so the value at the budget: the least, the
median and the most over the seeds. Seed i is run on instance i. A dash: the optimum was not reached within
the budget. A row is reached if the median, or as many seeds as its goal says, is at the goal. Figures of
fewer than ten seeds are not final. Lines in italics are other optimizers that were run here in the same way.
The rows of HIFF, MAXSAT, weighted MaxSAT, the torus, LABS, planted 3-SAT and colouring were run with the
default strategy as it is now; those of NK, step traps, Ackley, pest control and Ehrlich before it looked for
equal states and for triples, the traps with targets of their own before that too; bqp50 before its pyramid
walked across plateaus; bqp100 before its searches shared evaluations by what they gain.
Not all seeds are unseen: the chains that minimize an identified formula were lengthened after seed 9 of
MAXSAT with 50 variables had missed, and some seeds of colouring were looked at while equal states were added.
"""
COLUMNS = ("row", "budget", "published", "goal", "seeds", "least", "median", "most", "reached")


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the runs that are missing, and write the page."""
    options = _parser().parse_args(arguments)
    entries = [entry for group in groups() for entry in group.entries if options.only in entry.label]
    for entry in list(entries):
        if entry.file is not None and not (options.data / entry.file).exists():
            print(f"{entry.label}: left out, {entry.file} is not in {options.data}")
            entries.remove(entry)
    if options.seeds:
        rows = [entry.row(options.data) for entry in entries]
        names = options.optimizers.split(",")
        for row in rows:  # one by one: rows may share a label, and differ in their budget
            jobs = plan([row], names, range(options.seeds), time_limit=options.time_limit)
            run_all(jobs, options.results, workers=1, again=options.again, report=_report)
    options.page.write_text(page(read(options.results, NAME)), encoding="utf-8")
    print(f"wrote {options.page}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10, help="instances 0..N-1, each with its own seed")
    parser.add_argument("--only", default="", help="only rows whose label contains this")
    parser.add_argument("--optimizers", default=OWN, help="comma-separated names of the benchmark")
    parser.add_argument("--time-limit", type=float, default=600.0, help="seconds per run")
    parser.add_argument("--again", action="store_true", help="make runs again that are there")
    parser.add_argument("--data", type=Path, default=DATA, help="folder with files of public data")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--page", type=Path, default=PAGE)
    return parser


def _report(_: int, __: int, record: RunRecord) -> None:
    found = f"solved at {record.solved_at}" if record.solved_at else f"best {record.best:.6g}"
    print(
        f"{record.problem} #{record.instance} {record.optimizer}: {found} ({record.stop}), "
        f"{record.n_evaluations} evaluations, {1000 * record.own_time:.1f} ms each",
        flush=True,
    )


def page(records: Sequence[RunRecord]) -> str:
    """Return the page: a section for each group, with a table."""
    sections = [HEAD, *(_section(group, records) for group in groups())]
    return "\n".join(sections)


def _section(group: Group, records: Sequence[RunRecord]) -> str:
    rows: list[Sequence[str]] = []
    for entry in group.entries:
        runs = [r for r in records if (r.problem, r.budget) == (entry.label, entry.budget)]
        others = sorted({r.optimizer for r in runs} - {OWN})
        by = {name: [r for r in runs if r.optimizer == name] for name in (OWN, *others)}
        figures = {name: measured(entry, found) for name, found in by.items()}
        rows.append(own_row(entry, by[OWN], figures))
        rows += [_other_row(entry, by[name], figures[name]) for name in others]
    files = sorted({entry.file for entry in group.entries if entry.file is not None})
    data = f" Needs {', '.join(f'`{file}`' for file in files)} in `benchmarks/data`." if files else ""
    table = markdown(COLUMNS, rows)
    return f"## {group.title}\n\n{group.definition}{data}\n\nPublished: {group.source}\n\n{table}\n"


def measured(entry: Entry, runs: Sequence[RunRecord]) -> list[float]:
    """Return the figures of runs, best first; infinitely bad where the optimum was not found."""
    if entry.shown is None:
        return sorted(math.inf if run.solved_at is None else float(run.solved_at) for run in runs)
    return sorted((entry.shown(run.best) for run in runs), reverse=entry.is_maximised)


def is_reached(entry: Entry, figures: Sequence[float], others: Sequence[float] = ()) -> bool | None:
    """Whether figures, best first, are at the goal; None if there is nothing to judge.

    `others` are medians of other optimizers, the goal of a row that has none of its own.
    """
    sign = -1.0 if entry.is_maximised else 1.0
    if not figures or (entry.goal is None and not others):
        return None
    if entry.goal is None:
        return sign * float(np.median(figures)) < min(sign * other for other in others)
    tolerance = TOLERANCE if entry.shown is not None else 0.0
    last_needed = figures[max(1, math.ceil(entry.share * len(figures))) - 1]
    judged = float(np.median(figures)) if entry.share == HALF else last_needed
    return sign * judged <= sign * entry.goal + tolerance and sign * figures[-1] <= entry.slowest


def own_row(entry: Entry, runs: Sequence[RunRecord], by_name: dict[str, list[float]]) -> list[str]:
    """Return the cells of the row of the default strategy."""
    figures = by_name[OWN]
    others = [float(np.median(x)) for name, x in by_name.items() if name != OWN]
    verdict = {True: "yes", False: "**no**", None: ""}[is_reached(entry, figures, others)]
    return [
        entry.label,
        f"{entry.budget:,}",
        entry.published,
        _goal(entry),
        *_figures(entry, runs, figures),
        verdict if runs else "not run",
    ]


def _other_row(entry: Entry, runs: Sequence[RunRecord], figures: list[float]) -> list[str]:
    return [f"*{runs[0].optimizer}*", "", "", "", *_figures(entry, runs, figures), ""]


def _goal(entry: Entry) -> str:
    if entry.goal is None:
        return "ahead of all"
    goal = _number(entry, entry.goal)
    if entry.share != 0.5:
        return f"{goal} in {round(10 * entry.share)} of 10"
    if math.isfinite(entry.slowest):
        return f"{goal}, all below {_number(entry, entry.slowest)}"
    return goal


def _figures(entry: Entry, runs: Sequence[RunRecord], figures: list[float]) -> list[str]:
    """Seeds, least, median and most; how many runs the cap on their time ended."""
    if not figures:
        return ["0", "", "", ""]
    n_late = sum(run.stop == "time" for run in runs)
    seeds = f"{len(runs)}" + (f" ({n_late} out of time)" if n_late else "")
    ends = min(figures), float(np.median(figures)), max(figures)
    return [seeds, *(_number(entry, figure) for figure in ends)]


def _number(entry: Entry, figure: float) -> str:
    if not math.isfinite(figure):
        return "-"
    return (
        f"{figure:,.0f}" if entry.shown is None else f"{figure:.4g}" if abs(figure) < 10 else f"{figure:.3f}"
    )


if __name__ == "__main__":
    main()
