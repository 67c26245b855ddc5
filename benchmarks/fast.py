"""What the extra `fast` saves: own time with and without compiled loops, side by side.

    OMP_NUM_THREADS=1 python benchmarks/fast.py > benchmarks/results/fast.txt

First, what a run spends per evaluation (the objectives take microseconds) and a draw per point, once
everything is loaded: in one process, plain and compiled in turns, the least of some repeats. Then runs in
processes of their own, with `DCMAES_FAST=0` and without: what loading costs is in there. Last, what it costs:
to compile once, and to load what was compiled in every process that runs long enough.

Times are user time: what the system needs to hand out memory varies by more than is measured.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np

import dcmaes as dc
from dcmaes._compiled import Loop
from dcmaes.distributions import Ising, _heat_bath
from dcmaes.strategies.ising import _search

LOOPS = [(_search, "_STEP"), (_search, "_WALK_BITS"), (_heat_bath, "_REDRAW")]


def bits(d):
    matrix = np.random.default_rng(0).normal(size=(d, d))
    return dc.Space.binary(d), lambda x: float(x @ matrix @ x)


def integers(d):
    target, factors = np.random.default_rng(0).integers(1, 1000, d), 10 ** np.linspace(0, 6, d)
    return dc.Space.integers(d, 0, 1000), lambda x: float(factors @ (x - target) ** 2)


def choices(d):
    table = np.random.default_rng(0).normal(size=(d, d, 5, 5))
    space = dc.Space({f"x{i}": dc.Categorical(range(5)) for i in range(d)})
    sites = np.arange(d)

    def objective(point):
        x = np.array(list(point.values()))
        return float(table[sites[:, None], sites, x[:, None], x].sum())

    return space, objective


def knapsack(d):
    rng = np.random.default_rng(0)
    weight, worth = rng.integers(10, 100, d), rng.integers(10, 100, d)
    limit = weight.sum() / 3

    def objective(x):
        return dc.Outcome(-float(worth @ x), violation=max(0.0, float(weight @ x - limit)))

    return dc.Space.binary(d), objective


PROBLEMS = {
    "64 bits": (bits, 64, 1500),
    "200 bits": (bits, 200, 1000),
    "50 bits and a limit": (knapsack, 50, 600),
    "20 integers": (integers, 20, 1000),
    "20 choices of 5": (choices, 20, 1000),
}


def user_time():
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


def use(version, loops):
    """Have all loops compiled, or all plain, from now on."""
    for (module, name), loop in zip(LOOPS, loops, strict=True):
        wanted = loop._load() if version == "compiled" else loop._plain
        setattr(module, name, Loop(wanted, loop._load, n_plain=10**12))


def run(problem, strategy, budget):
    """Return the user time of a run in seconds, and what it found."""
    make, d, _ = PROBLEMS[problem]
    space, objective = make(d)
    begun = user_time()
    result = dc.minimize(objective, space, budget=budget, seed=1, strategy=strategy)
    return user_time() - begun, result.history.values


def draw(dimension, size):
    """Return the user time of drawing points of an Ising model in seconds, and the points."""
    rng = np.random.default_rng(0)
    half = np.triu(rng.normal(size=(dimension, dimension)), 1) / np.sqrt(dimension)
    law = Ising(rng.normal(size=dimension), half + half.T)
    begun = user_time()
    points = law.simulate(size, rng).samples
    return user_time() - begun, points


def compared(measure, n_repeats):
    """Return the least time of either version; they have to find the same."""
    loops = [getattr(module, name) for module, name in LOOPS]
    seconds, found = {"plain": np.inf, "compiled": np.inf}, []
    for _ in range(n_repeats):
        for version in seconds:
            use(version, loops)
            spent, outcome = measure()
            seconds[version] = min(seconds[version], spent)
            found.append(outcome)
    for (module, name), loop in zip(LOOPS, loops, strict=True):
        setattr(module, name, loop)
    if not all(np.array_equal(found[0], other, equal_nan=True) for other in found):
        raise AssertionError("the versions differ")
    return seconds["plain"], seconds["compiled"]


def in_its_own_process(arguments, **environment):
    """Return the seconds that this script prints in a new process."""
    command = [sys.executable, __file__, *arguments]
    done = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def load():
    """Return the seconds it takes to have all loops compiled."""
    begun = time.perf_counter()
    for module, name in LOOPS:
        getattr(module, name)._load()
    return time.perf_counter() - begun


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--load", action="store_true", help="print how long that takes, and nothing else")
    parser.add_argument("--run", nargs=2, metavar=("PROBLEM", "BUDGET"), help="likewise, of a run")
    arguments = parser.parse_args()
    if arguments.load:
        print(load())
    elif arguments.run:
        print(run(arguments.run[0], "ising", int(arguments.run[1]))[0])
    else:
        report(arguments.repeats)


def report(n_repeats):
    print("| loaded already | plain (ms) | compiled (ms) | ratio |\n|---|---|---|---|")
    for problem, (_, _, budget) in PROBLEMS.items():
        for strategy in ("ising", "auto"):
            times = compared(lambda p=problem, s=strategy, b=budget: run(p, s, b), n_repeats)
            plain, compiled = (1e3 * seconds / budget for seconds in times)
            name = f"`{strategy}`, {problem}, {budget:,} evaluations"
            print(f"| {name} | {plain:.2f} | {compiled:.2f} | {compiled / plain:.2f} |", flush=True)
    for dimension, size in ((50, 100), (50, 1000), (200, 1000)):
        times = compared(lambda d=dimension, n=size: draw(d, n), n_repeats)
        plain, compiled = (1e3 * seconds / size for seconds in times)
        name = f"`Ising`, {dimension} bits, {size:,} points"
        print(f"| {name} | {plain:.3f} | {compiled:.3f} | {compiled / plain:.2f} |", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        compiling = in_its_own_process(["--load"], NUMBA_CACHE_DIR=folder)
        loading = min(in_its_own_process(["--load"], NUMBA_CACHE_DIR=folder) for _ in range(n_repeats))
        print("\n| process of its own | plain (s) | with the extra (s) | ratio |\n|---|---|---|---|")
        for problem, budget in (
            ("64 bits", 500),
            ("64 bits", 3000),
            ("20 integers", 500),
            ("20 integers", 3000),
        ):
            plain, fast = np.inf, np.inf
            for _ in range(n_repeats):
                case = ["--run", problem, str(budget)]
                plain = min(plain, in_its_own_process(case, NUMBA_CACHE_DIR=folder, DCMAES_FAST="0"))
                fast = min(fast, in_its_own_process(case, NUMBA_CACHE_DIR=folder, DCMAES_FAST="1"))
            name = f"`ising`, {problem}, {budget:,} evaluations"
            print(f"| {name} | {plain:.2f} | {fast:.2f} | {fast / plain:.2f} |", flush=True)
    print("\n| what it costs | seconds |\n|---|---|")
    print(f"| to compile, once | {compiling:.1f} |")
    print(f"| to load, in a process | {loading:.1f} |")


if __name__ == "__main__":
    main()
