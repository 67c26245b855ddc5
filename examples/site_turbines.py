"""Layout: where on a hill with 6 x 6 sites should wind turbines stand, and how many of them?

Every turbine slows the wind behind it, in each of the directions from which the wind may blow, so the best
site for one depends on all the others. A turbine is worth its cost only if it adds enough energy.
"""

import numpy as np

import dcmaes as dc

SIZE = 6
ROWS, COLUMNS = np.divmod(np.arange(SIZE**2), SIZE)
DIRECTIONS = np.deg2rad(np.arange(0, 360, 30))
FREQUENCY = 1 + np.cos(DIRECTIONS - np.deg2rad(240))  # the wind mostly blows from the south-west
FREQUENCY = FREQUENCY / FREQUENCY.sum()
WIND = 1 + 0.15 * np.exp(-((ROWS - 3) ** 2 + (COLUMNS - 2) ** 2) / 4)  # faster around the hilltop
COST = 0.55  # of a turbine, in units of the energy that one makes undisturbed on flat ground


def wake_deficits():
    """Return the relative loss of wind speed at each site behind each other one, shape (12, 36, 36)."""
    dx, dy = COLUMNS[:, None] - COLUMNS, ROWS[:, None] - ROWS
    deficits = []
    for angle in DIRECTIONS:
        along = dy * np.cos(angle) - dx * np.sin(angle)  # rows count from north to south
        across = np.abs(dx * np.cos(angle) + dy * np.sin(angle))
        is_behind = (along > 0.1) & (across < 0.5 + 0.1 * along)
        deficits.append(np.where(is_behind, 0.5 / (1 + 0.2 * np.maximum(along, 0)) ** 2, 0.0))
    return np.array(deficits)


DEFICITS = wake_deficits()


def profit(x):
    """Energy of all turbines, with the losses behind others, less what they cost."""
    loss = np.sqrt((DEFICITS**2 * x).sum(axis=2))  # deficits add up as squares
    speed = WIND * np.maximum(1 - loss, 0)
    return float(FREQUENCY @ (speed**3 @ x) - COST * x.sum())


def show(x):
    """Return a map of the sites, north at the top."""
    return "\n".join("  " + " ".join("#" if cell else "." for cell in row) for row in x.reshape(SIZE, SIZE))


SPACED = ((ROWS % 2 == 0) & (COLUMNS % 2 == 0)).astype(np.int64)


def search():
    return dc.maximize(profit, dc.Space.binary(SIZE**2), budget=400, seed=0, x0=SPACED)


def describe(result):
    print(f"every second site: {profit(SPACED):.2f} with {SPACED.sum()} turbines")
    print(f"found:             {result.fun:.2f} with {result.x.sum()} turbines")
    print(show(result.x))


if __name__ == "__main__":
    describe(search())
