"""Feature selection: what is selected, under which limits, and what is said about pairs of features."""

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="needs the extra sklearn")

from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GroupKFold, KFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dcmaes.integrations.sklearn import FeatureSelector
from dcmaes.integrations.sklearn._selector import pair_couplings

X, Y = load_wine(return_X_y=True)


def linear_data(n=120, d=12, seed=0):
    """Return data of which the target is a sum of features 0, 3 and 5, and some noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X[:, 0] + X[:, 3] - X[:, 5] + 0.1 * rng.normal(size=n)


def test_it_finds_the_features_that_matter():
    X, y = linear_data()
    selector = FeatureSelector(LinearRegression(), n_iter=120, penalty=0.002, random_state=0).fit(X, y)
    assert np.flatnonzero(selector.get_support()).tolist() == [0, 3, 5]
    assert selector.n_features_ == 3
    assert selector.transform(X).shape == (120, 3)
    assert selector.best_score_ == pytest.approx(
        cross_val_score(LinearRegression(), X[:, [0, 3, 5]], y, cv=5).mean()
    )


def test_features_that_are_only_good_together():
    # The target is the product of the signs of features 2 and 7: neither says anything alone.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 10))
    y = (X[:, 2] * X[:, 7] > 0).astype(int)
    from sklearn.neighbors import KNeighborsClassifier

    selector = FeatureSelector(KNeighborsClassifier(5), n_iter=120, random_state=0).fit(X, y)
    assert np.flatnonzero(selector.support_).tolist() == [2, 7]
    strongest = np.unravel_index(np.argmax(selector.couplings_), selector.couplings_.shape)
    assert sorted(int(i) for i in strongest) == [2, 7]


def test_the_selection_is_the_best_of_the_subsets_looked_at():
    selector = FeatureSelector(GaussianNB(), n_iter=30, cv=3, random_state=0).fit(X, Y)
    assert selector.best_score_ == selector.scores_.max()
    assert len(selector.scores_) == len(selector.supports_) == 30
    assert len(np.unique(selector.supports_, axis=0)) == 30
    assert selector.supports_[0].all()  # all features, to begin with
    ties = selector.supports_[selector.scores_ == selector.best_score_].sum(axis=1)
    assert selector.n_features_ == ties.min()


def test_a_model_that_ranks_features_gives_nested_subsets_to_start_from():
    X, y = linear_data()
    selector = FeatureSelector(
        LinearRegression(), n_iter=20, max_features=9, min_features=2, cv=3, random_state=0
    )
    starts = selector.fit(X, y).supports_[:3]
    assert starts.sum(axis=1).tolist() == [9, 4, 2]
    assert (starts[0] >= starts[1]).all()
    assert starts[1][[0, 3, 5]].all()
    assert len(selector.scores_) == 20
    assert len(FeatureSelector(LinearRegression(), n_iter=2, cv=3).fit(X, y).scores_) == 2


@pytest.mark.parametrize(("limit", "most"), [(3, 3), (0.25, 3), (None, 13)])
def test_limits_on_the_number_of_features(limit, most):
    selector = FeatureSelector(
        GaussianNB(), n_iter=25, cv=3, max_features=limit, min_features=2, random_state=0
    )
    selector.fit(X, Y)
    sizes = selector.supports_.sum(axis=1)
    assert sizes.min() >= 2
    assert sizes.max() <= most


def test_few_features_of_many():
    X, y = linear_data(n=80, d=150, seed=1)
    selector = FeatureSelector(LinearRegression(), n_iter=120, max_features=4, cv=3, random_state=0).fit(X, y)
    assert selector.supports_.sum(axis=1).max() <= 4
    assert len({0, 3, 5} & set(np.flatnonzero(selector.support_).tolist())) >= 2


def test_a_penalty_leaves_out_what_is_worth_less():
    free, dear = (
        FeatureSelector(GaussianNB(), n_iter=60, cv=3, penalty=penalty, random_state=0).fit(X, Y)
        for penalty in (0.0, 0.05)
    )
    assert dear.n_features_ < free.n_features_
    assert dear.best_score_ <= free.best_score_


def test_features_that_stand_in_for_each_other_are_reported():
    X, y = linear_data()
    rng = np.random.default_rng(1)
    X = np.column_stack([X, X[:, 3] + 0.01 * rng.normal(size=len(X))])  # feature 12 doubles feature 3
    selector = FeatureSelector(LinearRegression(), n_iter=150, random_state=0).fit(X, y)
    assert selector.redundant_pairs_[0][:2] == (3, 12)
    assert selector.redundant_pairs_[0].strength == pytest.approx(-selector.couplings_[3, 12])
    assert np.array_equal(selector.couplings_, selector.couplings_.T)
    assert not {3, 12} <= set(np.flatnonzero(selector.support_).tolist())


def test_couplings_of_a_known_function():
    rng = np.random.default_rng(0)
    x = rng.random((400, 6)) < 0.5
    s = 2.0 * x - 1
    effect, coupling = pair_couplings(x, 3.0 + 0.5 * s[:, 0] - 0.4 * s[:, 1] * s[:, 2])
    assert effect == pytest.approx([0.5, 0, 0, 0, 0, 0], abs=0.05)
    assert coupling[1, 2] == pytest.approx(-0.4, abs=0.05)
    coupling[1, 2] = coupling[2, 1] = 0.0
    assert np.abs(coupling).max() < 0.05


def test_names_and_frames_go_through():
    frame, target = load_wine(return_X_y=True, as_frame=True)
    selector = FeatureSelector(GaussianNB(), n_iter=15, cv=3, random_state=0).set_output(transform="pandas")
    chosen = selector.fit_transform(frame, target)
    assert list(chosen.columns) == list(selector.get_feature_names_out())
    assert list(chosen.columns) == list(frame.columns[selector.support_])
    assert selector.inverse_transform(chosen).shape == frame.shape
    assert all(isinstance(pair.first, str) for pair in selector.redundant_pairs_)


def test_it_works_as_a_step_of_a_pipeline():
    pipeline = make_pipeline(
        StandardScaler(), FeatureSelector(GaussianNB(), n_iter=10, cv=3), LogisticRegression()
    )
    assert pipeline.fit(X, Y).score(X, Y) > 0.9


def test_the_outcome_does_not_depend_on_the_number_of_jobs():
    selector = FeatureSelector(GaussianNB(), n_iter=20, cv=3, random_state=3)
    alone = clone(selector).fit(X, Y)
    together = clone(selector).set_params(n_jobs=2).fit(X, Y)
    assert np.array_equal(alone.supports_, together.supports_)


def test_random_splits_are_the_same_for_all_subsets_and_groups_reach_the_splitter():
    selector = FeatureSelector(GaussianNB(), n_iter=5, cv=KFold(3, shuffle=True), random_state=0).fit(X, Y)
    assert len(selector.scores_) == 5
    groups = np.arange(len(Y)) % 4
    FeatureSelector(GaussianNB(), n_iter=3, cv=GroupKFold(4), random_state=0).fit(X, Y, groups=groups)


def test_missing_values_are_for_the_estimator_to_judge():
    from sklearn.ensemble import HistGradientBoostingRegressor

    X, y = linear_data(n=60, d=6)
    X[0, 0] = np.nan
    model = HistGradientBoostingRegressor(max_iter=5)
    assert FeatureSelector(model, n_iter=3, cv=2, random_state=0).fit(X, y).n_features_ >= 1
    with pytest.raises(ValueError, match="NaN"):
        FeatureSelector(LinearRegression(), n_iter=3).fit(X, y)


def test_fits_that_all_fail_are_told_with_their_reason():
    class Broken(LinearRegression):
        def fit(self, X, y):
            raise ValueError("out of order")

    with pytest.raises(ValueError, match=r"(?s)All the 2 fits failed.*out of order"):
        FeatureSelector(Broken(), n_iter=2, cv=2).fit(*linear_data())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_iter": 0}, "n_iter must be at least 1"),
        ({"max_features": 0}, "max_features must be at least 1"),
        ({"max_features": 14}, "max_features must be at most 13"),
        ({"max_features": 1.5}, "max_features must be between"),
        ({"max_features": "few"}, "max_features must be a number"),
        ({"min_features": 5, "max_features": 3}, "max_features must be at least min_features=5"),
        ({"penalty": -1}, "penalty must be between"),
        ({"strategy": "nothing"}, "strategy must be one of"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        FeatureSelector(GaussianNB(), cv=3, **({"n_iter": 5} | arguments)).fit(X, Y)


def test_the_front_has_the_best_score_of_each_number_of_features():
    X, y = linear_data()
    selector = FeatureSelector(LinearRegression(), n_iter=80, front=True, random_state=0).fit(X, y)
    sizes = selector.front_.sum(axis=1)
    assert (np.diff(sizes) > 0).all()
    assert (np.diff(selector.front_scores_) > 0).all()
    for size, score in zip(sizes, selector.front_scores_, strict=True):
        smaller = selector.supports_.sum(axis=1) <= size
        assert score == selector.scores_[smaller].max()
    assert sizes[0] == 1
    (three,) = selector.front_[sizes == 3]
    assert np.flatnonzero(three).tolist() == [0, 3, 5]
    assert selector.best_score_ == selector.scores_.max() == selector.front_scores_[-1]


def test_without_a_search_for_it_the_front_is_that_of_what_was_scored():
    selector = FeatureSelector(GaussianNB(), n_iter=20, random_state=0).fit(X, Y)
    sizes, scores = selector.supports_.sum(axis=1), selector.scores_
    for support, score in zip(selector.front_, selector.front_scores_, strict=True):
        assert not (
            (sizes <= support.sum()) & (scores >= score) & ((sizes < support.sum()) | (scores > score))
        ).any()


def test_the_front_keeps_to_the_limits_and_does_not_depend_on_the_number_of_jobs():
    limits = {"min_features": 2, "max_features": 5, "front": True, "n_iter": 30, "cv": 3, "random_state": 0}
    one, two = (FeatureSelector(GaussianNB(), n_jobs=n, **limits).fit(X, Y) for n in (1, 2))
    sizes = one.supports_.sum(axis=1)
    assert 2 <= sizes.min() < sizes.max() <= 5
    np.testing.assert_array_equal(one.supports_, two.supports_)
    np.testing.assert_array_equal(one.front_, two.front_)


def test_the_penalty_chooses_from_the_front():
    """What a feature must be worth decides which subset is selected, not which are on the front."""
    fitted = [
        FeatureSelector(GaussianNB(), n_iter=40, cv=3, front=True, penalty=penalty, random_state=0).fit(X, Y)
        for penalty in (0.0, 0.05)
    ]
    np.testing.assert_array_equal(fitted[0].front_, fitted[1].front_)
    assert fitted[1].n_features_ < fitted[0].n_features_
    for selector, penalty in zip(fitted, (0.0, 0.05), strict=True):
        worth = selector.front_scores_ - penalty * selector.front_.sum(axis=1)
        np.testing.assert_array_equal(selector.support_, selector.front_[worth.argmax()])


def test_a_strategy_for_one_objective_finds_no_front():
    with pytest.raises(ValueError, match="'cma' searches for one"):
        FeatureSelector(GaussianNB(), n_iter=20, cv=3, front=True, strategy="cma").fit(X, Y)


def test_front_must_be_a_flag():
    with pytest.raises(TypeError, match="front must be True or False, got 'yes'"):
        FeatureSelector(GaussianNB(), front="yes").fit(X, Y)
