"""The report in a real browser: headless Chromium, driven by playwright.

`make browser` installs both; without them these tests are skipped.
"""

import math
import re
import shutil
from dataclasses import replace

import numpy as np
import pytest

import dcmaes as dc
from dcmaes.report import write_html
from dcmaes.report._run import read_run

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is missing: run `make browser`")
CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is missing: run `make browser`")

EVIL = "<script>window.evil=1</script><img src=x onerror=window.evil=1>"
# Whether a heading is at the top, below the bar if that stays there.
LANDED = """name => {
  const header = document.querySelector("header");
  const bar = getComputedStyle(header).position === "sticky" ? header.offsetHeight : 0;
  const below = document.getElementById(name).getBoundingClientRect().top - bar;
  return 0 <= below && below <= 40;
}"""
SCROLL_DOWN = """async () => {
  for (let y = 0; y <= document.body.scrollHeight; y += 500) {
    scrollTo(0, y);
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    await new Promise((done) => setTimeout(done, 30));
  }
  scrollTo(0, 0);
}"""


def mixed(budget=300):
    space = dc.Space(
        {
            "layers": dc.Integer(1, 8),
            "width": dc.Integer(16, 4096, log=True),
            "activation": dc.Categorical(["relu", "gelu", EVIL]),
            EVIL: dc.Binary(),
            "batch": dc.Ordinal([16, 32, 64, 128]),
            "lr": dc.Float(1e-5, 1e-1, log=True),
        }
    )

    def objective(p):
        if p["activation"] == EVIL:
            raise ValueError(EVIL)
        value = (math.log10(p["lr"]) + 3 + math.log2(p["width"] / 256)) ** 2 + p["layers"] / 10
        return dc.Outcome(value, max(0, p["layers"] - 6))

    return dc.minimize(objective, space, budget=budget, seed=0, strategy="cma")


def many():
    rng = np.random.default_rng(0)
    weight = rng.normal(size=10)
    space = dc.Space({f"v{i}": dc.Integer(0, 99) for i in range(10)})
    return dc.maximize(
        lambda p: float(weight @ list(p.values())), space, budget=10_000, seed=0, strategy="random"
    )


def separable():
    return dc.minimize(sum, dc.Space.binary(12), budget=60, seed=0)


def parallel():
    """A run whose variables and workers have long names that begin and end alike."""
    names = [f"the learning rate of layer {i} of the network" for i in range(4)]
    space = dc.Space({name: dc.Integer(1, 9) for name in names})
    result = dc.minimize(lambda p: float(p[names[0]] * p[names[1]] + p[names[2]]), space, budget=60, seed=0)
    run = read_run(result)
    workers = tuple(f"node-{i % 3:02}.cluster.example.org:4711" for i in range(run.n))
    ends = np.arange(1.0, run.n + 1)
    return replace(run, workers=workers, starts=ends - 0.5 - np.arange(run.n) % 3 / 4, ends=ends)


def none_told():
    return dc.Optimizer(dc.Space.binary(3), budget=3, seed=0).result()


RUNS = {
    "mixed": mixed,
    "separable": separable,
    "parallel": parallel,
    "10,000 evaluations": many,
    "one evaluation": lambda: mixed(1),
    "none": none_told,
    "all failed": lambda: dc.minimize(lambda x: math.nan, dc.Space.integers(3, 0, 9), budget=9, seed=0),
    "all infeasible": lambda: dc.minimize(
        lambda x: dc.Outcome(1.0, 1.0 + x[0]), dc.Space.integers(1, 0, 9), budget=9, seed=0
    ),
    "200 bits": lambda: dc.minimize(sum, dc.Space.binary(200), budget=400, seed=0, strategy="cma"),
}


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """Write reports when first asked for, and return their addresses."""
    folder, written = tmp_path_factory.mktemp("reports"), {}

    def address(name):
        if name not in written:
            written[name] = write_html(RUNS[name](), folder / f"{len(written)}.html", title=EVIL)
        return written[name].as_uri()

    return address


@pytest.fixture
def open_report(browser, reports):
    """Open a report in a new window; at the end, nothing may have gone wrong or over the network."""
    contexts, troubles, requests = [], [], []

    def open_one(name, *, width=1280, scheme="light"):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: troubles.append(message.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("dialog", lambda dialog: troubles.append("a dialog"))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(reports(name))
        return page

    yield open_one
    for context in contexts:
        context.close()
    assert troubles == []
    assert all(url.startswith("file:") and url.endswith(".html") for url in requests)


def see_table(page):
    """Scroll to the table, which is drawn when it comes near the screen."""
    page.locator("#rows").scroll_into_view_if_needed()
    page.wait_for_selector("#rows td")


def column(page, name):
    """Return the texts of a column of the table."""
    see_table(page)
    names = [text.rstrip(" ▲▼") for text in page.locator("#rows th").all_inner_texts()]
    return page.locator(f"#rows td:nth-child({names.index(name) + 1})").all_inner_texts()


def show(page, filter_text, expected):
    page.locator("#filter").fill(filter_text)
    page.wait_for_function(
        "text => document.getElementById('count').textContent.includes(text)", arg=expected
    )


@pytest.mark.parametrize(("width", "scheme"), [(400, "light"), (1280, "dark")])
@pytest.mark.parametrize("name", RUNS)
def test_it_renders(open_report, name, width, scheme):
    page = open_report(name, width=width, scheme=scheme)
    page.evaluate(SCROLL_DOWN)
    assert page.locator("h1").inner_text() == EVIL
    n_charts = page.locator(".plot").count()
    assert page.locator(".plot > svg").count() == n_charts
    assert page.evaluate("[...document.querySelectorAll('svg *')].every(e => !e.outerHTML.includes('NaN'))")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate("window.evil") is None
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(247, 248, 248)") == (scheme == "light")


def test_what_the_overview_says(open_report):
    page, result = open_report("mixed"), RUNS["mixed"]()
    assert float(page.locator("#best-value").inner_text()) == pytest.approx(result.fun, rel=1e-5)
    assert page.locator("#message").inner_text() == result.message
    facts = dict(
        zip(
            page.locator(".facts dt").all_inner_texts(),
            page.locator(".facts dd").all_inner_texts(),
            strict=True,
        )
    )
    assert facts["Evaluations"] == "300"
    assert facts["Failed"] == str(result.n_failures)
    assert "Largest value" in open_report("10,000 evaluations").locator("#overview").inner_text()
    assert "No feasible point" in open_report("all infeasible").locator("#overview").inner_text()
    assert "none" in open_report("all failed").locator("#best-value").inner_text()
    assert "Still running" in open_report("none").locator("#overview").inner_text()


def test_the_table_sorts(open_report):
    page, history = open_report("mixed"), RUNS["mixed"]().history
    known = np.sort(history.values[np.isfinite(history.values)])
    see_table(page)
    header = page.locator("#rows th", has_text="value").first
    header.get_by_role("button").click()
    assert header.get_attribute("aria-sort") == "ascending"
    np.testing.assert_allclose([float(v) for v in column(page, "value")], known[:50], rtol=1e-5)
    header.get_by_role("button").click()
    assert header.get_attribute("aria-sort") == "descending"
    np.testing.assert_allclose([float(v) for v in column(page, "value")], known[::-1][:50], rtol=1e-5)
    page.get_by_role("button", name="Last").click()
    assert column(page, "value")[-1] == ""  # failures are last in either order


def test_the_table_filters(open_report):
    page, history = open_report("mixed"), RUNS["mixed"]().history
    points = history.points
    n = sum(p["activation"] == "gelu" for p in points)
    show(page, "activation=gelu", f"of {n} evaluation")
    assert set(column(page, "activation")) == {"gelu"}
    n = sum(p["activation"] == "gelu" and p["layers"] <= 3 and p["lr"] < 1e-3 for p in points)
    show(page, "gelu layers<=3 lr<0.001", f"of {n} evaluation")
    assert max(float(v) for v in column(page, "lr")) < 1e-3
    n = sum(p["batch"] >= 64 for p in points)
    show(page, "batch>=64", f"of {n} evaluation")
    n_failed = sum(history.statuses == "failed")
    show(page, "status=failed", f"of {n_failed} evaluation")
    show(page, '"window.evil=1</script>"', f"of {n_failed} evaluation")
    show(page, "nothing like this", "No evaluation matches.")
    show(page, "", "of 300 evaluations")
    page.get_by_role("group", name="Status").get_by_role("button", name="infeasible").click()
    assert set(column(page, "status")) == {"infeasible"}


def test_ten_thousand_evaluations_are_paged(open_report):
    page = open_report("10,000 evaluations")
    see_table(page)
    assert page.locator("#rows tbody tr").count() == 50
    assert page.locator("#count").inner_text() == "1–50 of 10,000 evaluations"
    page.get_by_role("button", name="Last").click()
    assert column(page, "evaluation")[-1] == "10000"
    page.get_by_role("button", name="Previous").click()
    assert page.locator("#count").inner_text() == "9,901–9,950 of 10,000 evaluations"
    page.get_by_label("Rows on a page").select_option("200")
    assert page.locator("#rows tbody tr").count() == 200


def test_marks_answer_to_the_mouse(open_report):
    page = open_report("mixed")
    page.evaluate(SCROLL_DOWN)
    for i in range(page.locator(".plot").count()):
        plot = page.locator(".plot").nth(i)
        plot.scroll_into_view_if_needed()
        spot = plot.locator(
            "circle, rect.heat, rect.share, path, line.edge, rect[class^=busy]"
        ).last.bounding_box()
        page.mouse.move(spot["x"] + spot["width"] / 2, spot["y"] + spot["height"] / 2)
        assert page.locator("#tip").is_visible(), plot.get_attribute("aria-label")
        page.mouse.move(0, 0)
        assert page.locator("#tip").is_hidden()


def test_marks_and_details_answer_to_the_keyboard(open_report):
    page = open_report("mixed")
    plot = page.locator("#convergence .plot")
    plot.focus()
    page.wait_for_selector("#convergence svg")
    page.keyboard.press("ArrowRight")
    assert page.locator("#tip").inner_text().startswith("evaluation 1:")
    page.keyboard.press("ArrowLeft")
    assert page.locator("#tip").inner_text().startswith("evaluation 300:")
    page.keyboard.press("Enter")
    assert page.locator("#details-title").inner_text() == "Evaluation 300"
    page.keyboard.press("Escape")
    assert not page.locator("#details").evaluate("dialog => dialog.open")
    see_table(page)
    page.locator("#rows tbody button").first.press("Enter")
    assert page.locator("#details-title").inner_text() == "Evaluation 1"


def test_everything_that_can_be_used_has_a_name_and_can_be_reached(open_report):
    page = open_report("mixed")
    page.evaluate(SCROLL_DOWN)
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll('button, input, select, a, [tabindex]')]
          .filter((e) => !(e.textContent.trim() || e.getAttribute('aria-label')) || e.tabIndex < 0)
          .map((e) => e.outerHTML)"""
    )
    assert unnamed == []
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the report"


def test_failures_show_their_reason_as_text(open_report):
    page, result = open_report("mixed"), RUNS["mixed"]()
    summary = page.locator("#failures summary").first
    assert summary.inner_text() == f"{result.n_failures}×ValueError: {EVIL}"
    summary.click()
    assert page.locator("#failures pre").inner_text() == f"ValueError: {EVIL}"
    page.locator("#failures .links button").first.click()
    assert EVIL in page.locator("#details pre").inner_text()
    assert page.locator("#details img").count() == 0


def test_the_theme_can_be_chosen(open_report):
    page = open_report("none", scheme="light")
    button = page.locator("#theme")
    seen = {}
    for _ in range(3):
        seen[button.inner_text()] = page.evaluate("getComputedStyle(document.body).backgroundColor")
        button.click()
    assert seen["Theme: auto"] == seen["Theme: light"] != seen["Theme: dark"]


@pytest.mark.parametrize("width", [400, 1100])
def test_jumps_land_on_their_heading(open_report, width):
    for name in ("convergence", "interactions", "evaluations"):
        page = open_report("mixed", width=width)
        page.locator("nav").get_by_role("link", name=re.compile(f"^{name}$", re.IGNORECASE)).click()
        page.wait_for_function(LANDED, arg=name)


def boxes(page, selector):
    """Return left, top, right and bottom of each of some elements."""
    return page.eval_on_selector_all(
        selector,
        "all => all.map((e) => e.getBoundingClientRect()).map((b) => [b.left, b.top, b.right, b.bottom])",
    )


def overlap(one, other):
    return (
        min(one[2], other[2]) - max(one[0], other[0]) > 1
        and min(one[3], other[3]) - max(one[1], other[1]) > 1
    )


@pytest.mark.parametrize("width", [400, 1280])
def test_names_neither_overlap_nor_are_cut_to_the_same_text(open_report, width):
    page = open_report("parallel", width=width)
    page.evaluate(SCROLL_DOWN)
    for section in ("#timeline", "section:nth-of-type(2)"):
        texts = boxes(page, f"{section} svg text")
        assert len(texts) > 5
        assert not any(overlap(texts[i], texts[j]) for i in range(len(texts)) for j in range(i))
    for section, n in (("#timeline", 3), ("section:nth-of-type(2)", 4)):
        names = page.locator(f"{section} svg text.name").all_text_contents()
        assert len(set(names)) == len(names) == n


def test_the_value_axis_has_a_name_and_a_switch(open_report):
    page = open_report("mixed")
    page.evaluate(SCROLL_DOWN)
    section = page.locator("#convergence")
    assert section.locator("svg .label").text_content() == "value (logarithmic)"
    section.get_by_role("button", name="linear").click()
    assert section.locator("svg .label").text_content() == "value"
    # Zero has no logarithm, its distance from the best value has.
    page = open_report("separable")
    page.evaluate(SCROLL_DOWN)
    section = page.locator("#convergence")
    assert section.locator("svg .label").text_content() == "value"
    section.get_by_role("button", name="logarithmic").click()
    assert section.locator("svg .label").text_content().startswith("distance from the best value")
    assert section.get_by_role("button", name="logarithmic").get_attribute("aria-pressed") == "true"
    assert page.evaluate("[...document.querySelectorAll('svg *')].every(e => !e.outerHTML.includes('NaN'))")


def test_only_what_is_known_of_interactions_is_shown(open_report):
    section = open_report("separable").locator("#interactions")
    assert section.locator(".card").all_inner_texts() == [
        "No interaction worth showing: the evaluations show none beyond doubt."
    ]
    page = open_report("parallel")
    page.evaluate(SCROLL_DOWN)
    section = page.locator("#interactions")
    assert section.locator("h3").all_inner_texts() == ["Strength of pairs", "Strongest interactions"]
    strongest = RUNS["parallel"]().result.interactions()[0].strength
    numbers = [float(text) for text in section.locator(".legend span").all_inner_texts()]
    assert max(numbers) == pytest.approx(strongest, rel=0.05)


def test_importance_is_explained_and_the_command_shown(open_report):
    page = open_report("parallel")
    assert "drawn anew from its range" in page.locator("main").inner_text()
    assert "dc.minimize(objective, space, budget=60, seed=0" in page.locator("#reproduction").inner_text()


def test_paper_shows_everything(open_report):
    page = open_report("mixed", scheme="dark")
    n_charts = page.locator(".plot").count()
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 700, "height": 900})
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator(".plot > svg").count() == n_charts
    right = page.eval_on_selector_all(
        "main *", "all => Math.max(...all.map((e) => e.getBoundingClientRect().right))"
    )
    assert right <= 700
    clipped = page.eval_on_selector_all(
        ".scroll, pre, #rows", "all => all.filter((e) => e.scrollHeight > e.clientHeight + 1).length"
    )
    assert clipped == 0
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator("#rows tbody tr").count() == 50
    # What has been printed is drawn anew for the window.
    page.emulate_media(media="screen")
    page.set_viewport_size({"width": 1280, "height": 900})
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("#convergence svg").first.bounding_box()["width"] > 1000


def test_markup_that_slipped_through_would_stay_dead(browser, reports, tmp_path):
    text = dc.report.render_html(none_told())
    path = tmp_path / "broken.html"
    path.write_text(text.replace("<main", f"{EVIL}<main", 1), encoding="utf-8")
    context = browser.new_context()
    page = context.new_page()
    page.goto(path.as_uri())
    assert page.locator("img").count() == 1
    assert page.evaluate("window.evil") is None
    assert page.locator("#overview").is_visible()
    context.close()


def test_a_picture_can_be_taken(open_report, tmp_path):
    page = open_report("mixed", scheme="dark")
    page.evaluate(SCROLL_DOWN)
    picture = page.screenshot(path=tmp_path / "report.png", full_page=True)
    assert len(picture) > 50_000
