"""A design problem with all five kinds of variables: the yearly cost of a heat exchanger."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcmaes.problems._problem import Problem

MATERIALS = ("steel", "copper", "stainless", "titanium")
_CONDUCTIVITY = np.array([50.0, 390.0, 16.0, 22.0])  # W/(m K)
_PRICE = np.array([25.0, 62.0, 70.0, 360.0])  # per kg
_DENSITY = np.array([7850.0, 8960.0, 8000.0, 4500.0])  # kg/m3
_FOULING = np.array([4.5e-4, 2.0e-4, 1.5e-4, 0.8e-4])  # m2 K/W
_YEARLY = np.array([0.24, 0.15, 0.13, 0.10])  # share of the capital per year: how soon it wears out
_SPEED_LIMIT = np.array([2.6, 1.6, 3.2, 4.5])  # m/s; faster water eats the tube

DIAMETERS = (10.0, 12.7, 15.9, 19.1, 25.4, 31.8)  # mm, outer
PASSES = (1, 2, 4, 6, 8)

OPTIMUM = 1901.640045  # benchmarks/heat_exchanger_optimum.py

_DUTY = 600e3  # W to be moved
_FLOW_TUBE, _FLOW_SHELL = 6.0, 9.0  # kg/s of water
_HOT_IN, _COLD_IN = 80.0, 20.0  # degrees C
_HEAT, _CONDUCT, _VISCOSITY, _PRANDTL, _WATER = 4180.0, 0.63, 6e-4, 4.0, 990.0


def heat_exchanger() -> Problem:
    """Yearly cost of a shell-and-tube heat exchanger that must move 600 kW; points are dicts.

    Variables: tube ``material`` (categorical), number of ``tubes`` and of ``baffles`` (integers), tube
    ``diameter`` in mm and number of ``passes`` (ordinals: what shops sell), whether the tubes have ``fins``
    (binary), and tube ``length`` in m (continuous). They interact strongly: passes, tubes and diameter
    together set the water speed, which sets heat transfer, pumping power and, by material, erosion.

    Examples
    --------
    >>> problem = heat_exchanger()
    >>> point = {"material": "stainless", "tubes": 80, "baffles": 6, "diameter": 12.7, "passes": 2,
    ...          "fins": True, "length": 2.6451354}
    >>> round(problem(point), 2), round(problem(point | {"fins": False}), 2)
    (1901.64, 6609.37)
    """
    variables: dict[str, dict[str, Any]] = {
        "material": {"type": "categorical", "choices": list(MATERIALS)},
        "tubes": {"type": "integer", "low": 10, "high": 200},
        "baffles": {"type": "integer", "low": 1, "high": 20},
        "diameter": {"type": "ordinal", "values": list(DIAMETERS)},
        "passes": {"type": "ordinal", "values": list(PASSES)},
        "fins": {"type": "binary"},
        "length": {"type": "float", "low": 0.5, "high": 6.0},
    }
    source = "exhaustive search (benchmarks/heat_exchanger_optimum.py)"
    return Problem("heat exchanger", variables, _cost_of_point, OPTIMUM, source, tolerance=0.01)


def _cost_of_point(point: Mapping[str, Any]) -> float:
    cost = yearly_cost(
        MATERIALS.index(point["material"]),
        point["tubes"],
        point["baffles"],
        point["diameter"],
        point["passes"],
        point["fins"],
        point["length"],
    )
    return float(cost)


def yearly_cost(
    material: Any, tubes: Any, baffles: Any, diameter: Any, passes: Any, fins: Any, length: Any
) -> Any:
    """Yearly cost, vectorised over arrays of designs; `material` is the index of the material.

    >>> round(float(yearly_cost(0, 80, 8, 19.1, 2, False, 3.0)))
    17794
    """
    material, fins = np.asarray(material), np.asarray(fins).astype(bool)
    outer = np.asarray(diameter, dtype=np.float64) / 1000
    wall = 0.0005 + 0.05 * outer
    inner = outer - 2 * wall
    speed = _FLOW_TUBE / (_WATER * np.pi / 4 * inner**2 * np.maximum(tubes / passes, 1))
    film_in, loss_in = _film(speed, inner)
    film_out, loss_out, shell = _shell_side(tubes, outer, baffles, length, fins)
    area = np.pi * outer * length * tubes
    gain = np.where(fins, 2.2, 1.0)  # finned tubes offer more surface outside
    fouling = _FOULING[material] / speed * (0.016 / inner) ** 2  # slow water in thin tubes leaves sediment
    resistance = outer / inner / film_in + wall / _CONDUCTIVITY[material] + fouling + 1 / (film_out * gain)
    moved = _heat_moved(area / resistance, passes)
    mass = _DENSITY[material] * np.pi * (outer - wall) * wall * length * tubes * np.where(fins, 1.35, 1.0)
    capital = (
        900
        + 30 * tubes**0.9 * passes**0.3
        + _PRICE[material] * mass
        + 1400 * shell**1.3 * length
        + 45 * baffles
    )
    capital = capital * np.where(fins & (material == 3), 1.5, 1.0)  # titanium fins are welded by hand
    head = loss_in * length * passes + 1800.0 * speed**2 * passes
    pumping = (_FLOW_TUBE * head + _FLOW_SHELL * loss_out) / _WATER / 0.7
    erosion = 6000 * np.maximum(speed - _SPEED_LIMIT[material], 0) ** 2
    shortfall = np.maximum(_DUTY - moved, 0) / _DUTY
    rent = 40 * length**2  # long ones need a bay of their own
    penalty = 40_000 * shortfall + 400_000 * shortfall**2
    return _YEARLY[material] * capital + rent + 0.9 * pumping + erosion + penalty


def _film(speed: Any, diameter: Any) -> tuple[Any, Any]:
    """Film coefficient (Dittus-Boelter, W/(m2 K)) and pressure loss per metre (Blasius, Pa/m) in a tube."""
    reynolds = _WATER * speed * diameter / _VISCOSITY
    film = 0.023 * reynolds**0.8 * _PRANDTL**0.4 * _CONDUCT / diameter
    loss = 0.316 / reynolds**0.25 * _WATER * speed**2 / (2 * diameter)
    return film, loss


def _shell_side(tubes: Any, outer: Any, baffles: Any, length: Any, fins: Any) -> tuple[Any, Any, Any]:
    """Film coefficient and pressure loss outside the tubes, and the shell's diameter in m."""
    pitch = 1.3 * outer * np.where(fins, 1.25, 1.0)
    shell = 1.15 * pitch * np.sqrt(tubes) + 0.02
    spacing = length / (np.asarray(baffles) + 1)
    gap = shell * spacing * (1 - outer / pitch)
    speed: NDArray[np.float64] = _FLOW_SHELL / (_WATER * gap)
    reynolds = _WATER * speed * outer / _VISCOSITY
    film = 0.36 * reynolds**0.55 * _PRANDTL ** (1 / 3) * _CONDUCT / outer
    loss = 0.6 * (np.asarray(baffles) + 1) * _WATER * speed**2 * np.sqrt(tubes) * np.where(fins, 1.8, 1.0)
    return film, loss, shell


def _heat_moved(conductance: Any, passes: Any) -> Any:
    """Heat moved (W), effectiveness-NTU method: counterflow with one pass, the 1-2 formula with more."""
    small, large = sorted((_FLOW_TUBE * _HEAT, _FLOW_SHELL * _HEAT))
    ratio, units = small / large, conductance / small
    decay = np.exp(-units * (1 - ratio))
    counter = (1 - decay) / (1 - ratio * decay)
    root = np.sqrt(1 + ratio**2)
    fall = np.exp(-units * root)
    shell = 2 / (1 + ratio + root * (1 + fall) / (1 - fall))
    return np.where(np.asarray(passes) == 1, counter, shell) * small * (_HOT_IN - _COLD_IN)
