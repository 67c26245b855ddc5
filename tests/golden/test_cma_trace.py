"""Twenty generations of `cma` on a space of every kind, against a stored trace.

A change of the trace is a change of behaviour: if it is wanted, bless the new one with

    python tests/golden/test_cma_trace.py
"""

import json
from pathlib import Path

import numpy as np

from dcmaes import Binary, Categorical, Float, Integer, Ordinal, Space
from dcmaes.strategies import Evaluations
from dcmaes.strategies.cma import Cma

STORED = Path(__file__).with_name("cma_trace.json")


def trace():
    """Return for each generation its best value, the step size, and the means of the distribution."""
    space = Space(
        {
            "integer": Integer(-20, 20),
            "log": Integer(1, 500, log=True),
            "binary": Binary(),
            "ordinal": Ordinal([1, 2, 4, 8]),
            "category": Categorical(["a", "b", "c"]),
            "hour": Integer(0, 23, periodic=True),
            "float": Float(-2.0, 2.0),
        }
    )
    sites, strategy, rng = space.sites, Cma(), np.random.default_rng(7)
    state = strategy.init(sites, Evaluations.empty(sites.dimension), 1000, rng)
    target, rows = sites.uniform(np.linspace(0.15, 0.85, sites.dimension)), []
    for _ in range(20):
        x = strategy.sample(state, strategy.batch_size(state), rng, None)
        u = sites.coordinate(x) - sites.coordinate(target)
        value = (u**2).sum(axis=1) + u[:, 0] * u[:, 6]
        state = strategy.update(state, Evaluations(x, value, np.zeros(len(x))))
        summary = strategy.summary(state)
        mean = np.where(np.isnan(summary.mean), summary.probabilities[4][0], summary.mean)
        rows.append([float(value.min()), summary.step_size, *mean.tolist()])
    return rows


def test_trace_is_the_stored_one():
    stored = json.loads(STORED.read_text())
    # Linear algebra differs in the last digits from machine to machine.
    np.testing.assert_allclose(trace(), stored, rtol=1e-6, atol=1e-9)


if __name__ == "__main__":
    STORED.write_text("[\n" + ",\n".join(json.dumps(row) for row in trace()) + "\n]\n")
