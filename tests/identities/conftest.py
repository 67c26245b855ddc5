"""Families of laws, each as: parameters -> law, and observations -> fitted law.

`binary_family` runs over the exponential families on {0,1}^k, with their sufficient statistics by
enumeration; `family` over every family of the package, for the conformance suite.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from dcmaes.distributions import (
    BivariateBernoulli,
    CenteredBinomial,
    Ising,
    LatticeGaussian,
    LatticeTable,
    MultivariateBernoulli,
    MultivariateBinomial,
    PoissonBinomial,
    TruncatedGeometric,
)


@dataclass(frozen=True)
class BinaryFamily:
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


def _build_ising(theta: np.ndarray, dimension: int) -> Ising:
    coupling = np.zeros((dimension, dimension))
    coupling[np.triu_indices(dimension, 1)] = theta[dimension:]
    return Ising(theta[:dimension], coupling + coupling.T)


def _ising(dimension: int) -> BinaryFamily:
    return BinaryFamily(
        dimension, _subsets(dimension, range(1, 3)), lambda theta: _build_ising(theta, dimension)
    )


def _full(dimension: int) -> BinaryFamily:
    subsets = _subsets(dimension, range(1, dimension + 1))
    return BinaryFamily(
        dimension,
        subsets,
        lambda theta: MultivariateBernoulli.from_canonical(dict(zip(subsets, theta, strict=True))),
    )


BINARY_FAMILIES = {
    "bivariate": BinaryFamily(
        2, [(0,), (1,), (0, 1)], lambda theta: BivariateBernoulli.from_canonical(*theta)
    ),
    "bernoulli-1": _full(1),
    "bernoulli-3": _full(3),
    "bernoulli-4": _full(4),
    "ising-2": _ising(2),
    "ising-5": _ising(5),
}


@pytest.fixture(params=BINARY_FAMILIES)
def binary_family(request: pytest.FixtureRequest) -> BinaryFamily:
    return BINARY_FAMILIES[request.param]


@dataclass(frozen=True)
class Family:
    """A family: how a law is built from its `parameters`, fitted to data, and where parameters are taken."""

    build: Callable[[np.ndarray], Any]
    fit: Callable[..., Any]
    draw: Callable[[np.random.Generator], np.ndarray]
    extremes: list[np.ndarray] = field(default_factory=list)
    is_univariate: bool = False

    def law(self, seed: int) -> Any:
        return self.build(self.draw(np.random.default_rng(seed)))

    def states(self, law: Any) -> np.ndarray:
        return law.support if self.is_univariate else np.array(list(np.ndindex(*law.shape)))


def _build_table(theta: np.ndarray) -> LatticeTable:
    p = np.exp(np.append(0.0, theta))
    return LatticeTable((p / p.sum()).reshape(3, 2))


def _build_bernoulli(theta: np.ndarray) -> MultivariateBernoulli:
    return MultivariateBernoulli.from_canonical(np.append(0.0, theta).reshape(2, 2, 2))


def _build_lattice_gaussian(theta: np.ndarray) -> LatticeGaussian:
    # Variables on 0..2, 0..1 and 0..3: squares are statistics of the first and the last.
    quadratic = np.zeros((3, 3))
    quadratic[np.triu_indices(3, 1)] = theta[5:]
    quadratic += quadratic.T
    quadratic[0, 0], quadratic[2, 2] = theta[3:5]
    return LatticeGaussian([2, 1, 3], theta[:3], quadratic)


def _normal(size: int, scale: float = 1.0) -> Callable[[np.random.Generator], np.ndarray]:
    return lambda rng: scale * rng.normal(size=size)


FAMILIES = {
    "bivariate-bernoulli": Family(
        lambda theta: BivariateBernoulli.from_canonical(*theta),
        BivariateBernoulli.fit,
        _normal(3),
        [np.array([300.0, -300.0, 20.0]), np.array([-40.0, 40.0, 1e3])],
    ),
    "multivariate-bernoulli": Family(
        _build_bernoulli, MultivariateBernoulli.fit, _normal(7), [50.0 * np.arange(-3, 4.0)]
    ),
    "lattice-table": Family(
        _build_table,
        lambda *data: LatticeTable.fit(*data, shape=(3, 2)),
        _normal(5),
        [np.array([0.0, -30.0, 30, 5, -5])],
    ),
    "ising": Family(
        lambda theta: _build_ising(theta, 4),
        Ising.fit,
        _normal(10),
        [50.0 * np.random.default_rng(0).normal(size=10), 1e8 * np.ones(10)],
    ),
    "lattice-gaussian": Family(
        _build_lattice_gaussian,
        lambda *data: LatticeGaussian.fit(*data, trials=[2, 1, 3]),
        _normal(8, 0.5),
        [30.0 * np.random.default_rng(1).normal(size=8)],
    ),
    "multivariate-binomial": Family(
        lambda theta: MultivariateBinomial([3, 2, 2], _build_bernoulli(theta)),
        lambda *data: MultivariateBinomial.fit(*data, trials=[3, 2, 2]),
        _normal(7, 0.7),
        [20.0 * np.arange(-3, 4.0)],
    ),
    "poisson-binomial": Family(
        PoissonBinomial,
        PoissonBinomial.fit,
        lambda rng: np.sort(rng.uniform(0.1, 0.9, size=4))[::-1],
        [np.array([1 - 1e-12, 1e-12, 0.5])],
        is_univariate=True,
    ),
    "truncated-geometric": Family(
        lambda theta: TruncatedGeometric(9, float(np.exp(theta[0]))),
        lambda *data: TruncatedGeometric.fit(*data, n=9),
        _normal(1, 0.5),
        [np.array([-600.0]), np.array([600.0]), np.array([1e-17])],
        is_univariate=True,
    ),
    "centered-binomial": Family(
        lambda theta: CenteredBinomial(9, *theta),
        lambda *data: CenteredBinomial.fit(*data, trials=9),
        lambda rng: np.array([rng.uniform(0.5, 2.0), rng.uniform(-3.0, 3.0)]),
        [np.array([1e-12, 0.3]), np.array([2.25 - 1e-12, -1e6 + 0.25])],
        is_univariate=True,
    ),
}


@pytest.fixture(params=FAMILIES)
def family(request: pytest.FixtureRequest) -> Family:
    return FAMILIES[request.param]


@pytest.fixture
def families() -> dict[str, Family]:
    return FAMILIES
