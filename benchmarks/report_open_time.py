"""How long a report takes to write and to open in headless Chromium, from navigation to the second frame.

    python benchmarks/report_open_time.py

Needs the extra `browser` and Chromium (`make browser`). Writes benchmarks/results/report_open_time.txt.
"""

import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

import dcmaes as dc
from dcmaes.report import write_html

N_OPENINGS = 5
OUT = Path(__file__).parent / "results" / "report_open_time.txt"
TWO_FRAMES = """() => new Promise((done) =>
  requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now()))))"""
# Scrolling to the table until it is there, and sorting all evaluations by value.
USE_TABLE = """async () => {
  const frames = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  const begun = performance.now();
  document.getElementById("rows").scrollIntoView();
  while (!document.querySelector("#rows td")) await frames();
  const shown = performance.now();
  document.querySelectorAll("#rows th button")[1].click();
  await frames();
  return [shown - begun, performance.now() - shown];
}"""


def mixed_space(dimension):
    kinds = [
        dc.Integer(0, 99),
        dc.Float(1e-5, 1.0, log=True),
        dc.Categorical(["relu", "gelu", "tanh"]),
        dc.Binary(),
        dc.Ordinal([16, 32, 64, 128]),
    ]
    return dc.Space({f"variable {i}": kinds[i % 5] for i in range(dimension)})


def run(dimension, n_evaluations):
    weight = np.random.default_rng(0).normal(size=dimension)
    space = mixed_space(dimension)

    def objective(point):
        value = float(weight @ space.sites.coordinate(space.encode(point)))
        if abs(value) < 1e-3:
            raise ValueError("too close to zero")
        return value

    return dc.minimize(objective, space, budget=n_evaluations, seed=0, strategy="cma")


def opening_times(browser, path):
    """Return the times to open, to show the table and to sort it, shape (N_OPENINGS, 3)."""
    times = []
    for _ in range(N_OPENINGS):
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        page = context.new_page()
        page.goto(path.as_uri(), wait_until="load")
        opened = page.evaluate(TWO_FRAMES)
        times.append(np.array([opened, *page.evaluate(USE_TABLE)]) / 1000)
        context.close()
    return np.array(times)


def main():
    lines = [
        "| variables | evaluations | writing (s) | size (MB) "
        "| opening (s) | slowest of 5 | table (s) | sorting (s) |",
        "|---|---|---|---|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"))
        for dimension, n_evaluations in ((5, 300), (10, 10_000), (50, 10_000), (200, 10_000), (10, 100_000)):
            result = run(dimension, n_evaluations)
            begun = time.perf_counter()
            path = write_html(result, Path(folder) / "report.html")
            writing = time.perf_counter() - begun
            times = opening_times(browser, path)
            opened, shown, sorting = np.median(times, axis=0)
            lines.append(
                f"| {dimension} | {n_evaluations:,} | {writing:.1f} | {path.stat().st_size / 1e6:.1f} "
                f"| {opened:.2f} | {times[:, 0].max():.2f} | {shown:.2f} | {sorting:.2f} |"
            )
            print(lines[-1], flush=True)
        browser.close()
    OUT.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
