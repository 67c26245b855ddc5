"""How many times fewer evaluations one optimizer needs than another for the same quality, row by row."""

from __future__ import annotations

import math
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dcmaes_bench._measures import Scale, hits
from dcmaes_bench._results import RunRecord

# A ratio this close to one is a draw: traces are kept with 20 places a decade of evaluations, 12 per cent.
DRAW = 1.12


@dataclass(frozen=True)
class Saving:
    """An optimizer beside one peer on a suite.

    Attributes
    ----------
    peer : str
    ratios : dict from row to float
        Evaluations of the peer over those of the optimizer, to the same targets: above 1, it needs fewer.
    n_behind : int
        Rows on which some peer, the best for that row, needs fewer than the optimizer.
    """

    peer: str
    ratios: Mapping[str, float]
    n_behind: int = 0

    @property
    def middle(self) -> float:
        """Median over rows."""
        return float(np.median(list(self.ratios.values())))

    @property
    def quartiles(self) -> tuple[float, float]:
        """A quarter of the rows is below the first, a quarter above the second."""
        low, high = np.quantile(list(self.ratios.values()), [0.25, 0.75])
        return float(low), float(high)

    @property
    def lost(self) -> list[str]:
        """Rows on which the peer needs fewer, by more than the traces' resolution; the worst first."""
        rows = [row for row, ratio in self.ratios.items() if ratio < 1 / DRAW]
        return sorted(rows, key=lambda row: self.ratios[row])


def log_ratio(own: RunRecord, peer: RunRecord, scale: Scale) -> float | None:
    """Return the mean over targets of log(evaluations of the peer / own), for two runs of one instance.

    Targets count that at least one of the two reached, up to the evaluations at which the first of them
    was cut short; a target that was not reached by then counts as reached then, so that the true difference
    is larger still. None if neither reached any.
    """
    end = min(run.n_evaluations if run.solved_at is None else math.inf for run in (own, peer))
    end = min(end, own.budget, peer.budget)
    mine, theirs = (hits(run.trace, scale) for run in (own, peer))
    counts = np.minimum(mine, theirs) <= end
    if not counts.any():
        return None
    return float(np.mean(np.log(np.minimum(theirs[counts], end) / np.minimum(mine[counts], end))))


def saving(
    records: Iterable[RunRecord], scale_of: Mapping[tuple[str, int], Scale], entry: str, peer: str
) -> Saving:
    """Compare two optimizers on every row, on the instances that both ran: geometric means of ratios."""
    runs: dict[tuple[str, int], dict[str, RunRecord]] = defaultdict(dict)
    for record in records:
        if record.optimizer in (entry, peer):
            runs[record.problem, record.instance][record.optimizer] = record
    logs: dict[str, list[float]] = defaultdict(list)
    for key, pair in runs.items():
        if len(pair) == 2:
            value = log_ratio(pair[entry], pair[peer], scale_of[key])
            logs[key[0]] += [] if value is None else [value]
    return Saving(peer, {row: math.exp(float(np.mean(values))) for row, values in logs.items() if values})


def best_saving(
    records: Sequence[RunRecord],
    scale_of: Mapping[tuple[str, int], Scale],
    entry: str,
    peer: str,
    others: Iterable[str],
) -> Saving:
    """Compare with one peer, and count the rows on which any of the others is ahead."""
    found = saving(records, scale_of, entry, peer)
    behind = {row for other in others for row in saving(records, scale_of, entry, other).lost}
    return replace(found, n_behind=len(behind))


def sentence(suite: str, about: str, found: Saving) -> str:
    """Say in plain words what a suite comes to.

    >>> found = Saving("P3", {"a": 2.0, "b": 4.0, "c": 0.5}, n_behind=2)
    >>> print(sentence("pbo", "bit strings", found))
    **pbo** (bit strings, 3 problems): **2.0 times fewer** evaluations than P3, the best of the others; half
    of the problems lie between 1.2 and 3.0 times. On 2 of them some other optimizer needs fewer, P3 on 1: c
    (2.0 times).
    """
    low, high = found.quartiles
    n, lost = len(found.ratios), found.lost
    text = (
        f"**{suite}** ({about}, {n} problems): {_times(found.middle)} {found.peer}, the best of the others; "
        f"half of the problems lie between {low:.1f} and {high:.1f} times."
    )
    if not found.n_behind:
        text += " No other optimizer needs fewer on any of them."
    elif not lost:
        text += f" On {found.n_behind} of them some other optimizer needs fewer, though not {found.peer}."
    else:
        named = ", ".join(f"{row} ({1 / found.ratios[row]:.1f} times)" for row in lost[:3])
        more = f" and {len(lost) - 3} more" if len(lost) > 3 else ""
        text += (
            f" On {found.n_behind} of them some other optimizer needs fewer, {found.peer} on {len(lost)}: "
        )
        text += f"{named}{more}."
    return "\n".join(textwrap.wrap(text, 104, break_long_words=False, break_on_hyphens=False))


def _times(ratio: float) -> str:
    if 1 / DRAW <= ratio <= DRAW:
        return "**about as many** evaluations as"
    times = f"{ratio:.1f} times fewer" if ratio > 1 else f"{1 / ratio:.1f} times more"
    return f"**{times}** evaluations than"
