"""The tables of the report in Markdown, from scores."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from dcmaes_bench._compare import (
    Duel,
    against,
    chosen_entry,
    duels,
    ends,
    entries,
    is_own,
    mean_area,
    mean_ranks,
    virtual_best,
    virtual_best_ratio,
)
from dcmaes_bench._early import first_evaluations
from dcmaes_bench._measures import EARLY, FULL, Score, Table
from dcmaes_bench._text import end_title, markdown, number, percent, span


def suite_section(name: str, scores: Table, picture: str = "") -> str:
    """The Markdown section of a suite: what it comes to first, then the figure, then row by row."""
    parts = [f"## Suite `{name}`", extent(scores), summary_table(scores), cut_short(scores), failures(scores)]
    parts += [singles(scores), picture, first_evaluations(scores) if name == "small" else ""]
    parts += [losses(scores), row_table(scores)]
    return "\n\n".join(part for part in parts if part) + "\n"


def extent(scores: Table) -> str:
    """Say how many rows there are, with how many seeds and which budgets."""
    runs = [entry.n_runs for row in scores.values() for entry in row.values()]
    budgets = [entry.per_variable for row in scores.values() for entry in row.values()]
    text = (
        f"{len(scores)} rows, {len(entries(scores))} optimizers; seeds per row and optimizer: {span(runs)}; "
        f"budget in evaluations per variable: {span([round(budget) for budget in budgets])}."
    )
    early = ends(scores)[0]
    if early == EARLY:
        return text
    return f"{text} At such budgets there are no figures at 50 d, but at half: {end_title(scores, early)}."


def summary_table(scores: Table) -> str:
    """One line per optimizer, the best against the virtual best peer first."""
    shown = ends(scores)
    titles = {when: "" if when == FULL else f" {end_title(scores, when)}" for when in shown}
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


def cut_short(scores: Table) -> str:
    """Say which optimizers' runs a cap on wall time ended, after how long; empty if there are none."""
    found = []
    for name in entries(scores):
        cut = [end for row in scores.values() if name in row for end in row[name].cut.values()]
        if cut:
            evaluations, minutes = span([n for n, _ in cut]), span([round(s / 60) for _, s in cut])
            count = f"{len(cut)} of {_n_runs(scores, name)}"
            found.append(f"{name} ({count} runs, after {evaluations} evaluations and {minutes} minutes)")
    return f"Ended by a cap on their wall time: {', '.join(found)}." if found else ""


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
            where = end_title(scores, when)
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
    end = ends(scores)[0]
    early = virtual_best(scores, str(entry), when=end)
    if early:
        behind = sorted((p for p in early if early[p].lead > 0), key=lambda p: -early[p].lead)
        names = ": " + "; ".join(f"{p} ({early[p].peer})" for p in behind) if behind else ""
        parts.append(
            f"At {end_title(scores, end)} it is behind on {len(behind)} of {len(early)} rows{names}."
        )
    return "\n\n".join(parts)


def _loss(duel: Duel) -> str:
    seeds = "1 seed" if duel.n_shared == 1 else f"{duel.n_shared} seeds"
    return f"{duel.peer} has {duel.other:.3f}, dcmaes {duel.own:.3f} ({seeds})"


def row_table(scores: Table) -> str:
    """One line per problem: the entry that counts, the two best peers, and how many there are."""
    entry = chosen_entry(scores)
    name = "dcmaes" if entry is None else entry
    early, lines = ends(scores)[0], []
    for problem, row in scores.items():
        mine, peers = row.get(name), _ranked(row, name, FULL)
        cells = [problem, "" if mine is None else str(mine.n_runs), _own_cell(row, name, FULL)]
        cells += [_peer_cell(row, *peer, FULL) for peer in (*peers[:2], *[("", None)] * (2 - len(peers)))]
        cells += [
            _early_cell(row, name, early),
            solved(mine),
            solved(row.get(peers[0][0])) if peers else "",
            str(len(peers)),
        ]
        lines.append(cells)
    title = end_title(scores, early)
    head = ["problem", "runs", name, "best peer", "second peer", title, "optimum", "best peer's", "peers"]
    note = (
        "Areas at the budget; in brackets by how much the peer is ahead (+) or behind (-) on the instances "
        f"both ran. *{title}*: the same there, against the best peer at that end. *optimum*: median "
        "evaluations until it was hit and the share of runs that hit it, if not all (`-`: half or fewer "
        "did). The better one in bold."
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


def _early_cell(row: Mapping[str, Score], name: str, when: str) -> str:
    best = [_peer_cell(row, *peer, when) for peer in _ranked(row, name, when)[:1]]
    return ", ".join(text for text in (_own_cell(row, name, when), *best) if text)


def solved(entry: Score | None) -> str:
    """Median evaluations to the optimum and the share of runs that hit it, if not all."""
    if entry is None:
        return ""
    return number(entry.median, "{:,.0f}") + ("" if entry.success == 1 else f" ({percent(entry.success)})")


def _bold(text: str, is_bold: bool) -> str:
    return f"**{text}**" if is_bold else text


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
