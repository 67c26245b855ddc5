"""What can be wrong, and the lines and exit codes that say it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from enum import IntEnum
from pathlib import Path

import click

from dcmaes._validation import ArgumentError
from dcmaes.progress import printable


class ExitCode(IntEnum):
    """The exit codes of ``dcmaes``.

    >>> int(ExitCode.INTERRUPTED)
    130
    """

    OK = 0
    NO_RESULT = 1
    BAD_INPUT = 2
    BAD_STORE = 3
    INTERRUPTED = 130
    TERMINATED = 143


class SpecError(ValueError):
    """A mistake in a specification file: says where it is and what would be right.

    >>> print(SpecError("budget must be at least 1, got 0", Path("tune.toml"), ("budget",), 3))
    tune.toml:3: budget must be at least 1, got 0
    >>> print(SpecError("type is missing", Path("tune.toml"), ("space", "lr"), 9))
    tune.toml:9: space.lr: type is missing
    """

    def __init__(
        self, message: str, path: Path, key: tuple[str | int, ...] = (), line: int | None = None
    ) -> None:
        self.key = key
        self.line = line
        where = str(path) if line is None else f"{path}:{line}"
        name = dotted(key)
        is_named = not name or message.startswith(name)
        super().__init__(f"{where}: {message}" if is_named else f"{where}: {name}: {message}")


def dotted(key: tuple[str | int, ...]) -> str:
    """Return a key as it is written in a file.

    >>> dotted(("space", "lr", "choices", 2))
    'space.lr.choices[2]'
    """
    text = ""
    for part in key:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


class Failure(click.ClickException):
    """An error that ends the program with a code of its own."""

    def __init__(self, message: str, code: ExitCode) -> None:
        super().__init__(printable(message))
        self.code = code

    @property
    def exit_code(self) -> int:  # type: ignore[override]
        """The code with which the program ends."""
        return int(self.code)


@contextlib.contextmanager
def reporting() -> Iterator[None]:
    """Turn the errors that users can cause into a line and an exit code."""
    from dcmaes.store import StoreError

    try:
        yield
    except SpecError as error:
        raise Failure(str(error), ExitCode.BAD_INPUT) from error
    except StoreError as error:
        raise Failure(str(error), ExitCode.BAD_STORE) from error
    except ArgumentError as error:  # a run made in Python, with objects that no file can hold
        raise Failure(f"this store can be used from Python only: {error}", ExitCode.BAD_STORE) from error
    except KeyboardInterrupt:
        raise Failure("interrupted", ExitCode.INTERRUPTED) from None
