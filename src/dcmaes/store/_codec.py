"""Nested plain data with arrays, to and from bytes: JSON and arrays in a zip archive, no code."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

_ARRAY = "__array__"
_METADATA = "metadata"


def dumps(data: Mapping[str, Any]) -> bytes:
    """Return nested data as bytes: keys are strings; leaves are numbers, strings, None and arrays."""
    arrays: dict[str, NDArray[Any]] = {}
    packed = _pack(data, arrays)
    arrays[_METADATA] = np.frombuffer(json.dumps(packed).encode(), np.uint8)
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def loads(data: bytes) -> dict[str, Any]:
    """Return what `dumps` was given, or raise ValueError.

    >>> loads(dumps({"mean": np.arange(2)}))
    {'mean': array([0, 1])}
    """
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            unpacked: dict[str, Any] = _unpack(json.loads(arrays[_METADATA].tobytes()), arrays)
    except Exception as error:  # damaged archives raise anything
        raise ValueError(f"not readable: {error}") from error
    return unpacked


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
