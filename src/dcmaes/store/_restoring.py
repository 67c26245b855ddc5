"""A run made again from its store: from the last snapshot, and from what happened after it."""

from __future__ import annotations

import io
import json
import platform
import warnings
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dcmaes._validation import ArgumentError
from dcmaes.run._constraints import Constraints
from dcmaes.run._objectives import Objectives
from dcmaes.run._run import Run
from dcmaes.run._settings import PASSING, Settings, Stop, StopReason
from dcmaes.run._trial import Outcome, Trial, failure, freeze
from dcmaes.space import Space
from dcmaes.store._schema import Ask, Snapshot, translated_errors
from dcmaes.strategies import Strategy, make_strategy

if TYPE_CHECKING:
    from dcmaes.store._reader import Reader

_ARRAY = "__array__"
_METADATA = "metadata"


def arguments_of(
    reader: Reader,
    space: Space | None,
    strategy: Strategy[Any] | None,
    limits: Mapping[str, Any],
    has_constraints: bool,
) -> dict[str, Any]:
    """Return the arguments, but code, with which an optimizer goes on with the stored run.

    Parameters
    ----------
    reader : Reader
        The store.
    space, strategy
        Needed if they are not plain data, and so not in the store; otherwise only compared.
    limits : mapping
        New limits; those that are None or left out are as they were.
    has_constraints : bool
        Whether there are constraints, which are code and not in the store.
    """
    with translated_errors(reader.path):
        identity, name = reader.identity(), repr(str(reader.path))
        if identity["has_constraints"] and not has_constraints:
            raise ArgumentError(
                f"the run in {name} had constraints, which are not in the store: pass constraints="
            )
        chosen = _choose_space(name, identity["space"], space)
        return {
            "space": chosen,
            "strategy": _choose_strategy(name, identity["strategy"], strategy),
            "x0": _starts(identity, chosen, is_total=False),
            **{key: identity[key] for key in ("seed", "direction", "duplicates")},
            **_several(identity),
            **reader.sittings()[-1].limits,
            **{key: limit for key, limit in limits.items() if limit is not None},
        }


def rebuild(
    reader: Reader,
    space: Space | None,
    strategy: Strategy[Any] | None,
    constraints: Constraints | None = None,
) -> Run:
    """Return a run that stands where the stored one does; nothing it is told goes to the store.

    Parameters
    ----------
    reader : Reader
        The store.
    space, strategy
        Needed if they are not plain data, and so not in the store; without such a strategy the run has all
        evaluations, but has learned nothing from them.
    constraints : Constraints or None
        Those of the run, to go on with it exactly. None to look at it: points are handed out as stored,
        starting points are as bad as they were then, and no user code is run.
    """
    with translated_errors(reader.path):
        identity, sittings, name = reader.identity(), reader.sittings(), repr(str(reader.path))
        kept = {**{key: identity[key] for key in ("seed", "direction", "duplicates")}, **_several(identity)}
        chosen = _choose_space(name, identity["space"], space)
        has_strategy = strategy is not None or identity["strategy"]["options"] is not None
        found = _choose_strategy(name, identity["strategy"], strategy) if has_strategy else "random"
        is_exact = constraints is not None
        run = Run(
            chosen,
            Settings(**kept, **sittings[0].limits),
            make_strategy(found),
            Constraints(None, chosen, is_strict=False) if constraints is None else constraints,
            _starts(identity, chosen, is_total=not is_exact),
        )
        restore(run, reader, reader.snapshot() if has_strategy else None, is_exact=is_exact)
        run.relimit(sittings[-1].limits)
        return run


def restore(run: Run, reader: Reader, snapshot: Snapshot | None, *, is_exact: bool) -> bool:
    """Bring a fresh run to where the stored one is; tell whether it came out the same.

    From where asking gives other points than then, as on another machine, whose floating point differs in the
    last digit, points are handed out as they were: what was told of them is learned from either way.
    """
    after = 0
    if snapshot is not None:
        after = snapshot.seq
        for told in reader.told(after):
            run.remember(*told)
        _apply_snapshot(run, loads(snapshot.data))
    settings = run.settings
    run.settings = replace(settings, time_limit=None, on_error="continue")
    is_same = is_exact
    for event in reader.events(after):
        if not isinstance(event, Ask):
            run.record(*event)
            run.time_before = event[1].told_at
            continue
        trials = reader.trials(event.first_trial, event.n_trials)
        if is_same:
            is_same = _repeat(run, event.n, trials)
            if not is_same:
                _warn_of_difference(reader, event)
        if not is_same:
            _hand_out(run, trials)
    run.settings = settings
    return is_same


def take_snapshot(run: Run) -> bytes:
    """Return where a run is, without its evaluations."""
    state = {
        "settings": {key: value for key, value in asdict(run.settings).items() if key != "objectives"},
        "smallest_violation": run.constraints.smallest_violation,
        "excluded": run.memory.excluded_to_dict(),
        "out": [[trial.id, trial.restart, trial.is_again] for trial in run.outstanding.values()],
        "out_x": run.memory.pending,
        "search": run.search.to_dict(),
        "reserve": run.new_points.reserve,
        "queue": run.memory.codec.coded(row for row, _ in run.queue),
        "next_id": run.next_id,
        "n_told": run.n_told,
        "n_again": run.n_again,
        "objective_time": run.objective_time,
        "elapsed": run.elapsed,
        "stop": None if run.stop is None else [run.stop.reason.name, run.stop.message],
    }
    return dumps(state)


def versions() -> dict[str, str]:
    """Return what else decides which points a seed gives."""
    return {
        "dcmaes": str(import_module("dcmaes").__version__),
        "numpy": np.__version__,
        "python": platform.python_version(),
    }


def _apply_snapshot(run: Run, data: dict[str, Any]) -> None:
    """Bring a fresh run, which has the evaluations already, to where `take_snapshot` found one."""
    run.settings = Settings(**data["settings"], objectives=run.settings.objectives)
    run.constraints.smallest_violation = data["smallest_violation"]
    run.search.restore(data["search"])
    run.new_points.reserve = data["reserve"]
    run.next_id, run.n_told, run.n_again = data["next_id"], data["n_told"], data["n_again"]
    run.objective_time, run.time_before = data["objective_time"], data["elapsed"]
    codec = run.memory.codec
    run.queue = deque(zip(codec.rows(data["queue"]), run.space.decode_many(data["queue"]), strict=True))
    run.memory.restore_excluded(data["excluded"])
    points = run.space.decode_many(data["out_x"])
    for row, point, (trial_id, *rest) in zip(codec.rows(data["out_x"]), points, data["out"], strict=True):
        run.hand_out(Trial(trial_id, freeze(point), row, *rest))
    run.stop = None
    if data["stop"] is not None:
        name, message = data["stop"]
        reason = StopReason[name]
        run.stop = None if reason in PASSING else Stop(reason, message)


def _repeat(run: Run, n: int | None, then: Sequence[Trial]) -> bool:
    """Ask as then and tell whether the answer is the same; if not, nothing is handed out."""
    next_id, n_again, queue = run.next_id, run.n_again, deque(run.queue)
    now = run.ask(n)
    if [(trial.id, trial.row) for trial in now] == [(trial.id, trial.row) for trial in then]:
        return True
    for trial in now:
        run.take_back(trial.id)
    run.next_id, run.n_again, run.queue = next_id, n_again, queue
    if then:
        run.stop = None  # there it went on
    return False


def _hand_out(run: Run, trials: Sequence[Trial]) -> None:
    """Hand out these trials, whatever the strategy would."""
    run.search.flush()
    points = run.space.decode_many(run.memory.codec.coded(t.row for t in trials)) if trials else []
    for trial, point in zip(trials, points, strict=True):
        run.hand_out(replace(trial, point=freeze(point)))
        run.next_id = trial.id + 1
        run.n_again += trial.is_again
        if run.queue and run.queue[0][0] == trial.row:
            run.queue.popleft()


def _warn_of_difference(reader: Reader, ask: Ask) -> None:
    then, now = _listed(reader.sittings()[-1].versions), _listed(versions())
    message = (
        f"the run in {str(reader.path)!r} goes on, but is no longer bit for bit the same run: asking for "
        f"trial {ask.first_trial} gives other points here than were handed out. Another machine, other "
        f"versions (then {then}; now {now}), or constraints or a strategy that answer differently can be "
        "why. All evaluations are learned from"
    )
    warnings.warn(message, RuntimeWarning, stacklevel=2)


def _listed(found: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in found.items())


def _starts(identity: dict[str, Any], space: Space, *, is_total: bool) -> list[Any]:
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


def _several(identity: dict[str, Any]) -> dict[str, Objectives]:
    """Return the several objectives of a stored run as an argument; none if there is one objective."""
    told = identity.get("objectives")
    return {} if told is None else {"objectives": Objectives.from_dict(told)}


def _choose_space(path: str, saved: dict[str, Any] | None, given: Space | None) -> Space:
    """Return the space of a stored run, from the file or as given, or raise if the two differ."""
    if saved is None:
        if given is None:
            raise ArgumentError(f"the space saved in {path} has choices that are not plain data: pass space=")
        return given
    space = Space.from_dict(saved)
    if given is not None and (found := given.differences(space, "as given", "in the file")):
        raise ArgumentError(f"space differs from the one saved in {path}: {'; '.join(found)}")
    return space if given is None else given


def _choose_strategy(path: str, saved: dict[str, Any], given: Strategy[Any] | None) -> Strategy[Any]:
    """Return the strategy of a stored run, from the file or as given, or raise if the two differ."""
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


def dumps(data: Mapping[str, Any]) -> bytes:
    """Return nested data as bytes: keys are strings; leaves are numbers, strings, None and arrays."""
    arrays: dict[str, NDArray[Any]] = {}
    packed = _pack(data, arrays)
    arrays[_METADATA] = np.frombuffer(json.dumps(packed).encode(), np.uint8)
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def loads(data: bytes) -> dict[str, Any]:
    """Return what `dumps` was given, or raise ValueError.

    >>> loads(dumps({"mean": np.arange(2)}))
    {'mean': array([0, 1])}
    """
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            unpacked: dict[str, Any] = _unpack(json.loads(arrays[_METADATA].tobytes()), arrays)
    except Exception as error:  # damaged archives raise anything
        raise ValueError(f"not readable: {error}") from error
    return unpacked


def _pack(data: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    if isinstance(data, np.ndarray):
        if data.dtype.hasobject:
            raise TypeError(f"an array of Python objects cannot be saved, got {data!r}")
        name = f"array_{len(arrays)}"
        arrays[name] = data
        return {_ARRAY: name}
    if isinstance(data, Mapping):
        return {key: _pack(item, arrays) for key, item in data.items()}
    if isinstance(data, (list, tuple)):
        return [_pack(item, arrays) for item in data]
    return data.item() if isinstance(data, np.generic) else data


def _unpack(data: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    if isinstance(data, dict):
        if data.keys() == {_ARRAY}:
            return arrays[data[_ARRAY]]
        return {key: _unpack(item, arrays) for key, item in data.items()}
    if isinstance(data, list):
        return [_unpack(item, arrays) for item in data]
    return data
