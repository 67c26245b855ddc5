"""The sampler: what Optuna asks, answered from the stored trials."""

from __future__ import annotations

import math
import threading
import warnings
import zlib
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, TPESampler
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from dcmaes._validation import check_integer
from dcmaes.integrations.optuna._parameters import ParameterSpace, nearest
from dcmaes.integrations.optuna._study import (
    CONSTRAINTS_KEY,
    Follower,
    StudyView,
    first_points,
    is_maximized,
    outcome,
    read_warm_start,
)
from dcmaes.optimizer import Optimizer
from dcmaes.run._objectives import Objectives, read_objectives
from dcmaes.strategies import Strategy, make_strategy
from dcmaes.strategies._protocol import strategy_for

# Studies for which what was learned is kept.
_N_KEPT = 8


class DcmaesSampler(BaseSampler):
    """Sample the parameters of an Optuna study with a strategy of this library.

    All parameters are sampled together, whatever their kind: integers and floats with steps or logarithmic,
    and categorical ones; also those that are asked for only if others have certain values. What is learned
    depends on the stored trials alone, in the order of their completion: studies can be stopped and loaded,
    and shared by workers in threads, processes and machines. Nothing but the trials themselves is stored.

    A study may have one objective or several, in any directions; with several, the search is for the front
    (`Study.best_trials`) as in `minimize(..., objectives=...)`.

    Parameters
    ----------
    seed : int, optional
        Seed of all randomness. A study with one worker that is stopped, loaded and continued with a sampler
        of the same seed gets the trials that it would have got without the stop.
    search_space : dict of str to distribution, optional
        The parameters to sample together. By default all that some finished trial of the study had; the first
        value of each is drawn uniformly, or by the `independent_sampler`, if there is one.
    strategy : str or strategy
        "auto", the name of another strategy, or an object that follows the strategy protocol. With several
        objectives "auto" is the strategy `front`.
    independent_sampler : BaseSampler, optional
        What samples parameters that are not in the search space; by default a `TPESampler` if there is a
        `search_space`.
    constraints_func : callable, optional
        Takes a finished trial and returns a sequence of numbers, of which positive ones are violations.
        Constraints that the objective sets by `Trial.set_constraint` are obeyed as well.
    n_startup_trials : int
        How many trials must be complete before the strategy draws; until then points are uniform.
    consider_pruned_trials : bool
        Whether to learn from pruned trials, by the last value they reported; else they count as failed, as
        they do with several objectives, where nothing can be reported. Failed trials are ignored.
    warm_start : Study, sequence of Study, or sequence of FrozenTrial
        Earlier studies of similar objectives: their best points are tried first (five in all; of a study
        with several objectives, points spread over its front) and the search starts around them. Their
        values are not used, so they need not be on the same scale. Trials without a study count as minimized.
    warn_independent_sampling : bool
        Whether to warn, once for each parameter, when one is sampled independently that `search_space` lacks.
    budget : int
        The number of trials that the strategy should plan for.

    Examples
    --------
    >>> import optuna
    >>> from dcmaes.integrations.optuna import DcmaesSampler
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> def objective(trial):
    ...     n, act = trial.suggest_int("n", -5, 5), trial.suggest_categorical("act", ["relu", "gelu"])
    ...     return n**2 + (act == "relu")
    >>> study = optuna.create_study(sampler=DcmaesSampler(seed=0))
    >>> study.optimize(objective, n_trials=22)
    >>> study.best_params == {"n": 0, "act": "gelu"}
    True
    >>> def cost_and_gain(trial):
    ...     n = trial.suggest_int("n", 0, 9)
    ...     return 2 * n + trial.suggest_int("waste", 0, 9), n
    >>> study = optuna.create_study(directions=["minimize", "maximize"], sampler=DcmaesSampler(seed=0))
    >>> study.optimize(cost_and_gain, n_trials=60)
    >>> sorted(trial.params["n"] for trial in study.best_trials if trial.params["waste"] == 0)
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    """

    def __init__(
        self,
        *,
        seed: int | None = None,
        search_space: Mapping[str, BaseDistribution] | None = None,
        strategy: str | Strategy[Any] = "auto",
        independent_sampler: BaseSampler | None = None,
        constraints_func: Callable[[FrozenTrial], Sequence[float]] | None = None,
        n_startup_trials: int = 0,
        consider_pruned_trials: bool = True,
        warm_start: Study | Sequence[Study] | Sequence[FrozenTrial] = (),
        warn_independent_sampling: bool = True,
        budget: int = 1000,
    ) -> None:
        self._seed = None if seed is None else check_integer("seed", seed, low=0)
        self._search_space = None if search_space is None else _check_search_space(search_space)
        make_strategy(strategy)  # raises for what is none
        self._strategy = strategy
        self._several: dict[tuple[str, ...], Objectives | None] = {}
        self._independent_sampler = independent_sampler or TPESampler(seed=self._seed)
        # The first values of a parameter are drawn here: a loaded study must go on in the same way.
        self._draws_unseen = independent_sampler is None and search_space is None
        self._constraints_func = constraints_func
        self._n_startup_trials = check_integer("n_startup_trials", n_startup_trials, low=0)
        self._considers_pruned = consider_pruned_trials
        self._warm_start = read_warm_start(warm_start)
        self._warns = warn_independent_sampling
        self._budget = check_integer("budget", budget, low=1)
        self._draw_seed = _fresh_seed() if self._seed is None else [self._seed]
        self._warned: set[str] = set()
        self._forget()

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """Return the parameters to sample together: those given, or those of all finished trials."""
        with self._lock:
            found = self._read(study, trial).branches.distributions
        return {name: distribution for name, distribution in found.items() if not distribution.single()}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Return values of all parameters of the search space."""
        self._objectives(study)
        if not search_space:
            return {}
        with self._lock:
            view = self._read(study, trial)
            follower = self._follow(study, view, search_space)
            if view.n_complete < self._n_startup_trials:
                return follower.draw(trial.number, self._draw_seed)
            return follower.propose(trial.number, view.running, self._draw_seed)

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """Return a value of a parameter that is not in the search space."""
        self._objectives(study)
        with self._lock:
            handed_out = self._read(study, trial).handed_out.get(trial.number, {})
        if param_name in handed_out:  # the range in this trial is another one
            return nearest(param_distribution, handed_out[param_name])
        if self._draws_unseen:
            rng = np.random.default_rng([*self._draw_seed, trial.number, zlib.crc32(param_name.encode())])
            return ParameterSpace({param_name: param_distribution}).params({}, fill=rng)[param_name]
        if self._warns and self._search_space is not None and param_name not in self._warned:
            self._warned.add(param_name)
            warnings.warn(
                f"parameter {param_name!r} of trial {trial.number} is sampled independently by "
                f"{self._independent_sampler}, because it is not in `search_space`; "
                "`warn_independent_sampling=False` is silent",
                stacklevel=3,
            )
        return self._independent_sampler.sample_independent(study, trial, param_name, param_distribution)

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        """Prepare a trial."""
        self._independent_sampler.before_trial(study, trial)

    def after_trial(
        self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None
    ) -> None:
        """Store the constraints of a trial that is about to be finished."""
        if self._constraints_func is not None and state in (TrialState.COMPLETE, TrialState.PRUNED):
            constraints = None
            try:
                constraints = _check_constraints(self._constraints_func(trial))
            finally:
                study._storage.set_trial_system_attr(trial._trial_id, CONSTRAINTS_KEY, constraints)
        self._independent_sampler.after_trial(study, trial, state, values)

    def reseed_rng(self) -> None:
        """Draw new seeds, as Optuna wants when several workers begin with copies of one sampler."""
        self._draw_seed = _fresh_seed()
        self._independent_sampler.reseed_rng()

    def __getstate__(self) -> dict[str, Any]:
        # What was learned is in the storage, which is not for a sampler to carry around.
        dropped = ("_lock", "_studies")
        return {name: value for name, value in vars(self).items() if name not in dropped}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._forget()

    def _forget(self) -> None:
        self._lock = threading.RLock()
        self._studies: OrderedDict[tuple[Any, ...], StudyView] = OrderedDict()

    def _read(self, study: Study, trial: FrozenTrial) -> StudyView:
        """Return what is known of the study, brought up to date once for each trial."""
        # Hyperband shows a sampler one bracket of the trials at a time.
        key = (id(study._storage), study._study_id, getattr(study, "_bracket_id", None))
        view = self._studies.pop(key, None) or StudyView(study._storage, self._search_space)
        self._studies[key] = view
        if len(self._studies) > _N_KEPT:
            self._studies.popitem(last=False)
        if view.trial_number != trial.number:
            view.read(study.get_trials(deepcopy=False))
            view.trial_number = trial.number
        return view

    def _follow(self, study: Study, view: StudyView, search_space: dict[str, BaseDistribution]) -> Follower:
        """Return the optimizer in this search space after all finished trials."""
        followed = (search_space, view.branches.conditions)
        if view.follower is None or view.followed != followed:
            space, maximized = ParameterSpace(*followed), is_maximized(study)
            seed = zlib.crc32(study.study_name.encode()) if self._seed is None else self._seed
            direction = "maximize" if maximized == [True] else "minimize"
            make = partial(self._make, seed=seed, direction=direction, objectives=self._objectives(study))
            read = partial(outcome, maximized=maximized, considers_pruned=self._considers_pruned)
            view.followed = (dict(search_space), dict(view.branches.conditions))
            start = first_points(self._warm_start, space)
            view.follower = Follower(space, start, make, read, view.handed_out)
        view.follower.learn(view.finished)
        return view.follower

    def _objectives(self, study: Study) -> Objectives | None:
        """Return the directions of several objectives, None if there is one; raise if none can be sought."""
        directions = tuple("maximize" if is_high else "minimize" for is_high in is_maximized(study))
        if len(directions) > 1 and directions not in self._several:
            strategy_for(self._strategy, len(directions))
            # Here and not by the optimizer, of which there are many: a warning of too many comes once.
            named = {f"f{i}": direction for i, direction in enumerate(directions)}
            self._several[directions] = read_objectives(named, None, "minimize")
        return self._several.get(directions)

    def _make(self, space: ParameterSpace, x0: Any, seed: int, direction: str, objectives: Any) -> Optimizer:
        return Optimizer(
            space.space,
            budget=self._budget,
            seed=seed,
            strategy=self._strategy,
            direction=direction,
            objectives=objectives,
            x0=x0,
            on_error="continue",
        )


def _check_search_space(search_space: Mapping[str, BaseDistribution]) -> dict[str, BaseDistribution]:
    for name, distribution in search_space.items():
        if not isinstance(distribution, BaseDistribution):
            raise TypeError(f"search_space[{name!r}] must be a distribution of Optuna, got {distribution!r}")
    return dict(search_space)


def _check_constraints(constraints: Any) -> tuple[float, ...]:
    values = tuple(float(value) for value in constraints)
    if any(math.isnan(value) for value in values):
        raise ValueError(f"constraints_func must return numbers, got NaN in {constraints!r}")
    return values


def _fresh_seed() -> list[int]:
    return [int(word) for word in np.random.SeedSequence().generate_state(4)]
