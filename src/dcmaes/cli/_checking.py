"""What a specification says, and one evaluation of it to see whether it works."""

from __future__ import annotations

import math
import shlex
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dcmaes.cli._command import CommandObjective
from dcmaes.cli._execution import example_command, example_point
from dcmaes.cli._outputs import output_folder
from dcmaes.cli._spec import Spec
from dcmaes.optimizer import Trial
from dcmaes.progress import describe_point

_N_SHOWN = 2000


def describe_spec(spec: Spec) -> str:
    """Return what a specification says, in some lines."""
    size = "infinitely many" if math.isinf(spec.space.size) else f"{spec.space.size:,}"
    budget = spec.settings["budget"]
    lines = [
        f"{spec.path}: good",
        f"variables   {spec.space.dimension}, {size} points",
        f"evaluations {'no limit in the file: use --budget' if budget is None else budget}, "
        f"{spec.workers} at a time",
        f"store       {spec.store}{' (is there)' if spec.store.exists() else ''}",
    ]
    if spec.settings["constraints"]:
        lines.append(f"constraints {len(spec.settings['constraints'])}")
    if spec.command is None:
        lines.append(f"objective   {spec.objective}")
    else:
        lines.append(f"for example {shlex.join(example_command(spec, example_point(spec)))}")
    return "\n".join(lines)


def try_once(spec: Spec, echo: Callable[[str], Any]) -> bool:
    """Evaluate one point, show the result, and return whether there was a value."""
    point = example_point(spec)
    echo(f"trying      {describe_point(point)}")
    if spec.command is None:
        objective: Callable[[Any], Any] = spec.load_objective()
        return _report(lambda: objective(point), echo)
    with tempfile.TemporaryDirectory(prefix="dcmaes-", ignore_cleanup_errors=True) as name:
        command = CommandObjective(spec.command, spec.folder.resolve(), Path(name))
        try:
            is_good = _report(lambda: command(Trial(0, point)), echo)
        finally:
            command.close()
        for stream in ("stdout", "stderr"):
            path = output_folder(Path(name), 0) / f"{stream}.txt"
            if path.exists():
                echo(f"--- {stream} ---\n{path.read_text(encoding='utf-8')[-_N_SHOWN:].rstrip()}")
    return is_good


def _report(evaluate: Callable[[], Any], echo: Callable[[str], Any]) -> bool:
    try:
        value = evaluate()
    except Exception as error:
        echo(f"failed      {type(error).__name__}: {error}")
        return False
    echo(f"value       {value}")
    return True
