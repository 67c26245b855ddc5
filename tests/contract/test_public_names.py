"""The public names are frozen: adding or removing one is a decision, made here as well.

Every module without an underscore is listed, and every name appears in the reference of the documentation.
"""

import inspect
import pkgutil
from importlib import import_module
from pathlib import Path

import pytest

import dcmaes

REFERENCE = Path(__file__).parents[2] / "docs" / "api"

NAMES = {
    "dcmaes": """
        Binary Categorical EvaluationError Float Integer Interaction Optimizer Ordinal Outcome Result Space
        StopReason Trial maximize minimize resume store
    """,
    "dcmaes.cli": "main",
    "dcmaes.demo": "demo",
    "dcmaes.distributions": """
        BivariateBernoulli CenteredBinomial GaussianCopula Ising LatticeGaussian LatticeTable
        MultivariateBernoulli MultivariateBinomial PoissonBinomial TruncatedGeometric correlation_range
    """,
    "dcmaes.integrations.configspace": "Converted from_configspace",
    "dcmaes.integrations.optuna": "DcmaesSampler",
    "dcmaes.integrations.sklearn": "DiscreteSearchCV FeatureSelector RedundantPair",
    "dcmaes.optimizer": """
        Distribution EvaluationError Front History Interaction Noise Optimizer Outcome Record Result
        StopReason Trial maximize minimize resume
    """,
    "dcmaes.pareto": "best_by_weights hypervolume hypervolume_gains is_nondominated knee",
    "dcmaes.problems": """
        Problem bqp categorical_ackley categorical_leadingones categorical_onemax chosen_functions
        closest_vector coil_spring contamination_control ehrlich ellipsoid graph_colouring heat_exchanger
        hiff ising_ring ising_torus labs leadingones linear matching_pairs max_sat mixed_ackley
        mixed_ellipsoid mixed_sphere nk_landscape onemax pest_control planted_graph pressure_vessel qubo
        rastrigin rosenbrock rotated_ellipsoid speed_reducer sphere step stepped_beam trap weighted_max_sat
    """,
    "dcmaes.report": """
        Band Convergence Coordinates FrontPath FrontPicture Graph Heat Importance Marginals Matrix Timeline
        convergence_data coordinates_data correlations_data front_data front_path_data graph_data
        importance_data interactions_data marginal_data marginals_data one_objective plot_convergence
        plot_coordinates plot_correlations plot_front plot_front_path plot_growth plot_importance
        plot_interaction_graph plot_interactions plot_marginal plot_marginals plot_timeline render_html
        timeline_data write_html
    """,
    "dcmaes.space": """
        Binary CATEGORY CONTINUOUS Categorical Float Integer LATTICE Ordinal Scale SiteKind Sites Space
        Variable
    """,
    "dcmaes.store": "Failure Loss Pending Span StoreError StoredRun read",
    "dcmaes.strategies": """
        Auto Cma Evaluations Explaining FrontSearch IsingSearch Memory Mixing Modelling Multiobjective Paper
        RandomSearch Rank Strategy Summary is_registered make_strategy strategy_names
    """,
    "dcmaes.testing": "StrategyConformance conformance_spaces",
}


# Packages that the others are made of: their names may change.
INTERNAL = {"dcmaes.models", "dcmaes.progress", "dcmaes.run"}
# Names that are public for other packages of the library only.
NOT_IN_REFERENCE = {"main"}


@pytest.mark.parametrize("module", NAMES)
def test_names(module):
    if module in ("dcmaes.integrations.optuna", "dcmaes.integrations.sklearn"):
        pytest.importorskip(module.rpartition(".")[2])
    found = import_module(module)
    assert sorted(found.__all__) == NAMES[module].split()
    for name in found.__all__:
        value = getattr(found, name)
        if isinstance(value, type) or inspect.isfunction(value):
            assert value.__doc__, name


def test_every_public_module_is_listed():
    modules = {f"dcmaes.{entry.name}" for entry in pkgutil.iter_modules(dcmaes.__path__)}
    modules = {name for name in modules if not name.startswith("dcmaes._")} - INTERNAL
    assert modules == {".".join(name.split(".")[:2]) for name in NAMES if name != "dcmaes"}


@pytest.mark.parametrize("module", NAMES)
def test_names_are_in_the_reference(module):
    words = set("".join(page.read_text(encoding="utf-8") for page in REFERENCE.glob("*.md")).split())
    bare = {word.strip("`.,:;()").rpartition(".")[2] for word in words}
    assert set(NAMES[module].split()) - bare - NOT_IN_REFERENCE == set()


def test_version():
    assert dcmaes.__version__.count(".") == 2
