"""A run of `mixing` on a space of every kind of discrete site, against a stored trace.

A change of the trace is a change of behaviour: if it is wanted, bless the new one with

    python tests/golden/test_mixing_trace.py
"""

import json
from pathlib import Path

import numpy as np

from dcmaes import Binary, Categorical, Integer, Ordinal, Space
from dcmaes.strategies import Evaluations
from dcmaes.strategies.mixing import Mixing

STORED = Path(__file__).with_name("mixing_trace.json")


class NothingOut:
    """What is known: no point is out for evaluation."""

    pending = np.empty((0, 12))

    def contains(self, x):
        return np.zeros(len(x), dtype=bool)


def trace():
    """Return every twentieth point and the number of solutions on each floor of the pyramid."""
    space = Space(
        {
            **{f"binary{i}": Binary() for i in range(6)},
            **{f"category{i}": Categorical(["a", "b", "c"]) for i in range(3)},
            "integer": Integer(-20, 20),
            "ordinal": Ordinal([1, 2, 4, 8]),
            "hour": Integer(0, 23, periodic=True),
        }
    )
    sites, strategy, rng = space.sites, Mixing(), np.random.default_rng(7)
    state = strategy.init(sites, Evaluations.empty(12), 1000, rng)
    target, rows = sites.uniform(np.linspace(0.15, 0.85, 12)), []
    for k in range(400):
        x = strategy.sample(state, 1, rng, NothingOut())
        wrong = (x[0] != target).reshape(4, 3).sum(axis=1)
        # Deceptive blocks of three sites: whole numbers, so the trace is exact.
        value = np.where(wrong == 0, 0.0, 4.0 - wrong).sum()
        state = strategy.update(state, Evaluations(x, np.array([value]), np.zeros(1)))
        if k % 20 == 0:
            rows.append([int(state) for state in x[0]])
    return [*rows, [len(floor.x) for floor in state.pyramid]]


def test_trace_is_the_stored_one():
    assert trace() == json.loads(STORED.read_text())


if __name__ == "__main__":
    STORED.write_text("[\n" + ",\n".join(json.dumps(row) for row in trace()) + "\n]\n")
