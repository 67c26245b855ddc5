"""The part of a specification that says what is evaluated: how a program is run, or where a function is."""

from __future__ import annotations

import importlib
import re
import shlex
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from dcmaes._validation import check_choice, check_integer
from dcmaes.cli._command import KEEP, OUTPUT_LIMIT, Command, environment_name
from dcmaes.cli._program import JsonKey, LastMatch, LastNumber, ValueReader
from dcmaes.cli._template import RESERVED, Template
from dcmaes.cli._toml import Table, checked_type
from dcmaes.space import Space, Variable

COMMAND_KEYS = (
    *("value", "violation", "folder", "own_folder", "environment", "retries"),
    *("success_codes", "infeasible_codes", "keep", "output_limit"),
)
_VALUE_FORMS = '"last-number", { regex = "loss=(.*)" } or { json = "out.json", key = "loss" }'
_QUOTED = re.compile(r"""\\.|'[^']*'|"(?:\\.|[^"\\])*\"""", re.DOTALL)
_OPERATOR = re.compile(r"[|&;<>]+")
_REFERENCE = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)")
_ENVIRONMENT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def read_command(
    table: Table, space: Space, spec_folder: Path, timeout: float | None, workers: int
) -> Command:
    """Return the command, checked against the space, or raise `SpecError`."""
    variables = _check_variables(table, space)
    own_folder = table.get("own_folder", checked_type(bool, "true or false"), False)
    command = Command(
        arguments=_read_arguments(table, variables),
        folder=_read_folder(table, spec_folder),
        value=_read_reader(table, ("value",), variables) or LastNumber(),
        violation=_read_reader(table, ("violation",), variables),
        objectives=_read_objectives(table, variables),
        has_own_folder=own_folder,
        environment=_read_environment(table, variables),
        timeout=timeout,
        n_retries=table.get("retries", partial(check_integer, low=0), 0),
        success_codes=table.get("success_codes", _codes, (0,)),
        infeasible_codes=table.get("infeasible_codes", _codes, ()),
        keep=table.get("keep", partial(check_choice, choices=KEEP), "all"),
        output_limit=table.get("output_limit", partial(check_integer, low=1000), OUTPUT_LIMIT),
    )
    if workers > 1 and command.shared_file is not None:
        raise table.error(describe_sharing(workers), *command.shared_file)
    return command


def describe_sharing(workers: int) -> str:
    """Say what is wrong with several workers and one file, and what to do about it."""
    return f"{workers} workers would write one file; set own_folder = true, or put {{trial}} into its name"


def _check_variables(table: Table, space: Space) -> dict[str, Variable]:
    if not space.is_named:
        raise table.error("a command needs variables with names, not space.array", "space")
    variables = {str(name): variable for name, variable in zip(space.names, space.variables, strict=True)}
    seen: dict[str, str] = {}
    for name, variable in variables.items():
        if name in RESERVED:
            raise table.error(f"{name!r} is filled in by dcmaes; choose another name", "space", name)
        other = seen.setdefault(environment_name(name), name)
        if other != name:
            raise table.error(f"{name!r} and {other!r} are the same in the environment", "space", name)
        if any(isinstance(value, str) and "\0" in value for value in variable.listed):
            raise table.error("no argument can hold a NUL character", "space", name)
    return variables


def _read_arguments(table: Table, variables: Mapping[str, Variable]) -> tuple[Template, ...]:
    value = table.data["command"]
    key: tuple[str | int, ...] = ("command",)
    if isinstance(value, str):
        texts: list[Any] = table.attempt(key, _split, value)
    elif isinstance(value, list):
        texts = value
    else:
        raise table.error(f"command must be a list of arguments, or text, got {value!r}", *key)
    if not texts or not texts[0]:
        raise table.error("command must name a program", *key)
    templates = []
    for i, text in enumerate(texts):
        place = (*key, i) if isinstance(value, list) else key
        if not isinstance(text, str) or "\0" in text:
            raise table.error(f"must be text, got {text!r}; write numbers in quotes", *place)
        templates.append(_template(table, place, text, variables))
    if templates[0].is_optional:
        raise table.error("the program itself cannot be optional", *key)
    _check_always(table, key, templates[0], variables)
    return tuple(templates)


def _split(text: str) -> list[str]:
    """Return the arguments of a command written as text, or raise for what only a shell would understand.

    >>> _split("prog 'a b' c")
    ['prog', 'a b', 'c']
    """
    operator = _OPERATOR.search(_QUOTED.sub("", text))
    if operator is not None:
        raise ValueError(
            f"there is no shell, {operator.group()!r} would be an argument like any other; quote it if that "
            'is meant, or say ["sh", "-c", "...", "sh", "{name}"] for a shell that finds the value in $1'
        )
    return shlex.split(text)


def _template(
    table: Table, key: tuple[str | int, ...], text: str, variables: Mapping[str, Variable]
) -> Template:
    template = table.attempt(key, Template.parse, text)
    table.attempt(key, template.check, variables)
    return template


def _check_always(
    table: Table, key: tuple[str | int, ...], template: Template, variables: Mapping[str, Variable]
) -> None:
    """Raise for a placeholder that may have no value where there has to be one."""
    for placeholder in template.placeholders:
        variable = variables.get(placeholder.name)
        if variable is not None and variable.when is not None:
            wanted = f"only if {variable.when!s}, and is needed here always"
            raise table.error(f"{{{placeholder.name}}} has a value {wanted}", *key)


def _read_folder(table: Table, spec_folder: Path) -> Path:
    name = table.data.get("folder", ".")
    if not isinstance(name, str) or not (spec_folder / name).is_dir():
        raise table.error(f"folder must be a folder that exists, got {name!r}", "folder")
    return (spec_folder / name).resolve()


def _read_environment(table: Table, variables: Mapping[str, Variable]) -> dict[str, Template]:
    data = table.data.get("environment", {})
    if not isinstance(data, dict):
        raise table.error(f"environment must be a table of names and texts, got {data!r}", "environment")
    found = {}
    for name, text in data.items():
        key = ("environment", name)
        if not _ENVIRONMENT_NAME.fullmatch(name):
            raise table.error(f"{name!r} is no name of an environment variable", *key)
        if not isinstance(text, str) or "\0" in text:
            raise table.error(f"must be text, got {text!r}", *key)
        found[name] = _template(table, key, text, variables)
    return found


def _read_objectives(table: Table, variables: Mapping[str, Variable]) -> dict[str, ValueReader]:
    """Return where the values of several objectives are; their names were checked before."""
    found = {}
    for name, entry in table.data.get("objectives", {}).items():
        key = ("objectives", name)
        reader = _read_reader(table, (*key, "value"), variables) if isinstance(entry, dict) else None
        if reader is None:
            raise table.error(f"say where its value is: value = {_VALUE_FORMS}", *key)
        found[name] = reader
    if found and "value" in table.data:
        raise table.error("value is for one objective; each of [objectives] has its own", "value")
    return found


def _read_reader(
    table: Table, place: tuple[str, ...], variables: Mapping[str, Variable]
) -> ValueReader | None:
    data: Any = table.data
    for part in place[:-1]:
        data = data[part]
    key = place[-1]
    if key not in data:
        return None
    form = data[key]
    if form == "last-number":
        return LastNumber()
    if not isinstance(form, dict) or ("regex" in form) == ("json" in form):
        raise table.error(f"{key} must be {_VALUE_FORMS}; got {form!r}", *place)
    allowed = ("regex", "stream") if "regex" in form else ("json", "key")
    for name, value in form.items():
        if name not in allowed:
            raise table.error(f"{name!r} is not a key here (known: {', '.join(allowed)})", *place, name)
        if not isinstance(value, str):
            raise table.error(f"must be text, got {value!r}", *place, name)
    if "json" in form:
        file = _template(table, (*place, "json"), form["json"], variables)
        _check_always(table, (*place, "json"), file, variables)
        return JsonKey(file, tuple(part for part in form.get("key", "").split(".") if part))
    stream = form.get("stream", "stdout")
    table.attempt((*place, "stream"), check_choice, "stream", stream, ("stdout", "stderr"))
    try:
        return LastMatch(re.compile(form["regex"], re.MULTILINE), stream)
    except re.error as error:
        raise table.error(f"{form['regex']!r} is no regular expression: {error}", *place, "regex") from None


def _codes(name: str, value: Any) -> tuple[int, ...]:
    codes = value if isinstance(value, list) else [value]
    return tuple(check_integer(name, code, low=-64, high=255) for code in codes)


def split_reference(text: str) -> tuple[str, str] | None:
    """Return module and name, or None if `text` is no such reference.

    >>> split_reference("package.module:function"), split_reference("a <= b")
    (('package.module', 'function'), None)
    """
    found = _REFERENCE.fullmatch(text.strip())
    return None if found is None else (found[1], found[2])


def load_function(what: str, text: str, folder: Path) -> Callable[[Any], Any]:
    """Import the function that `text` names, also from `folder`, or raise ValueError saying what is missing.

    >>> load_function("objective", "math:fsum", Path())([1, 2])
    3.0
    """
    reference = split_reference(text)
    if reference is None:
        raise ValueError(f'{what} must be "module:function", got {text!r}')
    module_name, name = reference
    place = str(folder.resolve())
    if place not in sys.path:
        sys.path.insert(0, place)
    try:
        found: Any = importlib.import_module(module_name)
    except Exception as error:
        message = f"{what} {text!r}: importing {module_name!r} failed with {type(error).__name__}: {error}"
        raise ValueError(message) from error
    for part in name.split("."):
        if not hasattr(found, part):
            raise ValueError(f"{what} {text!r}: {part!r} is not in {module_name!r}")
        found = getattr(found, part)
    if not callable(found):
        raise ValueError(f"{what} {text!r} is not a function but {found!r}")
    function: Callable[[Any], Any] = found
    return function
