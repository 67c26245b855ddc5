"""Draw the pictures of the guide "How the search works".

    python docs/pictures.py

writes docs/guides/pictures/*.png. Everything is seeded: the same code gives the same pictures.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import ndtri

import dcmaes as dc
from dcmaes.strategies import Evaluations, Memory
from dcmaes.strategies.cma import Cma
from dcmaes.strategies.cma._distribution import draw
from dcmaes.strategies.cma._marginals import Layout, Marginals, numeric_steps

FOLDER = Path(__file__).parent / "guides" / "pictures"
BLUE, ORANGE, GREY = "#2563ab", "#d9822b", "#8a8f98"


def save(figure, name):
    FOLDER.mkdir(exist_ok=True)
    figure.savefig(FOLDER / f"{name}.png", dpi=90, bbox_inches="tight", metadata={"Software": None})
    plt.close(figure)


def bare_axes(axes):
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def lattice_law():
    """Probabilities of the states of an integer whose mean is 50.3, at several deviations."""
    layout = Layout(dc.Space.integers(1, 0, 100).sites)
    latent = ndtri((np.arange(20_000) + 0.5) / 20_000)[:, None]
    figure, panels = plt.subplots(1, 4, figsize=(9.6, 2.4), sharey=True, layout="constrained")
    for axes, deviation in zip(panels, (3.0, 1.0, 0.4, 0.1), strict=True):
        marginals = Marginals.within_limits(
            layout, np.array([0.503]), 1.0, np.array([deviation / 100]), np.empty((0, 0)), np.empty(0), 1e-6
        )
        steps, uniforms = numeric_steps(marginals.numeric, latent)
        states = layout.points(marginals.mean + steps, uniforms, np.empty((len(latent), 0)))[:, 0]
        value, count = np.unique(states, return_counts=True)
        shown = np.abs(value - 50) <= 6
        axes.bar(value[shown], count[shown] / len(latent), width=0.75, color=BLUE)
        axes.axvline(50.3, color=ORANGE, linewidth=1.5)
        axes.set(title=f"deviation {deviation:g}", xlim=(43.5, 56.5), xlabel="state")
        bare_axes(axes)
    panels[0].set_ylabel("probability")
    save(figure, "lattice-law")


def ellipsoid():
    """Populations and distributions on an integer ellipsoid at some generations."""
    space, target = dc.Space.integers(2, 0, 40), np.array([29.0, 12.0])
    turn = np.array([[1.0, 1.0], [-1.0, 1.0]]) / np.sqrt(2)

    def objective(x):
        return (((x - target) @ turn.T * [1.0, 8.0]) ** 2).sum(axis=-1)

    grid = np.stack(np.meshgrid(np.arange(41.0), np.arange(41.0)), axis=-1)
    strategy, rng = Cma(population_size=12), np.random.default_rng(5)
    memory = Memory(space.sites)
    state = strategy.init(space.sites, memory, 1000, rng)
    figure, panels = plt.subplots(1, 4, figsize=(9.6, 2.7), sharey=True, layout="constrained")
    wanted = dict(zip((1, 4, 6, 8), panels, strict=True))
    for generation in range(1, 9):
        x = strategy.sample(state, 12, rng, memory)
        if generation in wanted:
            axes, cloud = wanted[generation], draw(state.distribution, 1500, rng)
            cloud = cloud + np.random.default_rng(0).uniform(-0.3, 0.3, cloud.shape)
            axes.contour(
                grid[..., 0],
                grid[..., 1],
                objective(grid),
                levels=(30, 300, 1500, 6000),
                colors=GREY,
                linewidths=0.6,
            )
            axes.plot(*cloud.T, ".", color=BLUE, alpha=0.12, markersize=2)
            axes.plot(*x.T, "o", color=ORANGE, markersize=3.5)
            axes.plot(*target, "k+", markersize=9)
            axes.set(title=f"generation {generation}", xlim=(-1, 41), ylim=(-1, 41), aspect="equal")
        state = strategy.update(state, memory.tell(Evaluations(x, objective(x), np.zeros(12))), memory)
    save(figure, "ellipsoid")


def choices():
    """Probabilities of two categorical variables over the generations: one matters ten times as much."""
    space = dc.Space(
        {"important": dc.Categorical(["a", "b", "c"]), "minor": dc.Categorical(["a", "b", "c"])}
        | {f"z{i}": dc.Float(-1, 1) for i in range(6)}
    )
    strategy, rng = Cma(), np.random.default_rng(2)
    memory = Memory(space.sites)
    state = strategy.init(space.sites, memory, 1000, rng)
    history = []
    for _ in range(70):
        history.append(strategy.summary(state, memory).probabilities[:2])
        x = strategy.sample(state, strategy.batch_size(state), rng, memory)
        value = 2.0 * (x[:, 0] != 1) + 0.2 * (x[:, 1] != 2) + ((x[:, 2:] - 0.3) ** 2).sum(axis=1)
        state = strategy.update(state, memory.tell(Evaluations(x, value, np.zeros(len(x)))), memory)
    figure, panels = plt.subplots(1, 2, figsize=(8.0, 2.5), sharey=True, layout="constrained")
    titles = ("a choice worth 2", "a choice worth 0.2")
    for column, (axes, title) in enumerate(zip(panels, titles, strict=True)):
        for choice, colour in enumerate((GREY, BLUE, ORANGE)):
            axes.plot([p[column][choice] for p in history], color=colour, label="abc"[choice])
        axes.set(title=title, xlabel="generation", ylim=(0, 1.02))
        bare_axes(axes)
    panels[0].set_ylabel("probability")
    panels[1].legend(frameon=False)
    save(figure, "choices")


def thaw():
    """Share of new points and floor of a search that has settled on a point of 20 bits."""
    space, strategy, rng = dc.Space.binary(20), Cma(), np.random.default_rng(4)
    memory = Memory(space.sites)
    state = strategy.init(space.sites, memory, 1000, rng)
    known, fresh, floor = set(), [], []
    for _ in range(90):
        x = strategy.sample(state, strategy.batch_size(state), rng, memory)
        is_repeat = np.array([row.tobytes() in known for row in x])
        known |= {row.tobytes() for row in x}
        fresh.append(1 - is_repeat.mean())
        floor.append(state.distribution.marginals.floor)
        told = memory.tell(Evaluations(x, x.sum(axis=1), np.zeros(len(x)), is_repeat))
        state = strategy.update(state, told, memory)
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.0, 2.5), layout="constrained")
    left.plot(fresh, color=BLUE)
    left.axhline(0.3, color=GREY, linewidth=0.8, linestyle="--")
    left.set(xlabel="generation", ylabel="share of new points", ylim=(0, 1.02))
    right.semilogy(floor, color=ORANGE)
    right.set(xlabel="generation", ylabel="least probability of a jump")
    for axes in (left, right):
        bare_axes(axes)
    save(figure, "thaw")


if __name__ == "__main__":
    for picture in (lattice_law, ellipsoid, choices, thaw):
        picture()
