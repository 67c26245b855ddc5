"""A run as reports see it: coded points, their results, when and where they were evaluated, how to repeat."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dcmaes._validation import FloatArray, IntArray, check_choice, shown
from dcmaes.optimizer import History, Result
from dcmaes.report._drawing import axis_position, variable_labels
from dcmaes.space import Space
from dcmaes.store import StoredRun

if TYPE_CHECKING:
    from dcmaes.report._importance import Importance


@dataclass(frozen=True, eq=False)
class RunData:
    """Everything that plots and the report are computed from, one entry for each of n evaluations.

    Attributes
    ----------
    result : Result
        What the run found.
    values : array of shape (n,)
        What the objective returned, in the user's sign (NaN where it gave nothing).
    sign : float
        1 if small values are good, -1 if large ones are.
    best : int or None
        The first evaluation of the best point.
    objective : str or None
        With several objectives, the one that `values` are of; None if there is one.
    starts, ends : arrays of shape (n,)
        When each evaluation began and ended, in seconds from the start of the run; NaN where unknown.
    workers : tuple of n str or None
        Where each was evaluated; None where unknown.
    outputs : tuple of n str or None
        What it had printed.
    n_pending : int
        The number of pending trials, if known.
    is_running : bool
        Whether the run is in progress; one that neither stopped nor is in progress was killed.
    settings, versions : dict
        What the run was told to do, and with what it ran, as far as these are known.
    """

    result: Result
    values: FloatArray
    sign: float
    best: int | None
    objective: str | None
    starts: FloatArray
    ends: FloatArray
    workers: tuple[str | None, ...]
    outputs: tuple[str | None, ...]
    n_pending: int
    is_running: bool
    settings: dict[str, Any]
    versions: dict[str, str]

    @property
    def n(self) -> int:
        """Number of evaluations."""
        return len(self.values)

    @property
    def history(self) -> History:
        """Every evaluation."""
        return self.result.history

    @property
    def space(self) -> Space:
        """What was searched."""
        return self.history._space

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What the variables are called in figures."""
        return variable_labels(self.space)

    @cached_property
    def x(self) -> FloatArray:
        """Coded points in the order in which they were told, shape (n, d)."""
        return self.history._memory.points(0, self.n)

    @cached_property
    def statuses(self) -> NDArray[np.str_]:
        """The status of each evaluation: "ok", "infeasible" or "failed", shape (n,)."""
        return self.history.statuses

    def find(self, point: Any) -> int | None:
        """Return the first evaluation of a point; None for none."""
        return None if point is None else self.history._memory.find(self.space.encode(point))

    @property
    def direction(self) -> str:
        """Whether the run minimizes or maximizes."""
        return "minimize" if self.sign > 0 else "maximize"

    @property
    def order(self) -> IntArray:
        """Evaluations, best first: feasible by value, infeasible by violation, failures last; shape (n,)."""
        return np.lexsort((self.sign * self.values, self.history.violations))

    @property
    def best_so_far(self) -> FloatArray:
        """Best feasible value up to each evaluation, shape (n,); NaN before the first."""
        best = self.history.best_so_far
        return best if self.objective is None else best[:, self.result.objectives.index(self.objective)]

    @cached_property
    def is_active(self) -> NDArray[np.bool_]:
        """Which variables are active in which points, shape (n, d)."""
        return self.space.sites.active(self.x)

    @cached_property
    def position(self) -> FloatArray:
        """Where the points lie on the axes of the variables, from 0 to 1, NaN if inactive, shape (n, d)."""
        return np.where(self.is_active, axis_position(self.space, self.x), np.nan)

    @cached_property
    def importance(self) -> Importance:
        """How much each variable matters, from the feasible evaluations."""
        from dcmaes.report._importance import total_effects  # whose plot reads runs

        is_sound = self.statuses == "ok"
        return total_effects(self.names, self.space.sites, self.x[is_sound], self.values[is_sound])

    def foremost(self, sites: IntArray, limit: int) -> IntArray:
        """Return at most `limit` of the variables: all in their order, or the most important ones first."""
        if len(sites) <= limit:
            return sites
        return sites[np.argsort(-self.importance.share[sites], kind="stable")[:limit]]

    @cached_property
    def interactions(self) -> FloatArray:
        """How strongly pairs of variables interact, 0 where that is not beyond doubt, shape (d, d)."""
        place = {name: i for i, name in enumerate(self.space.names)}
        strength = np.zeros((len(place), len(place)))
        for pair in self.result.interactions(self.objective):
            if pair.is_certain:
                i, j = place[pair.first], place[pair.second]
                strength[i, j] = strength[j, i] = pair.strength
        return strength


def read_run(source: Any, outputs: Mapping[int, str] | None = None) -> RunData:
    """Return the run behind a `Result` or `StoredRun`, or pass a `RunData` on; `outputs` by number of trial.

    >>> import dcmaes as dc
    >>> run = read_run(dc.minimize(sum, dc.Space.binary(2), budget=4, seed=1))
    >>> run.n, run.names, run.x[run.best]
    (4, ('x0', 'x1'), array([0., 0.]))
    """
    if isinstance(source, RunData):
        run = source
    elif isinstance(source, Result):
        run = _of_result(source)
    elif isinstance(source, StoredRun):
        run = _of_store(source)
    else:
        raise TypeError(f"result must be a Result, or what dcmaes.store.read returns, got {shown(source)}")
    if outputs is None:
        return run
    pairs = zip(run.history.ids.tolist(), run.outputs, strict=True)
    joined = [[text for text in (outputs.get(i), kept) if text] for i, kept in pairs]
    return replace(run, outputs=tuple("\n\n".join(texts) or None for texts in joined))


def one_objective(result: Any, name: str) -> RunData:
    """Return a run with several objectives as one with the objective `name`, for any plot of one.

    Without it plots of one objective show the first.

    >>> import dcmaes as dc
    >>> result = dc.minimize(lambda x: (x.sum(), -x[0]), dc.Space.binary(3), budget=8, seed=0, objectives=2)
    >>> one_objective(result, "f1").values.min()
    np.float64(-1.0)
    """
    run = read_run(result)
    names = run.result.objectives
    place = names.index(check_choice("name", name, names))
    if run.objective is None:
        return run
    values, signs = run.history.values[:, place], run.result.front._signs
    feasible = np.flatnonzero(run.statuses == "ok")
    best = int(feasible[np.argmin(signs[place] * values[feasible])]) if len(feasible) else None
    return replace(run, values=values, sign=float(signs[place]), objective=name, best=best)


def _of_result(result: Result) -> RunData:
    # Result and history keep settings, space, sign and coded points to themselves: only this takes them.
    history, several = result.history, result.history._objectives
    ends = np.where(history.is_given, math.nan, history.told_at)
    run = RunData(
        result=result,
        values=history.values if several is None else history.values[:, 0],
        sign=float(history._signs[0]),
        best=None,
        objective=None if several is None else several.names[0],
        starts=ends - history.objective_times,
        ends=ends,
        workers=(None,) * len(history),
        outputs=(None,) * len(history),
        n_pending=0,
        is_running=result.stop_reason is None,
        settings={**vars(result._settings), "strategy": result.strategy},
        versions={},
    )
    if several is not None:
        return one_objective(run, several.names[0])
    return replace(run, best=run.find(result.x))


def _of_store(stored: StoredRun) -> RunData:
    """Add to the result of a stored run what only its store knows: workers, times, tracebacks, settings."""
    run = _of_result(stored.result())
    place = {trial: i for i, trial in enumerate(run.history.ids.tolist())}
    starts, ends = np.full(run.n, math.nan), np.full(run.n, math.nan)
    workers: list[str | None] = [None] * run.n
    outputs: list[str | None] = [None] * run.n
    for span in stored.timeline:
        i = place[span.id]
        starts[i], ends[i] = span.started - stored.started, span.ended - stored.started
        workers[i] = span.worker
    for failure in stored.failures:
        outputs[place[failure.id]] = failure.traceback
    settings = {**stored.settings, "options": stored.settings["strategy"]["options"]}
    settings["strategy"] = stored.settings["strategy"]["name"]
    return replace(
        run,
        starts=starts,
        ends=ends,
        workers=tuple(workers),
        outputs=tuple(outputs),
        n_pending=len(stored.pending),
        is_running=stored.is_running,
        versions=settings.pop("versions"),
        settings={**run.settings, **settings, "created": _moment(settings["created"])},
    )


def _moment(seconds: float) -> str:
    """Write a moment in universal time.

    >>> _moment(0.0)
    '1970-01-01 00:00:00 UTC'
    """
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"


def reproduction(run: RunData, command: str | None) -> dict[str, Any]:
    """Return how to repeat the run: command (by default the call in Python), settings, versions, space."""
    import scipy

    import dcmaes

    here = {
        "dcmaes": dcmaes.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "system": f"{platform.system()} {platform.machine()}",
    }
    return {
        "command": command or _call(run),
        "settings": {key: str(value) for key, value in run.settings.items() if value is not None},
        "versions": run.versions or here,
        "space": _space_text(run.space),
    }


def _call(run: RunData) -> str:
    """Return the call that repeats the run; the objective, and what is no plain data, are left to the user.

    >>> import dcmaes as dc
    >>> print(_call(read_run(dc.minimize(sum, dc.Space.binary(2), budget=4, seed=1))))
    import dcmaes as dc
    <BLANKLINE>
    space = dc.Space.from_dict({'array': [{'type': 'binary', 'repeat': 2}]})
    result = dc.minimize(objective, space, budget=4, seed=1, strategy='auto')
    """
    usual = {
        "time_limit": None,
        "target": None,
        "patience": None,
        "duplicates": "cache",
        "on_error": "penalize",
    }
    told = {**usual, **run.settings}
    changed = [name for name, value in usual.items() if told[name] != value]
    several = run.result._settings.objectives
    if several is not None:
        told["objectives"] = dict(zip(several.names, several.directions, strict=True))
        told["reference"] = several.reference
        changed += ["objectives"] + ["reference"] * (several.reference is not None)
    given = [f"{name}={told[name]!r}" for name in ("budget", "seed", "strategy", *changed)]
    given += ["constraints=constraints"] * bool(told.get("has_constraints"))
    try:
        space = f"dc.Space.from_dict({run.space.to_dict()!r})"
    except TypeError:
        space = "...  # as below"
    direction = run.direction if several is None else "minimize"
    call = f"dc.{direction}(objective, space, {', '.join(given)})"
    return f"import dcmaes as dc\n\nspace = {space}\nresult = {call}"


def _space_text(space: Space) -> str:
    """Return the space as JSON, a variable on each line, or as Python writes it if it is no plain data."""
    try:
        plain = space.to_dict()
    except TypeError:
        return repr(space)
    lines = [f"  {json.dumps(name)}: {json.dumps(variable)}" for name, variable in plain.items()]
    return "{\n" + ",\n".join(lines) + "\n}"
