"""Carrying out a specification."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import dcmaes as dc
from dcmaes.cli._command import CommandObjective
from dcmaes.cli._command_spec import describe_sharing
from dcmaes.cli._errors import SpecError
from dcmaes.cli._outputs import outputs_folder
from dcmaes.cli._spec import Spec

_PATIENCE = 1.0


def override(spec: Spec, workers: int | None, store: Path | None, **settings: Any) -> Spec:
    """Return the specification with what the command line says in place of what the file says."""
    changed = {name: value for name, value in settings.items() if value is not None}
    spec = replace(spec, settings={**spec.settings, **changed})
    if workers is not None:
        if workers > 1 and spec.command is not None and spec.command.shared_file is not None:
            raise SpecError(describe_sharing(workers), spec.path, (spec.command.shared_file,))
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
    program = example_command(spec, example_point(spec))[0]
    if shutil.which(program) is None:
        raise SpecError(
            f"the program {program!r} is not there, or cannot be executed", spec.path, ("command",)
        )


def example_point(spec: Spec, seed: int = 0) -> Any:
    """Return a point of the space that satisfies the constraints, if one is found soon."""
    import numpy as np

    points = spec.space.sample(np.random.default_rng(seed), 1000)
    return next((point for point in points if _is_allowed(spec, point)), points[0])


def _is_allowed(spec: Spec, point: Any) -> bool:
    try:
        return all(constraint(point.copy()) <= 0 for constraint in spec.settings["constraints"])
    except Exception:  # a run says it, with the point
        return False


def example_command(spec: Spec, point: Mapping[str, Any]) -> list[str]:
    """Return the argument list for a point; what only an evaluation knows is left as it is in the file."""
    if spec.command is None:
        raise SpecError("there is no command in it", spec.path)
    return spec.command.fill({**_any_values(spec), **point})


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
        print(f"dcmaes: {text}", file=sys.stderr, flush=True)
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


def _any_values(spec: Spec) -> dict[str, Any]:
    """Return a value for every placeholder."""
    folder = spec.folder.resolve()
    return {"trial": 0, "folder": str(folder), "spec_folder": str(folder)}


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
