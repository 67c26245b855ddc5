"""Test functions with known optima, as plain numpy functions of a vector (or of a named point)."""

from dcmaes.problems._binary import labs, leadingones, linear, max_sat, nk_landscape, onemax, trap
from dcmaes.problems._categorical import (
    categorical_leadingones,
    categorical_onemax,
    graph_colouring,
    matching_pairs,
)
from dcmaes.problems._design import heat_exchanger
from dcmaes.problems._engineering import coil_spring, pressure_vessel, speed_reducer, stepped_beam
from dcmaes.problems._integer import (
    closest_vector,
    ellipsoid,
    rastrigin,
    rosenbrock,
    rotated_ellipsoid,
    sphere,
    step,
)
from dcmaes.problems._mixed import chosen_functions, mixed_ackley, mixed_ellipsoid, mixed_sphere
from dcmaes.problems._problem import Problem
from dcmaes.problems._simulated import contamination_control, pest_control
from dcmaes.problems._spin import ising_ring, ising_torus, planted_graph, qubo

__all__ = [
    "Problem",
    "categorical_leadingones",
    "categorical_onemax",
    "chosen_functions",
    "closest_vector",
    "coil_spring",
    "contamination_control",
    "ellipsoid",
    "graph_colouring",
    "heat_exchanger",
    "ising_ring",
    "ising_torus",
    "labs",
    "leadingones",
    "linear",
    "matching_pairs",
    "max_sat",
    "mixed_ackley",
    "mixed_ellipsoid",
    "mixed_sphere",
    "nk_landscape",
    "onemax",
    "pest_control",
    "planted_graph",
    "pressure_vessel",
    "qubo",
    "rastrigin",
    "rosenbrock",
    "rotated_ellipsoid",
    "speed_reducer",
    "sphere",
    "step",
    "stepped_beam",
    "trap",
]
