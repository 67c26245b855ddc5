"""Plots of a run, the numbers behind them, and a report in one HTML file.

Each plot is a pair: a `..._data` function that computes plain arrays, and a `plot_...` function that draws
them with matplotlib (the extra `plot`).
"""

from dcmaes.report._course import (
    Convergence,
    Timeline,
    convergence_data,
    plot_convergence,
    plot_timeline,
    timeline_data,
)
from dcmaes.report._front import (
    Coordinates,
    FrontPath,
    FrontPicture,
    coordinates_data,
    front_data,
    front_path_data,
    plot_coordinates,
    plot_front,
    plot_front_path,
    plot_growth,
)
from dcmaes.report._importance import Importance, importance_data, plot_importance
from dcmaes.report._interactions import (
    Graph,
    Matrix,
    correlations_data,
    graph_data,
    interactions_data,
    plot_correlations,
    plot_interaction_graph,
    plot_interactions,
)
from dcmaes.report._marginals import (
    Band,
    Heat,
    Marginals,
    marginal_data,
    marginals_data,
    plot_marginal,
    plot_marginals,
)
from dcmaes.report._page import render_html, write_html
from dcmaes.report._run import one_objective

__all__ = [
    "Band",
    "Convergence",
    "Coordinates",
    "FrontPath",
    "FrontPicture",
    "Graph",
    "Heat",
    "Importance",
    "Marginals",
    "Matrix",
    "Timeline",
    "convergence_data",
    "coordinates_data",
    "correlations_data",
    "front_data",
    "front_path_data",
    "graph_data",
    "importance_data",
    "interactions_data",
    "marginal_data",
    "marginals_data",
    "one_objective",
    "plot_convergence",
    "plot_coordinates",
    "plot_correlations",
    "plot_front",
    "plot_front_path",
    "plot_growth",
    "plot_importance",
    "plot_interaction_graph",
    "plot_interactions",
    "plot_marginal",
    "plot_marginals",
    "plot_timeline",
    "render_html",
    "timeline_data",
    "write_html",
]
