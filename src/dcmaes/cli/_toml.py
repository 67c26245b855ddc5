"""TOML tables that know where their keys are, so that every error can name key and line."""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from dcmaes._validation import suggestion

Key = tuple[str | int, ...]

_BLANK = re.compile(r"[ \t]*")
_SPACE = re.compile(r"(?:\s|#[^\n]*)*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_QUOTED = re.compile(r'"(?:\\.|[^"\\\n])*"|' + r"'[^'\n]*'")
_LONG_STRING = re.compile(r'"""(?:\\.|[^\\])*?"""{1,3}|' + r"'''.*?'''{1,3}", re.DOTALL)
_SCALAR = re.compile(r"[^,\]}#\n]*")
_PLACE = re.compile(r"at line (\d+)")


class SpecError(ValueError):
    """A mistake in a specification file: says where it is and what would be right.

    >>> print(SpecError("budget must be at least 1, got 0", Path("tune.toml"), ("budget",), 3))
    tune.toml:3: budget must be at least 1, got 0
    >>> print(SpecError("type is missing", Path("tune.toml"), ("space", "lr"), 9))
    tune.toml:9: space.lr: type is missing
    """

    def __init__(self, message: str, path: Path, key: Key = (), line: int | None = None) -> None:
        self.key = key
        self.line = line
        where = str(path) if line is None else f"{path}:{line}"
        name = dotted(key)
        is_named = not name or message.startswith(name)
        super().__init__(f"{where}: {message}" if is_named else f"{where}: {name}: {message}")


def dotted(key: Key) -> str:
    """Return a key as it is written in a file.

    >>> dotted(("space", "lr", "choices", 2))
    'space.lr.choices[2]'
    """
    text = ""
    for part in key:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def key_lines(text: str) -> dict[Key, int]:
    """Return the line, counted from 1, of every key and array element of a valid TOML text.

    >>> key_lines('budget = 5\\n[space]\\nlr = { low = 0 }\\n')
    {('budget',): 1, ('space',): 2, ('space', 'lr'): 3, ('space', 'lr', 'low'): 3}
    """
    return _Walk(text).lines


def find_line(lines: Mapping[Key, int], key: Key) -> int | None:
    """Return the line of a key, or of the innermost table around it that is written down.

    >>> find_line({("space",): 2, ("space", "lr"): 3}, ("space", "lr", "low"))
    3
    """
    while key:
        if key in lines:
            return lines[key]
        key = key[:-1]
    return None


class _Walk:
    """One pass over a text that `tomllib` has accepted."""

    def __init__(self, text: str) -> None:
        self.lines: dict[Key, int] = {}
        self._text = text
        self._ends = [found.start() for found in re.finditer("\n", text)]
        self._at = 0
        self._n_tables: dict[Key, int] = {}
        self._walk()

    def _walk(self) -> None:
        table: Key = ()
        while True:
            self._skip(_SPACE)
            if self._at >= len(self._text):
                return
            if self._peek() == "[":
                table = self._header()
            else:
                self._pair(table)

    def _header(self) -> Key:
        line = self._line()
        is_array = self._text.startswith("[[", self._at)
        self._at += 2 if is_array else 1
        path = self._resolve(self._keys())
        self._at += 2 if is_array else 1
        if is_array:
            index = self._n_tables.get(path, 0)
            self._n_tables[path] = index + 1
            self.lines.setdefault(path, line)
            path = (*path, index)
        self._mark(path, line)
        return path

    def _resolve(self, keys: list[str]) -> Key:
        """Return a path in which every array of tables on the way stands for its last element."""
        path: Key = ()
        for i, key in enumerate(keys):
            path = (*path, key)
            if i < len(keys) - 1 and path in self._n_tables:
                path = (*path, self._n_tables[path] - 1)
        return path

    def _pair(self, table: Key) -> None:
        line = self._line()
        path = (*table, *self._keys())
        self._at += 1  # the equals sign
        self._mark(path, line)
        self._value(path)

    def _keys(self) -> list[str]:
        keys: list[str] = []
        while True:
            self._skip(_BLANK)
            quoted = _QUOTED.match(self._text, self._at)
            found = quoted or _BARE_KEY.match(self._text, self._at)
            if found is None:
                return keys
            token = found.group()
            keys.append(tomllib.loads(f"key = {token}")["key"] if quoted else token)
            self._at = found.end()
            self._skip(_BLANK)
            if self._peek() != ".":
                return keys
            self._at += 1

    def _value(self, path: Key) -> None:
        self._skip(_BLANK)
        if self._peek() == "[":
            self._array(path)
        elif self._peek() == "{":
            self._inline_table(path)
        else:
            found = (
                _LONG_STRING.match(self._text, self._at)
                or _QUOTED.match(self._text, self._at)
                or _SCALAR.match(self._text, self._at)
            )
            self._at = self._at + 1 if found is None else found.end()

    def _array(self, path: Key) -> None:
        for index, _ in enumerate(self._elements("]")):
            element = (*path, index)
            self._mark(element, self._line())
            self._value(element)

    def _inline_table(self, path: Key) -> None:
        for _ in self._elements("}"):
            self._pair(path)

    def _elements(self, end: str) -> Iterator[None]:
        """Stop at each element up to a closing bracket, to be walked over before the next one."""
        self._at += 1
        while True:
            self._skip(_SPACE)
            if self._peek() in (end, ""):
                self._at += 1
                return
            if self._peek() == ",":
                self._at += 1
            else:
                yield

    def _mark(self, path: Key, line: int) -> None:
        for n in range(1, len(path) + 1):
            self.lines.setdefault(path[:n], line)

    def _line(self) -> int:
        return bisect_left(self._ends, self._at) + 1

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _skip(self, pattern: re.Pattern[str]) -> None:
        found = pattern.match(self._text, self._at)
        if found is not None:
            self._at = found.end()


T = TypeVar("T")


def checked_type(kind: type[T], wanted: str) -> Callable[[str, Any], T]:
    """Return a check that a value has a type.

    >>> checked_type(bool, "true or false")("own_folder", 1)
    Traceback (most recent call last):
    TypeError: own_folder must be true or false, got 1
    """

    def check(name: str, value: Any) -> T:
        if not isinstance(value, kind):
            raise TypeError(f"{name} must be {wanted}, got {value!r}")
        return value

    return check


class Table:
    """The content of a file: every error in it names key and line.

    Attributes
    ----------
    data : mapping
        The content, under the present names of its keys.
    path : Path
        Where the file is.
    warnings : list of str
        What is not wrong, but may not be meant.

    Examples
    --------
    >>> table = Table.parse('budget = "many"', Path("tune.toml"))
    >>> table.get("budget", lambda name, value: int(value))
    Traceback (most recent call last):
    dcmaes.cli._toml.SpecError: tune.toml:1: budget: invalid literal for int() with base 10: 'many'
    """

    def __init__(self, data: Mapping[str, Any], lines: Mapping[Key, int], path: Path) -> None:
        self.data = dict(data)
        self.path = path
        self.warnings: list[str] = []
        self._lines = lines

    @staticmethod
    def parse(text: str, path: Path) -> Table:
        """Return the table that `text` describes, or raise `SpecError` if it is no TOML."""
        try:
            return Table(tomllib.loads(text), key_lines(text), path)
        except tomllib.TOMLDecodeError as error:
            place = _PLACE.search(str(error))
            line = None if place is None else int(place[1])
            raise SpecError(f"no valid TOML: {error}", path, line=line) from None
        except ValueError:
            raise SpecError("a number in it has more digits than can be read", path) from None
        except RecursionError:
            raise SpecError("is nested too deeply", path) from None

    def rename(self, old: str, new: str) -> None:
        """Take a key that had another name once for the one that it is now."""
        if old not in self.data:
            return
        if new in self.data:
            raise self.error(f"{old} is an old name of {new}: say it once", old)
        warning = self.error(f"{old} is now called {new}; the old name will stop working", old)
        self.warnings.append(str(warning))
        self.data[new] = self.data.pop(old)
        moved = {(new, *key[1:]): line for key, line in self._lines.items() if key[0] == old}
        self._lines = {**self._lines, **moved}

    def error(self, message: str, *key: str | int) -> SpecError:
        """Return the error that says what is wrong at a key."""
        return SpecError(message, self.path, key, find_line(self._lines, key))

    def attempt(self, key: tuple[str | int, ...], action: Callable[..., T], *arguments: Any) -> T:
        """Return what `action` returns for the arguments; what it raises is an error at `key`."""
        try:
            return action(*arguments)
        except (TypeError, ValueError) as error:
            raise self.error(str(error), *key) from None

    def get(self, key: str, check: Callable[[str, Any], T], default: Any = None) -> Any:
        """Return the checked value of a key at the top, or the default where it is missing."""
        if key not in self.data:
            return default
        return self.attempt((key,), check, key, self.data[key])

    def check_keys(self, known: Collection[str], command_keys: Collection[str] = ()) -> None:
        """Raise for a key that means nothing here."""
        for key in self.data:
            if key in known:
                continue
            if key in command_keys:
                raise self.error(f"{key!r} goes with command, not with objective", key)
            raise self.error(f"{key!r} is not a key of a specification{suggestion(key, known)}", key)
