"""Comparisons between optimizers: on each row, on the instances that both of them ran."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dcmaes_bench._measures import EARLY, FULL, HALF, Score, Table

OWN = "dcmaes"  # the names of the library's own entries begin with this
DEFAULT = "dcmaes auto"  # what a user gets who chooses nothing: the entry that counts


@dataclass(frozen=True)
class Duel:
    """An optimizer against one peer on one row: both mean areas over the `n_shared` instances both ran."""

    peer: str
    own: float
    other: float
    n_shared: int

    @property
    def lead(self) -> float:
        """By how much the peer is ahead."""
        return self.other - self.own


def entries(scores: Table) -> list[str]:
    """Names of all optimizers of a table, in alphabetical order."""
    return sorted({name for row in scores.values() for name in row})


def is_own(name: str) -> bool:
    """Whether this is one of the library's own entries.

    >>> is_own("dcmaes auto"), is_own("pycma")
    (True, False)
    """
    return name.startswith(OWN)


def duels(
    row: Mapping[str, Score], name: str, peers: Iterable[str] | None = None, when: str = FULL
) -> list[Duel]:
    """An optimizer against its peers on one row, the peer that is furthest ahead of it first.

    Peers that share no instance with it are left out; by default the peers are all that are not the library's
    own. A peer with few seeds is compared on those few, which takes nothing from the others' data.
    """
    mine = row[name].areas.get(when, {}) if name in row else {}
    found = []
    for peer in row if peers is None else peers:
        if peer == name or peer not in row or (peers is None and is_own(peer)):
            continue
        other = row[peer].areas.get(when, {})
        shared = sorted(mine.keys() & other.keys())
        if shared:
            own, theirs = (float(np.mean([areas[i] for i in shared])) for areas in (mine, other))
            found.append(Duel(peer, own, theirs, len(shared)))
    return sorted(found, key=lambda duel: (-duel.lead, duel.peer))


def virtual_best(
    scores: Table, name: str, peers: Iterable[str] | None = None, when: str = FULL
) -> dict[str, Duel]:
    """For each row that can be compared, the duel with the peer that does best against this optimizer.

    On the rows where a peer is itself the best one, that is itself.
    """
    chosen = None if peers is None else list(peers)
    found = {}
    for problem, row in scores.items():
        fought = duels(row, name, chosen, when)
        if name in row and when in row[name].areas and not is_own(name) and chosen is None:
            fought.append(Duel(name, row[name].area(when), row[name].area(when), len(row[name].areas[when])))
        if fought:
            found[problem] = max(fought, key=lambda duel: duel.lead)
    return found


def virtual_best_ratio(
    scores: Table, name: str, peers: Iterable[str] | None = None, when: str = FULL
) -> float:
    """Area of an optimizer relative to the virtual best peer's: the best peer of each row, chosen afterwards.

    Both areas of a row are means over the instances that the two ran, and are summed over rows.
    """
    fought = virtual_best(scores, name, peers, when).values()
    best = sum(duel.other for duel in fought)
    return sum(duel.own for duel in fought) / best if best else math.nan


def against(scores: Table, name: str, peer: str, when: str = FULL) -> Duel | None:
    """An optimizer against one peer over all the rows that both ran; `n_shared` counts these rows."""
    fought = virtual_best(scores, name, [peer], when).values()
    if not fought:
        return None
    own, other = (float(np.mean(values)) for values in zip(*((d.own, d.other) for d in fought), strict=True))
    return Duel(peer, own, other, len(fought))


def mean_area(scores: Table, name: str, when: str = FULL) -> float:
    """Mean area over the rows that the optimizer ran (and that have this end); not a number if none."""
    values = [row[name].area(when) for row in scores.values() if name in row and when in row[name].areas]
    return float(np.mean(values)) if values else math.nan


def mean_ranks(scores: Table) -> dict[str, float]:
    """Mean over rows of the rank by area among those that ran the row; ties share their mean rank."""
    ranks: dict[str, list[float]] = {name: [] for name in entries(scores)}
    for row in scores.values():
        areas = {name: entry.area() for name, entry in row.items()}
        for name, mine in areas.items():
            better = sum(other > mine for other in areas.values())
            equal = sum(other == mine for other in areas.values())
            ranks[name].append(better + (equal + 1) / 2)
    return {name: float(np.mean(values)) for name, values in ranks.items()}


def mean_ranks_at(scores: Table, when: int, names: Sequence[str]) -> dict[str, float]:
    """Mean over rows of the rank by the median gap after so many evaluations; ties share their mean rank.

    A row is ranked among those of `names` that ran it, on the instances that all of these ran; rows without
    any, or with a smaller budget, are left out.
    """
    ranks: dict[str, list[float]] = defaultdict(list)
    for row in scores.values():
        found = {name: row[name].gaps[when] for name in names if name in row and when in row[name].gaps}
        shared = set.intersection(*map(set, found.values())) if found else set()
        if not shared:
            continue
        gaps = {name: float(np.median([some[i] for i in shared])) for name, some in found.items()}
        for name, mine in gaps.items():
            better = sum(other < mine for other in gaps.values())
            equal = sum(other == mine for other in gaps.values())
            ranks[name].append(better + (equal + 1) / 2)
    return {name: float(np.mean(values)) for name, values in ranks.items()}


@dataclass(frozen=True)
class Outcomes:
    """On how many instances of a row an optimizer has the better value, the worse, and the same."""

    won: int
    lost: int
    drawn: int


def outcomes(scores: Table, name: str, peer: str, when: int) -> dict[str, Outcomes]:
    """Compare the best values of two optimizers after so many evaluations, by row.

    Counted are the instances that both ran for as long, or to the optimum; rows without any are left out.
    """
    found = {}
    for problem, row in scores.items():
        if name not in row or peer not in row:
            continue
        mine, theirs = (_gaps_at(row[one], when) for one in (name, peer))
        pairs = [(mine[i], theirs[i]) for i in mine.keys() & theirs.keys()]
        if pairs:
            won, lost = sum(a < b for a, b in pairs), sum(a > b for a, b in pairs)
            found[problem] = Outcomes(won, lost, len(pairs) - won - lost)
    return found


def _gaps_at(entry: Score, when: int) -> dict[int, float]:
    gaps = entry.gaps.get(when, {})
    return {i: gap for i, gap in gaps.items() if i not in entry.cut or entry.cut[i][0] >= when}


def ends(scores: Table) -> tuple[str, str]:
    """The two ends at which this table has areas, the early one first."""
    has_early = any(EARLY in entry.areas for row in scores.values() for entry in row.values())
    return (EARLY if has_early else HALF), FULL


def chosen_entry(scores: Table) -> str | None:
    """The library's entry that counts: its default, or else its best one against the virtual best peer."""
    own = [name for name in entries(scores) if is_own(name)]
    if DEFAULT in own or not own:
        return DEFAULT if own else None
    ratios = {name: virtual_best_ratio(scores, name) for name in own}
    return max(own, key=lambda name: (-1.0 if math.isnan(ratios[name]) else ratios[name], name))
