"""Optuna's distributions as variables: every value there and back, also where floating point ends."""

import pytest

optuna = pytest.importorskip("optuna", reason="needs the extra optuna")

from optuna.distributions import FloatDistribution, IntDistribution  # noqa: E402

from dcmaes.integrations.optuna._parameters import ParameterSpace  # noqa: E402
from dcmaes.space import LATTICE  # noqa: E402


@pytest.mark.parametrize(
    ("distribution", "values"),
    [
        (IntDistribution(2, 8, step=2), [2, 4, 6, 8]),
        (IntDistribution(-5, 4, step=3), [-5, -2, 1, 4]),
        (FloatDistribution(0.0, 0.5, step=0.1), [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]),
        (FloatDistribution(-1.0, 1.0, step=0.5), [-1.0, -0.5, 0.0, 0.5, 1.0]),
    ],
)
def test_steps_are_lattices_with_exactly_their_values(distribution, values):
    space = ParameterSpace({"p": distribution})
    assert space.space.sites.kind.tolist() == [LATTICE]
    assert space.space.size == len(values)
    points = space.space.decode_many([[state] for state in range(len(values))])
    assert [space.params(point)["p"] for point in points] == values
    assert [space.point({"p": value}) for value in values] == points


@pytest.mark.parametrize(
    "distribution",
    [
        IntDistribution(2**70, 2**70 + 2**60),
        IntDistribution(0, 2**60, step=2**20),
        IntDistribution(-(2**63), 2**63 - 1),
        FloatDistribution(0.0, 1.0, step=1e-17),
        FloatDistribution(0.0, 1e9, step=1e-3),
    ],
)
def test_what_floating_point_does_not_resolve_stays_in_its_range(distribution):
    space = ParameterSpace({"p": distribution})
    for value in (distribution.low, distribution.high):
        found = space.params(space.point({"p": value}))["p"]
        assert distribution.low <= found <= distribution.high
        assert found == pytest.approx(value)
