"""Draw the pictures of the guide "Correlated binary and count data".

    python docs/correlated_data_pictures.py

writes two files in docs/guides/pictures. Everything is seeded: the same code gives the same pictures.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

from dcmaes.distributions import Ising, correlation_range

FOLDER = Path(__file__).parent / "guides" / "pictures"


def save(figure, name):
    FOLDER.mkdir(exist_ok=True)
    figure.savefig(FOLDER / f"{name}.png", dpi=90, bbox_inches="tight", metadata={"Software": None})
    plt.close(figure)


def draw_range():
    """The greatest and the least correlation of two events, by their probabilities."""
    p = np.linspace(0.01, 0.99, 99)
    figure, axes = plt.subplots(figsize=(6.0, 3.4))
    for q, colour in ((0.5, "#2563ab"), (0.2, "#d9822b"), (0.05, "#8a8f98")):
        low, high = np.array([correlation_range(x, q) for x in p]).T
        axes.plot(p, high, color=colour, label=f"second event {q}")
        axes.plot(p, low, color=colour)
    axes.axhline(0.0, color="#cccccc", linewidth=0.8)
    axes.set(xlabel="probability of the first event", ylabel="correlation", xlim=(0, 1), ylim=(-1.05, 1.05))
    axes.legend(frameon=False)
    save(figure, "correlation-range")


def draw_network():
    """The couplings of the guide's network: the truth, by likelihood, and with a penalty."""
    k = 12
    truth = np.zeros((k, k))
    for i in range(k):
        truth[i, (i + 1) % k] = truth[(i + 1) % k, i] = 1.2
    truth[0, 6] = truth[6, 0] = -1.5
    answers = Ising(np.full(k, -1.0), truth).sample(2000, np.random.default_rng(2))
    shown = {
        "truth": truth,
        "maximum likelihood": Ising.fit(answers).coupling,
        "pseudo-likelihood, l1 = 0.1": Ising.fit(answers, l1=0.1).coupling,
    }
    figure, axes = plt.subplots(1, 3, figsize=(9.6, 3.2), constrained_layout=True)
    for place, (title, matrix) in zip(axes, shown.items(), strict=True):
        image = place.imshow(matrix, cmap="RdBu_r", vmin=-1.6, vmax=1.6)
        place.set_title(title, fontsize=10)
        place.set(xticks=range(0, k, 3), yticks=range(0, k, 3))
    figure.colorbar(image, ax=axes, shrink=0.8, label="coupling, states {0,1}")
    save(figure, "network")


if __name__ == "__main__":
    draw_range()
    draw_network()
