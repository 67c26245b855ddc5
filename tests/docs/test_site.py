"""The built documentation is whole by itself: nothing on a page is fetched from a network address."""

import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NEEDED = "sphinx", "furo", "myst_parser", "sphinx-mathjax-offline"
MISSING = [package for package in NEEDED if find_spec(package) is None]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(MISSING), reason=f"packages of the extra `docs` are missing: {MISSING}"),
]
LOADING_TAG = re.compile(r"<(?:script|link|img|iframe|source|video|object|embed)\b[^>]*>")
ADDRESS = re.compile(r"""\b(?:src|srcset|href|data)=["'](?:https?:)?//""")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Return the folder of the built site."""
    folder = tmp_path_factory.mktemp("site")
    options = ["-b", "html", "-q", "--fail-on-warning", "--keep-going", "-d", str(folder / "doctrees")]
    built = folder / "html"
    command = [sys.executable, "-m", "sphinx", *options, str(ROOT / "docs"), str(built)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return built


def addresses(html):
    """Return the tags of a page that load something from a network address."""
    return [tag for tag in LOADING_TAG.findall(html) if ADDRESS.search(tag)]


def test_pages_load_nothing_from_the_network(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 30
    found = {str(page): addresses(page.read_text(encoding="utf-8")) for page in pages}
    assert {page: tags for page, tags in found.items() if tags} == {}


def test_styles_load_nothing_from_the_network(site):
    loading = re.compile(r"""(?:url\(|@import)\s*["']?(?:https?:)?//""")
    styles = {str(path): path.read_text(encoding="utf-8") for path in site.rglob("*.css")}
    assert [path for path, text in styles.items() if loading.search(text)] == []


def test_pages_with_formulas_load_what_renders_them(site):
    pages = [page for page in site.rglob("*.html") if 'class="math ' in page.read_text(encoding="utf-8")]
    assert site / "maths.html" in pages
    for page in pages:
        scripts = re.findall(r'<script[^>]*src="([^"?]*tex-svg\.js)', page.read_text(encoding="utf-8"))
        assert len(scripts) == 1, page
        assert (page.parent / scripts[0]).is_file()


def test_reference_has_types_and_links_to_the_source(site):
    page = (site / "api" / "optimizer.html").read_text(encoding="utf-8")
    for name in ("minimize", "maximize", "Optimizer", "Optimizer.ask"):
        start = page.index(f'id="dcmaes.{name}"')
        heading = page[start : page.index("</dt>", start)]
        assert "viewcode-link" in heading, name
        assert "int" in re.sub("<.*?>", "", heading), name


@pytest.mark.parametrize(
    ("tag", "is_found"),
    [
        ('<script src="https://example.org/a.js"></script>', True),
        ('<link rel="stylesheet" href="//example.org/a.css">', True),
        ('<script src="_static/a.js"></script>', False),
        ('<a href="https://example.org">a link to follow</a>', False),
    ],
)
def test_addresses_are_found(tag, is_found):
    assert bool(addresses(tag)) == is_found


def test_formulas_render_in_a_browser_without_a_network(site):
    missing = "playwright is missing: run `make browser`"
    playwright = pytest.importorskip("playwright.sync_api", reason=missing)
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is missing: run `make browser`")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium)
        page = browser.new_context(viewport={"width": 1300, "height": 900}, offline=True).new_page()
        page.set_default_timeout(300_000)  # a busy machine needs minutes for hundreds of formulas
        page.goto((site / "maths.html").as_uri())
        page.wait_for_function("window.MathJax?.startup?.promise")
        page.evaluate("MathJax.startup.promise")
        n_raw = page.evaluate(
            "[...document.querySelectorAll('.math')].filter(e => !e.querySelector('svg')).length"
        )
        n_wrong = page.locator("[data-mjx-error]").count()
        n_formulas = page.locator(".math").count()
        browser.close()
    assert n_formulas > 400
    assert (n_raw, n_wrong) == (0, 0)
