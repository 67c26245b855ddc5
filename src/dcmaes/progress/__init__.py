"""How far a run is, in a line, in a terminal or in a notebook."""

from dcmaes.progress._display import Display, open_display
from dcmaes.progress._standing import (
    Standing,
    describe,
    describe_duration,
    describe_point,
    estimate_left,
    printable,
)

__all__ = [
    "Display",
    "Standing",
    "describe",
    "describe_duration",
    "describe_point",
    "estimate_left",
    "open_display",
    "printable",
]
