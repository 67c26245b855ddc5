"""Exponential families on {0,1}^k, each as: parameters -> law, and states -> sufficient statistics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from dcmaes.distributions import BivariateBernoulli, Ising, MultivariateBernoulli


@dataclass(frozen=True)
class Family:
    dimension: int
    subsets: list[tuple[int, ...]]
    build: Callable[[np.ndarray], Any]

    @property
    def states(self) -> np.ndarray:
        return np.array(list(np.ndindex(*(2,) * self.dimension)))

    @property
    def statistics(self) -> np.ndarray:
        """T(x), one row per state."""
        return np.array(
            [[x[list(subset)].prod() for subset in self.subsets] for x in self.states], dtype=float
        )

    def parameters(self, seed: int, scale: float = 1.0) -> np.ndarray:
        return scale * np.random.default_rng(seed).normal(size=len(self.subsets))


def _subsets(dimension: int, orders: range) -> list[tuple[int, ...]]:
    return [subset for order in orders for subset in combinations(range(dimension), order)]


def _ising(dimension: int) -> Family:
    def build(theta: np.ndarray) -> Ising:
        coupling = np.zeros((dimension, dimension))
        coupling[np.triu_indices(dimension, 1)] = theta[dimension:]
        return Ising(theta[:dimension], coupling + coupling.T)

    return Family(dimension, _subsets(dimension, range(1, 3)), build)


def _full(dimension: int) -> Family:
    subsets = _subsets(dimension, range(1, dimension + 1))
    return Family(
        dimension,
        subsets,
        lambda theta: MultivariateBernoulli.from_canonical(dict(zip(subsets, theta, strict=True))),
    )


FAMILIES = {
    "bivariate": Family(2, [(0,), (1,), (0, 1)], lambda theta: BivariateBernoulli.from_canonical(*theta)),
    "bernoulli-1": _full(1),
    "bernoulli-3": _full(3),
    "bernoulli-4": _full(4),
    "ising-2": _ising(2),
    "ising-5": _ising(5),
}


@pytest.fixture(params=FAMILIES)
def binary_family(request: pytest.FixtureRequest) -> Family:
    return FAMILIES[request.param]
