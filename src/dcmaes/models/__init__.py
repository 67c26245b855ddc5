"""Values predicted from points: regression in canonical coordinates (docs/maths.md, sections Q, S and V)."""

from dcmaes.models._canonical import Energy, FeatureMap
from dcmaes.models._certainty import FALSE_ALARMS, certain_pairs
from dcmaes.models._cubic import MOST_INDICATORS, Sets, sparse_sets
from dcmaes.models._interacting import sparse_quadratic, sparse_quadratic_by_differences
from dcmaes.models._polynomial import Polynomial, cliques, low_point_of, minimum_of, polynomial_of
from dcmaes.models._process import Process, Scales, log_improvement
from dcmaes.models._regression import Component, Regression
from dcmaes.models._sparse import EXACT, SparseQuadratic, annealed
from dcmaes.models._surrogate import Surrogate, normal_log_density

__all__ = [
    "EXACT",
    "FALSE_ALARMS",
    "MOST_INDICATORS",
    "Component",
    "Energy",
    "FeatureMap",
    "Polynomial",
    "Process",
    "Regression",
    "Scales",
    "Sets",
    "SparseQuadratic",
    "Surrogate",
    "annealed",
    "certain_pairs",
    "cliques",
    "log_improvement",
    "low_point_of",
    "minimum_of",
    "normal_log_density",
    "polynomial_of",
    "sparse_quadratic",
    "sparse_quadratic_by_differences",
    "sparse_sets",
]
