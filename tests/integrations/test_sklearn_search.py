"""Hyperparameter search: spaces as users write them, attributes as scikit-learn has them, what is learned."""

import warnings

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="needs the extra sklearn")

from scipy import stats
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_iris
from sklearn.model_selection import ShuffleSplit, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import dcmaes as dc
from dcmaes.integrations.sklearn import DiscreteSearchCV
from dcmaes.integrations.sklearn._search import SearchSpace

X, Y = load_iris(return_X_y=True)
TREE = DecisionTreeClassifier(random_state=0)


class Peak(ClassifierMixin, BaseEstimator):
    """A classifier whose score is a known function of its parameters; some parameters make it fail."""

    def __init__(self, a=0, b=0, fails_above=99):
        self.a = a
        self.b = b
        self.fails_above = fails_above

    def fit(self, X, y):
        if self.a > self.fails_above:
            raise ValueError("a is too large")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.zeros(len(X))

    def score(self, X, y=None):
        return -abs(self.a - 7) - abs(self.b - 3)


def search(estimator=TREE, space=None, **kwargs):
    arguments = {"n_iter": 12, "cv": 3, "random_state": 0} | kwargs
    return DiscreteSearchCV(estimator, space or {"max_depth": dc.Integer(1, 8)}, **arguments)


def test_it_finds_the_peak_and_says_so_like_the_searches_of_scikit_learn():
    found = search(Peak(), {"a": dc.Integer(0, 30), "b": dc.Integer(0, 30)}, n_iter=150, cv=2).fit(X, Y)
    assert found.best_params_ == {"a": 7, "b": 3}
    assert found.best_score_ == 0
    assert found.cv_results_["params"][found.best_index_] == found.best_params_
    assert len(found.cv_results_["params"]) == 150
    assert found.cv_results_["param_a"].dtype == int
    assert (found.best_estimator_.a, found.n_splits_, found.multimetric_) == (7, 2, False)
    assert found.stop_message_ == "budget of 150 evaluations used"


def test_candidates_do_not_depend_on_the_number_of_jobs():
    alone, together = (search(n_jobs=n).fit(X, Y) for n in (1, 2))
    assert alone.cv_results_["params"] == together.cv_results_["params"]


def test_a_seed_repeats_a_search_and_a_clone_too():
    first = search(Peak(), {"a": dc.Integer(0, 99), "b": dc.Integer(0, 99)})
    second = clone(first)
    params = first.fit(X, Y).cv_results_["params"]
    assert params == second.fit(X, Y).cv_results_["params"]
    assert params != first.set_params(random_state=1).fit(X, Y).cv_results_["params"]


def test_no_candidate_comes_twice_and_a_small_space_is_seen_whole():
    found = search(space={"max_depth": dc.Integer(1, 4), "criterion": ["gini", "entropy"]}, n_iter=50).fit(
        X, Y
    )
    assert len(found.cv_results_["params"]) == 8
    assert "all 8 points" in found.stop_message_


def test_pipelines_steps_and_objects_as_choices():
    pipeline = Pipeline([("scale", StandardScaler()), ("svc", SVC())])
    scaler = MinMaxScaler()
    space = {
        "scale": [scaler, "passthrough"],
        "svc__C": stats.loguniform(1e-2, 1e2),
        "svc__kernel": ["rbf", "linear"],
    }
    found = search(pipeline, space).fit(X, Y)
    assert {id(p["scale"]) for p in found.cv_results_["params"]} == {id(scaler), id("passthrough")}
    assert all(0.01 <= p["svc__C"] <= 100 for p in found.cv_results_["params"])
    assert found.predict(X).shape == (150,)
    score = cross_val_score(clone(pipeline).set_params(**found.best_params_), X, Y, cv=3).mean()
    assert found.best_score_ == pytest.approx(score)


def test_several_metrics():
    found = search(scoring={"acc": "accuracy", "f1": "f1_macro"}, refit="f1").fit(X, Y)
    assert found.best_index_ == np.argmax(found.cv_results_["mean_test_f1"])
    assert "mean_test_acc" in found.cv_results_
    without = search(scoring=["accuracy", "f1_macro"], refit=False).fit(X, Y)
    assert not hasattr(without, "best_estimator_")
    assert len(without.cv_results_["mean_test_accuracy"]) == 8  # all depths


def test_a_refit_function_and_train_scores():
    found = search(refit=lambda results: 3, return_train_score=True).fit(X, Y)
    assert found.best_index_ == 3
    assert "mean_train_score" in found.cv_results_


def test_random_splits_are_the_same_for_all_candidates():
    # Scores of one parameter that does nothing: they agree only if the data do.
    space = {"random_state": dc.Integer(0, 99)}
    found = search(DecisionTreeClassifier(max_depth=1), space, cv=ShuffleSplit(2, test_size=0.2)).fit(X, Y)
    assert len(set(found.cv_results_["split0_test_score"])) == 1


def test_groups_reach_the_splitter():
    from sklearn.model_selection import GroupKFold

    groups = np.arange(150) % 5
    assert search(cv=GroupKFold(5)).fit(X, Y, groups=groups).n_splits_ == 5


def test_fits_that_fail_rank_last():
    space = {"a": dc.Integer(0, 30), "b": dc.Integer(0, 30)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = search(Peak(fails_above=9), space, n_iter=150, cv=2).fit(X, Y)
    assert found.best_params_ == {"a": 7, "b": 3}


def test_fits_that_all_fail_raise_as_in_scikit_learn():
    with pytest.warns(RuntimeWarning), pytest.raises(ValueError, match="All the 2 fits failed"):
        search(Peak(fails_above=-1), {"a": [1]}, cv=2).fit(X, Y)
    with pytest.raises(ValueError, match="a is too large"):
        search(Peak(fails_above=-1), {"a": [1]}, error_score="raise").fit(X, Y)


def test_a_generation_that_fails_as_a_whole_does_not_end_the_search():
    space = {"a": [1, *range(50, 60)], "b": [3]}
    with pytest.warns(RuntimeWarning, match="all fits of a generation of 1 ") as caught:
        found = search(Peak(fails_above=9), space, n_iter=11, cv=2, batch_size=1).fit(X, Y)
    assert found.best_params_ == {"a": 1, "b": 3}
    assert len(caught) == 10


def test_interactions_are_pairs_of_parameters():
    found = search(
        space={"max_depth": dc.Integer(1, 8), "min_samples_leaf": dc.Integer(1, 30)}, n_iter=40
    ).fit(X, Y)
    assert all({i.first, i.second} == {"max_depth", "min_samples_leaf"} for i in found.interactions_)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([1, 2, 4, 8], dc.Ordinal([1, 2, 4, 8])),
        (np.array([0.3, 0.2, 0.1]), dc.Ordinal([0.3, 0.2, 0.1])),
        ([1, 4, 2], dc.Categorical([1, 4, 2])),
        ([True, False, None], dc.Categorical([True, False, None])),
        (["a", "b"], dc.Categorical(["a", "b"])),
        (range(3, 9, 2), dc.Ordinal([3, 5, 7])),
        (stats.randint(2, 10), dc.Integer(2, 9)),
        (stats.uniform(2, 3), dc.Float(2.0, 5.0)),
        (stats.loguniform(1e-3, 10), dc.Float(1e-3, 10.0, log=True)),
        (stats.poisson(4), dc.Integer(0, 11)),
        (dc.Binary(), dc.Binary()),
    ],
)
def test_what_is_made_of_what_is_given(given, expected):
    assert SearchSpace({"p": given}).space.variables == (expected,)


def test_other_distributions_are_searched_by_their_quantiles():
    space = SearchSpace({"p": stats.norm(5, 2), "q": stats.beta(2, 3)})
    assert space.params({"p": 0.5, "q": 1.0}) == {"p": 5.0, "q": 1.0}
    low, high = (space.params(p)["p"] for p in ({"p": 0.001, "q": 0.0}, {"p": 0.999, "q": 0.0}))
    assert (low, high) == pytest.approx((5 - 6.18, 5 + 6.18), abs=0.01)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"space": "deep"}, "param_space must be a dict"),
        ({"space": [{"max_depth": [1, 2]}, 3]}, r"param_space\[1\] must be a dict"),
        ({"space": {"max_depth": 3}}, r"param_space\['max_depth'\] must be a variable"),
        ({"space": {"max_depth": "deep"}}, r"param_space\['max_depth'\] must be a variable"),
        ({"n_iter": 0}, "n_iter must be at least 1"),
        ({"batch_size": 0}, "batch_size must be at least 1"),
        ({"strategy": "nothing"}, "strategy must be one of"),
    ],
)
def test_bad_arguments_are_named_before_anything_is_fitted(arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        search(**arguments).fit(X, Y)


class TestSeveralDicts:
    GRID = (
        {"kernel": ["linear"], "C": stats.loguniform(1e-2, 1e2)},
        {"kernel": ["rbf", "poly"], "C": stats.loguniform(1e-2, 1e2), "gamma": stats.loguniform(1e-3, 1e1)},
        {"kernel": ["sigmoid"], "C": [1, 2]},
    )

    def test_they_become_one_conditional_space(self):
        space = SearchSpace(self.GRID).space
        variables = dict(zip(space.names, space.variables, strict=True))
        assert space.names == ("param_space", "kernel[0]", "C[0]", "kernel[1]", "gamma", "kernel[2]", "C[2]")
        assert variables["param_space"] == dc.Categorical([0, 1, 2])
        assert variables["C[0]"] == dc.Float(1e-2, 1e2, log=True, when={"param_space": [0, 1]})
        assert variables["gamma"] == dc.Float(1e-3, 1e1, log=True, when={"param_space": 1})
        assert variables["kernel[1]"] == dc.Categorical(["rbf", "poly"], when={"param_space": 1})

    def test_parameters_that_are_everywhere_the_same_need_no_condition(self):
        space = SearchSpace([{"a": [1, 2], "b": ["x"]}, {"a": [1, 2], "c": [3, 4, 5]}]).space
        assert space.names == ("param_space", "a", "b", "c")
        assert space.variables[1] == dc.Categorical([1, 2])
        assert space.size == 2 * (1 + 3)

    def test_conditions_inside_a_dict_stay(self):
        inside = {"a": dc.Integer(0, 9), "b": dc.Float(0, 1, when={"a": {"low": 5}})}
        space = SearchSpace([inside, {"a": dc.Integer(0, 4), "c": ["x", "y"]}])
        b = dict(zip(space.space.names, space.space.variables, strict=True))["b"]
        assert b.when == {"param_space": 0, "a[0]": {"low": 5}}
        assert space.params({"param_space": 0, "a[0]": 7, "b": 0.5}) == {"a": 7, "b": 0.5}
        assert space.params({"param_space": 0, "a[0]": 3}) == {"a": 3}
        assert space.params({"param_space": 1, "a[1]": 3, "c": "y"}) == {"a": 3, "c": "y"}
        assert SearchSpace(inside).params({"a": 3}) == {"a": 3}

    def test_a_search_over_estimators(self):
        pipeline = Pipeline([("scale", StandardScaler()), ("model", SVC())])
        space = [
            {"model": [SVC()], "model__C": stats.loguniform(1e-2, 1e2), "model__kernel": ["rbf", "linear"]},
            {"model": [TREE], "model__max_depth": dc.Integer(1, 8)},
        ]
        found = search(pipeline, space, n_iter=16).fit(X, Y)
        assert len(found.cv_results_["params"]) == 16
        for params in found.cv_results_["params"]:
            is_tree = isinstance(params["model"], DecisionTreeClassifier)
            assert set(params) == {
                "model",
                *(("model__max_depth",) if is_tree else ("model__C", "model__kernel")),
            }
        column = found.cv_results_["param_model__C"]
        assert [bool(m) for m in column.mask] == ["model__C" not in p for p in found.cv_results_["params"]]
        assert found.best_score_ > 0.9

    def test_small_grids_are_searched_whole(self):
        found = search(Peak(), [{"a": [6, 7]}, {"a": [7], "b": [1, 2, 3]}], n_iter=50).fit(X, Y)
        assert len(found.cv_results_["params"]) == 5
        assert found.best_params_ == {"a": 7, "b": 3}

    @pytest.mark.parametrize(
        ("space", "error", "message"),
        [
            ([], ValueError, "at least one dict"),
            ([{"a": [1]}, 3], TypeError, r"param_space\[1\] must be a dict"),
            ([{"a": [1]}, {}], TypeError, r"param_space\[1\] must be a dict"),
            ([{"param_space": [1]}, {"a": [1]}], ValueError, "must not have the name 'param_space'"),
        ],
    )
    def test_mistakes_are_named(self, space, error, message):
        with pytest.raises(error, match=message):
            SearchSpace(space)
