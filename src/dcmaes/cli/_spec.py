"""Specification files: what to tune, by what, and for how long."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dcmaes._validation import check_choice, check_duration, check_integer, check_number
from dcmaes.cli._command import Command
from dcmaes.cli._command_spec import COMMAND_KEYS, read_command
from dcmaes.cli._errors import SpecError
from dcmaes.cli._expressions import Expression
from dcmaes.cli._functions import load_function, split_reference
from dcmaes.cli._table import Table
from dcmaes.cli._template import NAME
from dcmaes.run._settings import ON_ERROR
from dcmaes.space import Space
from dcmaes.strategies import make_strategy

GENERAL_KEYS = (
    *("objective", "command", "direction", "space", "start", "constraints", "budget", "time_limit", "target"),
    "patience",
    *("timeout", "workers", "batch_size", "seed", "strategy", "duplicates", "on_error", "store"),
)
_PLACE = re.compile(r"at line (\d+)")
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
        duplicates, on_error, batch_size.
    direction : {"minimize", "maximize"}
        Which values are good.
    workers : int
        How many evaluations to keep going at once.
    timeout : float or None
        Seconds after which an evaluation is given up.
    store : Path
        Where the run is written.
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

    @property
    def folder(self) -> Path:
        """The folder of the file, from which paths and modules in it are found."""
        return self.path.parent

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
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = _PLACE.search(str(error))
        line = None if place is None else int(place[1])
        raise SpecError(f"no valid TOML: {error}", path, line=line) from None
    table = Table(data, text, path)
    if "objective" in data and "command" not in data:
        table.check_keys(GENERAL_KEYS, COMMAND_KEYS)
    table.check_keys((*GENERAL_KEYS, *COMMAND_KEYS))
    if ("command" in data) == ("objective" in data):
        key: tuple[str, ...] = ("objective",) if "objective" in data else ()
        raise table.error(f"{_EITHER}{', not both' if key else ''}", *key)
    folder = path.parent
    space = _read_space(table)
    timeout = table.get("timeout", check_duration)
    workers = table.get("workers", _positive, 1)
    command = read_command(table, space, folder, timeout, workers) if "command" in data else None
    return Spec(
        path=path,
        space=space,
        command=command,
        objective=table.get("objective", _reference),
        settings=_read_settings(table, space, folder),
        direction=table.get("direction", _choice("minimize", "maximize"), "minimize"),
        workers=workers,
        timeout=timeout,
        store=folder / table.get("store", _text, f"{path.stem}.db"),
    )


def _read_settings(table: Table, space: Space, folder: Path) -> dict[str, Any]:
    return {
        "budget": table.get("budget", _positive),
        "seed": table.get("seed", lambda name, value: check_integer(name, value, low=0)),
        "strategy": table.get("strategy", _strategy, "auto"),
        "x0": _read_start(table, space),
        "constraints": _read_constraints(table, space, folder),
        "time_limit": table.get("time_limit", check_duration),
        "target": table.get("target", check_number),
        "patience": table.get("patience", _positive),
        "duplicates": table.get("duplicates", _choice("cache", "reevaluate", "allow"), "cache"),
        "on_error": table.get("on_error", _choice(*ON_ERROR), "penalize"),
        "batch_size": table.get("batch_size", _positive),
    }


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
            table.attempt(("space", name), Space.from_dict, {name: entry})
    space = Space.from_dict(data)
    table.attempt(("space",), space.to_dict)
    return space


def _read_start(table: Table, space: Space) -> list[Any] | None:
    points: list[Any] | None = table.get("start", _list)
    for i, point in enumerate(points or ()):
        table.attempt(("start", i), space.encode, point)
    return points


def _read_constraints(table: Table, space: Space, folder: Path) -> list[Callable[[Any], Any]]:
    found: list[Callable[[Any], Any]] = []
    names = tuple(str(name) for name in space.names)
    for i, text in enumerate(table.get("constraints", _list, [])):
        key = ("constraints", i)
        if not isinstance(text, str):
            wanted = 'text such as "a + 2*b <= 10" or "module:function"'
            raise table.error(f"must be {wanted}, got {text!r}", *key)
        if split_reference(text) is not None:
            found.append(table.attempt(key, load_function, "constraint", text, folder))
        elif space.is_named:
            found.append(table.attempt(key, Expression, text, names))
        else:
            raise table.error('must be "module:function" where points are arrays', *key)
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


def _positive(name: str, value: Any) -> int:
    return check_integer(name, value, low=1)


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise TypeError(f"{name} must be text, got {value!r}")
    return value


def _list(name: str, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(f"{name} must be a list [...], got {value!r}")
    return value


def _choice(*choices: str) -> Callable[[str, Any], str]:
    return lambda name, value: check_choice(name, value, choices)
