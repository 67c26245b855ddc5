"""Engineering designs: four with constraints, as the literature states them, and a heat exchanger.

The value of an infeasible design is its cost plus a penalty, as such problems are usually written; the cost
and the total violation apart are in `Problem.outcome`. The heat exchanger has all five kinds of variables.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcmaes._validation import FloatArray
from dcmaes.problems._problem import Problem, Variable, float_variables, integer_variables

# Wires that are sold, in inches: Sandgren, "Nonlinear integer and discrete programming in mechanical design
# optimization", Journal of Mechanical Design 112 (1990).
WIRES = (
    *(0.009, 0.0095, 0.0104, 0.0118, 0.0128, 0.0132, 0.014, 0.015, 0.0162, 0.0173, 0.018),
    *(0.02, 0.023, 0.025, 0.028, 0.032, 0.035, 0.041, 0.047, 0.054, 0.063, 0.072),
    *(0.08, 0.092, 0.105, 0.12, 0.135, 0.148, 0.162, 0.177, 0.192, 0.207, 0.225),
    *(0.244, 0.263, 0.283, 0.307, 0.331, 0.362, 0.394, 0.4375, 0.5),
)
_SOURCE = "best design of the literature, confirmed by optimizing the continuous variables of its neighbours"

# Of the heat exchanger
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


def _design(
    name: str,
    variables: tuple[Variable, ...],
    cost: Callable[[FloatArray], float],
    limits: Callable[[FloatArray], tuple[float, ...]],
    penalty: float,
    optimum: float,
    solution: FloatArray | None = None,
) -> Problem:
    """Return a problem whose `limits` are 0 or less at feasible points, each relative to what is allowed."""

    def outcome(x: FloatArray) -> tuple[float, float]:
        return cost(x), sum(max(0.0, limit) for limit in limits(x))

    def function(x: FloatArray) -> float:
        value, violation = outcome(x)
        return value + penalty * violation

    return Problem(
        name,
        variables,
        function,
        optimum,
        _SOURCE,
        tolerance=1e-6 * optimum,
        solution=solution,
        outcome=outcome,
    )


def pressure_vessel() -> Problem:
    """Cost of a cylindrical pressure vessel with hemispherical heads (Sandgren 1990; Kannan & Kramer 1994).

    Thickness of shell and heads in sixteenths of an inch (integers), radius and length (continuous).

    >>> problem = pressure_vessel()
    >>> round(problem([13, 7, 42.098445, 176.636596]), 2)
    6059.71
    """

    def cost(x: FloatArray) -> float:
        shell, head, radius, length = 0.0625 * x[0], 0.0625 * x[1], x[2], x[3]
        rolled = 0.6224 * shell * radius * length + 3.1661 * shell**2 * length
        return float(rolled + 1.7781 * head * radius**2 + 19.84 * shell**2 * radius)

    def limits(x: FloatArray) -> tuple[float, ...]:
        shell, head, radius, length = 0.0625 * x[0], 0.0625 * x[1], x[2], x[3]
        volume = math.pi * radius**2 * length + 4 / 3 * math.pi * radius**3
        return 0.0193 * radius / shell - 1, 0.00954 * radius / head - 1, 1_296_000 / volume - 1

    variables = integer_variables(2, 1, 99) + float_variables(2, 10.0, 200.0)
    radius = 13 * 0.0625 / 0.0193
    length = (1_296_000 - 4 / 3 * math.pi * radius**3) / (math.pi * radius**2)
    best = np.array([13, 7, radius, length])
    return _design("pressure vessel", variables, cost, limits, 2e4, cost(best), best)


def speed_reducer() -> Problem:
    """Weight of a gear box (Golinski 1970): seven dimensions, of which the number of teeth is an integer.

    >>> problem = speed_reducer()
    >>> round(problem([3.5, 0.7, 17, 7.3, 7.715320, 3.350215, 5.286655]), 1)
    2994.5
    """

    def cost(x: FloatArray) -> float:
        width, module, teeth, first, second, thin, thick = x
        gears = 0.7854 * width * module**2 * (3.3333 * teeth**2 + 14.9334 * teeth - 43.0934)
        shafts = 7.4777 * (thin**3 + thick**3) + 0.7854 * (first * thin**2 + second * thick**2)
        return float(gears - 1.508 * width * (thin**2 + thick**2) + shafts)

    def limits(x: FloatArray) -> tuple[float, ...]:
        width, module, teeth, first, second, thin, thick = x
        size = module * teeth
        return (
            27 / (width * module**2 * teeth) - 1,
            397.5 / (width * size**2) - 1,
            1.93 * first**3 / (size * thin**4) - 1,
            1.93 * second**3 / (size * thick**4) - 1,
            math.sqrt((745 * first / size) ** 2 + 16.9e6) / (110 * thin**3) - 1,
            math.sqrt((745 * second / size) ** 2 + 157.5e6) / (85 * thick**3) - 1,
            size / 40 - 1,
            5 * module / width - 1,
            width / (12 * module) - 1,
            (1.5 * thin + 1.9) / first - 1,
            (1.1 * thick + 1.9) / second - 1,
        )

    gears = float_variables(1, 2.6, 3.6) + float_variables(1, 0.7, 0.8) + integer_variables(1, 17, 28)
    shafts = float_variables(2, 7.3, 8.3) + float_variables(1, 2.9, 3.9) + float_variables(1, 5.0, 5.5)
    variables = gears + shafts
    return _design("speed reducer", variables, cost, limits, 1e4, 2994.47107)


def coil_spring() -> Problem:
    """Volume of steel in a compression spring (Sandgren 1990): coils, diameter, and a wire that is sold.

    >>> problem = coil_spring()
    >>> round(problem([9, 1.2230411, WIRES.index(0.283)]), 4)
    2.6586
    """
    force, preload, stress, shear = 1000.0, 300.0, 189_000.0, 11.5e6

    def cost(x: FloatArray) -> float:
        coils, diameter, wire = x[0], x[1], WIRES[int(x[2])]
        return float(math.pi**2 * diameter * wire**2 * (coils + 2) / 4)

    def limits(x: FloatArray) -> tuple[float, ...]:
        coils, diameter, wire = x[0], x[1], WIRES[int(x[2])]
        index = diameter / wire
        if index <= 1:
            return (10.0,)
        wahl = (4 * index - 1) / (4 * index - 4) + 0.615 / index
        stiffness = shear * wire**4 / (8 * coils * diameter**3)
        solid = 1.05 * (coils + 2) * wire
        return (
            8 * wahl * force * diameter / (math.pi * wire**3) / stress - 1,
            (force / stiffness + solid) / 14.0 - 1,
            0.2 / wire - 1,
            (diameter + wire) / 3.0 - 1,
            3 / index - 1,
            preload / stiffness / 6.0 - 1,
            1.25 * stiffness / (force - preload) - 1,
        )

    wire: Variable = {"type": "ordinal", "values": list(WIRES)}
    variables = (*integer_variables(1, 1, 70), *float_variables(1, 0.6, 3.0), wire)
    return _design("coil spring", variables, cost, limits, 100.0, 2.658559)


def stepped_beam() -> Problem:
    """Volume of a cantilever of five segments (Thanedar & Vanderplaats 1995): widths and heights.

    The first segment has whole inches, the next two what is in stock, the last two any size.

    >>> problem = stepped_beam()
    >>> round(problem([3, 60, 3, 2, 1, 1, 2.28089, 45.6178, 1.74976, 34.9952]))
    64578
    """
    widths, heights = (2.4, 2.6, 2.8, 3.1), (45.0, 50.0, 55.0, 60.0)
    load, length, modulus = 50_000.0, 100.0, 2e7
    lever = np.array([5.0, 4.0, 3.0, 2.0, 1.0])
    bending = np.array([61.0, 37.0, 19.0, 7.0, 1.0])

    def sizes(x: FloatArray) -> tuple[FloatArray, FloatArray]:
        width = np.array([x[0], widths[int(x[2])], widths[int(x[4])], x[6], x[8]])
        return width, np.array([x[1], heights[int(x[3])], heights[int(x[5])], x[7], x[9]])

    def cost(x: FloatArray) -> float:
        width, height = sizes(x)
        return float(length * (width @ height))

    def limits(x: FloatArray) -> tuple[float, ...]:
        width, height = sizes(x)
        stress = 6 * load * length * lever / (width * height**2)
        deflection = load * length**3 / (3 * modulus) * float((bending * 12 / (width * height**3)).sum())
        return (*(stress / 14_000 - 1), deflection / 2.7 - 1, *(height / (20 * width) - 1))

    stock: tuple[Variable, ...] = (
        {"type": "ordinal", "values": list(widths)},
        {"type": "ordinal", "values": list(heights)},
    )
    free = float_variables(1, 1.0, 5.0) + float_variables(1, 30.0, 65.0)
    variables = integer_variables(1, 1, 5) + integer_variables(1, 30, 65) + 2 * stock + 2 * free
    return _design("stepped beam", variables, cost, limits, 1e5, 64578.19402)


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
    material = MATERIALS.index(point["material"])
    return float(yearly_cost(**{**point, "material": material}))


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
