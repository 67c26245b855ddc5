"""Feature selection by the score of a model on subsets of features."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.feature_selection import SelectorMixin
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv, cross_val_score
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, indexable, validate_data

from dcmaes._validation import FloatArray, check_integer, check_number
from dcmaes.optimizer import Optimizer
from dcmaes.pareto import is_nondominated
from dcmaes.space import Space

# A coupling is reported if it stands out of all others by so many of their typical deviations.
_OUTSTANDING = 4.0
_MAD_TO_DEVIATION = 1.4826
_OBJECTIVES = {"score": "maximize", "n_features": "minimize"}
# Ridge as a share of the mean diagonal of the kernel: subsets are few against pairs, and scores have noise.
_RIDGE = 0.1


class RedundantPair(NamedTuple):
    """Two interchangeable features: having both is worth less than the sum of having each.

    >>> first, second, strength = RedundantPair("height", "height_in_inches", 0.03)
    """

    first: str | int
    second: str | int
    strength: float


class FeatureSelector(SelectorMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Select features by the cross-validated score of a model on subsets of them.

    Each feature is a binary variable, and a strategy searches over subsets. It considers features jointly,
    where recursive and sequential selection add or drop one at a time, and so finds features that are only
    useful together and drops those that are interchangeable.

    Parameters
    ----------
    estimator : estimator
        The model; it is cloned for every fit.
    n_iter : int
        How many subsets to score; each costs as many fits as there are splits. One more fit, on all features,
        ranks them, if the model tells how important they are to it (`coef_`, `feature_importances_`): the
        search then starts from the best of nested subsets of the foremost ones.
    max_features : int, float or None
        Most features to select: a number, or a share of all of them.
    min_features : int
        Fewest features to select.
    penalty : float
        The cost of a feature: the score is lowered by this much for each one selected.
    front : bool
        Whether to search for the best score of every number of features (see `front_`), instead of the one
        subset with the best score. What is selected is the best one either way.
    strategy : str or strategy
        "auto", the name of another strategy, or an object that follows the strategy protocol.
    scoring : str, callable or None
        How to score; None is the estimator's own `score`.
    cv : int, splitter or iterable
        How to split. Splits are drawn once: all subsets are compared on the same ones.
    n_jobs : int or None
        How many subsets to score at once. The outcome does not depend on it.
    random_state : int, RandomState instance or None
        Seed of the search.

    Attributes
    ----------
    support_ : bool array of shape (n_features,)
        Which features are selected.
    n_features_ : int
        How many are.
    best_score_ : float
        Mean cross-validated score with these features, without the penalty.
    scores_ : array of shape (n_subsets,)
        Score of every subset, in the order of evaluation.
    supports_ : bool array of shape (n_subsets, n_features)
        Those subsets.
    front_ : bool array of shape (n_front, n_features)
        The subsets that no other one beats in both score and number of features, the smallest first.
    front_scores_ : array of shape (n_front,)
        Their scores, increasing.
    couplings_ : array of shape (n_features, n_features)
        How the score depends on pairs of features in {-1,+1}: positive if they are better together, negative
        if one can replace the other.
    redundant_pairs_ : list of RedundantPair
        Interchangeable pairs that are significant, strongest first.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from dcmaes.integrations.sklearn import FeatureSelector
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> selector = FeatureSelector(GaussianNB(), n_iter=40, max_features=6, random_state=0)
    >>> selector.set_output(transform="pandas").fit(X, y).transform(X).shape[1] <= 6
    True
    >>> selector.best_score_ > 0.95
    True
    """

    def __init__(
        self,
        estimator: Any,
        *,
        n_iter: int = 100,
        max_features: float | None = None,
        min_features: int = 1,
        penalty: float = 0.0,
        front: bool = False,
        strategy: Any = "auto",
        scoring: Any = None,
        cv: Any = 5,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_iter = n_iter
        self.max_features = max_features
        self.min_features = min_features
        self.penalty = penalty
        self.front = front
        self.strategy = strategy
        self.scoring = scoring
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, groups: Any = None) -> FeatureSelector:
        """Search for the best subset of features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The data, dense or sparse.
        y : array-like of shape (n_samples,), optional
            The target.
        groups : array-like of shape (n_samples,), optional
            Groups of samples for the splitter.
        """
        tags = self.__sklearn_tags__()
        X = validate_data(
            self,
            X,
            accept_sparse="csc",
            ensure_min_features=2,
            ensure_all_finite=not tags.input_tags.allow_nan,
        )
        if y is None and tags.target_tags.required:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: "
                f"{type(self.estimator).__name__} learns from it"
            )
        X, y, groups = indexable(X, y, groups)
        cv = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        objective = _Objective(
            clone(self.estimator),
            X,
            y,
            list(cv.split(X, y, groups)),
            check_scoring(self.estimator, self.scoring),
            check_number("penalty", self.penalty, low=0.0),
            self._has_front(),
        )
        optimizer = self._search(X.shape[1], objective)
        self._report(optimizer, objective)
        return self

    def _search(self, n_features: int, objective: _Objective) -> Optimizer:
        """Score subsets, generation after generation."""
        n_least = check_integer("min_features", self.min_features, low=1, high=n_features)
        n_most = self._n_most(n_features)
        if n_most < n_least:
            raise ValueError(f"max_features must be at least min_features={n_least}, got {n_most}")
        n_iter = check_integer("n_iter", self.n_iter, low=1)
        rng = check_random_state(self.random_state)
        seed = int(rng.randint(2**31))
        order = objective.importance_order()
        # Without a ranking, smaller subsets would be as good as drawn at random.
        n_starts = 1 if order is None else n_iter
        starts = _nested(rng.permutation(n_features) if order is None else order, n_least, n_most)[:n_starts]
        with Parallel(n_jobs=self.n_jobs) as parallel:
            outcomes = parallel(delayed(objective)(start) for start in starts)
            failures = [outcome for outcome in outcomes if isinstance(outcome, ValueError)]
            optimizer = Optimizer(
                Space.binary(n_features),
                budget=max(n_iter - len(starts), 1),
                seed=seed,
                strategy=self.strategy,
                direction="maximize",
                on_error="continue",  # scikit-learn has its own word for fits that all fail
                x0=[
                    pair for pair in zip(starts, outcomes, strict=True) if not isinstance(pair[1], ValueError)
                ],
                constraints=[lambda x: n_least - x.sum(), lambda x: x.sum() - n_most],
                objectives=_OBJECTIVES if objective.has_front else None,
            )
            while len(starts) < n_iter and optimizer.should_stop() is None and (trials := optimizer.ask()):
                outcomes = parallel(delayed(objective)(trial.point) for trial in trials)
                failures += [outcome for outcome in outcomes if isinstance(outcome, ValueError)]
                optimizer.tell(trials, outcomes)
        if optimizer.best is None and failures:
            raise failures[0]
        return optimizer

    def _has_front(self) -> bool:
        if not isinstance(self.front, (bool, np.bool_)):
            raise TypeError(f"front must be True or False, got {self.front!r}")
        return bool(self.front)

    def _n_most(self, n_features: int) -> int:
        given: Any = self.max_features
        if given is None:
            return n_features
        if isinstance(given, Integral):
            return check_integer("max_features", given, low=1, high=n_features)
        if not isinstance(given, Real):
            raise TypeError(f"max_features must be a number, a share, or None, got {given!r}")
        return max(1, int(check_number("max_features", given, low=0.0, high=1.0) * n_features))

    def _report(self, optimizer: Optimizer, objective: _Objective) -> None:
        records = [record for record in optimizer.history if record.status == "ok"]
        if not records:
            raise ValueError(f"no subset of features could be scored: {optimizer.result().message}")
        self.supports_: NDArray[np.bool_] = np.array([record.point == 1 for record in records])
        sizes = self.supports_.sum(axis=1)
        if objective.has_front:
            self.scores_ = np.array([record.value[0] for record in records])
            values = self.scores_ - objective.penalty * sizes
        else:
            values = np.array([record.value for record in records])
            self.scores_ = values + objective.penalty * sizes
        # Of equally good subsets the smallest, of those the first.
        best = np.lexsort((np.arange(len(values)), sizes, -values))[0]
        self.support_ = self.supports_[best].copy()
        self.n_features_ = int(sizes[best])
        self.best_score_ = float(self.scores_[best])
        on_front = np.flatnonzero(is_nondominated(np.stack([sizes, -self.scores_], axis=1)))
        on_front = on_front[np.argsort(sizes[on_front])]
        self.front_, self.front_scores_ = self.supports_[on_front], self.scores_[on_front]
        effect, self.couplings_ = pair_couplings(self.supports_, self.scores_)
        self.redundant_pairs_ = self._redundant_pairs(effect)

    def _redundant_pairs(self, effect: NDArray[np.float64]) -> list[RedundantPair]:
        first, second = np.triu_indices(len(effect), k=1)
        coupling = self.couplings_[first, second]
        spread = _MAD_TO_DEVIATION * np.median(np.abs(coupling))
        # Each must be worth having without the other.
        is_useful = (effect[first] > coupling) & (effect[second] > coupling)
        found = np.flatnonzero(is_useful & (coupling < -_OUTSTANDING * spread))
        names = getattr(self, "feature_names_in_", range(len(effect)))
        return [
            RedundantPair(names[first[i]], names[second[i]], float(-coupling[i]))
            for i in found[np.argsort(coupling[found], kind="stable")]
        ]

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        support: NDArray[np.bool_] = self.support_
        return support

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.target_tags.required = inner.target_tags.required
        return tags


class _Objective:
    """What a subset of features is worth."""

    def __init__(
        self, estimator: Any, X: Any, y: Any, splits: Any, scorer: Any, penalty: float, has_front: bool
    ) -> None:
        self.penalty = penalty
        self.has_front = has_front
        self._estimator = estimator
        self._X = X
        self._y = y
        self._splits = splits
        self._scorer = scorer

    def importance_order(self) -> NDArray[np.int64] | None:
        """Return the features by their importance to a model of all, most important first, if it tells."""
        try:
            model = clone(self._estimator).fit(self._X, self._y)
        except ValueError:
            return None
        found = getattr(model, "feature_importances_", getattr(model, "coef_", None))
        if found is None or np.shape(found)[-1] != self._X.shape[1]:
            return None
        size = np.abs(np.asarray(found, dtype=np.float64)).reshape(-1, self._X.shape[1]).sum(axis=0)
        return np.argsort(-size, kind="stable")

    def __call__(self, support: NDArray[np.int64]) -> float | tuple[float, int] | ValueError:
        """Return the mean score over the splits less what the features cost, or why all fits failed.

        If the front is looked for, the score itself and the number of features.
        """
        selected = np.flatnonzero(support)
        X = self._X[:, selected]
        try:
            scores = cross_val_score(self._estimator, X, self._y, cv=self._splits, scoring=self._scorer)
        except ValueError as error:
            if "fits failed" in str(error):
                return error
            raise
        if self.has_front:
            return float(np.mean(scores)), len(selected)
        return float(np.mean(scores)) - self.penalty * len(selected)


def _nested(order: NDArray[np.int64], n_least: int, n_most: int) -> list[NDArray[np.int64]]:
    """Return subsets of the first features in an order: as many as allowed, half of that, and so on."""
    sizes = [n_most]
    while sizes[-1] // 2 >= n_least:
        sizes.append(sizes[-1] // 2)
    supports = np.zeros((len(sizes), len(order)), dtype=np.int64)
    for support, size in zip(supports, sizes, strict=True):
        support[order[:size]] = 1
    return list(supports)


def pair_couplings(supports: NDArray[np.bool_], scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return main effects, shape (d,), and couplings, shape (d, d), of a quadratic fit to scores of subsets.

    With s = -1 for a feature left out and +1 for one taken, the score is fitted by
    c + sum_i effect_i s_i + sum_{i<j} coupling_ij s_i s_j (coupling in {-1,+1}), by kernel ridge regression:
    every product of two features is a predictor, none is ever written down.

    >>> x = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=bool)
    >>> effect, coupling = pair_couplings(x, np.array([0.0, 1.0, 1.0, 1.0]))
    >>> bool(coupling[0, 1] < 0 < effect[0])
    True
    """
    spins = 2.0 * supports - 1.0
    d = spins.shape[1]
    overlap = spins @ spins.T / d
    # The square of the overlap has every pair twice, and a constant.
    kernel = overlap + overlap**2 / 2
    centered = scores - scores.mean()
    center = np.eye(len(scores)) - 1.0 / len(scores)
    kernel = center @ kernel @ center
    ridge = _RIDGE * max(np.trace(kernel) / len(scores), 1e-12)
    weights = center @ np.linalg.solve(kernel + ridge * np.eye(len(scores)), centered)
    effect = weights @ spins / d
    coupling = (spins * weights[:, None]).T @ spins / d**2
    np.fill_diagonal(coupling, 0.0)
    # Rounding may differ between the two triangles.
    return effect, (coupling + coupling.T) / 2
