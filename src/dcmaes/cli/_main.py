"""The commands."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

import dcmaes as dc
from dcmaes._validation import ArgumentError, check_duration
from dcmaes.cli._answers import (
    ExitCode,
    Failure,
    best_to_dict,
    describe_result,
    describe_state,
    exit_code,
    follow,
    front_to_list,
    read_standing,
    repeat_command,
    reporting,
    result_to_dict,
    status_to_dict,
    to_json,
    write_csv,
    write_json,
)
from dcmaes.cli._toml import SpecError
from dcmaes.progress._display import printable
from dcmaes.strategies import strategy_names

if TYPE_CHECKING:
    from dcmaes.cli._spec import Spec
    from dcmaes.store._run_store import OtherRunError

F = TypeVar("F", bound=Callable[..., Any])

_FILE = click.Path(path_type=Path, dir_okay=False)
_EPILOG = """\b
Exit codes: 0 done; 1 nothing feasible found; 2 wrong usage or specification;
3 the store cannot be used; 130 interrupted; 143 terminated."""


class Duration(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """A length of time on the command line."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return seconds."""
        try:
            return check_duration("it", value)
        except (TypeError, ValueError) as error:
            self.fail(str(error), param, ctx)


def _run_options(command: F) -> F:
    """Add the options of commands that run something."""
    options = [
        click.option("--workers", type=click.IntRange(1), help="Evaluations to keep going at once."),
        click.option("--budget", type=click.IntRange(1), help="Evaluations that may be made in all."),
        click.option("--time-limit", type=Duration(), help="Stop after this time: seconds, 90s, 30m, 1h30m."),
        click.option(
            "--patience", type=click.IntRange(1), help="Stop after so many evaluations without improvement."
        ),
        click.option("-q", "--quiet", is_flag=True, help="Show no progress."),
        click.option("--json", "as_json", is_flag=True, help="Print the result as JSON."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}, epilog=_EPILOG
)
@click.version_option(dc.__version__, prog_name="dcmaes")
def main() -> None:
    """Tune programs and functions over binary, integer, ordinal, categorical and continuous variables.

    Begin with `dcmaes init`, which writes a specification to fill in.
    """


@main.command(short_help="Write an example specification.")
@click.argument("path", type=_FILE, default=Path("dcmaes.toml"))
@click.option("--force", is_flag=True, help="Replace a file that is there.")
def init(path: Path, force: bool) -> None:
    """Write a commented specification to PATH, to be changed to your needs."""
    example = (files("dcmaes.cli") / "example.toml").read_text(encoding="utf-8")
    try:
        with path.open("w" if force else "x", encoding="utf-8") as file:
            file.write(example.replace("@file@", path.name).replace("@stem@", path.stem))
    except FileExistsError:
        raise Failure(f"{path} is there already; --force replaces it", ExitCode.BAD_INPUT) from None
    except OSError as error:
        raise Failure(f"{path} cannot be written: {error.strerror}", ExitCode.BAD_INPUT) from None
    click.echo(f"wrote {path}; now: dcmaes check {path}, then dcmaes minimize {path}")


@main.command(short_help="Look for mistakes in a specification.")
@click.argument("spec", type=_FILE)
@click.option("--try", "is_trial", is_flag=True, help="Also evaluate one point, and show the result.")
def check(spec: Path, is_trial: bool) -> None:
    """Look for mistakes in SPEC without running anything."""
    from dcmaes.cli._execution import check_program, describe_spec, try_once
    from dcmaes.cli._spec import read_spec

    with reporting():
        found = read_spec(spec)
        check_program(found)
        if found.objective is not None:
            found.load_objective()
        say(describe_spec(found))
        if is_trial and not try_once(found, say):
            sys.exit(ExitCode.NO_RESULT)


@main.command(short_help="Run a specification.")
@click.argument("spec", type=_FILE)
@_run_options
@click.option("--seed", type=click.IntRange(0), help="The same seed gives the same points.")
@click.option("--strategy", type=click.Choice(sorted(strategy_names())), help="How to search.")
@click.option("--store", type=_FILE, help="Where to write the run.")
@click.option("--x0", type=_FILE, help="Evaluations to learn from: a CSV file, or the store of another run.")
@click.option("--no-store", is_flag=True, help="Write nothing: a run that ends early is lost.")
def minimize(
    spec: Path,
    workers: int | None,
    store: Path | None,
    no_store: bool,
    x0: Path | None,
    quiet: bool,
    as_json: bool,
    **settings: Any,
) -> None:
    """Run what SPEC says; options come before what is in the file.

    If the run is already in its store, it is continued.
    """
    from dcmaes.cli._execution import override
    from dcmaes.cli._spec import read_spec, start_from

    with reporting():
        found = read_spec(spec)
        try:
            start = None if x0 is None else start_from(x0, found.space, found.several)
        except (TypeError, ValueError) as error:
            raise Failure(f"--x0: {error}", ExitCode.BAD_INPUT) from None
        changed = override(found, workers, store, x0=start, **settings)
        if changed.settings["budget"] is None:
            raise SpecError("budget is missing: say how many evaluations may be made, or use --budget", spec)
        _execute(changed, has_store=not no_store, quiet=quiet, as_json=as_json)


@main.command(short_help="Go on with a run that stopped.")
@click.argument("store", type=_FILE)
@click.option("--spec", type=_FILE, help="The specification; by default the one beside STORE that names it.")
@_run_options
def resume(
    store: Path, spec: Path | None, workers: int | None, quiet: bool, as_json: bool, **limits: Any
) -> None:
    """Go on with the run in STORE where it stopped: same seed, strategy and limits.

    Evaluations that were under way are made again first.
    """
    from dcmaes.cli._execution import override
    from dcmaes.cli._spec import find_spec, find_store
    from dcmaes.store._reader import Reader
    from dcmaes.store._restoring import arguments_of

    with reporting():
        path = find_store(store)
        with Reader.opened(path) as reader:
            stored = arguments_of(reader, None, None, limits, has_constraints=True)
        found = find_spec(store, spec)
        changed = override(
            found, workers, path, **{name: stored[name] for name in (*limits, "seed", "strategy", "x0")}
        )
        _execute(changed, has_store=True, quiet=quiet, as_json=as_json)


@main.command(short_help="Show how far a run is, live.")
@click.argument("store", type=_FILE)
@click.option("--once", is_flag=True, help="Print the current state and exit.")
@click.option("--json", "as_json", is_flag=True, help="The same as JSON.")
def status(store: Path, once: bool, as_json: bool) -> None:
    """Show the progress of the run in STORE; live in a terminal while it is running, until Ctrl-C."""
    from dcmaes.cli._spec import find_store
    from dcmaes.progress._display import describe
    from dcmaes.store import read

    with reporting():
        path = find_store(store)
        run = read(path)
        if as_json:
            click.echo(to_json(status_to_dict(run)))
        elif run.is_running and sys.stdout.isatty() and not once:
            with contextlib.suppress(KeyboardInterrupt):
                follow(path)
        else:
            say(f"{path}: {describe_state(run)}")
            say(describe(read_standing(run)).strip())


@main.command(short_help="Print the best point as JSON.")
@click.argument("store", type=_FILE)
@click.option("--value", "form", flag_value="value", help="Print the value only.")
@click.option("--point", "form", flag_value="point", help="Print the point only, as JSON.")
@click.option("--front", "form", flag_value="front", help="Print all points of the front, as JSON.")
@click.option("--command", "form", flag_value="command", help="Print the command line with the best point.")
@click.option("--spec", type=_FILE, help="For --command: the specification, if it is not beside STORE.")
def best(store: Path, form: str | None, spec: Path | None) -> None:
    """Print the best point of the run in STORE as JSON; with several objectives, the knee of the front."""
    from dcmaes.cli._execution import example_command, shell_line
    from dcmaes.cli._spec import find_spec, find_store
    from dcmaes.store import read

    with reporting():
        result = read(find_store(store)).result()
        found = best_to_dict(result)
        if found is None:
            raise Failure(f"{store}: no evaluation gave a value yet", ExitCode.NO_RESULT)
        if form == "front":
            click.echo(to_json(front_to_list(result)))
        elif form == "command":
            click.echo(shell_line(example_command(find_spec(store, spec), result.x)))
        else:
            one = result.fun if not isinstance(result.fun, tuple) else found["value"]
            click.echo(repr(one) if form == "value" else to_json(found["point"] if form else found))
        if not result.success:
            sys.exit(ExitCode.NO_RESULT)


@main.command(short_help="Write all evaluations to CSV, JSON or Parquet.")
@click.argument("store", type=_FILE)
@click.option(
    "--csv", "csv_path", type=click.Path(path_type=Path, allow_dash=True), help="- is standard output."
)
@click.option(
    "--json", "json_path", type=click.Path(path_type=Path, allow_dash=True), help="- is standard output."
)
@click.option("--parquet", "parquet_path", type=_FILE, help="Needs pip install dcmaes[parquet].")
def export(store: Path, csv_path: Path | None, json_path: Path | None, parquet_path: Path | None) -> None:
    """Write every evaluation of the run in STORE to files."""
    from dcmaes.cli._spec import find_store
    from dcmaes.store import read

    if csv_path is None and json_path is None and parquet_path is None:
        raise click.UsageError("say where to: --csv PATH, --json PATH or --parquet PATH")
    with reporting():
        run = read(find_store(store))
    try:
        if csv_path is not None:
            with click.open_file(str(csv_path), "w", encoding="utf-8") as file:
                write_csv(run.history, file)
        if json_path is not None:
            with click.open_file(str(json_path), "w", encoding="utf-8") as file:
                write_json(run.history, file)
        if parquet_path is not None:
            run.history.to_frame().to_parquet(parquet_path)
    except ImportError as error:
        raise Failure(f"{error}; pip install dcmaes[parquet]", ExitCode.BAD_INPUT) from None
    except BrokenPipeError:
        raise  # the reader of `dcmaes export ... | head` has what it wanted
    except OSError as error:
        raise Failure(f"{error.filename} cannot be written: {error.strerror}", ExitCode.BAD_INPUT) from None


@main.command(short_help="Write an HTML report with pictures.")
@click.argument("store", type=_FILE)
@click.option("--html", "path", type=_FILE, help="Where to write it; by default beside STORE.")
@click.option("--title", help="What the report is called.")
def report(store: Path, path: Path | None, title: str | None) -> None:
    """Write a report of the run in STORE: one HTML file with pictures and all evaluations."""
    from dcmaes.cli._command import read_outputs
    from dcmaes.cli._spec import find_store
    from dcmaes.report import write_html
    from dcmaes.store import read

    with reporting():
        found = find_store(store)
        path = path or found.with_suffix(".html")
        try:
            run = read(found)
            write_html(
                run,
                path,
                title=title or found.name,
                outputs=read_outputs(found),
                command=repeat_command(found, run),
            )
        except OSError as error:
            raise Failure(f"{path} cannot be written: {error.strerror}", ExitCode.BAD_INPUT) from None
        click.echo(f"wrote {path}")


_PASSED_ON = {"ignore_unknown_options": True, "allow_interspersed_args": False, "help_option_names": []}


@main.command(context_settings=_PASSED_ON, hidden=True, add_help_option=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def bench(arguments: tuple[str, ...]) -> None:
    """Say where the benchmark is."""
    raise Failure(
        "the benchmark is not part of the installed package; in a checkout, run: make bench",
        ExitCode.BAD_INPUT,
    )


@main.command(context_settings=_PASSED_ON, short_help="Show a search at work.", add_help_option=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def demo(arguments: tuple[str, ...]) -> None:
    """Show a search at work: the design of a heat exchanger."""
    from dcmaes.demo import main as run

    sys.exit(run(arguments))


def _execute(spec: Spec, *, has_store: bool, quiet: bool, as_json: bool) -> NoReturn:
    from dcmaes.cli._execution import Signals, check_program, execute, prepare
    from dcmaes.store._run_store import OtherRunError

    check_program(spec)
    if has_store:
        try:
            prepare(spec.store, is_quiet=quiet)
        except OSError as error:
            raise Failure(f"{error.filename}: {error.strerror}", ExitCode.BAD_STORE) from None
    signals = Signals()
    store = spec.store if has_store else None
    try:
        result = execute(spec, has_store=has_store, progress=not quiet, signals=signals)
    except KeyboardInterrupt:
        result = _interrupted(store)
    except dc.EvaluationError as error:
        if isinstance(error.__cause__, dc.store.StoreError):
            raise error.__cause__ from None
        click.echo(printable(f"{_where(error, spec)}Error: {error}"), err=True)
        result = error.result
    except OtherRunError as error:
        raise Failure(_describe_other_run(error, spec), ExitCode.BAD_STORE) from error
    except ArgumentError:
        raise
    except ValueError as error:  # such as a strategy that does not take such a space
        raise Failure(f"{spec.path}: {error}", ExitCode.BAD_INPUT) from error
    say(to_json(result_to_dict(result, store)) if as_json else describe_result(result, store))
    sys.exit(exit_code(result) if signals.received is None else ExitCode.TERMINATED)


def _where(error: dc.EvaluationError, spec: Spec) -> str:
    """Return the traceback of a function, or what a program printed."""
    text = error.traceback or ""
    if spec.command is None:
        return text
    _, mark, output = text.partition("\n--- ")
    return f"--- {output}" if mark else ""


def say(text: str) -> None:
    """Write to standard output what people read: no control character in it reaches the terminal."""
    click.echo(printable(text))


def _describe_other_run(error: OtherRunError, spec: Spec) -> str:
    """Say how the run of a specification differs from the one in its store, and what can be done."""
    from dcmaes.cli._execution import shell_line

    number = 2
    while (free := error.path.with_stem(f"{error.path.stem}-{number}")).exists():
        number += 1
    options = click.get_current_context().params
    has_options = any(options.get(name) is not None for name in ("seed", "strategy", "x0"))
    given = f"in {spec.path}{' and the options' if has_options else ''}"
    found = "; ".join(error.differences(given, "in the store"))
    return (
        f"the store {error.path} holds another run: {found}. Undo the change, or begin a new run: "
        f"{shell_line(['dcmaes', 'minimize', str(spec.path), '--store', str(free)])}"
    )


def _interrupted(store: Path | None) -> dc.Result:
    """Return what is known of a run that was ended at once: what its store has."""
    if store is None or not store.exists():
        raise Failure("interrupted, and nothing was stored", ExitCode.INTERRUPTED)
    return dc.store.read(store).result()
