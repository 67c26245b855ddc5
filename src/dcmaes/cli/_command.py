"""Programs as objectives, and where their output is kept."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dcmaes.cli._program import (
    Finished,
    JsonKey,
    LastNumber,
    NoValueError,
    Printed,
    ProcessGroups,
    ValueReader,
)
from dcmaes.cli._template import Template, fill_arguments, show_value
from dcmaes.optimizer import Outcome, Trial

KEEP = ("all", "failed", "none")
OUTPUT_LIMIT = 1_000_000
_N_SHOWN = 300
# Kept with a failure, and shown in a report: of each stream the end, where the reason of a failure is.
_N_END = 4000


class CommandError(RuntimeError):
    """A program that ended badly, or without a value."""


@dataclass(frozen=True)
class Command:
    """How to run a program, and how to read its value.

    Attributes
    ----------
    arguments : tuple of Template
        Program and arguments; there is no shell.
    value, violation : ValueReader
        Where the numbers come from; without `violation` every value is feasible.
    objectives : mapping of str to ValueReader
        With several objectives, where the value of each comes from, in the place of `value`.
    folder : Path
        Where it runs, unless each evaluation has a folder of its own.
    has_own_folder : bool
        Whether each evaluation runs in a new folder.
    environment : mapping of str to Template
        Variables to set beside those inherited.
    timeout : float or None
        Seconds for one attempt.
    n_retries : int
        How often to try again after a failure.
    success_codes, infeasible_codes : tuples of int
        Exit codes that say that there is a value, and that the point is not feasible.
    keep : {"all", "failed", "none"}
        Of which evaluations the output is kept.
    output_limit : int
        How many bytes of standard output and of standard error are kept, beginning and end.
    """

    arguments: tuple[Template, ...]
    folder: Path
    value: ValueReader = field(default_factory=LastNumber)
    violation: ValueReader | None = None
    has_own_folder: bool = False
    environment: Mapping[str, Template] = field(default_factory=dict)
    timeout: float | None = None
    n_retries: int = 0
    success_codes: tuple[int, ...] = (0,)
    infeasible_codes: tuple[int, ...] = ()
    keep: str = "all"
    output_limit: int = OUTPUT_LIMIT
    objectives: Mapping[str, ValueReader] = field(default_factory=dict)

    @property
    def readers(self) -> dict[tuple[str, ...], ValueReader]:
        """Where numbers come from, by their key in a specification."""
        found: dict[tuple[str, ...], ValueReader] = {
            ("objectives", name): reader for name, reader in self.objectives.items()
        }
        if not found:
            found["value",] = self.value
        if self.violation is not None:
            found["violation",] = self.violation
        return found

    @property
    def shared_file(self) -> tuple[str, ...] | None:
        """The key of a number in a file that evaluations at the same time would share, or None."""
        for key, reader in self.readers.items():
            if not self.has_own_folder and isinstance(reader, JsonKey) and not reader.is_apart:
                return key
        return None

    @property
    def names(self) -> set[str]:
        """The names in its placeholders: of variables, and what else is filled in."""
        files = [reader.file for reader in self.readers.values() if isinstance(reader, JsonKey)]
        templates = (*self.arguments, *self.environment.values(), *files)
        return {placeholder.name for template in templates for placeholder in template.placeholders}

    def fill(self, values: Mapping[str, Any]) -> list[str]:
        """Return the argument list for a point; a relative path of the program counts from `folder`."""
        arguments = fill_arguments(self.arguments, values)
        program = arguments[0]
        if os.sep in program and not os.path.isabs(program):
            arguments[0] = str(self.folder / program)
        return arguments


class CommandObjective:
    """Evaluate trials by running a program; may be called from several threads.

    Parameters
    ----------
    command : Command
        What to run.
    spec_folder : Path
        Folder of the specification, for the placeholder ``{spec_folder}``.
    outputs : Path or None
        Where output is kept, in a folder for each trial; None keeps nothing.
    """

    takes_trial = True

    def __init__(self, command: Command, spec_folder: Path, outputs: Path | None) -> None:
        self.command = command
        self._spec_folder = spec_folder
        self._outputs = None if command.keep == "none" else outputs
        self._groups = ProcessGroups()
        self._has_warned = False

    def __call__(self, trial: Trial) -> Any:
        """Return the value, several as a dict, or raise `CommandError` with the last reason."""
        n_attempts = 1 + self.command.n_retries
        for attempt in range(1, n_attempts):
            with contextlib.suppress(CommandError):
                return self._attempt(trial, attempt)
        try:
            return self._attempt(trial, n_attempts)
        except CommandError as error:
            if n_attempts > 1:
                error.args = (f"{error} (attempt {n_attempts} of {n_attempts})",)
            raise

    def close(self) -> None:
        """End every program that is running, at once, and start no other."""
        self._groups.close()

    def _attempt(self, trial: Trial, number: int) -> Any:
        with self._folders(trial.id) as (kept, folder):
            attempt = _Attempt(self.command, self._groups, trial, folder, self._spec_folder)
            try:
                value = attempt.run()
            except (CommandError, NoValueError) as error:
                self._keep(attempt, kept, None, str(error), number)
                raise attempt.failure(str(error)) from None
            if self.command.keep == "all":
                self._keep(attempt, kept, value, None, number)
            elif kept is not None:
                shutil.rmtree(kept, ignore_errors=True)
            return value

    def _keep(self, attempt: _Attempt, kept: Path | None, *what: Any) -> None:
        if kept is not None:
            try:
                attempt.write(kept, *what)
            except OSError as error:
                self._warn(error)

    @contextmanager
    def _folders(self, trial_id: int) -> Iterator[tuple[Path | None, Path]]:
        """Give the folder to keep output in, if any, and the folder to run in, new where it should be."""
        kept = self._make_folder(trial_id)
        if not self.command.has_own_folder:
            yield kept, self.command.folder
        elif kept is not None:
            folder = kept / "files"
            folder.mkdir()
            yield kept, folder
        else:
            with tempfile.TemporaryDirectory(prefix="dcmaes-", ignore_cleanup_errors=True) as name:
                yield None, Path(name)

    def _make_folder(self, trial_id: int) -> Path | None:
        """Return a new folder for what a trial prints; None if nothing is to be kept, or can be."""
        if self._outputs is None:
            return None
        kept = output_folder(self._outputs, trial_id)
        try:
            shutil.rmtree(kept, ignore_errors=True)
            kept.mkdir(parents=True)
        except OSError as error:
            self._warn(error)
            return None
        return kept

    def _warn(self, error: OSError) -> None:
        """Say once that output is lost; the value of an evaluation is worth more than what was printed."""
        if not self._has_warned:
            self._has_warned = True
            text = f"output is not kept: {error.filename}: {error.strerror}"
            warnings.warn(text, RuntimeWarning, stacklevel=2)


class _Attempt:
    """One attempt to evaluate one trial."""

    def __init__(
        self, command: Command, groups: ProcessGroups, trial: Trial, folder: Path, spec_folder: Path
    ) -> None:
        self._command = command
        self._groups = groups
        self._folder = folder
        self._point = dict(trial.point)
        self._values = {
            **self._point,
            "trial": trial.id,
            "folder": str(folder),
            "spec_folder": str(spec_folder),
        }
        self._arguments = command.fill(self._values)
        self._finished: Finished | None = None

    def run(self) -> Any:
        command = self._command
        before = self._file_states()
        try:
            finished = self._groups.run(
                self._arguments, self._folder, self._environment(), command.timeout, command.output_limit
            )
        except OSError as error:
            raise CommandError(f"{self._arguments[0]!r} cannot be run: {error.strerror}") from None
        self._finished = finished
        if finished.is_late:
            raise CommandError(f"timeout after {command.timeout:g} s")
        if finished.code in command.infeasible_codes:
            return Outcome(None, 1.0)
        if finished.code not in command.success_codes:
            raise CommandError(f"{_describe_code(finished.code)}{_last_words(finished)}")
        found = {
            key: reader.read(
                Printed(finished.stdout, finished.stderr, self._folder, before.get(key)), self._values
            )
            for key, reader in command.readers.items()
        }
        value: Any = found.get(("value",))
        if command.objectives:
            value = {name: found["objectives", name] for name in command.objectives}
        return value if command.violation is None else Outcome(value, found["violation",])

    def failure(self, reason: str) -> CommandError:
        """Return the error to raise, with the end of what was printed, which is kept where errors are."""
        error = CommandError(reason)
        if self._finished is not None:
            for name, text in (("stdout", self._finished.stdout), ("stderr", self._finished.stderr)):
                if text.strip():
                    error.add_note(f"--- {name} ---\n{text[-_N_END:].rstrip()}")
        return error

    def write(self, kept: Path, told: Any, reason: str | None, n: int) -> None:
        """Keep what the program printed in its `n`-th attempt, and what was run."""
        finished = self._finished
        record = {
            "command": self._arguments,
            "point": self._point,
            "exit_code": None if finished is None else finished.code,
            "attempt": n,
            "value": told.value if isinstance(told, Outcome) else told,
            "violation": told.violation if isinstance(told, Outcome) else 0.0,
            "reason": reason,
        }
        text = json.dumps(record, indent=1, default=str)
        (kept / "evaluation.json").write_text(f"{text}\n", encoding="utf-8")
        if finished is not None:
            for name, printed in (("stdout.txt", finished.stdout), ("stderr.txt", finished.stderr)):
                if printed:
                    (kept / name).write_text(printed, encoding="utf-8")

    def _file_states(self) -> dict[tuple[str, ...], tuple[int, int, int] | None]:
        return {
            key: reader.state(self._folder, self._values)
            for key, reader in self._command.readers.items()
            if isinstance(reader, JsonKey)
        }

    def _environment(self) -> dict[str, str]:
        own = {
            "DCMAES_TRIAL": str(self._values["trial"]),
            "DCMAES_FOLDER": str(self._values["folder"]),
            "DCMAES_SPEC_FOLDER": str(self._values["spec_folder"]),
            "DCMAES_POINT": json.dumps(self._point, default=str),
        }
        variables = {environment_name(name): show_value(value) for name, value in self._point.items()}
        asked = {
            name: template.fill(self._values)
            for name, template in self._command.environment.items()
            if template.can_fill(self._values)
        }
        return {**os.environ, **own, **variables, **asked}


def environment_name(name: str) -> str:
    """Return the environment variable in which a program finds the value of a variable.

    >>> environment_name("learning-rate")
    'DCMAES_VAR_learning_rate'
    """
    return "DCMAES_VAR_" + name.replace("-", "_")


def _describe_code(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"


def _last_words(finished: Finished) -> str:
    lines = (finished.stderr.strip() or finished.stdout.strip()).splitlines()
    return f": {lines[-1][:_N_SHOWN]}" if lines else ""


def outputs_folder(store: Path) -> Path:
    """Return the folder beside a store that has what programs printed.

    >>> outputs_folder(Path("runs/tune.db")).as_posix()
    'runs/tune.db.outputs'
    """
    return store.with_name(f"{store.name}.outputs")


def output_folder(outputs: Path, trial_id: int) -> Path:
    """Return the folder that has what a trial printed.

    >>> output_folder(Path("run.db.outputs"), 12).as_posix()
    'run.db.outputs/000012'
    """
    return outputs / f"{trial_id:06d}"


def read_outputs(store: Path) -> dict[int, str]:
    """Return the end of what each trial of a stored run printed, by its number."""
    found = {}
    outputs = outputs_folder(store)
    for folder in sorted(outputs.iterdir()) if outputs.is_dir() else ():
        if folder.name.isdigit():
            texts = [_read_end(folder / f"{name}.txt", name) for name in ("stdout", "stderr")]
            text = "\n".join(text for text in texts if text)
            if text:
                found[int(folder.name)] = text
    return found


def _read_end(path: Path, name: str) -> str:
    try:
        text = path.read_text(encoding="utf-8", errors="replace").rstrip()
    except OSError:
        return ""
    return f"--- {name} ---\n{text[-_N_END:]}" if text else ""
