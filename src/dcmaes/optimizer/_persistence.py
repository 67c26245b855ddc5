"""Nested plain data with arrays, to and from bytes or a file: JSON and arrays in a zip archive, no code."""

from __future__ import annotations

import io
import json
import os
import threading
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

FORMAT = "dcmaes.optimizer"
VERSION = 6
_ARRAY = "__array__"
_METADATA = "metadata"
# What reading a file that is damaged, or something else altogether, may raise.
_UNREADABLE = (ValueError, KeyError, TypeError, EOFError, NotImplementedError, zipfile.BadZipFile, zlib.error)


def write(path: str | os.PathLike[str], data: Mapping[str, Any]) -> None:
    """Write nested data to `path` at once: there is the old file or the whole new one, never a part.

    Dictionaries have string keys; leaves are numbers, strings, None and arrays.
    """
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.{threading.get_ident()}.tmp")
    try:
        with open(temporary, "wb") as file:
            _save(file, data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what `write` wrote to `path`, or raise ValueError naming the path."""
    with open(path, "rb") as file:
        try:
            return _load(file)
        except _UNREADABLE as error:
            raise ValueError(f"{os.fspath(path)!r} is not a readable saved optimizer: {error}") from error


def dumps(data: Mapping[str, Any]) -> bytes:
    """Return nested data as bytes."""
    buffer = io.BytesIO()
    _save(buffer, data)
    return buffer.getvalue()


def loads(data: bytes) -> dict[str, Any]:
    """Return what `dumps` was given, or raise ValueError.

    >>> loads(dumps({"mean": np.arange(2)}))
    {'mean': array([0, 1])}
    """
    try:
        return _load(io.BytesIO(data))
    except _UNREADABLE as error:
        raise ValueError(f"not readable: {error}") from error


def _save(file: IO[bytes], data: Mapping[str, Any]) -> None:
    arrays: dict[str, NDArray[Any]] = {}
    packed = {"format": FORMAT, "version": VERSION, "data": _pack(data, arrays)}
    arrays[_METADATA] = np.frombuffer(json.dumps(packed).encode(), np.uint8)
    np.savez(file, **arrays)  # type: ignore[arg-type]


def _load(file: IO[bytes]) -> dict[str, Any]:
    with np.load(file, allow_pickle=False) as arrays:
        packed = json.loads(arrays[_METADATA].tobytes())
        if packed["format"] != FORMAT:
            raise ValueError(f"its format is {packed['format']!r}, not {FORMAT!r}")
        if packed["version"] != VERSION:
            raise ValueError(f"its version is {packed['version']!r}; this library reads version {VERSION}")
        data: dict[str, Any] = _unpack(packed["data"], arrays)
    return data


def _sync_folder(folder: Path) -> None:
    """Make the new name of a file survive a power cut, where the system can."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _pack(data: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    if isinstance(data, np.ndarray):
        if data.dtype.hasobject:
            raise TypeError(f"an array of Python objects cannot be saved, got {data!r}")
        name = f"array_{len(arrays)}"
        arrays[name] = data
        return {_ARRAY: name}
    if isinstance(data, Mapping):
        return {key: _pack(item, arrays) for key, item in data.items()}
    if isinstance(data, (list, tuple)):
        return [_pack(item, arrays) for item in data]
    return data.item() if isinstance(data, np.generic) else data


def _unpack(data: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    if isinstance(data, dict):
        if data.keys() == {_ARRAY}:
            return arrays[data[_ARRAY]]
        return {key: _unpack(item, arrays) for key, item in data.items()}
    if isinstance(data, list):
        return [_unpack(item, arrays) for item in data]
    return data
