"""A good specification, to be read with a line changed."""

from pathlib import Path

from dcmaes.cli._spec import parse_spec

GOOD = """\
command = ["prog", "--lr", "{lr}", "--layers={layers}", "{norm?--norm}"]
budget = 200

[space]
lr     = { type = "float", low = 1e-5, high = 1e-1, log = true }
layers = { type = "integer", low = 1, high = 8 }
act    = { type = "categorical", choices = ["relu", "gelu"] }
norm   = { type = "binary" }
"""


def parse(text, folder=Path()):
    return parse_spec(text, folder / "tune.toml")


def with_line(line):
    return GOOD.replace("budget = 200\n", f"budget = 200\n{line}\n")
