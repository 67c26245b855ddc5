"""Finding the store and the specification that belong together."""

from __future__ import annotations

from pathlib import Path

from dcmaes.cli._errors import SpecError
from dcmaes.cli._spec import Spec, read_spec


def find_store(target: Path) -> Path:
    """Return the store that `target` is, or that the specification `target` names."""
    return read_spec(target).store if target.suffix == ".toml" else target


def find_spec(target: Path, spec: Path | None) -> Spec:
    """Return the specification of a run.

    Parameters
    ----------
    target : Path
        A specification, or a store: then the one specification beside it that names it.
    spec : Path or None
        Where it is, if that was said.

    Raises
    ------
    SpecError
        If there is none, or more than one. A store holds no code; what is run is always in a file of its own.
    """
    if spec is not None or target.suffix == ".toml":
        return read_spec(spec or target)
    found = [path for path in sorted(target.absolute().parent.glob("*.toml")) if _names(path, target)]
    if len(found) == 1:
        return read_spec(found[0])
    if found:
        listed = ", ".join(path.name for path in found)
        raise SpecError(f"more than one specification names it ({listed}); say which with --spec", target)
    raise SpecError("no specification beside it names it; say where it is with --spec", target)


def _names(path: Path, store: Path) -> bool:
    try:
        return read_spec(path).store.resolve() == store.resolve()
    except SpecError:
        return False
