"""Where the output of programs is kept: a folder beside the store, with a folder for each trial."""

from __future__ import annotations

from pathlib import Path

# A report has all of it in one file: of each stream only the end, where the reason of a failure is.
_N_SHOWN = 4000


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
    return f"--- {name} ---\n{text[-_N_SHOWN:]}" if text else ""
