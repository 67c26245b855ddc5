"""Where the keys of a TOML file are, so that an error can name the line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping

Key = tuple[str | int, ...]

_BLANK = re.compile(r"[ \t]*")
_SPACE = re.compile(r"(?:\s|#[^\n]*)*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_QUOTED = re.compile(r'"(?:\\.|[^"\\\n])*"|' + r"'[^'\n]*'")
_LONG_STRING = re.compile(r'"""(?:\\.|[^\\])*?"""{1,3}|' + r"'''.*?'''{1,3}", re.DOTALL)
_SCALAR = re.compile(r"[^,\]}#\n]*")


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
        self._at += 1
        index = 0
        while True:
            self._skip(_SPACE)
            if self._peek() in ("]", ""):
                self._at += 1
                return
            if self._peek() == ",":
                self._at += 1
                continue
            element = (*path, index)
            self._mark(element, self._line())
            self._value(element)
            index += 1

    def _inline_table(self, path: Key) -> None:
        self._at += 1
        while True:
            self._skip(_SPACE)
            if self._peek() in ("}", ""):
                self._at += 1
                return
            if self._peek() == ",":
                self._at += 1
                continue
            self._pair(path)

    def _mark(self, path: Key, line: int) -> None:
        for n in range(1, len(path) + 1):
            self.lines.setdefault(path[:n], line)

    def _line(self) -> int:
        return self._text.count("\n", 0, self._at) + 1

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _skip(self, pattern: re.Pattern[str]) -> None:
        found = pattern.match(self._text, self._at)
        if found is not None:
            self._at = found.end()
