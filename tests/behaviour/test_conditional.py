"""Spaces with branches: the search spends its evaluations in the best one, and finds the optimum there."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dcmaes as dc
from dcmaes.strategies import Cma, Evaluations, Memory

PIPELINE = dc.Space(
    {
        "model": dc.Categorical(["svm", "forest", "linear"]),
        "kernel": dc.Categorical(["linear", "rbf", "poly"], when={"model": "svm"}),
        "gamma": dc.Float(1e-5, 1.0, log=True, when={"kernel": ["rbf", "poly"]}),
        "degree": dc.Integer(2, 5, when={"kernel": "poly"}),
        "trees": dc.Integer(10, 1000, log=True, when={"model": "forest"}),
        "depth": dc.Integer(1, 20, when={"model": "forest"}),
        "features": dc.Float(0.1, 1.0, when={"model": "forest"}),
        "penalty": dc.Float(1e-3, 1e3, log=True, when={"model": ["svm", "linear"]}),
        "scale": dc.Binary(),
    }
)


def loss(point):
    """Lowest, 0, for a forest with 200 trees of depth 9 and 0.4 of the features; 1 for the other models."""
    value = 0.2 * point["scale"]
    if point["model"] == "forest":
        value += (math.log10(point["trees"]) - math.log10(200)) ** 2 + ((point["depth"] - 9) / 8) ** 2
        return value + 2 * (point["features"] - 0.4) ** 2
    value += 1.0 + (math.log10(point["penalty"]) / 3) ** 2
    if "gamma" in point:
        value += (math.log10(point["gamma"]) + 2) ** 2 / 4
    return value + 0.1 * point.get("degree", 0)


# How many of 10 seeds must get there, and which part of the evaluations must be in the best branch.
@pytest.mark.parametrize(
    ("strategy", "n_seeds", "share"), [("auto", 9, 0.6), ("ising", 9, 0.6), ("cma", 7, 0.5)]
)
def test_the_best_branch_gets_most_evaluations(strategy, n_seeds, share):
    runs = [dc.minimize(loss, PIPELINE, budget=150, seed=seed, strategy=strategy) for seed in range(10)]
    inside = [sum(p["model"] == "forest" for p in run.history.points) / run.nfev for run in runs]
    assert sum(run.fun < 0.01 for run in runs) >= n_seeds
    assert sum(inside) / len(runs) >= share


FLAGS = {f"f{i}": dc.Binary() for i in range(6)}
LEVELS = {f"n{i}": dc.Ordinal([1, 2, 4, 8], when={f"f{i}": True}) for i in range(6)}
SWITCHES = dc.Space({**FLAGS, **LEVELS})


def cost(point):
    """Every flag should be on, with its level at 8 for the even ones and at 2 for the odd ones."""
    total = 0.0
    for i in range(6):
        if not point[f"f{i}"]:
            total += 2.0
        else:
            total += abs(math.log2(point[f"n{i}"]) - (3 if i % 2 == 0 else 1))
    return total


@pytest.mark.parametrize(("strategy", "budget"), [("auto", 120), ("mixing", 250), ("cma", 250)])
def test_levels_behind_switches_are_found(strategy, budget):
    found = [
        dc.minimize(cost, SWITCHES, budget=budget, seed=seed, strategy=strategy, target=0)
        for seed in range(10)
    ]
    assert sum(run.fun == 0.0 for run in found) >= 9


def test_what_is_known_of_a_branch_survives_while_it_is_away():
    """First every point is in one branch, then, for as long, in the other."""
    space = dc.Space({"which": dc.Categorical(["a", "b"]), "x": dc.Float(0, 1, when={"which": "a"})})
    strategy, memory, rng = Cma(), Memory(space.sites), np.random.default_rng(0)
    state = strategy.init(space.sites, memory, 400, rng)
    found = []
    for branch in (0.0, 1.0):
        for _ in range(20):
            x = strategy.sample(state, strategy.batch_size(state), rng, memory)
            x[:, 0] = branch
            told = Evaluations(x, np.abs(x[:, 1] - 0.125), np.zeros(len(x)))
            state = strategy.update(state, memory.tell(told), memory)
        summary = strategy.summary(state, memory)
        found.append((summary.mean[1], summary.deviation[1]))
    assert found[0][0] == pytest.approx(0.125, abs=0.01)
    assert found[0][1] < 0.01
    assert found[1] == pytest.approx(found[0], rel=1e-9)
