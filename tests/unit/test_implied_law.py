"""`result.distribution.law`: the law that a strategy's model implies."""

import numpy as np
import pytest

import dcmaes as dc
from dcmaes.distributions import LatticeGaussian
from dcmaes.strategies import Paper
from dcmaes.strategies.ising import IsingSearch
from dcmaes.strategies.ising._ising import N_RECENT, implied_law, wide_model


def coupled(x):
    return float(x.sum() - 3 * x[0] * x[1])


@pytest.mark.parametrize("strategy", ["ising", "auto"])
def test_couplings_of_the_law_are_the_interactions(strategy):
    result = dc.minimize(coupled, dc.Space.binary(6), budget=50, seed=0, strategy=strategy)
    law = result.distribution.law
    assert isinstance(law, LatticeGaussian)
    assert law.dimension == 6
    strongest = result.interactions()[0]
    assert (strongest.first, strongest.second) == (0, 1)
    couplings = np.abs(np.triu(law.quadratic, 1))
    assert np.unravel_index(couplings.argmax(), couplings.shape) == (0, 1)
    # both bits at once are rewarded, the others cost
    assert law.quadratic[0, 1] > 0
    assert law.correlation[0, 1] > 0.2
    assert (law.mean[2:] < 0.5).all()
    assert (law.condition({0: 1}).mean[0] > law.condition({0: 0}).mean[0]).all()


def test_the_exponent_is_the_energy_over_the_temperature():
    space = dc.Space.array([dc.Integer(0, 10), dc.Binary(), dc.Integer(3, 3), dc.Integer(-4, 4)])

    def objective(x):
        return float((x[0] - 6) ** 2 + 3 * x[1] + (x[3] + 1) * (x[0] - 6) + (x[3] + 1) ** 2)

    optimizer = dc.Optimizer(space, budget=80, seed=1, strategy=IsingSearch())
    while optimizer.should_stop() is None:
        for trial in optimizer.ask():
            optimizer.tell(trial, objective(trial.point))
    result = optimizer.result()
    state, memory = result._state, result.history._memory
    law = implied_law(state, memory)
    assert law.trials.tolist() == [10, 1, 8]  # the variable with one value is left out
    x = memory.points(0, len(memory))[-N_RECENT:]
    model = wide_model(state, memory)
    energy = model.mean(has_pairs=True)
    values = np.array([float(energy.value(row[None])[0]) for row in state.feature_map.features(x)])
    exponent = np.asarray(law.log_weight(x[:, [0, 1, 3]]))
    temperature = values.std() * np.sqrt(2 / 3)
    np.testing.assert_allclose(exponent - exponent[0], -(values - values[0]) / temperature, atol=1e-6)


@pytest.mark.parametrize(
    "variable",
    [
        dc.Float(0, 1),
        dc.Categorical(["a", "b", "c"]),
        dc.Integer(0, 11, periodic=True),
        dc.Integer(1, 1000, log=True),
    ],
)
def test_what_is_no_quadratic_function_on_a_lattice_has_no_law(variable):
    space = dc.Space({"n": dc.Integer(0, 9), "other": variable})
    result = dc.minimize(lambda point: point["n"], space, budget=30, seed=0, strategy="ising")
    assert result.distribution.law is None


def test_strategies_without_a_model_have_no_law():
    space = dc.Space.binary(5)
    assert dc.minimize(coupled, space, budget=20, seed=0, strategy="random").distribution.law is None
    assert dc.minimize(coupled, space, budget=20, seed=0, strategy="paper").distribution.law is None
    law = dc.minimize(coupled, space, budget=60, seed=0, strategy=Paper(update="likelihood")).distribution.law
    assert isinstance(law, LatticeGaussian)


def test_before_anything_was_told_there_is_no_law():
    assert dc.Optimizer(dc.Space.binary(5), budget=20, strategy="ising").result().distribution.law is None
