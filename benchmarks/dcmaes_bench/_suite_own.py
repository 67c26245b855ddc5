"""The suites made of the library's own problems."""

from __future__ import annotations

from dcmaes import problems
from dcmaes_bench._rows import Row, make_row

RANGES = ((0, 10), (-50, 50), (0, 1000))


def rows(name: str) -> list[Row]:
    """Rows of one of the suites of this module."""
    return {"cma": cma, "integer": integer, "categorical": categorical, "combinatorial": combinatorial}[
        name
    ]()


def cma() -> list[Row]:
    """The problems on which the `cma` strategy is compared with its relatives, small dimensions first."""
    found: list[Row] = []
    for dimension in (10, 20, 40):
        budget = 20_000 if dimension == 40 else 10_000
        for low, high in RANGES:
            where = (dimension, low, high)
            quick = where == (10, 0, 10)
            found += [
                make_row("cma", budget, problems.sphere, *where, quick=quick),
                make_row("cma", budget, problems.ellipsoid, *where, condition=1e3),
                make_row("cma", budget, problems.ellipsoid, *where, condition=1e4),
                make_row("cma", budget, problems.rastrigin, *where),
                make_row("cma", budget, problems.rotated_ellipsoid, *where),
            ]
        found += [
            make_row("cma", budget, problems.mixed_sphere, dimension, -50, 50, quick=dimension == 10),
            make_row("cma", budget, problems.mixed_ellipsoid, dimension, -50, 50),
        ]
        if dimension == 10:
            found += _cma_binary() + _cma_categorical()
    return found


def _cma_binary() -> list[Row]:
    factories = (
        problems.onemax,
        problems.leadingones,
        problems.linear,
        problems.ising_ring,
        problems.ising_torus,
    )
    return [make_row("cma", 10_000, factory, 64) for factory in factories]


def _cma_categorical() -> list[Row]:
    factories = (problems.categorical_onemax, problems.matching_pairs)
    return [make_row("cma", 10_000, factory, 20, k) for k in (3, 5) for factory in factories]


def integer() -> list[Row]:
    """Integer problems of three dimensions and three ranges; 500 evaluations per variable."""
    found: list[Row] = []
    for dimension in (10, 20, 40):
        for low, high in RANGES:
            where, budget = (dimension, low, high), 500 * dimension
            quick = where == (10, -50, 50)
            found += [
                make_row("integer", budget, problems.sphere, *where, quick=quick),
                make_row("integer", budget, problems.ellipsoid, *where, condition=1e3),
                make_row("integer", budget, problems.ellipsoid, *where, condition=1e4),
                make_row("integer", budget, problems.rotated_ellipsoid, *where, condition=1e3, quick=quick),
                make_row("integer", budget, problems.rotated_ellipsoid, *where, condition=1e4),
                make_row("integer", budget, problems.rosenbrock, *where),
                make_row("integer", budget, problems.rastrigin, *where),
                make_row("integer", budget, problems.closest_vector, *where),
                make_row("integer", budget, problems.step, *where),
            ]
    return found


def categorical() -> list[Row]:
    """Categorical problems; 10,000 evaluations, some 500 per variable."""
    found: list[Row] = []
    for k in (3, 5, 10):
        found += [
            make_row("categorical", 10_000, problems.categorical_onemax, 20, k, quick=k == 5),
            make_row("categorical", 10_000, problems.categorical_leadingones, 15, k),
        ]
    found += [make_row("categorical", 10_000, problems.matching_pairs, 20, k) for k in (3, 5)]
    found += [make_row("categorical", 10_000, problems.matching_pairs, 20, k, preferred=True) for k in (3, 5)]
    return [
        *found,
        make_row("categorical", 10_000, problems.graph_colouring, 40, 3),
        make_row("categorical", 10_000, problems.pest_control, 25, quick=True),
        make_row("categorical", 10_000, problems.contamination_control, 21),
    ]


def combinatorial() -> list[Row]:
    """Binary problems with interactions (blocks, chains, clauses); 30,000 evaluations, some 500 per bit."""
    budget = 30_000
    return [
        make_row("combinatorial", budget, problems.trap, 60, 5, quick=True),
        make_row("combinatorial", budget, problems.nk_landscape, 60, 3),
        make_row("combinatorial", budget, problems.nk_landscape, 60, 5),
        make_row("combinatorial", budget, problems.labs, 40),
        make_row("combinatorial", budget, problems.qubo, 64),
        make_row("combinatorial", budget, problems.max_sat, 50),
        make_row("combinatorial", budget, problems.ising_ring, 64),
        make_row("combinatorial", budget, problems.ising_torus, 64, disorder=True),
        make_row("combinatorial", budget, problems.planted_graph, 60),
    ]
