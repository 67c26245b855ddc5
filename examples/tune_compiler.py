"""Compiler flags: which options of gcc make the machine code of a program smallest?

The optimization level is a categorical variable; 21 options that change the code but not what it computes are
switches. An evaluation compiles tune-c-program/anneal.c and measures the size of its code. It waits for
another program, so threads are enough to run two at a time.
"""

import shutil
import subprocess
import tempfile
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import dcmaes as dc

SOURCE = Path(__file__).parent / "tune-c-program" / "anneal.c"
SWITCHES = [
    "align-functions",
    "align-loops",
    "asynchronous-unwind-tables",
    "caller-saves",
    "code-hoisting",
    "crossjumping",
    "gcse",
    "if-conversion",
    "inline-functions-called-once",
    "inline-small-functions",
    "ivopts",
    "omit-frame-pointer",
    "optimize-sibling-calls",
    "reorder-blocks",
    "schedule-insns2",
    "shrink-wrap",
    "tree-ch",
    "tree-dominator-opts",
    "tree-pre",
    "tree-vectorize",
    "unroll-loops",
]
space = dc.Space(
    {"level": dc.Categorical(["-O1", "-O2", "-O3", "-Os"])} | {name: dc.Binary() for name in SWITCHES}
)


def flags(point):
    """Return the options of a point, as on the command line."""
    switches = [f"-f{'' if point[name] else 'no-'}{name}" for name in SWITCHES]
    return [point["level"], *switches]


def code_size(options):
    """Return the size of the compiled program's code in bytes."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "anneal.o"
        subprocess.run(["gcc", *options, "-c", SOURCE, "-o", program], check=True, capture_output=True)
        sizes = subprocess.run(["size", program], check=True, capture_output=True, text=True)
    return int(sizes.stdout.splitlines()[1].split()[0])


def search():
    if shutil.which("gcc") is None or shutil.which("size") is None:
        raise SystemExit("this example needs gcc and binutils")
    with ThreadPoolExecutor(2) as pool:
        return dc.minimize(
            lambda point: code_size(flags(point)), space, budget=120, seed=0, executor=pool, batch_size=4
        )


def describe(result):
    print(f"-O2:   {code_size(['-O2'])} bytes")
    print(f"-Os:   {code_size(['-Os'])} bytes")
    print(f"found: {result.fun:.0f} bytes with")
    text = " ".join(flags(result.x))
    print(textwrap.indent(textwrap.fill(text, 80, break_on_hyphens=False), "  "))


if __name__ == "__main__":
    describe(search())
