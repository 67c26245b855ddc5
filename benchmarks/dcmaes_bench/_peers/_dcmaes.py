"""The library itself, adapted like any other optimizer: one entry per strategy."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dcmaes.strategies import strategy_names
from dcmaes_bench._domain import CATEGORY, FLOAT, Domain, FloatArray
from dcmaes_bench._recorder import Evaluate, Recorder
from dcmaes_bench._registry import optimizer

if TYPE_CHECKING:
    from dcmaes import Space


def search(
    domain: Domain, evaluate: Evaluate, budget: int, seed: int, *, strategy: str, is_flat: bool = False
) -> None:
    """Ask and tell until the evaluations are used up; `is_flat` keeps conditions from the library."""
    from dcmaes import Optimizer, Outcome

    space = space_of(domain, is_flat=is_flat)
    starts = evaluate.problem.starts if isinstance(evaluate, Recorder) else None
    x0 = None if starts is None else [point_of(domain, x, space.is_named) for x in starts]
    run = Optimizer(space, budget=budget, seed=seed, strategy=strategy, x0=x0)
    while run.should_stop() is None:
        trials = run.ask()
        points = [vector_of(domain, trial.point) for trial in trials]
        if isinstance(evaluate, Recorder) and evaluate.problem.outcome is not None:
            run.tell(trials, [Outcome(*evaluate.outcome(x)) for x in points])
        else:
            run.tell(trials, [evaluate(x) for x in points])


def space_of(
    domain: Domain, *, is_flat: bool = False, options: Mapping[int, Mapping[str, Any]] | None = None
) -> Space:
    """Return the space in which the library sees a domain; `options` are more keys of variables, by place."""
    from dcmaes import Space

    has_names = bool((domain.kind == CATEGORY).any()) or bool(domain.when)
    specs = [{**_spec(domain, i), **(options or {}).get(i, {})} for i in range(domain.dimension)]
    if domain.when and not is_flat:
        for spec, when in zip(specs, domain.when, strict=True):
            spec["when"] = {f"x{parent}": list(states) for parent, states in when.items()}
    return Space.from_dict({f"x{i}": spec for i, spec in enumerate(specs)} if has_names else {"array": specs})


def _spec(domain: Domain, i: int) -> dict[str, Any]:
    low, high = domain.low[i], domain.high[i]
    if domain.kind[i] == CATEGORY:
        return {"type": "categorical", "choices": list(range(int(high) + 1))}
    if domain.kind[i] == FLOAT:
        return {"type": "float", "low": float(low), "high": float(high), "log": bool(domain.log[i])}
    if low == 0 and high == 1:
        return {"type": "binary"}
    return {"type": "integer", "low": int(low), "high": int(high), "log": bool(domain.log[i])}


def point_of(domain: Domain, x: FloatArray, is_named: bool) -> Any:
    """Return a vector as a point of the space."""
    if not is_named:
        return x
    return {f"x{i}": float(v) if domain.kind[i] == FLOAT else int(v) for i, v in enumerate(x)}


def vector_of(domain: Domain, point: Any) -> FloatArray:
    """Return a point as a vector; what does not count is at its lower bound."""
    if not isinstance(point, Mapping):
        return np.asarray(point, dtype=np.float64)
    return np.array([point.get(f"x{i}", low) for i, low in enumerate(domain.low)], dtype=np.float64)


optimizer("dcmaes auto (flat)", needs_conditions=True)(partial(search, strategy="auto", is_flat=True))
_KINDS = {"paper": "i"}  # Algorithm 1 as printed knows no categories and no continuous variables
for _strategy in strategy_names():
    if _strategy != "random":  # it is in the table already
        optimizer(f"dcmaes {_strategy}", kinds=_KINDS.get(_strategy, "icf"))(
            partial(search, strategy=_strategy)
        )
