"""A run and its store: what is written when, and how a run goes on from what was written."""

from __future__ import annotations

import json
import math
import os
import platform
import time
import warnings
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from dcmaes._validation import ArgumentError
from dcmaes.journal import (
    Ask,
    EvaluationRow,
    Journal,
    LossRow,
    Reader,
    Snapshot,
    StoreError,
    TrialRow,
    intelligible,
)
from dcmaes.optimizer import _persistence
from dcmaes.optimizer._archive import Archive, Entry, Status
from dcmaes.optimizer._knowledge import Outstanding
from dcmaes.optimizer._measurement import Measurement
from dcmaes.optimizer._run import Run, Told
from dcmaes.optimizer._saving import restore_run, run_to_dict, space_to_dict, strategy_to_dict
from dcmaes.optimizer._settings import LIMITS, Settings
from dcmaes.optimizer._trial import Outcome, Reading, Trial, failure, freeze
from dcmaes.space import Space

# The optimizer's own work since the last snapshot, in seconds and in times of what a snapshot costs: going on
# from a store takes about as long as the one, and snapshots take at most one part in the other of the time.
_SNAPSHOT_SECONDS = 1.0
_SNAPSHOT_SHARE = 20.0


class RunStore:
    """The store of a run: opened, compared with the run, brought to where it was, and written.

    Parameters
    ----------
    path : path
        The file; made if there is none.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(os.fspath(path))
        self.journal = Journal(self.path)
        self._snapshot_cost = 0.0
        self._work_at_snapshot = 0.0

    def first_settings(self, given: Settings, is_seed_given: bool) -> Settings:
        """Return the settings under which the run was begun: strategies start from the budget of then."""
        if self.journal.is_new:
            return given
        reader = self.journal.reader
        with intelligible(reader.path):
            seed = given.seed if is_seed_given else reader.identity()["seed"]
            return replace(given, seed=seed, **reader.sittings()[0].limits)

    def attach(self, run: Run, given: Settings) -> None:
        """Begin the store of a new run, or bring a fresh one to where the stored one was."""
        limits = {name: getattr(given, name) for name in LIMITS}
        if self.journal.is_new:
            self.journal.begin(identity_of(run), limits, _versions())
            return
        reader = self.journal.reader
        begun = time.perf_counter()
        with intelligible(reader.path):
            _compare(reader, run)
            is_same = _restore(run, reader.snapshot(), reader, is_exact=True)
            run.relimit(limits)
        # Work done again counts as work since the snapshot: a run that is killed often must get ahead of it.
        self._work_at_snapshot = begun - time.perf_counter()
        # What replaying the events under the first limits does not give is in the snapshot.
        has_changed = limits != reader.sittings()[-1].limits or not is_same
        self.journal.begin({}, limits, _versions(), _snapshot(run) if has_changed else None)

    def write_ask(self, run: Run, n: int | None, trials: Sequence[Trial], own_time: float) -> None:
        """Write what was asked for; now and then, or when the clock or user code cut it short, a snapshot."""
        now = time.time()
        outs = [run.knowledge.outstanding[trial.id] for trial in trials]
        rows = [TrialRow(out.trial.id, out.row, out.restart, now, int(out.is_again)) for out in outs]
        work = own_time - self._work_at_snapshot
        is_due = work > max(_SNAPSHOT_SECONDS, _SNAPSHOT_SHARE * self._snapshot_cost)
        if not (is_due or run.is_over()):
            self.journal.write_ask(n, rows)
            return
        begun = time.perf_counter()
        self.journal.write_ask(n, rows, _snapshot(run))
        self._snapshot_cost, self._work_at_snapshot = time.perf_counter() - begun, own_time

    def write_tell(self, told: Sequence[Told], told_at: float) -> None:
        """Write what is about to be recorded."""
        self.journal.write_tell([_evaluation_row(one, told_at) for one in told])

    def keep(self, told: Told) -> None:
        """Write a result that is to be told later."""
        self.journal.keep(_evaluation_row(told, math.nan))

    def kept(self) -> dict[int, Measurement]:
        """Return the results that were kept and never told, by number of the trial."""
        return {
            number: Measurement(_reading(row), row.seconds, row.worker, row.started_at)
            for number, row in self.journal.reader.kept().items()
        }

    def write_loss(self, trial: Trial, reason: str, worker: str | None) -> None:
        """Write that an evaluation came to nothing and is made again."""
        self.journal.write_loss(LossRow(trial.id, reason, worker, time.time()))

    def close(self, run: Run, is_whole: bool, optimizer_time: float) -> None:
        """Write how the sitting ended and, unless a change broke off in its middle, where the run is.

        On a disk that is full nothing is lost by leaving that out: the events before are all there.
        """
        if self.journal.is_closed:
            return
        try:
            self.journal.check_files()
            with suppress(StoreError):
                violation = 0.0
                if is_whole:
                    self.journal.write_snapshot(_snapshot(run))
                    _, violation = run.standing(run.best())
                reason = None if run.stop is None else run.stop.reason.value
                self.journal.end(reason, run.message(violation), optimizer_time)
        finally:
            self.journal.close()


def identity_of(run: Run) -> dict[str, Any]:
    """Return what makes a run this one and no other, as plain data."""
    return {
        "space": space_to_dict(run.space),
        "row_type": run.archive.codec.dtype.str,
        "seed": run.settings.seed,
        "direction": run.settings.direction,
        "duplicates": run.settings.duplicates,
        "strategy": strategy_to_dict(run.strategy),
        "starts": [
            {
                "x": start.x.tolist(),
                "value": None if start.reading is None else _plain(start.reading),
                "total_violation": violation,
            }
            for start, violation in zip(run.starts, run.start_violations, strict=True)
        ],
        "has_constraints": len(run.constraints) > 0,
        "created": time.time(),
    }


def stored_starts(identity: dict[str, Any], space: Space, *, is_total: bool) -> list[Any]:
    """Return the starting points of a stored run as `x0`, with their total violation or as given."""
    starts: list[Any] = []
    for start in identity["starts"]:
        point, told = space.decode(np.array(start["x"])), start["value"]
        if told is not None and told[1] is None:
            starts.append((point, failure(told[2])))
        elif told is not None:
            violation = start["total_violation"] if is_total else told[1]
            starts.append((point, Outcome(told[0], violation)))
        else:
            starts.append(point)
    return starts


def _read_archive(reader: Reader, archive: Archive, sign: float, until: int) -> None:
    """Add to an archive what was told, up to event `until`."""
    for trial, row in reader.told(until):
        entry = Entry(
            *(row.trial, sign * row.value, row.violation, Status.of(row.violation)),
            *(trial.restart, row.seconds, row.told_at, False),
        )
        archive.append(trial.point, archive.codec.key(trial.point), entry, row.reason)


def restore_for_reading(run: Run, reader: Reader, has_strategy: bool) -> None:
    """Bring a fresh run to where the stored one is, near enough to be shown, without user code.

    A run that has not the strategy of the stored one gets its evaluations all the same.
    """
    _restore(run, reader.snapshot() if has_strategy else None, reader, is_exact=False)
    run.relimit(reader.sittings()[-1].limits)


def _restore(run: Run, snapshot: Snapshot | None, reader: Reader, *, is_exact: bool) -> bool:
    """Go to the snapshot and replay what happened after it; tell whether it came out the same.

    From where asking gives other points than then, as on another machine, whose floating point differs in the
    last digit, points are handed out as they were: what was told of them is learned from either way.
    """
    after = 0
    if snapshot is not None:
        after = snapshot.seq
        data = _persistence.loads(snapshot.data)
        _read_archive(reader, run.archive, run.settings.sign, after)
        restore_run(run, data)
        run.settings = Settings(**data["settings"])
    settings = run.settings
    run.settings = replace(settings, time_limit=None, on_error="continue")
    is_same = is_exact
    for event in reader.events(after):
        if isinstance(event, EvaluationRow):
            out = run.knowledge.outstanding[event.trial]
            run.record(Told(out, _reading(event), event.seconds), event.told_at)
            run.time_before = event.told_at
            continue
        rows = reader.trials(event.first_trial, event.n_trials)
        if is_same:
            is_same = _repeat(run, event.n, rows)
            if not is_same:
                _warn_of_difference(reader, event)
        if not is_same:
            _hand_out(run, rows)
    run.settings = settings
    return is_same


def _repeat(run: Run, n: int | None, rows: Sequence[TrialRow]) -> bool:
    """Ask as then and tell whether the answer is the same; if not, nothing is handed out."""
    next_id, n_again, queue = run.next_id, run.n_again, deque(run.queue)
    trials = run.ask(n)
    answer = [(trial.id, run.knowledge.outstanding[trial.id].row) for trial in trials]
    if answer == [(row.id, row.point) for row in rows]:
        return True
    for trial in trials:
        run.knowledge.take_back(trial.id)
    run.next_id, run.n_again, run.queue = next_id, n_again, queue
    if rows:
        run.stop = None  # there it went on
    return False


def _hand_out(run: Run, rows: Sequence[TrialRow]) -> None:
    """Hand out these trials, whatever the strategy would."""
    run.search.flush()
    codec = run.archive.codec
    points = run.space.decode_many(codec.coded(row.point for row in rows)) if rows else []
    for row, point in zip(rows, points, strict=True):
        key, trial = codec.key(row.point), Trial(row.id, freeze(point))
        run.knowledge.hand_out(Outstanding(trial, row.point, key, row.restart, bool(row.is_again)))
        run.next_id = row.id + 1
        run.n_again += row.is_again
        if run.queue and run.queue[0].key == key:
            run.queue.popleft()


def _warn_of_difference(reader: Reader, ask: Ask) -> None:
    then, now = _listed(reader.sittings()[-1].versions), _listed(_versions())
    message = (
        f"the run in {str(reader.path)!r} goes on, but is no longer bit for bit the same run: asking for "
        f"trial {ask.first_trial} gives other points here than were handed out. Another machine, other "
        f"versions (then {then}; now {now}), or constraints or a strategy that answer differently can be "
        "why. All evaluations are learned from"
    )
    warnings.warn(message, RuntimeWarning, stacklevel=2)


def _snapshot(run: Run) -> bytes:
    return _persistence.dumps(run_to_dict(run))


def _reading(row: EvaluationRow) -> Reading:
    return Reading(row.value, row.violation, row.reason, None, row.traceback)


def _evaluation_row(told: Told, told_at: float) -> EvaluationRow:
    reading = told.reading
    return EvaluationRow(
        told.out.trial.id,
        reading.value,
        reading.violation,
        reading.reason,
        reading.traceback,
        told.seconds,
        told_at,
        told.worker,
        told.started_at,
    )


def _compare(reader: Reader, run: Run) -> None:
    """Raise ValueError, naming what differs, unless the run is the stored one."""
    then, now = reader.identity(), json.loads(json.dumps(identity_of(run)))
    differences = [
        f"{name} is {now[name]!r} here and {then[name]!r} there"
        for name in ("seed", "direction", "duplicates")
        if now[name] != then[name]
    ]
    if then["space"] is not None and (found := Space.from_dict(then["space"]).differences(run.space)):
        differences.insert(0, "space: " + "; ".join(found))
    if now["strategy"] != then["strategy"]:
        differences.append(f"strategy is {_named(now['strategy'])} here and {_named(then['strategy'])} there")
    if now["starts"] != then["starts"]:
        differences.append(
            f"x0 has {len(now['starts'])} points here, {len(then['starts'])} there, or other values"
        )
    if now["has_constraints"] != then["has_constraints"]:
        differences.append("constraints are given here or there, not both")
    if differences:
        raise ArgumentError(
            f"the run in the store {str(reader.path)!r} is another one: {'; '.join(differences)}. "
            f"Give the arguments of that run (or use dcmaes.resume), or another path for a new run"
        )


def _plain(reading: Reading) -> list[float | str | None]:
    """Return value and violation, None where there is no value: NaN is not equal to itself.

    A failure has neither, but a reason.
    """
    if reading.reason is not None:
        return [None, None, reading.reason]
    return [None if math.isnan(reading.value) else reading.value, reading.violation]


def _named(strategy: dict[str, Any]) -> str:
    options = strategy["options"]
    return strategy["name"] if options is None else f"{strategy['name']} with {options}"


def _versions() -> dict[str, str]:
    return {
        "dcmaes": str(import_module("dcmaes").__version__),
        "numpy": np.__version__,
        "python": platform.python_version(),
    }


def _listed(versions: dict[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())
