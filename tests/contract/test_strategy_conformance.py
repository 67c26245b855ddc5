"""Every strategy that comes with the library passes the conformance suite."""

from __future__ import annotations

import pytest

from dcmaes.space import LATTICE
from dcmaes.strategies import Paper, make_strategy, strategy_names
from dcmaes.strategies.paper._likelihood import MOST_STATES
from dcmaes.testing import StrategyConformance


class TestAuto(StrategyConformance):
    def make_strategy(self):
        return make_strategy("auto")


class TestAutoWithMixing(StrategyConformance):
    """On a space of each kind: in all of them run `auto` with another partner, and `mixing` by itself."""

    def make_strategy(self):
        return make_strategy("auto", {"partner": "mixing"})

    def spaces(self):
        names = (
            "binary",
            "huge_integers",
            "ordinal",
            "continuous",
            "single_values",
            "all_kinds",
            "conditional",
        )
        return {name: space for name, space in super().spaces().items() if name in names}


class TestCma(StrategyConformance):
    def make_strategy(self):
        return make_strategy("cma")


class TestFront(StrategyConformance):
    def make_strategy(self):
        return make_strategy("front")


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
        return bool((space.sites.kind == LATTICE).all()) and not space.sites.has_conditions


class TestPaperByLikelihood(TestPaper):
    def make_strategy(self):
        return Paper(update="likelihood")

    def supports(self, space):
        return super().supports(space) and bool((space.sites.n_states <= MOST_STATES).all())


def test_every_registered_strategy_is_tested():
    tested = {case().make_strategy().name for case in StrategyConformance.__subclasses__()}
    assert tested >= set(strategy_names())


@pytest.mark.parametrize("name", strategy_names())
def test_names_make_strategies(name):
    assert make_strategy(name).name == name
