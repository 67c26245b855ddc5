"""Lengths of time as people write them."""

from __future__ import annotations

import re
from typing import Any

from dcmaes._validation import check_number

_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*([smhd])")
_WHOLE = re.compile(r"(?:\d+(?:\.\d+)?\s*[smhd]\s*)+")


def read_duration(name: str, value: Any) -> float:
    """Return seconds from a number of seconds, or from text such as "90s", "30m" or "1h30m"; or raise.

    >>> read_duration("timeout", "1h30m"), read_duration("timeout", 2)
    (5400.0, 2.0)
    """
    if isinstance(value, str):
        text = value.strip().lower()
        if _WHOLE.fullmatch(text):
            return sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(text))
        try:
            value = float(text)
        except ValueError:
            wanted = f'{name} must be a number of seconds, or text such as "90s", "30m" or "1h30m"'
            raise ValueError(f"{wanted}; got {value!r}") from None
    return check_number(name, value, low=0.0)
