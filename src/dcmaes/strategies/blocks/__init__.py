"""Blocks of sites that depend on each other, found exactly by differences; see docs/maths.md, section D."""

from dcmaes.strategies.blocks._state import BlocksState
from dcmaes.strategies.blocks._strategy import Blocks

__all__ = ["Blocks", "BlocksState"]
