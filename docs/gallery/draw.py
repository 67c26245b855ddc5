"""Draw the pictures of the gallery, and write what its examples print.

    python docs/gallery/draw.py [NAME ...]

runs the examples (all of them, or those named) and writes NAME.png and NAME.txt to this folder. It needs the
extra `plot`, gcc and binutils.
"""

import contextlib
import importlib
import io
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "examples"))
BLUE, ORANGE, GREEN, GREY, LIGHT = "#2563ab", "#d9822b", "#3a8f5c", "#8a8f98", "#d5d9de"


def axes_grid(n_columns, **options):
    figure, axes = plt.subplots(1, n_columns, layout="constrained", **options)
    for one in np.atleast_1d(axes):
        one.spines[["top", "right"]].set_visible(False)
    return figure, axes


def tune_compiler(example, result):
    """Code size of every evaluation, and what two standard levels give."""
    figure, axes = axes_grid(1, figsize=(7.2, 3.0))
    values = result.history.values
    axes.plot(values, ".", color=GREY, markersize=4, label="one combination of flags")
    axes.plot(np.minimum.accumulate(values), color=BLUE, label="smallest so far")
    for level, colour in (("-O2", ORANGE), ("-Os", GREEN)):
        axes.axhline(example.code_size([level]), color=colour, linestyle="--", linewidth=1, label=level)
    axes.set(xlabel="evaluation", ylabel="code size (bytes)")
    axes.legend(frameon=False, ncols=2, loc="upper right", fontsize=9)
    return figure


def tune_model(example, result):
    """Every evaluation in the plane of the two numbers, by kernel."""
    figure, axes = axes_grid(1, figsize=(6.4, 3.6))
    points = [record.point for record in result.history]
    logs = np.log10(np.clip(result.history.values, 0.08, 3))
    for kernel, marker in (("gaussian", "o"), ("laplace", "^"), ("polynomial", "s")):
        rows = [i for i, point in enumerate(points) if point["kernel"] == kernel]
        scale, ridge = ([points[i][name] for i in rows] for name in ("scale", "ridge"))
        cloud = axes.scatter(
            scale, ridge, 26, logs[rows], marker=marker, label=kernel, vmin=-1.1, vmax=0.5, cmap="viridis"
        )
    axes.plot(result.x["scale"], result.x["ridge"], "*", markersize=16, color=ORANGE, label="best", zorder=3)
    axes.set(xscale="log", yscale="log", xlabel="scale", ylabel="ridge")
    bar = figure.colorbar(cloud, ax=axes, label="mean squared error")
    bar.set_ticks([-1, -0.5, 0, 0.5], labels=["0.1", "0.3", "1", "3"])
    axes.legend(frameon=True, fontsize=9)
    return figure


def schedule_jobs(example, result):
    """The timetables before and after: late jobs have a thick edge."""
    figure, panels = axes_grid(2, figsize=(9.6, 2.8), sharey=True)
    plans = {"in turn, by due date": example.BY_DUE_DATE, "found": result.x}
    for axes, (title, plan) in zip(panels, plans.items(), strict=True):
        for machine, job, start, end in example.timetable(plan):
            is_late = end > example.DUE[job]
            axes.barh(
                machine,
                end - start,
                left=start,
                color=(BLUE, ORANGE, GREEN)[example.FAMILY[job]],
                alpha=0.75,
                edgecolor="#b3261e" if is_late else "white",
                linewidth=2 if is_late else 0.5,
            )
            axes.text(
                (start + end) / 2, machine, str(job), ha="center", va="center", color="white", fontsize=8
            )
        axes.set(title=f"{title}: {example.lateness(plan):.1f}", xlabel="hours")
    return figure


def site_turbines(example, result):
    """Wind speed, averaged over directions, and the turbines in both layouts."""
    figure, panels = axes_grid(2, figsize=(7.6, 3.4))
    for axes, (title, x) in zip(
        panels, {"every second site": example.SPACED, "found": result.x}.items(), strict=True
    ):
        loss = np.sqrt((example.DEFICITS**2 * x).sum(axis=2))
        wind = example.FREQUENCY @ (example.WIND * (1 - loss))
        image = axes.imshow(wind.reshape(example.SIZE, -1), cmap="Blues", vmin=0.7, vmax=1.15)
        axes.plot(example.COLUMNS[x == 1], example.ROWS[x == 1], "o", color=ORANGE, markersize=9)
        axes.set(title=f"{title}: profit {example.profit(x):.2f}", xticks=[], yticks=[])
    figure.colorbar(image, ax=panels, label="mean wind speed", shrink=0.85)
    return figure


def select_features(example, result):
    """How often the best subsets contain each measurement."""
    figure, axes = axes_grid(1, figsize=(8.4, 2.8))
    values = result.history.values
    best = np.argsort(values)[:50]
    share = np.mean([result.history[int(i)].point for i in best], axis=0)
    copies = [i - 1 for i in example.USEFUL]
    colours = [BLUE if i in example.USEFUL else ORANGE if i in copies else GREY for i in range(example.D)]
    axes.bar(range(example.D), share, color=colours)
    axes.set(
        xlabel="measurement", ylabel="share of the 50 best subsets", ylim=(0, 1.02), xlim=(-1, example.D)
    )
    handles = [plt.Rectangle((0, 0), 1, 1, color=colour) for colour in (BLUE, ORANGE, GREY)]
    axes.legend(handles, ["useful", "noisy copy", "irrelevant"], frameon=False, ncols=3, loc="lower center",
                bbox_to_anchor=(0.5, 1.0), fontsize=9)  # fmt: skip
    return figure


def staff_a_clinic(example, result):
    """Staff over the day, and the cost of many simulated days."""
    figure, (left, right) = axes_grid(2, figsize=(9.2, 3.0))
    places = np.arange(6)
    for plan, shift, colour, label in ((example.EVEN, -0.2, GREY, "before"), (result.x, 0.2, BLUE, "found")):
        left.bar(
            places + shift, [plan[name] for name in example.SHIFTS], width=0.38, color=colour, label=label
        )
    left.plot(
        places,
        example.ARRIVALS[::4] * example.MINUTES / 60,
        "o-",
        color=ORANGE,
        markersize=4,
        label="busy on average",
    )
    left.set(ylabel="nurses", ylim=(0, 7))
    left.set_xticks(places, example.SHIFTS, fontsize=8)
    left.legend(frameon=False, fontsize=9, ncols=3, loc="upper center")
    rng = np.random.default_rng(2)
    edges = np.linspace(0, 12_000, 41)
    for plan, colour, label in ((example.EVEN, GREY, "before"), (result.x, BLUE, "found")):
        costs = [example.mean_cost(plan, rng, 1) for _ in range(400)]
        right.hist(np.minimum(costs, 12_000), edges, color=colour, alpha=0.7, label=label)
    right.set(xlabel="cost of a day", ylabel="simulated days")
    right.legend(frameon=False, fontsize=9)
    return figure


PICTURES = (tune_compiler, tune_model, schedule_jobs, site_turbines, select_features, staff_a_clinic)

if __name__ == "__main__":
    for picture in PICTURES:
        name = picture.__name__
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        example = importlib.import_module(name)
        result = example.search()
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            example.describe(result)
        (HERE / f"{name}.txt").write_text(printed.getvalue(), encoding="utf-8")
        picture(example, result).savefig(HERE / f"{name}.png", dpi=90, metadata={"Software": None})
