"""Every strategy that comes with the library passes the conformance suite."""

from __future__ import annotations

import pytest

from dcmaes.space import LATTICE
from dcmaes.strategies import make_strategy, strategy_names
from dcmaes.testing import StrategyConformance


class TestAuto(StrategyConformance):
    def make_strategy(self):
        return make_strategy("auto")


class TestAutoWithMixing(StrategyConformance):
    def make_strategy(self):
        return make_strategy("auto", {"partner": "mixing"})


class TestCma(StrategyConformance):
    def make_strategy(self):
        return make_strategy("cma")


class TestIsing(StrategyConformance):
    def make_strategy(self):
        return make_strategy("ising")


class TestMixing(StrategyConformance):
    def make_strategy(self):
        return make_strategy("mixing")


class TestRandom(StrategyConformance):
    def make_strategy(self):
        return make_strategy("random")


class TestPaper(StrategyConformance):
    def make_strategy(self):
        return make_strategy("paper")

    def supports(self, space):
        return bool((space.sites.kind == LATTICE).all())


def test_every_registered_strategy_is_tested():
    tested = {case().make_strategy().name for case in StrategyConformance.__subclasses__()}
    assert tested >= set(strategy_names())


@pytest.mark.parametrize("name", strategy_names())
def test_names_make_strategies(name):
    assert make_strategy(name).name == name
