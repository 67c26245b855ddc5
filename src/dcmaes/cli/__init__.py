"""The command line: ``dcmaes minimize SPEC.toml`` and its companions."""

from dcmaes.cli._main import main

__all__ = ["main"]
