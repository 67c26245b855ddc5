"""Estimators for scikit-learn (needs the extra `sklearn`)."""

try:
    import sklearn as _sklearn
except ImportError as error:
    raise ImportError(
        "dcmaes.integrations.sklearn needs scikit-learn: pip install 'dcmaes[sklearn]'"
    ) from error

if tuple(int(part) for part in _sklearn.__version__.split(".")[:2]) < (1, 6):
    raise ImportError(
        f"dcmaes.integrations.sklearn needs scikit-learn 1.6 or later, found {_sklearn.__version__}"
    )

from dcmaes.integrations.sklearn._search import DiscreteSearchCV
from dcmaes.integrations.sklearn._selector import FeatureSelector, RedundantPair

__all__ = ["DiscreteSearchCV", "FeatureSelector", "RedundantPair"]
