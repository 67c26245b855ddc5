"""What parts of the `ising` strategy are worth: evaluations to the optimum with one of them changed.

Run `python benchmarks/ising_ablation.py [n_seeds]`; results/ising_ablation.txt has what it printed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import dcmaes as dc
from dcmaes.strategies import IsingSearch
from dcmaes.strategies.ising import _proposals, _relevance, _state, _strategy, _update

# The changes, each a list of (module, name, value).
CHANGES: dict[str, list[tuple[Any, str, Any]]] = {
    "as it is": [],
    "one share of low values, 0.3": [(_update, "_judged_share", lambda state: state)],
    "all shares also with choices": [(_update, "LARGEST_CHOICE_SHARE", 3)],
    "untried choices ruled out": [(_update, "SMALLEST_CHOICES", 0.0)],
    "far values left out": [(_relevance, "NEAR_ENOUGH", 2.0)],
    "all values count as close": [(_relevance, "LARGE_RISE", 1e9)],
    "restarts never from the best": [(_strategy, "RESTART_SHARES", (0.1, 0.3, 1.0))],
    "widths fixed below": [(_state, "WIDTH_IN_GAPS", 1.0)],
    "first points from all of the range": [(_proposals, "MIDDLE", 1.0)],
    "the trend is never asked": [(_proposals, "TREND_PATIENCE", np.inf)],
    "the trend is asked all the time": [(_proposals, "TREND_PAUSE", 1)],
}


def problems(seed: int) -> Iterator[tuple[str, dc.Space, Callable[[Any], float], int, float]]:
    """Yield name, space, function, budget and target of each problem of that seed."""
    rng = np.random.default_rng(seed)
    z, order, weight = rng.integers(0, 2, 64), rng.permutation(64), rng.permutation(64) + 1.0
    bits = dc.Space.binary(64)
    yield "linear 64", bits, lambda x: float(weight @ (np.asarray(x) != z)), 300, 0.0
    yield "leadingones 64", bits, lambda x: 64.0 - np.cumprod((np.asarray(x) == z)[order]).sum(), 2000, 0.0
    yield "rugged 64", bits, lambda x: rugged(int((np.asarray(x) != z).sum())), 2000, 0.0
    state = rng.integers(0, 5, 20)
    choices = dc.Space({f"v{i}": dc.Categorical(list(range(5))) for i in range(20)})
    yield "onemax 20 x 5", choices, lambda p: float((np.array(list(p.values())) != state).sum()), 300, 0.0
    turn, optimum = np.linalg.qr(rng.normal(size=(10, 10)))[0], rng.integers(1, 10, 10)
    steep = 10 ** (3 * np.arange(10) / 9)
    integers = dc.Space.integers(10, 0, 10)
    yield "rotated 10", integers, lambda x: float(steep @ (turn @ (x - optimum)) ** 2), 800, 1e-9
    middle = np.concatenate([rng.uniform(-8, 8, 5), rng.integers(-9, 10, 5)])
    mixed = dc.Space.array([dc.Float(-10, 10)] * 5 + [dc.Integer(-10, 10)] * 5)
    yield "mixed ellipsoid 10", mixed, lambda x: float(steep @ (np.asarray(x) - middle) ** 2), 800, 1e-8


def rugged(n_wrong: int) -> float:
    """Return a value that falls while the number of wrong bits rises, within each five of them.

    >>> [rugged(n) for n in range(12)]
    [0.0, 5.0, 4.0, 3.0, 2.0, 1.0, 10.0, 9.0, 8.0, 7.0, 6.0, 15.0]
    """
    return 5.0 * ((n_wrong - 1) // 5) + 5 - (n_wrong - 1) % 5 if n_wrong else 0.0


@contextmanager
def changed(changes: list[tuple[Any, str, Any]]) -> Iterator[None]:
    """Set names of modules to other values for a while."""
    before = [(module, name, getattr(module, name)) for module, name, _ in changes]
    for module, name, value in changes:
        setattr(module, name, value)
    try:
        yield
    finally:
        for module, name, value in before:
            setattr(module, name, value)


def main(n_seeds: int) -> None:
    """Print evaluations to the target for each change and problem, a dash where it was not reached."""
    for title, changes in CHANGES.items():
        rows: dict[str, list[str]] = {}
        began, n = time.process_time(), 0
        with changed(changes):
            for seed in range(n_seeds):
                for name, space, function, budget, target in problems(seed):
                    result = dc.minimize(
                        function, space, budget=budget, seed=seed, strategy=IsingSearch(), target=target
                    )
                    n += result.nfev
                    rows.setdefault(name, []).append(str(result.nfev) if result.fun <= target else "-")
        spent = 1e3 * (time.process_time() - began) / n
        print(f"{title}  ({spent:.1f} ms per evaluation)", flush=True)
        for name, cells in rows.items():
            print(f"    {name:20s}" + "".join(f"{cell:>7s}" for cell in cells), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
