"""Fronts that must be found within a budget, and hypervolumes that random search does not reach."""

import numpy as np
import pytest

import dcmaes as dc
from dcmaes.pareto import hypervolume


def test_the_front_of_two_linear_functions_is_found():
    worth = np.array([9, 7, 6, 5, 4, 3, 2, 1, 1, 1])
    two = {"cost": "minimize", "worth": "maximize"}
    for seed in range(3):
        result = dc.minimize(
            lambda x: (x.sum(), x @ worth), dc.Space.binary(10), budget=150, seed=seed, objectives=two
        )
        expected = [(k, worth[:k].sum()) for k in range(11)]
        assert [record.value for record in result.front] == expected


@pytest.mark.slow
def test_two_quadratic_functions_of_bits():
    rng = np.random.default_rng(0)
    first, second = (np.triu(rng.uniform(-100, 100, (24, 24))) for _ in range(2))

    def both(x):
        return x @ first @ x, x @ second @ x

    reference = np.zeros(2)
    found = [
        dc.minimize(both, dc.Space.binary(24), budget=n, seed=s, objectives=2, strategy=strategy)
        for s in range(2)
        for n, strategy in ((250, "auto"), (2500, "random"))
    ]
    volumes = [hypervolume(result.front.values, reference) for result in found]
    assert min(volumes[0::2]) > 1.2 * max(volumes[1::2])


def test_mixed_variables_with_a_hollow_front():
    space = dc.Space({"t": dc.Float(0, 1), "n": dc.Integer(-9, 9), "act": dc.Categorical(["a", "b", "c"])})

    def both(point):
        t, wrong = point["t"], (point["n"] / 9) ** 2 + (point["act"] != "b")
        return t + wrong, 1 - t**2 + wrong

    result = dc.minimize(both, space, budget=150, seed=0, objectives=2)
    # The front is 1 - t^2 over t: everything above it within the unit box is two thirds less than the box.
    assert result.hypervolume((1, 1)) > 0.9 / 3
    assert all(record.point["act"] == "b" for record in result.front)


def test_expensive_constraints_of_several_objectives():
    worth = np.arange(1, 11)
    result = dc.minimize(
        lambda x: dc.Outcome((x.sum(), -x @ worth), 3 - x[:5].sum()),
        dc.Space.binary(10),
        budget=150,
        seed=0,
        objectives=2,
    )
    assert all(record.point[:5].sum() >= 3 for record in result.front)
    assert result.front.values[0].tolist() == [3, -12]
    assert result.front.values[-1].tolist() == [10, -55]
