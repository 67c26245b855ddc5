"""Placeholders in the arguments of a command: what is filled in stays inside its argument."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dcmaes._validation import suggestion
from dcmaes.space import Variable

# Filled in for every evaluation beside the variables.
RESERVED = ("trial", "folder", "spec_folder")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")

_OPTION = re.compile(r"--?[A-Za-z][^=]*")
_TOKEN = re.compile(r"\{\{|\}\}|\{[^{}]*\}|[{}]")
_PLACEHOLDER = re.compile(
    r"\{(?P<name>[^?:{}]*)(?:\?(?P<yes>[^:{}]*)(?::(?P<no>[^{}]*))?|:(?P<format>[^{}]*))?\}"
)


@dataclass(frozen=True)
class Placeholder:
    """``{name}``, ``{name:format}``, ``{name?text}`` or ``{name?text:other}``."""

    name: str
    format: str | None = None
    yes: str | None = None
    no: str | None = None

    def fill(self, values: Mapping[str, Any]) -> str:
        """Return the text that stands for the value."""
        value = values[self.name]
        if self.yes is not None:
            return self.yes if value else self.no or ""
        return show_value(value) if self.format is None else format(value, self.format)


@dataclass(frozen=True)
class Template:
    """Text with placeholders.

    >>> template = Template.parse("--rate={lr:.3f}")
    >>> template.fill({"lr": 0.25})
    '--rate=0.250'
    >>> Template.parse("{{literal}}").fill({})
    '{literal}'
    """

    parts: tuple[str | Placeholder, ...]

    @staticmethod
    def parse(text: str) -> Template:
        """Return the template that `text` describes, or raise ValueError saying what is wrong with it."""
        parts: list[str | Placeholder] = []
        at = 0
        for token in _TOKEN.finditer(text):
            parts.append(text[at : token.start()])
            parts.append(_read_token(token.group(), text))
            at = token.end()
        parts.append(text[at:])
        return Template(tuple(part for part in parts if part != ""))

    @property
    def placeholders(self) -> list[Placeholder]:
        """The placeholders in their order."""
        return [part for part in self.parts if isinstance(part, Placeholder)]

    @property
    def is_optional(self) -> bool:
        """Whether the text is one ``{name?text}`` and nothing else: an argument that may be left out."""
        return len(self.parts) == 1 and any(p.yes is not None and p.no is None for p in self.placeholders)

    @property
    def is_option(self) -> bool:
        """Whether the text is the name of an option, whose value is the next argument."""
        only = self.parts[0] if len(self.parts) == 1 else None
        return isinstance(only, str) and _OPTION.fullmatch(only) is not None

    def can_fill(self, values: Mapping[str, Any]) -> bool:
        """Tell whether there is a value for every placeholder: no variable in it is inactive."""
        return all(placeholder.name in values for placeholder in self.placeholders)

    def fill(self, values: Mapping[str, Any]) -> str:
        """Return the text with the values filled in."""
        return "".join(part if isinstance(part, str) else part.fill(values) for part in self.parts)

    def check(self, variables: Mapping[str, Variable]) -> None:
        """Raise ValueError for a placeholder that is no variable, or cannot show its values."""
        for placeholder in self.placeholders:
            _check_placeholder(placeholder, variables)


def fill_arguments(templates: Iterable[Template], values: Mapping[str, Any]) -> list[str]:
    """Return one argument for each template; optional ones whose variable is false are left out.

    So are those that contain a variable without a value, which is inactive, together with the option before
    them that they are the value of.

    >>> templates = [Template.parse(text) for text in ("prog", "{fast?--fast}", "{name}", "--rate", "{lr}")]
    >>> fill_arguments(templates, {"fast": False, "name": "a b; rm c", "lr": 0.5})
    ['prog', 'a b; rm c', '--rate', '0.5']
    >>> fill_arguments(templates, {"fast": False, "name": "a b; rm c"})
    ['prog', 'a b; rm c']
    """
    found: list[str] = []
    is_value = False
    for template in templates:
        if template.can_fill(values):
            text = template.fill(values)
            found += [text] if text or not template.is_optional else []
        elif is_value and not str(template.parts[0]).startswith("-"):
            found.pop()
        is_value = template.is_option
    return found


def show_value(value: Any) -> str:
    """Return a value as an argument: booleans as 1 and 0, floats so that they read back to the same number.

    >>> show_value(True), show_value(0.1), show_value("relu"), show_value([1, 2])
    ('1', '0.1', 'relu', '[1, 2]')
    """
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float):
        return repr(float(value))
    return json.dumps(value) if isinstance(value, (list, tuple, dict)) else str(value)


def _read_token(token: str, text: str) -> str | Placeholder:
    if token in ("{{", "}}"):
        return token[0]
    if token in ("{", "}"):
        raise ValueError(f"{text!r} has a single {token!r}; write {token * 2!r} for a brace that is meant")
    found = _PLACEHOLDER.fullmatch(token)
    if found is None or not NAME.fullmatch(found["name"]):
        raise ValueError(f"{token!r} is no placeholder; write it {{name}}, or {{{{...}}}} for literal braces")
    return Placeholder(found["name"], found["format"], found["yes"], found["no"])


def _check_placeholder(placeholder: Placeholder, variables: Mapping[str, Variable]) -> None:
    name = placeholder.name
    if name in RESERVED:
        return
    if name not in variables:
        known = ", ".join(variables)
        hint = suggestion(name, (*variables, *RESERVED))
        raise ValueError(f"{{{name}}} is not a variable of the space (there are: {known}){hint}")
    variable = variables[name]
    if placeholder.yes is not None and not variable.is_flag:
        raise ValueError(f"{{{name}?...}} needs a binary variable, {name!r} is {variable!r}")
    if placeholder.format is not None:
        for value in _examples(variable):
            try:
                format(value, placeholder.format)
            except ValueError as error:
                raise ValueError(
                    f"{{{name}:{placeholder.format}}} cannot show the value {value!r}: {error}"
                ) from None


def _examples(variable: Variable) -> list[Any]:
    """Return values of every type that a variable has."""
    site = variable.site
    return variable.decode([site.low, site.high] if site.n_states == 0 else range(min(site.n_states, 1000)))
