"""Sphinx configuration."""

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes

import dcmaes

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))  # the package dcmaes_bench is not installed

project = "dcmaes"
author = "The dcmaes developers"
copyright = "2026, The dcmaes developers"
release = dcmaes.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
]
myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 3
napoleon_google_docstring = False
napoleon_use_rtype = False
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 90
autodoc_member_order = "bysource"
default_role = "code"  # a name between single backticks in a docstring
exclude_patterns = ["_build"]
html_theme = "furo"
# MathJax in one file, SVG output: formulas need no network, no fonts and no server, only the built site.
_mathjax = Path(find_spec("sphinx-mathjax-offline").origin).parent / "static" / "mathjax" / "tex-svg.js"
mathjax_path = _mathjax.name
mathjax3_config = {"options": {"enableMenu": False}}  # its menu would load further files
html_static_path = ["_static", str(_mathjax)]
html_css_files = ["benchmarks.css", "formulas.css"]
html_title = f"dcmaes {release}"
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b5c8a", "color-brand-content": "#0b5c8a"},
    "dark_css_variables": {"color-brand-primary": "#6fb8e0", "color-brand-content": "#6fb8e0"},
}


def _leave_prose_alone(app: Any, doctree: nodes.document) -> None:
    """Drop the links that Sphinx makes of lower-case words in types such as "array of shape (n, d)"."""
    for reference in list(doctree.findall(addnodes.pending_xref)):
        target = reference["reftarget"]
        if reference.get("reftype") == "class" and target.islower() and "." not in target:
            reference.replace_self(reference.children)


def _keep_equation_numbers(app: Any, doctree: nodes.document) -> None:
    """Hand numbered formulas on as they are: what Sphinx puts around long ones allows no number."""
    for formula in doctree.findall(nodes.math_block):
        text = formula.astext()
        if r"\tag{" in text:
            formula.children = [nodes.Text(rf"\[{text}\]")]
            formula["nowrap"] = formula["no-wrap"] = True


def setup(app: Any) -> None:
    app.connect("doctree-read", _leave_prose_alone)
    app.connect("doctree-read", _keep_equation_numbers)
