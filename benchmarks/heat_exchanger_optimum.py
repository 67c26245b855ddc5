"""Exhaustive search of `dcmaes.problems.heat_exchanger`: every discrete design, the best length of each.

The length is searched on a grid of 45 values for all designs, then by golden section for the designs within 5
per cent of the best. Run: python benchmarks/heat_exchanger_optimum.py
"""

import itertools

import numpy as np
from scipy.optimize import minimize_scalar

from dcmaes.problems._engineering import DIAMETERS, MATERIALS, PASSES, yearly_cost

tubes, baffles = (axis.ravel() for axis in np.meshgrid(np.arange(10, 201), np.arange(1, 21), indexing="ij"))
lengths = np.linspace(0.5, 6.0, 45)
found = []
for material, diameter, passes, fins in itertools.product(range(4), DIAMETERS, PASSES, (False, True)):
    cost = yearly_cost(material, tubes[:, None], baffles[:, None], diameter, passes, fins, lengths).min(
        axis=1
    )
    found += [
        (c, material, t, b, diameter, passes, fins) for c, t, b in zip(cost, tubes, baffles, strict=True)
    ]
best = min(row[0] for row in found)
near = [row for row in found if row[0] < 1.05 * best]
print(f"{len(found)} discrete designs, {len(near)} within 5 per cent of {best:.3f} on the grid")
refined = []
for _, *design in near:
    grid = [float(yearly_cost(*design, length)) for length in lengths]
    i = int(np.argmin(grid))
    window = (lengths[max(i - 1, 0)], lengths[min(i + 1, 44)])
    solution = minimize_scalar(
        lambda u, design=design: float(yearly_cost(*design, u)),
        bounds=window,
        method="bounded",
        options={"xatol": 1e-10},
    )
    refined.append((solution.fun, solution.x, *design))
print("cost, length, material, tubes, baffles, diameter, passes, fins")
for cost, length, material, *rest in sorted(refined)[:10]:
    print(f"{cost:.6f}", f"{length:.7f}", MATERIALS[material], *rest)
