"""The argument checks used everywhere: each names the argument, the value and what would be right."""

from __future__ import annotations

import math
import operator
import os
import re
from collections.abc import Callable, Iterable, Mapping, Set
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# How many characters of a value an error message shows.
_LONGEST = 240
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION_PART = re.compile(r"(\d+(?:\.\d+)?)\s*([smhd])")
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?\s*[smhd]\s*)+")


class ArgumentError(ValueError):
    """An argument that does not go with a file, as opposed to a file that makes no sense.

    >>> raise ArgumentError("seed is 1 as given and 2 in the file")
    Traceback (most recent call last):
    dcmaes._validation.ArgumentError: seed is 1 as given and 2 in the file
    """


def shown(value: Any) -> str:
    """Return a value as an error message shows it: its repr in one line of bounded length, whatever it is.

    >>> shown("relu"), shown(2**5000), shown([0] * 1000)[-8:]
    ("'relu'", 'an integer of 5001 bits', '0, 0,...')
    """
    if isinstance(value, int) and value.bit_length() > _LONGEST:
        return f"an integer of {value.bit_length()} bits"
    try:
        text = repr(value)
    except Exception:  # nested too deeply, or a broken __repr__
        return f"an object of type {type(value).__name__} that cannot be shown"
    if "\n" in text:
        text = " ".join(text.split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def check_integer(name: str, value: Any, *, low: int | None = None, high: int | None = None) -> int:
    """Return `value` as an `int`, or raise naming the argument.

    >>> check_integer("budget", 10, low=1)
    10
    """
    if isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be an integer, got the boolean {value!r}")
    try:
        result = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, got {shown(value)}") from None
    if low is not None and result < low:
        raise ValueError(f"{name} must be at least {low}, got {shown(result)}")
    if high is not None and result > high:
        raise ValueError(f"{name} must be at most {high}, got {shown(result)}")
    return result


def check_number(name: str, value: Any, *, low: float = -math.inf, high: float = math.inf) -> float:
    """Return `value` as a finite `float` within [low, high], or raise naming the argument.

    >>> check_number("step_size", 0.5, low=0.0)
    0.5
    """
    if isinstance(value, (np.generic, np.ndarray)):
        is_real = value.ndim == 0 and value.dtype.kind in "iuf"
    else:
        is_real = not isinstance(value, (bool, str, bytes))
    if not is_real:
        raise TypeError(f"{name} must be a number, got {shown(value)}")
    try:
        result = float(value)
    except OverflowError:
        raise ValueError(f"{name} must be within the range of floating point, got {shown(value)}") from None
    except Exception:  # whatever a foreign __float__ raises
        raise TypeError(f"{name} must be a number, got {shown(value)}") from None
    if not math.isfinite(result):
        raise ValueError(f"{name} must be finite, got {result}")
    if not low <= result <= high:
        raise ValueError(f"{name} must be between {low} and {high}, got {result}")
    return result


def check_duration(name: str, value: Any) -> float:
    """Return seconds from a number of seconds or text such as "90s", "30m" or "1h30m", or raise.

    >>> check_duration("time_limit", "1h30m"), check_duration("time_limit", 2)
    (5400.0, 2.0)
    """
    if isinstance(value, str):
        text = value.strip().lower()
        if _DURATION.fullmatch(text):
            return sum(float(number) * _SECONDS[unit] for number, unit in _DURATION_PART.findall(text))
        try:
            value = float(text)
        except ValueError:
            wanted = f'{name} must be a number of seconds, or text such as "90s", "30m" or "1h30m"'
            raise ValueError(f"{wanted}; got {shown(value)}") from None
    return check_number(name, value, low=0.0)


def as_floats(name: str, values: ArrayLike) -> FloatArray:
    """Return an array of floats (itself, if it is one), or raise if these are not real numbers.

    >>> as_floats("mean", ["1", "2"])
    Traceback (most recent call last):
    TypeError: mean must be an array of numbers, got ['1', '2']
    """
    try:
        given = np.asarray(values)
        if given.dtype.kind in "biufO":
            return np.asarray(given, dtype=np.float64)
    except Exception:  # whatever foreign objects raise
        pass
    raise TypeError(f"{name} must be an array of numbers, got {shown(values)}")


def check_array(name: str, values: ArrayLike, *, shape: tuple[int | None, ...] | None = None) -> FloatArray:
    """Return a fresh float array of the wanted shape (None: any length) with finite entries, or raise.

    >>> check_array("mean", [0, 1], shape=(2,))
    array([0., 1.])
    """
    result = as_floats(name, values).copy()
    if shape is not None:
        fits = result.ndim == len(shape) and all(
            want is None or want == have for want, have in zip(shape, result.shape, strict=True)
        )
        if not fits:
            sizes = ", ".join("any" if n is None else str(n) for n in shape)
            wanted = f"({sizes},)" if len(shape) == 1 else f"({sizes})"
            raise ValueError(f"{name} must have shape {wanted}, got {result.shape}")
    if not np.isfinite(result).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(result))[0])
        raise ValueError(f"{name} must be finite, got {result[where]} at index {where}")
    return result


def check_probabilities(
    name: str, values: ArrayLike, *, shape: tuple[int | None, ...] | None = None
) -> FloatArray:
    """Return a fresh array with entries in [0, 1], or raise naming the first offender.

    >>> check_probabilities("p", [0.25, 0.75])
    array([0.25, 0.75])
    """
    result = check_array(name, values, shape=shape)
    bad = (result < 0) | (result > 1)
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        raise ValueError(f"{name} must lie between 0 and 1, got {result[where]} at index {where}")
    return result


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """Return `value` if it is one of `choices`, or raise listing them.

    >>> check_choice("duplicates", "cache", ("cache", "allow"))
    'cache'
    """
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}; got {shown(value)}")
    return value


def check_list(name: str, values: Any, wanted: str, *, most: int = 2**31) -> list[Any]:
    """Return the entries of a sequence or iterator; text, mappings, sets and tables are none here, and raise.

    >>> check_list("callbacks", "print", "a sequence of callables")
    Traceback (most recent call last):
    TypeError: callbacks must be a sequence of callables, got 'print'
    """
    is_other = isinstance(values, (str, bytes, bytearray, Mapping, Set)) or hasattr(values, "columns")
    if is_other or not isinstance(values, Iterable) or (isinstance(values, np.ndarray) and values.ndim == 0):
        raise TypeError(f"{name} must be {wanted}, got {shown(values)}")
    result = list(islice(values, most + 1))
    if len(result) > most:
        raise ValueError(f"{name} must have at most {most} entries, got more")
    return result


def check_callables(name: str, given: Any, wanted: str) -> tuple[Callable[..., Any], ...]:
    """Return one callable or several as a tuple (None: no one), or raise.

    >>> check_callables("constraints", "a <= b", "take a point")
    Traceback (most recent call last):
    TypeError: constraints must be callables that take a point, got 'a <= b'
    """
    wanted = f"callables that {wanted}"
    found = (given,) if callable(given) else check_list(name, () if given is None else given, wanted)
    for entry in found:
        if not callable(entry):
            raise TypeError(f"{name} must be {wanted}, got {shown(entry)}")
    return tuple(found)


def check_path(name: str, value: Any) -> Path:
    """Return a path, or raise naming the argument.

    >>> check_path("store", "run.db").name
    'run.db'
    """
    if not isinstance(value, (str, bytes, os.PathLike)):
        raise TypeError(f"{name} must be a path, got {shown(value)}")
    return Path(os.fsdecode(value))


def check_generator(name: str, value: Any) -> np.random.Generator:
    """Return `value` if it is a numpy Generator, or raise saying how to make one.

    >>> type(check_generator("rng", np.random.default_rng(0))).__name__
    'Generator'
    """
    if not isinstance(value, np.random.Generator):
        raise TypeError(
            f"{name} must be a numpy.random.Generator (numpy.random.default_rng(seed)), got {shown(value)}"
        )
    return value


def as_scalar(value: Any) -> Any:
    """Return what is in an array without dimensions, which numpy hands out now and then; all else as it is.

    >>> as_scalar(np.array(3)), as_scalar("relu")
    (np.int64(3), 'relu')
    """
    return value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value


def readonly(array: NDArray[Any]) -> NDArray[Any]:
    """Return a view of `array` that refuses writes: what is handed out cannot change what is kept.

    >>> readonly(np.zeros(2)).flags.writeable
    False
    """
    view = array.view()
    view.flags.writeable = False
    return view


def suggestion(word: Any, options: Iterable[str]) -> str:
    """Return a question that ends an error message, or nothing if no option is close.

    >>> suggestion("lrr", ["lr", "layers"])
    "; did you mean 'lr'?"
    """
    from difflib import get_close_matches

    close = get_close_matches(word, list(options), n=1) if isinstance(word, str) else []
    return f"; did you mean {close[0]!r}?" if close else ""
