"""The way of one evaluation through the library: files and calls of one ask and tell, and of a short run.

Counts the functions of `dcmaes` that are entered (by `sys.setprofile`), and the files they are in, after all
imports. An ask is for as many points as the strategy likes. The space has variables of all kinds. Which files
it takes depends on whose turn it is, so all asks and tells from evaluation 40 on are counted; the table has
the one that took most files.

    python benchmarks/walk.py > benchmarks/results/walk.txt
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

import dcmaes as dc

HOME = Path(dc.__file__).parent
SPACE = dc.Space(
    {
        "layers": dc.Integer(1, 8),
        "width": dc.Integer(16, 4096, log=True),
        "kind": dc.Categorical(["a", "b", "c"]),
        "norm": dc.Binary(),
        "batch": dc.Ordinal([16, 32, 64, 128]),
        "rate": dc.Float(1e-5, 1e-1, log=True),
    }
)
BEGINNING, BUDGET = 40, 100


def value(point):
    return abs(point["layers"] - 3) + (point["kind"] != "b") + point["norm"] + 1e3 * abs(point["rate"] - 1e-3)


class Walk:
    """Calls of functions of the library, by file."""

    def __init__(self):
        self.calls = Counter()

    def __enter__(self):
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_):
        sys.setprofile(None)

    def _note(self, frame, event, _):
        if event == "call":
            self.calls[frame.f_code.co_filename] += 1

    def by_file(self):
        own = Counter()
        for name, n in self.calls.items():
            path = Path(name)
            if path.is_relative_to(HOME):
                own[path.relative_to(HOME).as_posix()] += n
        return own


def steps(strategy):
    """Count the files of each ask and tell in the second part of a run; the fewest files first."""
    optimizer = dc.Optimizer(SPACE, budget=BUDGET, seed=0, strategy=strategy)

    def step():
        trials = optimizer.ask()
        optimizer.tell(trials, [value(trial.point) for trial in trials])

    found = []
    while optimizer.should_stop() is None:
        with Walk() as walk:
            step()
        if optimizer.n_evaluations > BEGINNING:
            found.append(walk.by_file())
    return sorted(found, key=len)


def short_run(strategy):
    dc.minimize(value, SPACE, budget=BUDGET, seed=1, strategy=strategy)  # imports, and what is made once
    with Walk() as walk:
        dc.minimize(value, SPACE, budget=BUDGET, seed=0, strategy=strategy)
    return walk.by_file()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--strategy", default="auto")
    strategy = parser.parse_args().strategy
    modules = sum(1 for _ in HOME.rglob("*.py"))
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in HOME.rglob("*.py"))
    print(f"strategy {strategy}; {modules} modules, {lines:,} lines in all")
    found, run = steps(strategy), short_run(strategy)
    least, middle, step = found[0], found[len(found) // 2], found[-1]
    print(
        f"one ask and tell after {BEGINNING} evaluations: {len(least)} to {len(step)} files, "
        f"median {len(middle)} ({len(found)} of them)"
    )
    print(f"a run of {BUDGET} evaluations: {len(run)} files, {run.total():,} calls")
    print("\n| file | one ask and tell | run |\n|---|---|---|")
    for name, n in run.most_common():
        print(f"| {name} | {step[name] or ''} | {n:,} |")


if __name__ == "__main__":
    main()
