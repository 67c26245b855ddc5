"""Hyperparameter search with the look of scikit-learn's own, and the search spaces its users write."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection._search import BaseSearchCV
from sklearn.utils import check_random_state

from dcmaes._validation import check_integer, shown
from dcmaes.optimizer import Interaction, Optimizer
from dcmaes.space import Categorical, Float, Integer, Ordinal, Space, Variable

# The variable that says in which of several dicts a point is.
_WHICH = "param_space"
# How much of an unbounded distribution is left out at either end.
_TAIL = 1e-3
_SAME = ("uniform", "loguniform", "reciprocal")


class DiscreteSearchCV(BaseSearchCV):  # type: ignore[misc]
    """Search hyperparameters by cross-validation, learning from every score which combinations are good.

    A replacement for `RandomizedSearchCV`: the same arguments except for `param_space`, the same attributes.
    Candidates come in generations; the fits of one generation run in parallel (`n_jobs`), and the outcome
    does not depend on how many do.

    Parameters
    ----------
    estimator : estimator
        What to tune; a pipeline takes parameters as `step__name`.
    param_space : dict of str to variable, distribution or list; or a list of such dicts
        The names of parameters and what they can be: a variable of this library (`Integer(1, 8)`), a
        distribution of `scipy.stats`, or a list. Lists of at least three numbers that go up or down have an
        order; all others are choices without one. Of `uniform`, `loguniform` and discrete distributions the
        range is taken; of other continuous ones the quantiles are searched, so that likely values have more
        room. Of several dicts, as `GridSearchCV` takes them, each candidate is from one: what is learned of a
        parameter counts only where it is, and of those that are the same in several dicts in all of them.
    n_iter : int
        How many candidates to evaluate; fewer if the space has fewer.
    strategy : str or strategy
        "auto", the name of another strategy, or an object that follows the strategy protocol.
    scoring, n_jobs, refit, cv, verbose, pre_dispatch, error_score, return_train_score
        As in `RandomizedSearchCV`. With several metrics the one named by `refit` is maximized, or else the
        first. Splits are drawn once, so that all candidates are compared on the same ones.
    random_state : int, RandomState instance or None
        Seed of the search.
    batch_size : int, optional
        How many candidates make a generation; by default as many as the strategy waits for.

    Attributes
    ----------
    cv_results_, best_estimator_, best_score_, best_params_, best_index_, scorer_, n_splits_, refit_time_, ...
        As in `RandomizedSearchCV`.
    interactions_ : list of Interaction
        Pairs of parameters that interact, strongest first.
    stop_message_ : str
        Why the search stopped.

    Examples
    --------
    >>> import dcmaes as dc
    >>> from dcmaes.integrations.sklearn import DiscreteSearchCV
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> space = {"max_depth": dc.Integer(1, 8), "criterion": ["gini", "entropy"]}
    >>> search = DiscreteSearchCV(DecisionTreeClassifier(random_state=0), space, n_iter=10, random_state=0)
    >>> bool(search.fit(X, y).best_score_ > 0.9)
    True
    >>> len(search.cv_results_["params"])
    10
    """

    def __init__(
        self,
        estimator: Any,
        param_space: Any,
        *,
        n_iter: int = 50,
        strategy: Any = "auto",
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: Any = "2*n_jobs",
        random_state: Any = None,
        error_score: Any = np.nan,
        return_train_score: bool = False,
        batch_size: int | None = None,
    ) -> None:
        super().__init__(
            estimator=estimator,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
            return_train_score=return_train_score,
        )
        self.param_space = param_space
        self.n_iter = n_iter
        self.strategy = strategy
        self.random_state = random_state
        self.batch_size = batch_size

    def _run_search(self, evaluate_candidates: Callable[..., dict[str, Any]]) -> None:
        """Evaluate generation after generation; scikit-learn records what comes of them."""
        space = SearchSpace(self.param_space)
        batch_size = None if self.batch_size is None else check_integer("batch_size", self.batch_size, low=1)
        optimizer = Optimizer(
            space.space,
            budget=check_integer("n_iter", self.n_iter, low=1),
            seed=int(check_random_state(self.random_state).randint(2**31)),
            strategy=self.strategy,
            direction="maximize",
            on_error="continue",  # scikit-learn has its own word for fits that all fail
        )
        splits = _SameSplits(self._checked_cv_orig)
        n_recorded, failure = 0, None
        while optimizer.should_stop() is None and (trials := optimizer.ask(batch_size)):
            candidates = [space.params(trial.point) for trial in trials]
            try:
                results = evaluate_candidates(candidates, cv=splits)
            except ValueError as error:
                failure = self._check_failure(error, len(trials))
                optimizer.tell(trials, [error] * len(trials))
            else:
                optimizer.tell(trials, self._scores(results)[n_recorded:])
                n_recorded += len(trials)
        if n_recorded == 0 and failure is not None:
            raise failure
        result = optimizer.result()
        self.interactions_: list[Interaction] = result.interactions()
        self.stop_message_ = result.message

    def _scores(self, results: dict[str, Any]) -> list[float]:
        """Return the mean test scores of all candidates so far by the metric that is searched for."""
        names = [
            f"mean_test_{self.refit}",
            "mean_test_score",
            *(k for k in results if k.startswith("mean_test_")),
        ]
        name = next(name for name in names if name in results)
        return [float(score) for score in results[name]]

    def _check_failure(self, error: ValueError, n_candidates: int) -> ValueError:
        """Return an error that says only that every fit of a generation failed, and warn; else raise it.

        For scikit-learn that is the end, because its searches have one generation.
        """
        if self.error_score == "raise" or "fits failed" not in str(error):
            raise error
        warnings.warn(
            f"all fits of a generation of {n_candidates} candidates failed; they are not in cv_results_",
            RuntimeWarning,
            stacklevel=4,
        )
        return error


class _SameSplits:
    """A splitter that splits once: a random one would judge each generation on other data."""

    def __init__(self, cv: Any) -> None:
        self._cv = cv
        self._splits: list[Any] | None = None

    def split(self, X: Any, y: Any = None, **params: Any) -> Iterator[Any]:
        """Yield the same splits as the first time."""
        if self._splits is None:
            self._splits = list(self._cv.split(X, y, **params))
        return iter(self._splits)


class _Coding(NamedTuple):
    """A variable, and how its value becomes the value of the parameter."""

    variable: Variable
    decode: Callable[[Any], Any]

    def is_like(self, other: _Coding) -> bool:
        """Tell whether two codings mean the same, wherever they are active."""
        is_same = self.variable == other.variable and self.decode is other.decode
        return self is other or (is_same and self.variable.when is None)


def _as_it_is(value: Any) -> Any:
    return value


class SearchSpace:
    """A space of parameters of an estimator.

    Of several dicts, a point is in one: a variable says in which, and the parameters of a dict are active
    only there. A parameter that is the same in several dicts is one variable.

    >>> from scipy import stats
    >>> SearchSpace({"C": stats.loguniform(1e-3, 1e3), "depth": [1, 2, 4], "kind": ["a", "b", None]}).space
    Space({'C': Float(0.001, 1000.0, log=True),
           'depth': Ordinal([1, 2, 4]), 'kind': Categorical(['a', 'b', None])})
    >>> several = SearchSpace([{"kernel": ["linear"], "C": [1, 2, 4]}, {"kernel": ["rbf"], "C": [1, 2, 4]}])
    >>> several.space.names
    ('param_space', 'kernel[0]', 'C', 'kernel[1]')
    >>> several.params({"param_space": 1, "kernel[1]": "rbf", "C": 2})
    {'kernel': 'rbf', 'C': 2}
    """

    def __init__(self, param_space: Any) -> None:
        is_list = isinstance(param_space, Sequence) and not isinstance(param_space, (str, bytes))
        given = list(param_space) if is_list else [param_space]
        for i, one in enumerate(given):
            _check_dict(f"param_space[{i}]" if is_list else "param_space", one)
        if not given:
            raise ValueError("param_space must have at least one dict, got an empty list")
        self._branches = [{name: _coding(name, value) for name, value in one.items()} for one in given]
        self._names = _names(self._branches)
        if len(given) > 1:
            self.space = Space(self._variables())
        else:
            self.space = Space({name: coding.variable for name, coding in self._branches[0].items()})

    def params(self, point: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters for `set_params` of a point of the space."""
        i = point[_WHICH] if len(self._branches) > 1 else 0
        found = zip(self._branches[i].items(), self._names[i].values(), strict=True)
        return {name: coding.decode(point[own]) for (name, coding), own in found if own in point}

    def _variables(self) -> Iterable[tuple[str, Variable]]:
        """Yield the variables of several dicts: the one that says which dict it is, and those in each."""
        homes: dict[str, list[int]] = {}
        inside: dict[str, Variable] = {}
        for i, (branch, names) in enumerate(zip(self._branches, self._names, strict=True)):
            for name, coding in branch.items():
                homes.setdefault(names[name], []).append(i)
                inside.setdefault(names[name], _renamed(coding.variable, names))
        yield _WHICH, Categorical(range(len(self._branches)))
        for name, variable in inside.items():
            is_everywhere = len(homes[name]) == len(self._branches)
            where = {} if is_everywhere else {_WHICH: homes[name]}
            yield name, variable.with_when({**where, **(variable.when or {})})


def _check_dict(what: str, given: Any) -> None:
    if not isinstance(given, Mapping) or not given:
        raise TypeError(
            f"{what} must be a dict of parameter names and what they can be "
            f"(a variable, a distribution of scipy.stats, or a list), got {shown(given)}"
        )
    if _WHICH in given:
        raise ValueError(f"{what} must not have the name {_WHICH!r}, which says in which dict a point is")


def _names(branches: Sequence[Mapping[str, _Coding]]) -> list[dict[str, str]]:
    """Return for each dict what its parameters are called in the space: as they are, unless they differ."""
    found: list[dict[str, str]] = []
    for branch in branches:
        own = {}
        for name, coding in branch.items():
            same = [j for j, other in enumerate(branches) if name in other]
            like = next(j for j in same if branches[j][name].is_like(coding))
            is_one = all(branches[j][name].is_like(coding) for j in same)
            own[name] = name if is_one else f"{name}[{like}]"
        found.append(own)
    return found


def _renamed(variable: Variable, names: Mapping[str, str]) -> Variable:
    """Return a variable with its condition on what others are called in the space."""
    if variable.when is None:
        return variable
    return variable.with_when({names.get(parent, parent): v for parent, v in variable.when.items()})


def _coding(name: str, given: Any) -> _Coding:
    if isinstance(given, Variable):
        return _Coding(given, _as_it_is)
    if hasattr(given, "ppf") and hasattr(given, "support"):
        return _distribution(given)
    if isinstance(given, np.ndarray):
        given = given.tolist()
    if isinstance(given, Sequence) and not isinstance(given, (str, bytes)):
        return _Coding(Ordinal(given) if _is_ordered(given) else Categorical(given), _as_it_is)
    raise TypeError(
        f"param_space[{name!r}] must be a variable (dcmaes.Integer(1, 8), ...), a distribution of "
        f"scipy.stats or a list of values, got {shown(given)}"
    )


def _is_ordered(values: Sequence[Any]) -> bool:
    """Tell whether the values are at least three numbers that go up, or down."""
    is_numeric = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values)
    if not is_numeric or len(values) < 3:
        return False
    steps = np.diff(np.asarray(values, dtype=np.float64))
    return bool((steps > 0).all() or (steps < 0).all())


def _distribution(given: Any) -> _Coding:
    """Return the range where the distribution is flat, linearly or in logarithms, else its quantiles."""
    kind = getattr(getattr(given, "dist", None), "name", "")
    low, high = (float(end) for end in given.support())
    if hasattr(given, "pmf"):
        ends = (given.ppf(_TAIL) if low == -np.inf else low, given.ppf(1 - _TAIL) if high == np.inf else high)
        return _Coding(Integer(int(ends[0]), int(ends[1])), _as_it_is)
    if kind in _SAME and np.isfinite([low, high]).all():
        return _Coding(Float(low, high, log=kind != "uniform"), _as_it_is)
    inner = Float(_TAIL if low == -np.inf else 0.0, 1 - _TAIL if high == np.inf else 1.0)
    return _Coding(inner, lambda u: float(given.ppf(u)))
