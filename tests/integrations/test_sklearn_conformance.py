"""The checks that scikit-learn has for estimators, run on ours."""

import pytest

pytest.importorskip("sklearn", reason="needs the extra sklearn")

from sklearn.base import is_regressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import dcmaes as dc
from dcmaes.integrations.sklearn import DiscreteSearchCV, FeatureSelector

# scikit-learn expects the same of its own GridSearchCV and RandomizedSearchCV, around a regressor.
AS_IN_SCIKIT_LEARN = {"check_supervised_y_2d": "DataConversionWarning not caught"}
ESTIMATORS = [
    DiscreteSearchCV(
        LogisticRegression(), {"C": dc.Float(0.1, 10.0, log=True)}, n_iter=3, cv=2, random_state=0
    ),
    DiscreteSearchCV(Ridge(), {"alpha": [0.1, 1.0, 10.0]}, n_iter=2, cv=2, random_state=0),
    DiscreteSearchCV(
        make_pipeline(StandardScaler(), Ridge()),
        {"ridge__alpha": [0.1, 1.0]},
        n_iter=2,
        cv=2,
        error_score="raise",
    ),
    FeatureSelector(LogisticRegression(), n_iter=4, cv=2, random_state=0),
    FeatureSelector(Ridge(), n_iter=4, cv=2, max_features=0.5, random_state=0),
    FeatureSelector(Ridge(), n_iter=6, cv=2, front=True, random_state=0),
]


def expected_failures(estimator):
    is_search = isinstance(estimator, DiscreteSearchCV) and is_regressor(estimator)
    return AS_IN_SCIKIT_LEARN if is_search else {}


# Checks fit on small random data, where models warn that they do not converge or that a class is missing.
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
