"""A short run of every strategy against a stored trace.

A change of a trace is a change of behaviour. If it is wanted, bless the new traces (of all strategies, or of
those named) with

    python tests/golden/test_traces.py [strategy ...]
"""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import dcmaes as dc
from dcmaes.strategies import strategy_names

FOLDER = Path(__file__).parent
# Rounding errors, which differ from machine to machine, make longer runs differ in the end; that of `auto` is
# long enough for its searches to take turns.
N_EVALUATIONS, N_EVALUATIONS_OF_AUTO = 120, 480
N_ROWS = 30
SPACES = {
    "bits": dc.Space.binary(16),
    "lattices": dc.Space.integers(6, -20, 20),
    "mixed": dc.Space(
        {
            **{f"binary{i}": dc.Binary() for i in range(4)},
            **{f"category{i}": dc.Categorical(["a", "b", "c"]) for i in range(2)},
            "integer": dc.Integer(-20, 20),
            "log": dc.Integer(1, 500, log=True),
            "ordinal": dc.Ordinal([1, 2, 4, 8]),
            "hour": dc.Integer(0, 23, periodic=True),
            "float": dc.Float(-2.0, 2.0),
        }
    ),
}
# The paper's algorithm knows lattices only.
LEFT_OUT = {("paper", "mixed")}


def trace(strategy, space, n_objectives=1):
    """Return coded points, evenly spread over a run on a sum of quadratic and deceptive terms.

    The second objective is the distance to the opposite corner.
    """
    sites = space.sites
    target = sites.coordinate(sites.uniform(np.linspace(0.15, 0.85, sites.dimension)))
    budget = N_EVALUATIONS_OF_AUTO if strategy == "auto" else N_EVALUATIONS
    objectives = n_objectives if n_objectives > 1 else None
    opt = dc.Optimizer(space, budget=budget, seed=7, strategy=strategy, objectives=objectives)
    rows = []
    while opt.should_stop() is None:
        for trial in opt.ask():
            x = space.encode(trial.point)
            step = sites.coordinate(x) - target
            n_wrong = int((np.abs(step[:5]) > 0.05).sum())
            value = float((step**2).sum() + step[0] * step[-1] + (n_wrong + 5) % 6 / 10)
            both = value, float(((step - 0.5) ** 2).sum())
            opt.tell(trial, value if n_objectives == 1 else both)
            if opt.n_evaluations % (budget // N_ROWS) == 0:
                rows.append(x.tolist())
    return rows


def make_trace(strategy):
    """Return the traces of a strategy by space."""
    spaces = {name: space for name, space in SPACES.items() if (strategy, name) not in LEFT_OUT}
    found = {name: trace(strategy, space) for name, space in spaces.items()}
    if strategy == "front":
        found |= {f"{name}, two objectives": trace(strategy, space, 2) for name, space in spaces.items()}
    return found


@pytest.mark.parametrize("strategy", strategy_names())
def test_trace_is_the_stored_one(strategy):
    stored = json.loads((FOLDER / f"{strategy}.json").read_text())
    found = make_trace(strategy)
    assert found.keys() == stored.keys()
    for name, rows in found.items():
        np.testing.assert_allclose(rows, stored[name], rtol=1e-6, atol=1e-9, err_msg=name)


def test_there_is_no_trace_without_a_strategy():
    assert {path.stem for path in FOLDER.glob("*.json")} == set(strategy_names())


def bless(strategy):
    """Store the traces of a strategy as they are now."""
    spaces = (
        f'"{name}": [\n' + ",\n".join(json.dumps(row) for row in rows) + "\n]"
        for name, rows in make_trace(strategy).items()
    )
    (FOLDER / f"{strategy}.json").write_text("{\n" + ",\n".join(spaces) + "\n}\n")


if __name__ == "__main__":
    for name in sys.argv[1:] or strategy_names():
        bless(name)
