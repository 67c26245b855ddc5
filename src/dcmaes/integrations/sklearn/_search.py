"""Hyperparameter search with the look of scikit-learn's own."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.model_selection._search import BaseSearchCV
from sklearn.utils import check_random_state

from dcmaes._validation import check_integer
from dcmaes.integrations.sklearn._spaces import SearchSpace
from dcmaes.optimizer import Interaction, Optimizer


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
