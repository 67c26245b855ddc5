"""What numba compiles of the tabu search: in one file, because what it keeps on disk notices no other.

Every number is computed by the same operations in the same order as in `_steps`, `_bits` and `Box.snap`, and
of equally good moves the first is taken, as `argmin` does. Values are finite.
"""

from __future__ import annotations

import numpy as np

from dcmaes._compiled import compiled
from dcmaes._validation import FloatArray, IntArray


@compiled()
def _cost(height: float, barrier_cost: float) -> float:
    return barrier_cost * max(0.0, height)


@compiled()
def _snapped(z: float, low: float, high: float, gap: float) -> float:
    # The bound comes first, as in numpy's clip: of two zeros the bound's is kept, with its sign.
    z = min(high, max(low, z))
    if not gap > 0:
        return z
    steps: float = min(np.floor(high / gap + 1e-9), max(np.ceil(low / gap - 1e-9), np.rint(z / gap)))
    return steps * gap


@compiled()
def _set_switches(
    change: FloatArray, on: FloatArray, slope: FloatArray, radial: float, site: IntArray, by_site: FloatArray
) -> None:
    """Set how a function changes with each switch of a chain, shape (p,); `by_site`, (d,), is to work in."""
    by_site[:] = 0.0
    for i in range(len(on)):
        if on[i] > 0:
            by_site[site[i]] = slope[i] + radial
    for i in range(len(on)):
        rise = slope[i] + radial
        change[i] = -rise if on[i] > 0 else rise - by_site[site[i]]


@compiled()
def _forbid_switches(
    change: FloatArray,
    on: FloatArray,
    most_changes: int,
    site: IntArray,
    by_site: FloatArray,
    forbidden: float,
) -> None:
    """Forbid the switches of a chain that would change one site too many."""
    by_site[:] = 0.0
    for i in range(len(on)):
        if on[i] > 0:
            by_site[site[i]] = 1.0
    if by_site.sum() >= most_changes:
        for i in range(len(on)):
            if by_site[site[i]] == 0.0:
                change[i] = 3 * forbidden


@compiled()
def _best_line_move(
    z: float,
    slope: float,
    bend: float,
    limit_slope: float,
    limit_bend: float,
    height: float,
    low: float,
    high: float,
    gap: float,
    forbidden: float,
    barrier_cost: float,
) -> tuple[float, float, float]:
    """Return how energy and barrier change with the best move of a number, and where it goes."""
    if bend > 1e-12:
        lowest = -slope / max(2 * bend, 1e-12)
    elif slope != 0:
        lowest = np.inf if slope < 0 else -np.inf
    else:
        lowest = z
    reach = gap if gap > 0 else 0.1
    best, least = (0.0, 0.0, z), np.inf
    for candidate in (lowest, z + reach, z - reach):
        target = _snapped(candidate, low, high, gap)
        along, across = target - z, target * target - z * z
        rise = forbidden if abs(along) < 1e-12 else slope * along + bend * across
        higher = limit_slope * along + limit_bend * across
        total = rise + _cost(height + higher, barrier_cost)
        if total < least:
            best, least = (rise, higher, target), total
    return best


@compiled()
def _set_feature(
    features: FloatArray, gradient: FloatArray, coupling: FloatArray, chain: int, i: int, value: float
) -> None:
    difference = value - features[chain, i]
    features[chain, i] = value
    if difference != 0.0 and coupling.size:
        for k in range(features.shape[1]):
            gradient[chain, k] += coupling[chain, i, k] * difference


@compiled()
def _switch(
    features: FloatArray, gradient: FloatArray, coupling: FloatArray, chain: int, best: int, site: IntArray
) -> None:
    """Switch a choice of a chain on or off, and off any other of its site; `site` is that of each choice."""
    was_on = features[chain, best] > 0
    for i in range(len(site)):
        if site[i] == site[best]:
            value = 1.0 if i == best and not was_on else 0.0
            _set_feature(features, gradient, coupling, chain, i, value)


@compiled(
    "void(int64, int64[::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[::1], float64[::1],"
    "int64[:, ::1], int64, int64[::1], int64[::1], float64[::1], float64[:, ::1], float64[:, :, ::1],"
    "float64[::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[::1], float64, float64)"
)
def step_all(
    number: int,
    waits: IntArray,
    slopes: FloatArray,
    features: FloatArray,
    gradient: FloatArray,
    level: FloatArray,
    height: FloatArray,
    free_at: IntArray,
    n_choices: int,
    site: IntArray,
    most_changes: IntArray,
    radial: FloatArray,
    curvature: FloatArray,
    coupling: FloatArray,
    limit_radial: FloatArray,
    limit_curvature: FloatArray,
    low: FloatArray,
    high: FloatArray,
    gap: FloatArray,
    forbidden: float,
    barrier_cost: float,
) -> None:
    """Make a step in every chain; without barrier `slopes`, its gradient, has no rows."""
    p, n_features, has_limit = n_choices, features.shape[1], slopes.size > 0
    change, climb, target = np.zeros(n_features), np.zeros(n_features), np.zeros(n_features)
    by_site = np.zeros(free_at.shape[1])
    for chain in range(len(features)):
        on = features[chain, :p]
        _set_switches(change[:p], on, gradient[chain, :p], radial[chain], site, by_site)
        _forbid_switches(change[:p], on, most_changes[chain], site, by_site, forbidden)
        if has_limit:
            _set_switches(climb[:p], on, slopes[chain, :p], limit_radial[chain], site, by_site)
        for i in range(p, n_features):
            change[i], climb[i], target[i] = _best_line_move(
                features[chain, i],
                gradient[chain, i],
                curvature[chain, i - p] + radial[chain],
                slopes[chain, i] if has_limit else 0.0,
                limit_curvature[chain, i - p] + limit_radial[chain] if has_limit else 0.0,
                height[chain],
                low[chain, i - p],
                high[chain, i - p],
                gap[i - p],
                forbidden,
                barrier_cost,
            )
        best, least = 0, np.inf
        for i in range(n_features):
            total = change[i] + _cost(height[chain] + climb[i], barrier_cost)
            if free_at[chain, site[i]] > number:
                total += forbidden
            if total < least:
                best, least = i, total
        level[chain] += change[best]
        height[chain] += climb[best]
        free_at[chain, site[best]] = number + 1 + waits[chain]
        if best < p:
            _switch(features, gradient, coupling, chain, best, site[:p])
        else:
            _set_feature(features, gradient, coupling, chain, best, target[best])


@compiled()
def _turn(moves: FloatArray, sign: FloatArray, coupling: FloatArray, chain: int, site: int) -> None:
    """Bring the changes that moves of a chain make up to date, after the sign of a site has."""
    moves[chain, site] *= -1
    if coupling.size:
        for i in range(len(sign)):
            moves[chain, i] -= sign[i] * coupling[chain, site, i] * sign[site]


@compiled(
    "void(float64[:, :, ::1], float64[:, ::1], float64[::1], float64[:, ::1], float64[:, ::1],"
    "float64[:, :, ::1], float64[:, :, ::1], int64[::1], int64[:, ::1], float64, float64)"
)
def walk_bits(
    trail: FloatArray,
    levels: FloatArray,
    height: FloatArray,
    change: FloatArray,
    climb: FloatArray,
    coupling: FloatArray,
    limit_coupling: FloatArray,
    most_changes: IntArray,
    waits: IntArray,
    forbidden: float,
    barrier_cost: float,
) -> None:
    """Set `trail` and `levels`; without barrier `climb` has no rows."""
    n_sites, has_limit = change.shape[1], climb.size > 0
    for chain in range(len(change)):
        sign, free_at = np.ones(n_sites), np.zeros(n_sites, dtype=np.int64)
        level, limit, n_changed = 0.0, height[chain], 0
        for step in range(len(waits)):
            is_full = n_changed >= most_changes[chain]
            best, least = 0, np.inf
            for i in range(n_sites):
                total = change[chain, i]
                if has_limit:
                    total += _cost(limit + climb[chain, i], barrier_cost)
                if free_at[i] > step:
                    total += forbidden
                if is_full and sign[i] > 0:
                    total += 3 * forbidden
                if total < least:
                    best, least = i, total
            level += change[chain, best]
            n_changed += int(sign[best])
            sign[best] = -sign[best]
            _turn(change, sign, coupling, chain, best)
            if has_limit:
                limit += climb[chain, best]
                _turn(climb, sign, limit_coupling, chain, best)
            free_at[best] = step + 1 + waits[step, chain]
            levels[step + 1, chain] = level + _cost(limit, barrier_cost)
            for i in range(n_sites):
                trail[step + 1, chain, i] = (1 - sign[i]) / 2
