"""A run and its store: what is written when, and whether it is the same run."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dcmaes._validation import ArgumentError
from dcmaes.run._run import Run
from dcmaes.run._settings import LIMITS, Settings, StopReason
from dcmaes.run._trial import Reading, Trial
from dcmaes.space import Space
from dcmaes.store._journal import Journal
from dcmaes.store._reader import Reader
from dcmaes.store._restoring import restore, take_snapshot, versions
from dcmaes.store._schema import StoreError, is_held, sync_folder, translated_errors
from dcmaes.strategies import Strategy, is_registered
from dcmaes.strategies._evaluations import Evaluation

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
        with translated_errors(reader.path):
            seed = given.seed if is_seed_given else reader.identity()["seed"]
            return replace(given, seed=seed, **reader.sittings()[0].limits)

    def begin(self, run: Run, given: Settings) -> None:
        """Begin the store of a new run, or bring a fresh one to where the stored one was."""
        limits = {name: getattr(given, name) for name in LIMITS}
        if self.journal.is_new:
            self.journal.begin(_identity(run), limits, versions())
            return
        reader = self.journal.reader
        begun = time.perf_counter()
        with translated_errors(reader.path):
            _compare(reader, run)
            is_same = restore(run, reader, reader.snapshot(), is_exact=True)
            run.relimit(limits)
        # Work done again counts as work since the snapshot: a run that is killed often must get ahead of it.
        self._work_at_snapshot = begun - time.perf_counter()
        # What replaying the events under the first limits does not give is in the snapshot.
        has_changed = limits != reader.sittings()[-1].limits or not is_same
        self.journal.begin({}, limits, versions(), take_snapshot(run) if has_changed else None)

    def write_ask(
        self, run: Run, n: int | None, trials: Sequence[Trial], own_time: float, is_repeatable: bool = True
    ) -> None:
        """Write what was asked for; now and then, or when asking again would not give it, a snapshot.

        That is so when the clock or user code cut it short, or if the user chose the points. A run of which
        it cannot be written is ahead of its store, and must not go on.
        """
        work = own_time - self._work_at_snapshot
        is_due = work > max(_SNAPSHOT_SECONDS, _SNAPSHOT_SHARE * self._snapshot_cost)
        has_snapshot = is_due or not is_repeatable or run.is_over()
        begun = time.perf_counter()
        try:
            self.journal.write_ask(n, trials, take_snapshot(run) if has_snapshot else None)
        except StoreError as error:
            run.halt(StopReason.ERROR.stop(why=str(error)), error)
            raise
        if has_snapshot:
            self._snapshot_cost, self._work_at_snapshot = time.perf_counter() - begun, own_time

    def close(self, run: Run, is_whole: bool, optimizer_time: float) -> None:
        """Write how the sitting ended and, unless a change broke off in its middle, where the run is.

        On a disk that is full nothing is lost by leaving that out: the events before are all there.
        """
        if self.journal.is_closed:
            return
        try:
            self.journal.check_files()
            with suppress(StoreError):
                if is_whole:
                    self.journal.write_snapshot(take_snapshot(run))
                _write_end(self.journal, run, optimizer_time, is_whole)
        finally:
            self.journal.close()


def save(run: Run, path: str | os.PathLike[str], optimizer_time: float, store: RunStore | None) -> None:
    """Write a whole run to a file, at once: there is the old file or the whole new one, never a part.

    Parameters
    ----------
    run : Run
        The run.
    path : path
        Where to write; an existing file is replaced, unless a process is using it.
    optimizer_time : float
        How much time the optimizer has spent on its own work.
    store : RunStore or None
        The store of the run, if it has one: it knows more, such as who evaluated what.
    """
    target = Path(os.fspath(path))
    if is_held(target):
        raise StoreError(f"the store {str(target)!r} is in use by a process: save to another file")
    temporary = target.with_name(f".{target.name}.{os.getpid()}.{threading.get_ident()}.tmp")
    try:
        if store is not None:
            store.journal.copy_to(temporary)
        journal = Journal(temporary)
        try:
            _write_whole(journal, run)
            _write_end(journal, run, optimizer_time)
        finally:
            journal.close()
        os.replace(temporary, target)
    except OSError as error:
        raise StoreError(f"the run cannot be saved to {str(target)!r}: {error}") from error
    finally:
        for suffix in ("", "-lock", "-wal", "-shm", "-journal"):
            temporary.with_name(temporary.name + suffix).unlink(missing_ok=True)
    sync_folder(target.absolute().parent)


def _write_whole(journal: Journal, run: Run) -> None:
    """Write a run and where it is to a new store, or only where it is to a copy of its own."""
    is_new, limits = journal.is_new, {name: getattr(run.settings, name) for name in LIMITS}
    journal.begin(_identity(run), limits, versions())
    if is_new:
        memory = run.memory
        told = [(i, one) for i in range(len(memory)) if not (one := memory.evaluation(i)).is_given]
        trials = [Trial(one.id, None, memory.row(i), one.restart, one.is_again) for i, one in told]
        trials += run.outstanding.values()
        journal.write_ask(None, sorted(trials, key=lambda trial: trial.id))
        journal.write_tell({one.id: _reading(run, i, one) for i, one in told})
    journal.write_snapshot(take_snapshot(run))


def _write_end(journal: Journal, run: Run, optimizer_time: float, is_whole: bool = True) -> None:
    """Write how the sitting ended."""
    violation = run.rank(run.best()).violation if is_whole else 0.0
    reason = None if run.stop is None else run.stop.reason.value
    journal.end(reason, run.message(violation), optimizer_time)


def _reading(run: Run, place: int, one: Evaluation) -> Reading:
    """Return what the memory has of a reading, in the user's sign."""
    objectives = run.settings.objectives
    value: Any = run.settings.sign * one.value
    if objectives is not None:
        value = tuple((objectives.signs * run.memory.told(np.array([place]))[0]).tolist())
    reason = run.memory.reason(place)
    return Reading(value, one.violation, reason, seconds=one.seconds, told_at=one.told_at)


def _identity(run: Run) -> dict[str, Any]:
    """Return what makes a run this one and no other, as plain data."""
    return {
        "space": _space_to_dict(run.space),
        "row_type": run.memory.codec.dtype.str,
        "seed": run.settings.seed,
        "direction": run.settings.direction,
        **({} if run.settings.objectives is None else {"objectives": run.settings.objectives.to_dict()}),
        "duplicates": run.settings.duplicates,
        "strategy": _strategy_to_dict(run.strategy),
        "starts": [
            {
                "x": x.tolist(),
                "value": None if reading is None else _plain(reading),
                "total_violation": violation,
            }
            for (x, reading), violation in zip(run.starts, run.start_violations, strict=True)
        ],
        "has_constraints": len(run.constraints.functions) > 0,
        "created": time.time(),
    }


def _space_to_dict(space: Space) -> dict[str, Any] | None:
    """Return a space as plain data, or None if it cannot be written so."""
    try:
        return space.to_dict()
    except TypeError:  # choices that are not plain data
        return None


def _strategy_to_dict(strategy: Strategy[Any]) -> dict[str, Any]:
    """Return name and options of a strategy; no options if it is an object that only the user can make."""
    options = dict(strategy.options()) if is_registered(strategy) else None
    return {"name": strategy.name, "options": options}


def _compare(reader: Reader, run: Run) -> None:
    """Raise `OtherRunError`, naming what differs, unless the run is the stored one."""
    then, now = reader.identity(), json.loads(json.dumps(_identity(run)))
    if _differences(run.space, now, then, "", ""):
        raise OtherRunError(reader.path, lambda *places: _differences(run.space, now, then, *places))


class OtherRunError(ArgumentError):
    """A store that holds another run than the one to be made.

    Attributes
    ----------
    path : Path
        The store.
    differences : callable
        Takes words for where the arguments are and for where the run is, and returns a sentence for each
        difference.
    """

    def __init__(self, path: Path, differences: Callable[[str, str], list[str]]) -> None:
        self.path = path
        self.differences = differences
        found = "; ".join(differences("in the arguments", "in the store"))
        super().__init__(
            f"the run in the store {str(path)!r} is another one: {found}. "
            f"Give the arguments of that run (or use dcmaes.resume), or another path for a new run"
        )


def _differences(
    space: Space, now: dict[str, Any], then: dict[str, Any], given: str, stored: str
) -> list[str]:
    """Return what differs between two runs, where `given` and `stored` say which is which."""
    found = []
    if then["space"] is not None:
        found += [f"space: {one}" for one in space.differences(Space.from_dict(then["space"]), given, stored)]
    found += [
        f"{name} is {now[name]!r} {given} and {then[name]!r} {stored}"
        for name in ("seed", "direction", "duplicates")
        if now[name] != then[name]
    ]
    if (told := _described(now)) != (stored_ones := _described(then)):
        found.append(f"objectives are {told} {given} and {stored_ones} {stored}")
    if now["strategy"] != then["strategy"]:
        found.append(f"strategy is {_named(now['strategy'])} {given} and {_named(then['strategy'])} {stored}")
    if now["starts"] != then["starts"]:
        n_now, n_then = len(now["starts"]), len(then["starts"])
        found.append(f"x0 has {n_now} points {given} and {n_then} {stored}{', others' * (n_now == n_then)}")
    if now["has_constraints"] != then["has_constraints"]:
        has, has_not = (given, stored) if now["has_constraints"] else (stored, given)
        found.append(f"there are constraints {has} and none {has_not}")
    return found


def _described(identity: dict[str, Any]) -> str:
    """Return the objectives of a run in a few words."""
    several = identity.get("objectives")
    if several is None:
        return "one"
    names = ", ".join(map(" ".join, zip(several["directions"], several["names"], strict=True)))
    reference = several["reference"]
    return names if reference is None else f"{names} up to {reference}"


def _plain(reading: Reading) -> list[Any]:
    """Return value (of several objectives, all) and violation, None where there is no value.

    NaN is not equal to itself. A failure has neither, but a reason.
    """
    if reading.reason is not None:
        return [None, None, reading.reason]
    return [None if np.isnan(reading.value).any() else reading.value, reading.violation]


def _named(strategy: dict[str, Any]) -> str:
    options = strategy["options"]
    return strategy["name"] if options is None else f"{strategy['name']} with {options}"
