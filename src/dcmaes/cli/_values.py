"""Reading the value of an evaluation from what a program printed or wrote."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from dcmaes.cli._template import Template

# Not part of a word ("v2", "12ms"); NaN and infinity count, or a number printed before them would be taken.
# Digits are never given back ("++"): matching takes time proportional to the length of the text.
_NUMBER = re.compile(
    r"(?<![\w.])[-+]?(?:(?:\d++(?:\.\d*+)?|\.\d++)(?:e[-+]?\d++)?+|nan|inf(?:inity)?+)(?!\w|\.\d)",
    re.IGNORECASE,
)
# Separators inside a number: thousands, a decimal comma or a list, which cannot be told apart.
_SEPARATORS = ",'\u2019"
_N_SHOWN = 200
_N_AROUND = 20


class NoValueError(ValueError):
    """A program that ended well, but whose value cannot be found."""


@dataclass(frozen=True)
class Printed:
    """What a program left behind: its output, where it ran, and how files looked before."""

    stdout: str
    stderr: str
    folder: Path
    before: tuple[int, int, int] | None = None

    def stream(self, name: str) -> str:
        """Return what was written to "stdout" or "stderr"."""
        return self.stdout if name == "stdout" else self.stderr


class ValueReader(Protocol):
    """A way to read a value."""

    def read(self, printed: Printed, values: Mapping[str, Any]) -> float:
        """Return the value, or raise `NoValueError`."""


@dataclass(frozen=True)
class LastNumber:
    """The last number that was printed.

    >>> LastNumber().read(Printed("epoch 3 loss=1.5e-3 (12ms)", "", Path()), {})
    0.0015
    """

    stream: str = "stdout"

    def read(self, printed: Printed, values: Mapping[str, Any]) -> float:
        """Return the value, or raise `NoValueError`."""
        text = printed.stream(self.stream)
        matches = deque(_NUMBER.finditer(text), maxlen=1)
        if not matches:
            raise NoValueError(f"no number on {self.stream}{_tail(text)}")
        found = matches[0]
        if _is_separator(text, found.start() - 1) or _is_separator(text, found.end()):
            around = text[max(found.start() - _N_AROUND, 0) : found.end() + _N_AROUND].strip()
            raise NoValueError(
                f"the last number on {self.stream} is part of {around!r}: one number, or several? "
                'Print it without separators, or say what to read with value = { regex = "..." }'
            )
        return float(found.group())


@dataclass(frozen=True)
class LastMatch:
    """The last match of a regular expression: its group ``value``, its first group, or all of it.

    >>> LastMatch(re.compile("loss=(.*)")).read(Printed("loss=2\\nloss=1\\n", "", Path()), {})
    1.0
    """

    pattern: re.Pattern[str]
    stream: str = "stdout"

    def read(self, printed: Printed, values: Mapping[str, Any]) -> float:
        """Return the value, or raise `NoValueError`."""
        text = printed.stream(self.stream)
        matches = deque(self.pattern.finditer(text), maxlen=1)
        if not matches:
            raise NoValueError(f"{self.pattern.pattern!r} does not match on {self.stream}{_tail(text)}")
        group: str | int = "value" if "value" in self.pattern.groupindex else min(self.pattern.groups, 1)
        return _number(matches[0][group], f"the match of {self.pattern.pattern!r}")


@dataclass(frozen=True)
class JsonKey:
    """A key of a JSON file that the program writes, or of the last line it prints (file ``-``).

    >>> reader = JsonKey(Template.parse("-"), ("test", "loss"))
    >>> reader.read(Printed('training...\\n{"test": {"loss": 0.5}}\\n', "", Path()), {})
    0.5
    """

    file: Template
    key: tuple[str, ...]

    def read(self, printed: Printed, values: Mapping[str, Any]) -> float:
        """Return the value, or raise `NoValueError`."""
        name = self.file.fill(values)
        text = _last_line(printed.stdout) if name == "-" else self._text(name, printed)
        where = "the last line on stdout" if name == "-" else name
        try:
            data = json.loads(text)
        except ValueError as error:
            raise NoValueError(f"{where} is no JSON: {error}") from None
        for i, part in enumerate(self.key):
            data = _enter(data, part, f"{where} has no key {'.'.join(self.key[: i + 1])!r}")
        return _number(data, f"{'.'.join(self.key) or 'the content'!r} of {where}")

    @property
    def is_apart(self) -> bool:
        """Whether evaluations that run at the same time read from different places."""
        names = {placeholder.name for placeholder in self.file.placeholders}
        return bool(names & {"trial", "folder"}) or self.file.parts == ("-",)

    def state(self, folder: Path, values: Mapping[str, Any]) -> tuple[int, int, int] | None:
        """Return what tells a file written now from one that was there before; None if there is none."""
        try:
            found = (folder / self.file.fill(values)).stat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size

    def _text(self, name: str, printed: Printed) -> str:
        try:
            path = printed.folder / name
            found = path.stat()
            if (found.st_ino, found.st_mtime_ns, found.st_size) == printed.before:
                raise NoValueError(f"{name} was there before and has not been written")
            return path.read_text(encoding="utf-8")
        except OSError as error:
            raise NoValueError(f"{name} cannot be read: {error.strerror}") from None
        except UnicodeDecodeError as error:
            raise NoValueError(f"{name} is no UTF-8 text: {error}") from None


def _is_separator(text: str, at: int) -> bool:
    """Tell whether a character stands between two digits and separates them."""
    return 0 < at < len(text) - 1 and text[at] in _SEPARATORS and (text[at - 1] + text[at + 1]).isdecimal()


def _enter(data: Any, part: str, message: str) -> Any:
    if isinstance(data, dict) and part in data:
        return data[part]
    if isinstance(data, list) and re.fullmatch(r"-?\d+", part) and -len(data) <= int(part) < len(data):
        return data[int(part)]
    raise NoValueError(message)


def _number(found: Any, what: str) -> float:
    if isinstance(found, bool) or not isinstance(found, (str, int, float)):
        raise NoValueError(f"{what} is no number: {found!r}")
    try:
        return float(found)
    except (ValueError, OverflowError):
        raise NoValueError(f"{what} is no number: {found!r}") from None


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else ""


def _tail(text: str) -> str:
    text = text.strip()
    if not text:
        return ", which is empty"
    return f", which ends with {text[-_N_SHOWN:]!r}"
