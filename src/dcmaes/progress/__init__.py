"""How far a run is, in a line, in a terminal or in a notebook."""

from dcmaes.progress._display import (
    Standing,
    describe,
    describe_duration,
    describe_point,
    estimate_left,
    open_display,
    printable,
)

__all__ = [
    "Standing",
    "describe",
    "describe_duration",
    "describe_point",
    "estimate_left",
    "open_display",
    "printable",
]
