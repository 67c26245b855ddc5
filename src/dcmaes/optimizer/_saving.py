"""A whole run to and from a file."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from dcmaes._validation import ArgumentError
from dcmaes.optimizer import _persistence
from dcmaes.optimizer._knowledge import Outstanding
from dcmaes.optimizer._proposals import Candidate
from dcmaes.optimizer._run import Run
from dcmaes.optimizer._stopping import PASSING, Stop, StopReason
from dcmaes.optimizer._trial import Trial, freeze
from dcmaes.space import Space
from dcmaes.strategies import Strategy, is_registered, make_strategy

if TYPE_CHECKING:
    from dcmaes.optimizer._constraints import Constraint
    from dcmaes.optimizer._optimizer import Callback, Optimizer


def save(optimizer: Optimizer, path: str | os.PathLike[str]) -> None:
    """Write everything that `load` needs to go on; code (constraints, callbacks) is left out."""
    run = optimizer._run
    data = {
        "space": space_to_dict(run.space),
        "strategy": strategy_to_dict(run.strategy),
        "has_constraints": len(run.constraints) > 0,
        "archive": run.archive.to_dict(),
        "optimizer_time": optimizer._own_time,
        **run_to_dict(run),
    }
    _persistence.write(path, data)


def run_to_dict(run: Run) -> dict[str, Any]:
    """Return where a run is, without its evaluations, as plain data and arrays."""
    return {
        "settings": asdict(run.settings),
        "smallest_violation": run.constraints.smallest_violation,
        "knowledge": run.knowledge.to_dict(),
        "search": run.search.to_dict(),
        "reserve": run.proposer.reserve,
        "queue": run.archive.codec.coded(candidate.row for candidate in run.queue),
        "next_id": run.next_id,
        "n_told": run.n_told,
        "n_again": run.n_again,
        "objective_time": run.objective_time,
        "elapsed": run.elapsed,
        "stop": None if run.stop is None else [run.stop.reason.name, run.stop.message],
    }


def load(
    path: str | os.PathLike[str],
    space: Space | None,
    strategy: Strategy[Any] | None,
    constraints: Constraint | Iterable[Constraint] | None,
    callbacks: Callback | Iterable[Callback],
    budget: int | None,
    time_limit: float | str | None,
) -> Optimizer:
    """Return the optimizer that `save` wrote."""
    from dcmaes.optimizer._optimizer import Optimizer

    data = _persistence.read(path)
    name = repr(os.fspath(path))
    try:
        if data["has_constraints"] and constraints is None:
            raise ValueError(
                f"the run saved in {name} had constraints, which are not in the file: pass constraints="
            )
        settings = dict(data["settings"])
        settings["budget"] = settings["budget"] if budget is None else budget
        settings["time_limit"] = settings["time_limit"] if time_limit is None else time_limit
        optimizer = Optimizer(
            choose_space(name, data["space"], space),
            strategy=choose_strategy(name, data["strategy"], strategy),
            constraints=constraints,
            callbacks=callbacks,
            **settings,
        )
        optimizer._run.archive.restore(data["archive"])
        restore_run(optimizer._run, data)
        optimizer._own_time = data["optimizer_time"]
    except (KeyError, IndexError, AttributeError, TypeError) as error:
        raise ValueError(f"{name} is not a readable saved optimizer: {error!r}") from error
    return optimizer


def restore_run(run: Run, data: dict[str, Any]) -> None:
    """Bring a fresh run, which has the evaluations already, to where `run_to_dict` found one."""
    run.constraints.smallest_violation = data["smallest_violation"]
    run.search.restore(data["search"])
    run.proposer.reserve = data["reserve"]
    run.next_id, run.n_told, run.n_again = data["next_id"], data["n_told"], data["n_again"]
    run.objective_time, run.time_before = data["objective_time"], data["elapsed"]
    run.queue.clear()
    run.queue.extend(_candidates(run, data["queue"]))
    knowledge = data["knowledge"]
    run.knowledge.restore_excluded(knowledge)
    columns = (
        knowledge["ids"],
        _candidates(run, knowledge["x"]),
        knowledge["restarts"],
        knowledge["is_again"],
    )
    for trial_id, (row, key, point), restart, is_again in zip(*columns, strict=True):
        run.knowledge.hand_out(Outstanding(Trial(trial_id, freeze(point)), row, key, restart, is_again))
    run.stop = _stop_after_loading(run, data["stop"])


def _stop_after_loading(run: Run, stop: list[str] | None) -> Stop | None:
    if stop is None:
        return None
    reason = StopReason[stop[0]]
    is_past = reason is StopReason.BUDGET and run.n_told < run.settings.budget
    return None if is_past or reason in PASSING else Stop(reason, stop[1])


def _candidates(run: Run, x: Any) -> list[Candidate]:
    codec = run.archive.codec
    rows = codec.rows(x)
    keys = map(codec.key, rows)
    return [Candidate(*c) for c in zip(rows, keys, run.space.decode_many(x), strict=True)]


def space_to_dict(space: Space) -> dict[str, Any] | None:
    """Return a space as plain data, or None if it cannot be written so."""
    try:
        return space.to_dict()
    except TypeError:  # choices that are not plain data
        return None


def strategy_to_dict(strategy: Strategy[Any]) -> dict[str, Any]:
    """Return name and options of a strategy; no options if it is an object that only the user can make."""
    return {
        "name": strategy.name,
        "options": dict(strategy.options()) if is_registered(strategy) else None,
    }


def choose_space(path: str, saved: dict[str, Any] | None, given: Space | None) -> Space:
    """Return the space of a saved run, from the file or as given, or raise if the two differ."""
    if saved is None:
        if given is None:
            raise ArgumentError(f"the space saved in {path} has choices that are not plain data: pass space=")
        return given
    space = Space.from_dict(saved)
    if given is not None and (differences := space.differences(given)):
        raise ArgumentError(f"space differs from the one saved in {path}: {'; '.join(differences)}")
    return space if given is None else given


def choose_strategy(path: str, saved: dict[str, Any], given: Strategy[Any] | None) -> Strategy[Any]:
    """Return the strategy of a saved run, from the file or as given, or raise if the two differ."""
    name, options = saved["name"], saved["options"]
    if given is None:
        if options is None:
            raise ArgumentError(
                f"the run saved in {path} used a strategy of your own, {name!r}: pass strategy="
            )
        return make_strategy(name, options)
    strategy = make_strategy(given)
    if strategy.name != name or (options is not None and dict(strategy.options()) != options):
        raise ArgumentError(
            f"strategy differs from the one saved in {path}, which is {name!r} with {options}"
        )
    return strategy
