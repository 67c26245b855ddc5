"""The state of any strategy as plain data, and back: one codec for frozen dataclasses.

A state is made of numbers, strings, None, arrays, tuples and dataclasses of those. Its type hints say how to
read it again, so what is written names no class that the reader does not already expect.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from types import NoneType, UnionType
from typing import Any, ClassVar, Generic, TypeVar, get_args, get_origin, get_type_hints

from dcmaes.space import Sites

T = TypeVar("T")

# Metadata of a field that is left out: it follows from the others, and has a default.
DERIVED = {"is_derived": True}
_TYPE = "type"


def encode(value: Any) -> Any:
    """Return a state as plain data: numbers, strings, None, arrays, and lists and dicts of those.

    The sites are left out: they belong to the space.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Point:
    ...     where: tuple[int, int]
    >>> encode(Point((1, 2)))
    {'type': 'Point', 'where': [1, 2]}
    """
    if is_dataclass(value):
        kind: Any = type(value)
        kept = [name for name, hint in _hints(kind).items() if hint is not Sites]
        return {_TYPE: kind.__name__, **{name: encode(getattr(value, name)) for name in kept}}
    if isinstance(value, tuple):
        return [encode(part) for part in value]
    return value


def decode(hint: type[T], data: Any, sites: Sites) -> T:
    """Return the state of a type that `encode` described, in a space with these sites.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Point:
    ...     where: "tuple[int, int]"
    >>> decode(Point, {"type": "Point", "where": [1, 2]}, None)
    Point(where=(1, 2))
    """
    read: T = _decode(hint, data, sites)
    return read


def _decode(hint: Any, data: Any, sites: Sites) -> Any:
    if get_origin(hint) is UnionType:
        return _decode(_alternative(hint, data), data, sites)
    if get_origin(hint) is tuple:
        parts = get_args(hint)
        parts = parts[:1] * len(data) if parts[-1] is Ellipsis else parts
        return tuple(_decode(part, item, sites) for part, item in zip(parts, data, strict=True))
    if isinstance(hint, type) and issubclass(hint, tuple):  # a named tuple of numbers
        return hint(*data)
    if not is_dataclass(hint):
        return data
    kind: Any = hint
    given = {
        name: sites if part is Sites else _decode(part, data[name], sites)
        for name, part in _hints(kind).items()
    }
    return kind(**given)


def _alternative(hint: Any, data: Any) -> Any:
    """Return the one of several types that was written."""
    if data is None:
        return NoneType
    kinds = [kind for kind in get_args(hint) if kind is not NoneType]
    if len(kinds) == 1:
        return kinds[0]
    named = {kind.__name__: kind for kind in kinds}
    return named[data[_TYPE]] if isinstance(data, Mapping) else object


@cache
def _hints(kind: type[Any]) -> dict[str, Any]:
    """Return the types of the fields that are not derived from others, by name."""
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind) if field.metadata != DERIVED}


def changes(usual: Any, settings: Any) -> dict[str, Any]:
    """Return as plain data in which fields a frozen dataclass of settings differs from the usual one.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Settings:
    ...     batch: int = 4
    ...     radii: tuple[float, ...] = (1.0, 2.0)
    >>> changes(Settings(), Settings(radii=(3.0,)))
    {'radii': [3.0]}
    """
    pairs = [
        (field.name, getattr(usual, field.name), getattr(settings, field.name)) for field in fields(usual)
    ]
    return {
        name: changes(before, after) if is_dataclass(after) else _listed(after)
        for name, before, after in pairs
        if before != after
    }


def changed(usual: T, options: Mapping[str, Any]) -> T:
    """Return settings with what `changes` returned, or raise `TypeError` if there is no such field.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Settings:
    ...     batch: int = 4
    ...     radii: tuple[float, ...] = (1.0, 2.0)
    >>> changed(Settings(), {"radii": [3.0]})
    Settings(batch=4, radii=(3.0,))
    """
    present: Any = usual
    new = {
        name: changed(getattr(present, name), value) if isinstance(value, Mapping) else _tupled(value)
        for name, value in options.items()
    }
    settings: T = replace(present, **new)
    return settings


def _listed(value: Any) -> Any:
    return [_listed(part) for part in value] if isinstance(value, tuple) else value


def _tupled(value: Any) -> Any:
    return tuple(_tupled(part) for part in value) if isinstance(value, (list, tuple)) else value


class Coded(Generic[T]):
    """What strategies have in common that keep their state with this codec, and their options as attributes.

    Attributes
    ----------
    state_type : type
        The frozen dataclass, or a union of several.
    """

    state_type: ClassVar[Any]

    def __repr__(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in self.options().items())
        return f"{type(self).__name__}({options})"

    def options(self) -> Mapping[str, Any]:
        """Return the options as plain data."""
        return dict(vars(self))

    def state_to_dict(self, state: T) -> dict[str, Any]:
        """Return the state as plain data."""
        data: dict[str, Any] = encode(state)
        return data

    def state_from_dict(self, data: Mapping[str, Any], sites: Sites) -> T:
        """Return the state that `state_to_dict` described."""
        state: T = decode(self.state_type, data, sites)
        return state
