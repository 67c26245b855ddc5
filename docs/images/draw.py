"""Draw the pictures of the guide on plots and the report, from the run that the guide makes.

    python docs/images/draw.py

Needs the extras `plot` and `browser`, and Chromium (`make browser`).
"""

import re
import shutil
import tempfile
from io import BytesIO
from pathlib import Path

import matplotlib as mpl
from PIL import Image
from playwright.sync_api import sync_playwright

from dcmaes import report

mpl.use("Agg")
HERE = Path(__file__).parent
GUIDE = HERE.parent / "guides" / "plots-and-report.md"


def guide_result():
    """Return the result of the first block of the guide."""
    block = re.search(r"^```python\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    names = {}
    exec(block[1], names)  # noqa: S102 - the text is our own
    return names["result"]


def draw_plots(result):
    report.plot_convergence(result).figure.savefig(HERE / "plot-convergence.png", dpi=80)
    report.plot_marginals(result).savefig(HERE / "plot-marginals.png", dpi=70)
    report.plot_importance(result).figure.savefig(HERE / "plot-importance.png", dpi=80)
    report.plot_interactions(result).figure.savefig(HERE / "plot-interactions.png", dpi=80)


def take_pictures(result):
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        path = report.write_html(result, Path(folder) / "report.html", title="Tuning a small network")
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"))
        for scheme, place in (("light", "body"), ("dark", "#marginals")):
            context = browser.new_context(viewport={"width": 1280, "height": 1000}, color_scheme=scheme)
            page = context.new_page()
            page.goto(path.as_uri())
            page.locator(place).evaluate("element => element.scrollIntoView()")
            page.wait_for_timeout(500)
            picture = Image.open(BytesIO(page.screenshot()))
            picture.convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE).save(
                HERE / f"report-{scheme}.png", optimize=True
            )
            context.close()
        browser.close()


if __name__ == "__main__":
    shown = guide_result()
    draw_plots(shown)
    take_pictures(shown)
