"""A TOML table that knows where its keys are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, TypeVar

from dcmaes.cli._errors import SpecError
from dcmaes.cli._lines import find_line, key_lines
from dcmaes.space._layouts import suggestion

T = TypeVar("T")


class Table:
    """The content of a file: every error in it names key and line.

    >>> table = Table({"budget": "many"}, 'budget = "many"', Path("tune.toml"))
    >>> table.get("budget", lambda name, value: int(value))
    Traceback (most recent call last):
    dcmaes.cli._errors.SpecError: tune.toml:1: budget: invalid literal for int() with base 10: 'many'
    """

    def __init__(self, data: Mapping[str, Any], text: str, path: Path) -> None:
        self.data = data
        self.path = path
        self._lines = key_lines(text)

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
