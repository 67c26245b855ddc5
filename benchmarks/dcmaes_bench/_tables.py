"""The tables of the report in Markdown, from scores."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from dcmaes_bench._compare import (
    Duel,
    against,
    chosen_entry,
    duels,
    entries,
    is_own,
    mean_area,
    mean_ranks,
    mean_ranks_at,
    virtual_best,
    virtual_best_ratio,
)
from dcmaes_bench._measures import EARLY, FULL, Score, Table
from dcmaes_bench._suite_small import HELD_OUT

EARLY_BUDGETS = (50, 100, 200)  # of the suite `small`


def suite_section(name: str, scores: Table, picture: str = "") -> str:
    """The Markdown section of a suite: what it comes to first, then the figure, then row by row."""
    parts = [f"## Suite `{name}`", extent(scores), summary_table(scores), failures(scores), singles(scores)]
    parts += [picture, early_ranks(scores) if name == "small" else "", losses(scores), row_table(scores)]
    return "\n\n".join(part for part in parts if part) + "\n"


def early_ranks(scores: Table) -> str:
    """Mean ranks after 50, 100 and 200 evaluations, over all rows and over those that are held out."""
    held_out = {problem: row for problem, row in scores.items() if problem in HELD_OUT}
    columns = [mean_ranks_at(some, when) for some in (scores, held_out) for when in EARLY_BUDGETS]
    lines = [
        [name, *(number(column.get(name, math.nan), "{:.1f}") for column in columns)]
        for name in sorted(columns[0], key=lambda name: columns[0][name])
    ]
    head = ["optimizer", *map(str, EARLY_BUDGETS), *(f"held out, {when}" for when in EARLY_BUDGETS)]
    note = (
        f"Mean rank of the median best value after so many evaluations, over all rows and over the "
        f"{len(held_out)} that no decision about the library may look at."
    )
    return f"{note}\n\n{markdown(head, lines)}\n\n{early_areas(scores)}"


def early_areas(scores: Table) -> str:
    """Say how the library's areas after 50, 100 and 200 evaluations compare with the virtual best peer's."""
    name = chosen_entry(scores)
    if name is None:
        return ""
    ends = [str(when) for when in EARLY_BUDGETS[:-1]] + [FULL]
    ratios = " / ".join(number(virtual_best_ratio(scores, name, when=when), "{:.2f}") for when in ends)
    shown = " / ".join(map(str, EARLY_BUDGETS))
    return f"Area of {name} after {shown} evaluations, relative to the virtual best peer: {ratios}."


def extent(scores: Table) -> str:
    """Say how many rows there are, with how many seeds and which budgets."""
    runs = [entry.n_runs for row in scores.values() for entry in row.values()]
    budgets = [entry.per_variable for row in scores.values() for entry in row.values()]
    text = (
        f"{len(scores)} rows, {len(entries(scores))} optimizers; seeds per row and optimizer: {span(runs)}; "
        f"budget in evaluations per variable: {span([round(budget) for budget in budgets])}."
    )
    return text if ends(scores)[0] == EARLY else text + " At such budgets there are no figures at 50 d."


def ends(scores: Table) -> tuple[str, ...]:
    """The ends at which this table has areas, the early one first."""
    has_early = any(EARLY in entry.areas for row in scores.values() for entry in row.values())
    return (EARLY, FULL) if has_early else (FULL,)


def summary_table(scores: Table) -> str:
    """One line per optimizer, the best against the virtual best peer first."""
    shown = ends(scores)
    titles = {EARLY: " 50 d", FULL: ""}
    head = [f"area{titles[when]}" for when in shown] + [f"VBP{titles[when]}" for when in shown]
    head += ["rank", "solved", "distinct", "own time (ms)", "timed out", "rows", "runs"]
    ranks = mean_ranks(scores)
    ratios = {
        name: [virtual_best_ratio(scores, name, when=when) for when in shown] for name in entries(scores)
    }
    most = max(_n_rows(scores, name) for name in ratios)
    lines = []
    for name in sorted(ratios, key=lambda name: (math.isnan(ratios[name][-1]), -ratios[name][-1])):
        n_rows = _n_rows(scores, name)
        cells = [f"**{name}**" if name == chosen_entry(scores) else name]
        cells += [number(mean_area(scores, name, when), "{:.3f}") for when in shown]
        cells += [number(ratio, "{:.2f}") for ratio in ratios[name]]
        cells += [number(ranks[name], "{:.1f}"), *_shares(scores, name)]
        lines.append(
            [*cells, str(n_rows) if n_rows == most else f"{n_rows} of {most}", _n_runs(scores, name)]
        )
    return markdown(["optimizer", *head], lines)


def _n_rows(scores: Table, name: str) -> int:
    return sum(name in row for row in scores.values())


def _n_runs(scores: Table, name: str) -> str:
    return str(sum(row[name].n_runs for row in scores.values() if name in row))


def _shares(scores: Table, name: str) -> list[str]:
    rows = [row[name] for row in scores.values() if name in row]
    late = _mean([row.timed_out for row in rows])
    return [
        percent(_mean([row.success for row in rows])),
        percent(_mean([row.distinct for row in rows])),
        f"{1e3 * sorted(row.own_time for row in rows)[len(rows) // 2]:.2f}",
        percent(late) if late else "",
    ]


def failures(scores: Table) -> str:
    """Name the optimizers some of whose runs ended in an error; empty if there are none."""
    found = []
    for name in entries(scores):
        share = _mean([row[name].failed for row in scores.values() if name in row])
        if share:
            found.append(f"{name} ({percent(share)})")
    if not found:
        return ""
    return f"Runs that ended in an error, and count with what they had found until then: {', '.join(found)}."


def singles(scores: Table) -> str:
    """Say which peers have a larger mean area than the entry that counts, on what both ran."""
    entry = chosen_entry(scores)
    peers = [name for name in entries(scores) if not is_own(name)]
    if entry is None:
        return ""
    parts = []
    for when in ends(scores):
        fought = [duel for peer in peers if (duel := against(scores, entry, peer, when)) is not None]
        ahead = sorted((duel for duel in fought if duel.lead > 0), key=lambda duel: -duel.lead)
        if fought:
            where = "50 d" if when == EARLY else "the budget"
            won = f"{len(fought) - len(ahead)} of {len(fought)} peers"
            parts.append(f"at {where} it is ahead of {won}{_behind(ahead)}")
    if not parts:
        return ""
    return f"Mean area of {entry}, on the rows and instances that both ran: {'; '.join(parts)}."


def _behind(ahead: Sequence[Duel]) -> str:
    if not ahead:
        return ""
    named = (f"{d.peer} ({d.other:.3f} against {d.own:.3f}, {d.n_shared} rows)" for d in ahead)
    return ", behind " + ", ".join(named)


def losses(scores: Table) -> str:
    """Say plainly on which rows the entry that counts is behind the best peer, the largest losses first."""
    entry = chosen_entry(scores)
    fought = {} if entry is None else virtual_best(scores, entry)
    if not fought:
        return "The library has no runs here yet that could be compared."
    lost = sorted((p for p in fought if fought[p].lead > 0), key=lambda p: -fought[p].lead)
    parts = [
        f"**Where {entry} loses**: by area at the budget it is behind the best peer on {len(lost)} of "
        f"{len(fought)} rows{', the largest losses first:' if lost else '.'}"
    ]
    if lost:
        parts.append("\n".join(f"- {problem}: {_loss(fought[problem])}" for problem in lost))
    early = virtual_best(scores, str(entry), when=EARLY)
    if early:
        behind = sorted((p for p in early if early[p].lead > 0), key=lambda p: -early[p].lead)
        names = ": " + "; ".join(f"{p} ({early[p].peer})" for p in behind) if behind else ""
        parts.append(f"At 50 d it is behind on {len(behind)} of {len(early)} rows{names}.")
    return "\n\n".join(parts)


def _loss(duel: Duel) -> str:
    seeds = "1 seed" if duel.n_shared == 1 else f"{duel.n_shared} seeds"
    return f"{duel.peer} has {duel.other:.3f}, dcmaes {duel.own:.3f} ({seeds})"


def row_table(scores: Table) -> str:
    """One line per problem: the entry that counts, the two best peers, and how many there are."""
    entry = chosen_entry(scores)
    name = "dcmaes" if entry is None else entry
    lines = []
    for problem, row in scores.items():
        mine, peers = row.get(name), _ranked(row, name, FULL)
        cells = [problem, "" if mine is None else str(mine.n_runs), _own_cell(row, name, FULL)]
        cells += [_peer_cell(row, *peer, FULL) for peer in (*peers[:2], *[("", None)] * (2 - len(peers)))]
        cells += [_early_cell(row, name)] if EARLY in ends(scores) else []
        cells += [solved(mine), solved(row.get(peers[0][0])) if peers else "", str(len(peers))]
        lines.append(cells)
    early = ["50 d"] if EARLY in ends(scores) else []
    head = ["problem", "runs", name, "best peer", "second peer", *early, "optimum", "best peer's", "peers"]
    note = (
        "Areas at the budget; in brackets by how much the peer is ahead (+) or behind (-) on the instances "
        "both ran. *50 d*: the same there, against the best peer at that end. *optimum*: median evaluations "
        "until it was hit and the share of runs that hit it, if not all (`-`: half or fewer did). The better "
        "one in bold."
    )
    return note + "\n\n" + markdown(head, lines)


def _ranked(row: Mapping[str, Score], name: str, when: str) -> list[tuple[str, float | None]]:
    """Peers with their lead, the strongest first; by area alone where there is nothing to compare with."""
    fought = duels(row, name, when=when)
    if fought:
        return [(duel.peer, duel.lead) for duel in fought]
    peers = [peer for peer in row if not is_own(peer) and when in row[peer].areas]
    return [(peer, None) for peer in sorted(peers, key=lambda peer: -row[peer].area(when))]


def _own_cell(row: Mapping[str, Score], name: str, when: str) -> str:
    if name not in row or when not in row[name].areas:
        return ""
    fought = duels(row, name, when=when)
    return _bold(f"{row[name].area(when):.3f}", bool(fought) and fought[0].lead <= 0)


def _peer_cell(row: Mapping[str, Score], peer: str, lead: float | None, when: str) -> str:
    if not peer:
        return ""
    text = f"{peer} {row[peer].area(when):.3f}"
    return text if lead is None else _bold(f"{text} ({lead:+.3f})", lead > 0)


def _early_cell(row: Mapping[str, Score], name: str) -> str:
    best = [_peer_cell(row, *peer, EARLY) for peer in _ranked(row, name, EARLY)[:1]]
    return ", ".join(text for text in (_own_cell(row, name, EARLY), *best) if text)


def solved(entry: Score | None) -> str:
    """Median evaluations to the optimum and the share of runs that hit it, if not all."""
    if entry is None:
        return ""
    return number(entry.median, "{:,.0f}") + ("" if entry.success == 1 else f" ({percent(entry.success)})")


def _bold(text: str, is_bold: bool) -> str:
    return f"**{text}**" if is_bold else text


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def number(value: float, form: str) -> str:
    """Format a number, `-` standing for those that are not finite.

    >>> number(0.5, "{:.2f}"), number(math.inf, "{:.2f}")
    ('0.50', '-')
    """
    return form.format(value) if math.isfinite(value) else "-"


def percent(share: float) -> str:
    """Format a share; what is not all and not nothing does not look like it.

    >>> percent(0.5), percent(0.001), percent(0.999)
    ('50 %', '1 %', '99 %')
    """
    return f"{100 * share if share in (0, 1) else min(max(100 * share, 1), 99):.0f} %"


def span(values: Sequence[int]) -> str:
    """The range of some numbers.

    >>> span([3, 1, 2]), span([5, 5])
    ('1 to 3', '5')
    """
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])
