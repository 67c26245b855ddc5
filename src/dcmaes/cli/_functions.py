"""Functions named by text: "module:function"."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

_REFERENCE = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)")


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
