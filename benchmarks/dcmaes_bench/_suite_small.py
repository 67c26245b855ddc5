"""The suite `small`: mixed problems as people tune them, at 50, 100 and 200 evaluations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from dcmaes import problems
from dcmaes.problems import Problem
from dcmaes_bench import _conditional_problems as conditional
from dcmaes_bench import _small_problems as small
from dcmaes_bench import _suite_hpo as hpo
from dcmaes_bench._rows import Row

BUDGET = 200
# Nothing is tuned on these rows; whether a part of the search goes was judged on them, too, on other seeds.
HELD_OUT = frozenset(
    {
        *("kernel ridge diabetes", "speed reducer", "coil spring, violations told", "server settings"),
        *("solver choice", "inventory", "3sat n=43", "chosen functions 3x5x4", "nested branches"),
    }
)
# Room around the bounds of the designs, as a share of their ranges.
MARGIN = 0.25


def rows(name: str) -> list[Row]:
    """Estimators, designs, settings of programs, simulations, and functions of the literature."""
    made: dict[str, Callable[..., Problem]] = {
        "kernel ridge diabetes": small.kernel_ridge,
        "SVC digits": hpo.support_vectors,
        "neighbours digits": hpo.neighbours,
        "compiled loop": small.compiled_loop,
        "server settings": small.server_settings,
        "solver choice": small.solver_choice,
        "inventory": small.inventory,
        "staffing": small.staffing,
        "mixed ackley 50+3": problems.mixed_ackley,
        "heat exchanger": partial(design, small.positional_exchanger, margin=0.0),
        "estimators digits": conditional.estimators,
        "phased solver": conditional.phased_solver,
        "nested branches": conditional.nested_branches,
        "pest control n=25": partial(masked, problems.pest_control),
        "contamination n=21": partial(masked, problems.contamination_control),
    }
    made |= {f"3sat n={n}": partial(problems.max_sat, n) for n in (28, 43, 60)}
    made |= {
        f"chosen functions {'x'.join(map(str, n))}": partial(problems.chosen_functions, n)
        for n in ((3, 5), (3, 5, 4))
    }
    for factory in (
        problems.pressure_vessel,
        problems.speed_reducer,
        problems.coil_spring,
        problems.stepped_beam,
    ):
        label = factory().name
        made[label] = partial(design, factory, margin=MARGIN)
        if label in ("pressure vessel", "coil spring"):
            made[f"{label}, violations told"] = partial(design, factory, margin=MARGIN, is_told=True)
    quick = ("compiled loop", "pressure vessel, violations told", "phased solver")
    return [Row(name, label, make, BUDGET, is_quick=label in quick) for label, make in made.items()]


def design(
    factory: Callable[[], Problem], *, margin: float, is_told: bool = False, instance: int = 0
) -> Problem:
    """Return a design in disguise; unless violations are told, optimizers see the penalty only."""
    problem = small.disguised(factory(), instance, margin=margin)
    if is_told:
        return replace(problem, name=f"{problem.name}, violations told")
    return replace(problem, outcome=None)


def masked(factory: Callable[..., Problem], *args: Any, instance: int = 0) -> Problem:
    """Return a problem of the library in disguise."""
    return small.disguised(factory(*args, instance=instance), instance)
