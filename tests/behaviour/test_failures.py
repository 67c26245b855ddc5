"""Evaluations that fail in a part of the space: the search learns where that is."""

import math

import numpy as np
import pytest

import dcmaes as dc

SPACE = dc.Space(
    {
        "rate": dc.Float(1e-5, 1.0, log=True),
        "layers": dc.Integer(1, 8),
        "units": dc.Integer(8, 512, log=True),
        "act": dc.Categorical(["relu", "tanh", "gelu"]),
        "dropout": dc.Float(0.0, 0.8),
    }
)


def loss(p):
    """The best settings are near to those that need too much memory or do not converge."""
    size = p["layers"] * math.log(p["units"])
    if size > 20:
        raise MemoryError("too large")
    if p["rate"] * p["units"] > 8:
        return math.nan
    act = {"relu": 0.0, "tanh": 0.3, "gelu": -0.1}[p["act"]]
    return (math.log10(p["rate"]) + 1.2) ** 2 + (24 - size) ** 2 / 20 + act + (p["dropout"] - 0.3) ** 2


def tuned(strategy):
    """Return the median of what ten runs find, and how many of their evaluations fail on average."""
    found, n_failed = [], []
    for seed in range(10):
        result = dc.minimize(loss, SPACE, budget=100, seed=seed, strategy=strategy)
        found.append(result.fun)
        n_failed.append(sum(not math.isfinite(record.value) for record in result.history))
    return np.median(found), np.mean(n_failed)


@pytest.mark.slow
def test_settings_next_to_those_that_fail_are_found():
    found, n_failed = tuned("auto")
    by_chance, n_failed_by_chance = tuned("random")
    print(f"median {found:.3f}, {n_failed} failed; at random {by_chance:.3f}, {n_failed_by_chance}")
    assert found < 0.8 < by_chance
    # The best settings are at the edge: half of the points around them fail.
    assert n_failed < 45
