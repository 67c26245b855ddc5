"""Carrying out a specification, or trying it once."""

from __future__ import annotations

import math
import os
import shlex
import shutil
import signal
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import dcmaes as dc
from dcmaes.cli._command import CommandObjective, output_folder, outputs_folder
from dcmaes.cli._objective_spec import describe_sharing
from dcmaes.cli._spec import Spec
from dcmaes.cli._toml import SpecError
from dcmaes.optimizer import Trial
from dcmaes.progress._display import describe_point, printable
from dcmaes.run._trial import thaw

_PATIENCE = 1.0
# How many characters of what a program printed `check --try` shows.
_N_SHOWN = 2000


def override(spec: Spec, workers: int | None, store: Path | None, **settings: Any) -> Spec:
    """Return the specification with what the command line says in place of what the file says."""
    changed = {name: value for name, value in settings.items() if value is not None}
    spec = replace(spec, settings={**spec.settings, **changed})
    if workers is not None:
        if workers > 1 and spec.command is not None and spec.command.shared_file is not None:
            raise SpecError(describe_sharing(workers), spec.path, spec.command.shared_file)
        spec = replace(spec, workers=workers)
    return spec if store is None else replace(spec, store=store)


def check_program(spec: Spec) -> None:
    """Raise `SpecError` for a program that is not there, before a budget is spent on finding out."""
    if spec.command is None:
        return
    if os.name != "posix":
        raise SpecError("programs can be tuned on Linux and macOS only; here use objective", spec.path)
    if spec.command.arguments[0].placeholders:
        return
    program = example_command(spec, _any_point(spec))[0]
    if shutil.which(program) is None:
        raise SpecError(
            f"the program {program!r} is not there, or cannot be executed", spec.path, ("command",)
        )


def example_point(spec: Spec) -> Any:
    """Return a point that a run could begin with, or raise `SpecError` if there is none to be found."""
    settings = {name: spec.settings[name] for name in ("x0", "constraints", "objectives", "reference")}
    with _warning_in_lines():
        optimizer = dc.Optimizer(spec.space, budget=1, seed=0, strategy="random", **settings)
        trials = optimizer.ask(1)
    if not trials and spec.settings["constraints"]:
        raise SpecError(
            f"nothing can be evaluated: {optimizer.result().message}", spec.path, ("constraints",)
        )
    return thaw(trials[0].point) if trials else _any_point(spec)


def _any_point(spec: Spec) -> Any:
    return spec.space.sample(np.random.default_rng(0), 1)[0]


def example_command(spec: Spec, point: Mapping[str, Any]) -> list[str]:
    """Return the argument list for a point; what only an evaluation knows is left as it is in the file."""
    if spec.command is None:
        raise SpecError("there is no command in it", spec.path)
    folder = str(spec.folder.resolve())
    return spec.command.fill({"trial": 0, "folder": folder, "spec_folder": folder, **point})


def shell_line(arguments: Sequence[str]) -> str:
    """Return a command line that a shell reads back to these arguments, without control characters in it.

    >>> print(shell_line(["prog", "a b", "\\x1b[31m"]))
    prog 'a b' $'\\x1b[31m'
    """
    return " ".join(
        shlex.quote(argument) if argument.isprintable() else "$'" + _spell_out(argument) + "'"
        for argument in arguments
    )


def _spell_out(text: str) -> str:
    """Return text as bash, zsh and ksh read it between $' and '."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return "".join(
        character if character.isprintable() else "".join(f"\\x{byte:02x}" for byte in character.encode())
        for character in escaped
    )


def execute(spec: Spec, *, has_store: bool, progress: bool, signals: Signals) -> dc.Result:
    """Run a specification to its end and return the result.

    Parameters
    ----------
    spec : Spec
        What to do.
    has_store : bool
        Whether to write the run to its store.
    progress : bool
        Whether to show how far it is.
    signals : Signals
        What ends the run early.
    """
    search = dc.minimize if spec.direction == "minimize" else dc.maximize
    store: dict[str, Any] = {"store": spec.store} if has_store else {}
    where = _objective(spec, has_store, signals)
    for warning in spec.warnings:
        note(f"warning: {warning}")
    with _warning_in_lines(), where as (objective, workers), signals.caught():
        return search(objective, spec.space, **spec.settings, **workers, **store, progress=progress)


class Signals:
    """What Ctrl-C and a request to terminate do.

    Ctrl-C is the business of the run itself. SIGTERM and SIGHUP are passed on to it as two of them, with a
    second in between for whatever it has to finish.

    Attributes
    ----------
    received : int or None
        The first signal that came, of those two.
    """

    def __init__(self) -> None:
        self.received: int | None = None
        self.on_terminate: Callable[[], None] = lambda: None
        self._is_over = threading.Event()
        self._main = threading.main_thread().ident or 0

    @contextmanager
    def caught(self) -> Iterator[None]:
        """Catch signals in the body."""
        numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
        before = {number: signal.signal(number, self._handle) for number in numbers}
        try:
            yield
        finally:
            self._is_over.set()
            for number, handler in before.items():
                signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.received is None:
            self.received = number
            threading.Thread(target=self._interrupt, daemon=True).start()

    def _interrupt(self) -> None:
        self.on_terminate()
        while not self._is_over.is_set():
            signal.pthread_kill(self._main, signal.SIGINT)
            self._is_over.wait(_PATIENCE)


def note(text: str) -> None:
    """Write a line to standard error, whatever has become of it."""
    try:
        print(f"dcmaes: {printable(text)}", file=sys.stderr, flush=True)
    except (OSError, ValueError):
        return


@contextmanager
def _objective(spec: Spec, has_store: bool, signals: Signals) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Give the objective, and the arguments of `minimize` that say where it is evaluated."""
    if spec.command is None:
        arguments: dict[str, Any] = {"workers": spec.workers}
        if spec.timeout is not None:
            arguments["evaluation_timeout"] = spec.timeout
        with _printing_to_stderr():
            yield spec.load_objective(), arguments
        return
    objective = CommandObjective(
        spec.command, spec.folder.resolve(), outputs_folder(spec.store) if has_store else None
    )
    signals.on_terminate = objective.close
    # Threads are enough: each waits for a process of its own.
    with ThreadPoolExecutor(spec.workers, thread_name_prefix="dcmaes-worker") as executor:
        try:
            yield objective, {"executor": executor, "workers": spec.workers}
        finally:
            objective.close()
            executor.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _warning_in_lines() -> Iterator[None]:
    """Show warnings as lines of text, without the code from which they come."""
    before = warnings.showwarning
    warnings.showwarning = lambda message, *_, **__: note(f"warning: {message}")
    try:
        yield
    finally:
        warnings.showwarning = before


@contextmanager
def _printing_to_stderr() -> Iterator[None]:
    """Keep what functions print, here and in worker processes, out of the results on standard output."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def prepare(store: Path, *, is_quiet: bool) -> None:
    """Say that a run is continued, or move aside what an older run of that name left behind."""
    store.parent.mkdir(parents=True, exist_ok=True)
    outputs = outputs_folder(store)
    if store.exists():
        if not is_quiet:
            note(f"continuing the run in {store}")
        return
    if outputs.exists() and any(outputs.iterdir()):
        number = 1
        while (older := outputs.with_name(f"{outputs.name}.{number}")).exists():
            number += 1
        outputs.rename(older)
        note(f"{outputs} is from another run and is now {older}")


def describe_spec(spec: Spec) -> str:
    """Return what a specification says, in some lines."""
    point = example_point(spec)
    size = "infinitely many" if math.isinf(spec.space.size) else f"{spec.space.size:,}"
    budget = spec.settings["budget"]
    lines = [
        f"{spec.path}: {'see the warnings' if spec.warnings else 'good'}",
        *(f"warning     {warning}" for warning in spec.warnings),
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
        lines.append(f"for example {shell_line(example_command(spec, point))}")
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
