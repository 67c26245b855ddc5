"""Engineering designs with constraints, as the literature states them; points are vectors.

The value of an infeasible design is its cost plus a penalty, as such problems are usually written; the cost
and the total violation apart are in `Problem.outcome`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dcmaes._validation import FloatArray
from dcmaes.problems._problem import Problem, Variable

# Wires that are sold, in inches: Sandgren, "Nonlinear integer and discrete programming in mechanical design
# optimization", Journal of Mechanical Design 112 (1990).
WIRES = (
    *(0.009, 0.0095, 0.0104, 0.0118, 0.0128, 0.0132, 0.014, 0.015, 0.0162, 0.0173, 0.018),
    *(0.02, 0.023, 0.025, 0.028, 0.032, 0.035, 0.041, 0.047, 0.054, 0.063, 0.072),
    *(0.08, 0.092, 0.105, 0.12, 0.135, 0.148, 0.162, 0.177, 0.192, 0.207, 0.225),
    *(0.244, 0.263, 0.283, 0.307, 0.331, 0.362, 0.394, 0.4375, 0.5),
)
_SOURCE = "best design of the literature, confirmed by optimizing the continuous variables of its neighbours"


def _float(low: float, high: float) -> Variable:
    return {"type": "float", "low": low, "high": high}


def _integer(low: int, high: int) -> Variable:
    return {"type": "integer", "low": low, "high": high}


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

    variables = (_integer(1, 99), _integer(1, 99), _float(10.0, 200.0), _float(10.0, 200.0))
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

    variables = (
        *(_float(2.6, 3.6), _float(0.7, 0.8), _integer(17, 28), _float(7.3, 8.3), _float(7.3, 8.3)),
        *(_float(2.9, 3.9), _float(5.0, 5.5)),
    )
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

    variables = (_integer(1, 70), _float(0.6, 3.0), {"type": "ordinal", "values": list(WIRES)})
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
    free = (_float(1.0, 5.0), _float(30.0, 65.0))
    variables = (_integer(1, 5), _integer(30, 65), *stock, *stock, *free, *free)
    return _design("stepped beam", variables, cost, limits, 1e5, 64578.19402)
