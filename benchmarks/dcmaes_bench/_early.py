"""What the report says of the first evaluations in the suite `small`: ranks, and who beats whom where."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dcmaes_bench._compare import (
    Outcomes,
    chosen_entry,
    ends,
    entries,
    is_own,
    mean_ranks_at,
    outcomes,
    virtual_best_ratio,
)
from dcmaes_bench._measures import Table
from dcmaes_bench._suite_small import HELD_OUT
from dcmaes_bench._text import end_title, markdown, number

BUDGETS = (50, 100, 200)


def first_evaluations(scores: Table) -> str:
    """Areas on the rows that are held out, ranks after 50, 100 and 200 evaluations, and wins by instance."""
    parts = [held_out_ratios(scores), *ranks(scores), won_and_lost(scores), rows_lost(scores)]
    return "\n\n".join(part for part in parts if part)


def _held_out(scores: Table) -> Table:
    return {problem: row for problem, row in scores.items() if problem in HELD_OUT}


def held_out_ratios(scores: Table) -> str:
    """Say how the area compares with the virtual best peer's, on all rows and on those held out."""
    entry, held_out = chosen_entry(scores), _held_out(scores)
    if entry is None or not held_out:
        return ""
    parts = []
    for when in ends(scores):
        ratios = [number(virtual_best_ratio(some, entry, when=when), "{:.2f}") for some in (scores, held_out)]
        parts.append(f"{ratios[0]} at {end_title(scores, when)} ({ratios[1]} on the rows held out)")
    return (
        f"{len(held_out)} of the {len(scores)} rows are held out: nothing is tuned on them, but parts of "
        f"the search were left out after a look at all rows, on other seeds. "
        f"Area of {entry} over that of the virtual best peer: {', '.join(parts)}."
    )


def ranks(scores: Table) -> list[str]:
    """A table of ranks for those that ran everything, and one with the slow ones, on what all of them ran."""
    runs = {n: [row[n].n_runs for row in scores.values() if n in row] for n in entries(scores)}
    most = max(sum(counts) for counts in runs.values())
    whole = [name for name, counts in runs.items() if sum(counts) == most]
    half = [name for name, counts in runs.items() if 2 * len(counts) >= len(scores)]
    text = (
        "Mean rank of the median best value after so many evaluations, over all rows and over those held "
        "out, among the optimizers that ran all seeds of all rows:"
    )
    parts = [f"{text}\n\n{_rank_table(scores, whole)}"]
    if set(half) > set(whole):
        text = "The same with those that ran half of the rows or more, on the seeds that all of them ran:"
        parts.append(f"{text}\n\n{_rank_table(scores, half)}")
    return parts


def _rank_table(scores: Table, names: Sequence[str]) -> str:
    columns = [mean_ranks_at(some, when, names) for some in (scores, _held_out(scores)) for when in BUDGETS]
    lines = []
    for name in sorted(names, key=lambda name: columns[0].get(name, math.inf)):
        cells = [number(column.get(name, math.nan), "{:.1f}") for column in columns]
        lines.append([name, *cells, str(sum(name in row for row in scores.values()))])
    head = ["optimizer", *map(str, BUDGETS), *(f"held out, {when}" for when in BUDGETS), "rows"]
    return markdown(head, lines)


def _fought(scores: Table) -> dict[str, dict[int, dict[str, Outcomes]]]:
    """Outcomes of the entry that counts against each peer, by budget and row; rows without any left out."""
    entry = chosen_entry(scores)
    if entry is None:
        return {}
    found = {}
    for peer in (name for name in entries(scores) if not is_own(name)):
        found[peer] = {when: outcomes(scores, entry, peer, when) for when in BUDGETS}
    return {peer: budgets for peer, budgets in found.items() if any(budgets.values())}


def won_and_lost(scores: Table) -> str:
    """One line per peer: on how many instances the entry that counts has the better and the worse value."""
    lines = []
    for peer, budgets in _fought(scores).items():
        n_rows = max(len(rows) for rows in budgets.values())
        lines.append([peer, str(n_rows), *(_total(list(rows.values())) for rows in budgets.values())])
    if not lines:
        return ""
    text = (
        f"On how many instances {chosen_entry(scores)} has the better best value after so many evaluations, "
        "the worse, and (in brackets) the same; runs that were cut short before do not count:"
    )
    return f"{text}\n\n{markdown(['beside', 'rows', *map(str, BUDGETS)], lines)}"


def _total(found: Sequence[Outcomes]) -> str:
    won, lost, drawn = (sum(getattr(one, name) for one in found) for name in ("won", "lost", "drawn"))
    return f"{won} : {lost}" + (f" ({drawn})" if drawn else "") if found else "-"


def rows_lost(scores: Table) -> str:
    """Name the rows on which a peer wins more instances than it loses."""
    items = []
    for peer, budgets in _fought(scores).items():
        ahead = {when: [p for p, one in rows.items() if one.lost > one.won] for when, rows in budgets.items()}
        parts = [
            f"at {when} on {len(lost)} of {len(budgets[when])} rows ({', '.join(lost)})"
            for when, lost in ahead.items()
            if lost
        ]
        if parts:
            items.append(f"- {peer}: {'; '.join(parts)}")
    if not items:
        return ""
    text = (
        f"Where others win: rows on which they beat {chosen_entry(scores)} on more instances than they lose:"
    )
    return "\n".join([text, "", *items])
