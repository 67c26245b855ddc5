"""Values predicted from points: regression in canonical coordinates (docs/maths.md, section Q)."""

from dcmaes.models._all_orders import FIRST_SCALES, AllOrders
from dcmaes.models._energy import Energy
from dcmaes.models._features import FeatureMap
from dcmaes.models._regression import COMPONENTS, Regression

__all__ = ["COMPONENTS", "FIRST_SCALES", "AllOrders", "Energy", "FeatureMap", "Regression"]
