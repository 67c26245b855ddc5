"""Specification files: what to tune, by what, and for how long; and finding the one of a store."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from dcmaes._validation import check_choice, check_duration, check_integer, check_number
from dcmaes.cli._command import Command, environment_name
from dcmaes.cli._objective_spec import COMMAND_KEYS, load_function, read_command, split_reference
from dcmaes.cli._template import NAME
from dcmaes.cli._toml import SpecError, Table, checked_type
from dcmaes.run._constraints import Expression
from dcmaes.run._history import BOOK
from dcmaes.run._objectives import DIRECTIONS, Objectives, read_objectives
from dcmaes.run._settings import DUPLICATES, ON_ERROR
from dcmaes.run._start import read_start
from dcmaes.space import Space
from dcmaes.space._serialization import space_from_dict
from dcmaes.strategies import make_strategy
from dcmaes.strategies._protocol import strategy_for

GENERAL_KEYS = (
    *("objective", "command", "direction", "space", "x0", "constraints", "budget", "time_limit", "target"),
    *("patience", "evaluation_timeout", "workers", "batch_size", "seed", "strategy", "duplicates"),
    *("on_error", "store", "objectives"),
)
# What can be said of one of several objectives.
_OBJECTIVE_KEYS = ("value", "direction", "reference")
# Names that keys had once; those of today are the names of the arguments of `minimize`.
_RENAMED = {"start": "x0", "timeout": "evaluation_timeout"}
# How every SQLite database begins.
_SQLITE = b"SQLite format 3\0"
_positive = partial(check_integer, low=1)
_EITHER = 'say either command = ["program", "--flag", "{name}"] or objective = "module:function"'


@dataclass(frozen=True)
class Spec:
    """A specification that makes sense.

    Attributes
    ----------
    path : Path
        The file.
    space : Space
        The variables.
    command : Command or None
        The program to run, or None if the objective is a function.
    objective : str or None
        The function, "module:function".
    settings : mapping
        Arguments of `minimize`: budget, seed, strategy, x0, constraints, time_limit, target, patience,
        duplicates, on_error, batch_size, objectives, reference.
    direction : {"minimize", "maximize"}
        Which values are good.
    workers : int
        How many evaluations to keep going at once.
    timeout : float or None
        Seconds after which an evaluation is given up.
    store : Path
        Where the run is written.
    warnings : tuple of str
        What is not wrong, but may not be meant.
    """

    path: Path
    space: Space
    command: Command | None
    objective: str | None
    settings: Mapping[str, Any]
    direction: str
    workers: int
    timeout: float | None
    store: Path
    warnings: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        """The folder of the file, from which paths and modules in it are found."""
        return self.path.parent

    @property
    def several(self) -> Objectives | None:
        """The objectives, if there are several."""
        return read_objectives(self.settings["objectives"], self.settings["reference"], "minimize", BOOK)

    def load_objective(self) -> Callable[[Any], Any]:
        """Return the function named by `objective`, or raise `SpecError`."""
        if self.objective is None:
            raise SpecError("there is no function to load", self.path)
        try:
            return load_function("objective", self.objective, self.folder)
        except ValueError as error:
            raise SpecError(str(error), self.path) from error


def read_spec(path: Path) -> Spec:
    """Return the specification in a TOML file, or raise `SpecError` naming key and line."""
    try:
        text = path.read_bytes().decode("utf-8")
    except OSError as error:
        raise SpecError(f"cannot be read: {error.strerror}", path) from None
    except UnicodeDecodeError as error:
        raise SpecError(f"is no UTF-8 text: {error}", path) from None
    return parse_spec(text.replace("\r\n", "\n"), path)


def parse_spec(text: str, path: Path) -> Spec:
    """Return the specification that `text` holds; `path` is where it is said to be.

    >>> text = 'command = "sleep {a}"\\nbudget = 5\\n[space]\\na = {type = "integer", low = 0, high = 9}'
    >>> parse_spec(text, Path("tune.toml")).space
    Space({'a': Integer(0, 9)})
    """
    table = Table.parse(text, path)
    for old, new in _RENAMED.items():
        table.rename(old, new)
    data = table.data
    if "objective" in data and "command" not in data:
        table.check_keys(GENERAL_KEYS, COMMAND_KEYS)
    table.check_keys((*GENERAL_KEYS, *COMMAND_KEYS))
    if ("command" in data) == ("objective" in data):
        key: tuple[str, ...] = ("objective",) if "objective" in data else ()
        raise table.error(f"{_EITHER}{', not both' if key else ''}", *key)
    folder = path.parent
    space = _read_space(table)
    timeout = table.get("evaluation_timeout", check_duration)
    workers = table.get("workers", _positive, 1)
    command = read_command(table, space, folder, timeout, workers) if "command" in data else None
    return Spec(
        path=path,
        space=space,
        command=command,
        objective=table.get("objective", _reference),
        settings=_read_settings(table, space, folder),
        direction=table.get("direction", partial(check_choice, choices=DIRECTIONS), "minimize"),
        workers=workers,
        timeout=timeout,
        store=table.get("store", partial(_file, folder=folder), folder / f"{path.stem}.db"),
        warnings=(*table.warnings, *_unused(command, space)),
    )


def _unused(command: Command | None, space: Space) -> list[str]:
    """Return a warning if variables are nowhere in a command."""
    names = [] if command is None else [str(name) for name in space.names if name not in command.names]
    if not names:
        return []
    return [
        f"the command does not use {', '.join(names)}: changing that does nothing, unless the program reads "
        f"it from its environment ({environment_name(names[0])})"
    ]


def _read_settings(table: Table, space: Space, folder: Path) -> dict[str, Any]:
    objectives, reference = _read_objectives(table)
    several = table.attempt(("objectives",), read_objectives, objectives, reference, "minimize", BOOK)
    if several is not None and "direction" in table.data:
        raise table.error("direction is for one objective; each of [objectives] has its own", "direction")
    strategy, target = table.get("strategy", _strategy, "auto"), table.get("target", check_number)
    if several is not None:
        table.attempt(("strategy",), strategy_for, strategy, len(several))
        if target is not None and reference is None:
            wanted = "which counts from the reference of each of [objectives]; there is none"
            raise table.error(f"target is a hypervolume if there are several objectives, {wanted}", "target")
    return {
        "budget": table.get("budget", _positive),
        "seed": table.get("seed", partial(check_integer, low=0)),
        "strategy": strategy,
        "x0": _read_start(table, space, folder, several),
        "constraints": _read_constraints(table, space, folder),
        "time_limit": table.get("time_limit", check_duration),
        "target": target,
        "patience": table.get("patience", _positive),
        "duplicates": table.get("duplicates", partial(check_choice, choices=DUPLICATES), "cache"),
        "on_error": table.get("on_error", partial(check_choice, choices=ON_ERROR), "penalize"),
        "batch_size": table.get("batch_size", _positive),
        "objectives": objectives,
        "reference": reference,
    }


def _read_objectives(table: Table) -> tuple[dict[str, str] | None, dict[str, float] | None]:
    """Return the directions of several objectives and the worst values of interest, by name, or None."""
    data = table.data.get("objectives")
    if data is None:
        return None, None
    if not isinstance(data, dict):
        example = 'loss = { value = { regex = "loss=(.*)" }, direction = "minimize" }'
        raise table.error(f"objectives must be a table [objectives] such as {example}", "objectives")
    if len(data) < 2:
        wanted = "at least 2 objectives; for one, leave the table out and use value and direction"
        raise table.error(f"[objectives] must have {wanted}, got {len(data)}", "objectives")
    directions, reference = {}, {}
    for name, entry in data.items():
        key = ("objectives", name)
        given = {"direction": entry} if isinstance(entry, str) else entry
        if not isinstance(given, dict):
            raise table.error(f"must be a direction or a table, got {entry!r}", *key)
        for part in given:
            if part not in _OBJECTIVE_KEYS:
                known = ", ".join(_OBJECTIVE_KEYS)
                raise table.error(f"{part!r} is not a key here (known: {known})", *key, part)
        chosen = given.get("direction", "minimize")
        directions[name] = table.attempt(key, check_choice, "direction", chosen, DIRECTIONS)
        if "reference" in given:
            reference[name] = table.attempt(key, check_number, "reference", given["reference"])
    if reference and len(reference) < len(data):
        missing = next(name for name in data if name not in reference)
        raise table.error("reference must be there for all objectives or for none", "objectives", missing)
    return directions, reference or None


def _read_space(table: Table) -> Space:
    data = table.data.get("space")
    if not isinstance(data, dict) or not data:
        example = 'x = { type = "integer", low = 0, high = 9 }'
        raise table.error(f"space must be a table [space] of variables such as {example}", "space")
    if set(data) == {"array"} and isinstance(data["array"], list):
        for i, entry in enumerate(data["array"]):
            table.attempt(("space", "array", i), Space.from_dict, {"array": [entry]})
    else:
        for name, entry in data.items():
            if not NAME.fullmatch(name):
                wanted = "letters, digits, '_' and '-', not beginning with a digit or '-'"
                raise table.error(f"names of variables must have {wanted}; got {name!r}", "space", name)
            table.attempt(("space", name), space_from_dict, {name: entry})
        for name in (name for name in data if "when" in data[name]):
            table.attempt(("space", name, "when"), Space.from_dict, _with_ancestors(name, data))
    space = Space.from_dict(data)
    table.attempt(("space",), space.to_dict)
    return space


def _with_ancestors(name: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the variables with the conditions of one of them and of those on which it depends, no others.

    So what is wrong with a space is an error of the first variable that depends on it.
    """
    related, waiting = set(), [name]
    while waiting:
        related.add(one := waiting.pop())
        waiting += [
            parent for parent in data[one].get("when", ()) if parent in data and parent not in related
        ]
    return {
        other: entry if other in related else {k: v for k, v in entry.items() if k != "when"}
        for other, entry in data.items()
    }


def start_from(path: Path, space: Space, objectives: Objectives | None = None) -> Any:
    """Return the evaluations in a file as `minimize` takes them: a CSV file, or the store of another run.

    Raises ValueError, or what else is wrong with them, before anything is run.
    """
    from dcmaes.store import StoreError, read

    try:
        with path.open("rb") as file:
            is_store = file.read(len(_SQLITE)) == _SQLITE
        source = read(path) if is_store else path
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    except StoreError as error:
        raise ValueError(str(error)) from None
    read_start(source, space, objectives)
    return source


def _read_start(table: Table, space: Space, folder: Path, objectives: Objectives | None) -> Any:
    if isinstance(table.data.get("x0"), str):
        return table.attempt(("x0",), start_from, folder / table.data["x0"], space, objectives)
    points: list[Any] | None = table.get("x0", checked_type(list, "a list of points, or the name of a file"))
    for i, point in enumerate(points or ()):
        table.attempt(("x0", i), space.encode, point)
    return points


def _read_constraints(table: Table, space: Space, folder: Path) -> list[Callable[[Any], Any]]:
    found: list[Callable[[Any], Any]] = []
    for i, text in enumerate(table.get("constraints", checked_type(list, "a list [...]"), [])):
        key = ("constraints", i)
        if not isinstance(text, str):
            wanted = 'text such as "a + 2*b <= 10" or "module:function"'
            raise table.error(f"must be {wanted}, got {text!r}", *key)
        if split_reference(text) is not None:
            found.append(table.attempt(key, load_function, "constraint", text, folder))
        else:
            found.append(table.attempt(key, Expression, text, space))
    return found


def _strategy(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} must be the name of a strategy, got {value!r}")
    make_strategy(value)
    return value


def _reference(name: str, value: Any) -> str:
    if not isinstance(value, str) or split_reference(value) is None:
        raise ValueError(f'{name} must be "module:function", got {value!r}')
    return value


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise TypeError(f"{name} must be text, got {value!r}")
    return value


def _file(name: str, value: Any, *, folder: Path) -> Path:
    path = folder / _text(name, value)
    if path.is_dir():
        raise ValueError(f"{name} must be a file, got the folder {value!r}")
    return path


def find_store(target: Path) -> Path:
    """Return the store that `target` is, or that the specification `target` names."""
    return read_spec(target).store if target.suffix == ".toml" else target


def find_spec(target: Path, spec: Path | None) -> Spec:
    """Return the specification of a run.

    Parameters
    ----------
    target : Path
        A specification, or a store: then the one specification beside it that names it.
    spec : Path or None
        Where it is, if that was said.

    Raises
    ------
    SpecError
        If there is none, or more than one. A store holds no code; what is run is always in a file of its own.
    """
    if spec is not None or target.suffix == ".toml":
        return read_spec(spec or target)
    found = [path for path in sorted(target.absolute().parent.glob("*.toml")) if _names(path, target)]
    if len(found) == 1:
        return read_spec(found[0])
    if found:
        listed = ", ".join(path.name for path in found)
        raise SpecError(f"more than one specification names it ({listed}); say which with --spec", target)
    raise SpecError("no specification beside it names it; say where it is with --spec", target)


def _names(path: Path, store: Path) -> bool:
    try:
        return read_spec(path).store.resolve() == store.resolve()
    except SpecError:
        return False
