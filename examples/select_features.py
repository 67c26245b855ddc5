"""Features of a data set: which of 40 measurements, at most eight, predict the outcome?

Six measurements matter, and each of them has a noisy copy that is tempting to include as well. The objective
is the Bayesian information criterion of a least-squares fit; the limit is a constraint.
"""

import numpy as np

import dcmaes as dc

N, D, LIMIT = 200, 40, 8
USEFUL = [3, 8, 13, 21, 30, 37]

rng = np.random.default_rng(1)
X = rng.normal(size=(N, D))
for i in USEFUL:
    X[:, i - 1] = X[:, i] + 0.5 * rng.normal(size=N)  # a noisy copy beside each useful one
y = X[:, [3, 8, 13, 21]] @ [2.0, -1.5, 1.0, 1.0] + X[:, 30] - X[:, 37] + 0.5 * rng.normal(size=N)


def criterion(chosen):
    """Bayesian information criterion of the least-squares fit on the chosen columns."""
    columns = X[:, chosen == 1]
    fit = np.linalg.lstsq(columns, y, rcond=None)[0]
    residual = ((y - columns @ fit) ** 2).sum()
    return N * np.log(residual / N) + columns.shape[1] * np.log(N)


def too_many(chosen):
    """Positive if the limit is exceeded: such subsets are never evaluated."""
    return chosen.sum() - LIMIT


def search():
    nothing = np.zeros(D, dtype=np.int64)
    return dc.minimize(criterion, dc.Space.binary(D), budget=600, seed=0, constraints=too_many, x0=nothing)


def describe(result):
    print("useful: ", USEFUL)
    print("chosen: ", np.flatnonzero(result.x).tolist())
    print(f"criterion {result.fun:.1f} after {result.nfev} evaluations")


if __name__ == "__main__":
    describe(search())
