"""Hyperparameters of a model: tune kernel regression by cross-validation.

Three kernels, two numbers on a logarithmic scale, an integer and a switch are searched jointly.
"""

import numpy as np

import dcmaes as dc

rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, size=(100, 3)) * [1, 1, 40]  # the third column has another unit
y = np.sin(2 * X[:, 0]) * X[:, 1] + 0.01 * X[:, 2] + 0.1 * rng.normal(size=100)
FOLDS = np.arange(100) % 5


def kernel(a, b, kind, scale, degree):
    if kind == "polynomial":
        return (1 + a @ b.T / scale) ** degree
    distance = np.abs(a[:, None] - b[None])
    if kind == "gaussian":
        return np.exp(-(distance**2).sum(axis=2) / scale)
    return np.exp(-distance.sum(axis=2) / scale)


def error(point):
    """Mean squared error over five folds."""
    data = X / X.std(axis=0) if point["standardize"] else X
    total = 0.0
    for fold in range(5):
        train, test = fold != FOLDS, fold == FOLDS
        shape = point["kernel"], point["scale"], point["degree"]
        gram = kernel(data[train], data[train], *shape) + point["ridge"] * np.eye(train.sum())
        fit = np.linalg.lstsq(gram, y[train], rcond=None)[0]
        total += ((kernel(data[test], data[train], *shape) @ fit - y[test]) ** 2).sum()
    return total / len(y)


space = dc.Space(
    {
        "kernel": dc.Categorical(["gaussian", "laplace", "polynomial"]),
        "scale": dc.Float(0.01, 1000, log=True),
        "ridge": dc.Float(1e-8, 10, log=True),
        "degree": dc.Integer(1, 8),
        "standardize": dc.Binary(),
    }
)
DEFAULT = {"kernel": "gaussian", "scale": 1.0, "ridge": 1.0, "degree": 3, "standardize": False}


def search():
    return dc.minimize(error, space, budget=150, seed=0, x0=DEFAULT)


def describe(result):
    print(f"default: {error(DEFAULT):.4f}")
    print(f"tuned:   {result.fun:.4f}  (the noise alone is 0.01)")
    for name, value in result.x.items():
        print(f"  {name:<12}{value:.3g}" if isinstance(value, float) else f"  {name:<12}{value}")
    print(result.message)


if __name__ == "__main__":
    describe(search())
