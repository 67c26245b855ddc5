"""Every block of Python in README and in the documentation runs, and shows what it prints.

Blocks with prompts are doctests, other ones are scripts; the blocks of a page share their names and run in a
folder of their own. A page that needs a package which is not installed by default says so in a comment,
``<!-- needs: optuna, cmaes -->``, and is skipped where one of them is missing.
"""

import doctest
import re
import shlex
import shutil
import subprocess
import sys
import types
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
PAGES = {
    str(path.relative_to(ROOT)): path
    for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))
    if "_build" not in path.parts and BLOCK.search(path.read_text(encoding="utf-8"))
}
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def run_script(source, namespace, place):
    # As many blank lines first as the page has before the block: errors then name the page's own lines.
    exec(compile("\n" * place[1] + source, place[0], "exec"), namespace)  # noqa: S102 - the text is our own


def run_doctest(source, namespace, place):
    test = doctest.DocTestParser().get_doctest(source, namespace, place[0], place[0], place[1])
    test.globs = namespace
    report = []
    outcome = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=report.append, clear_globs=False)
    assert outcome.failed == 0, "".join(report)


@pytest.mark.parametrize("page", PAGES)
def test_page_runs(page, tmp_path, monkeypatch):
    text = PAGES[page].read_text(encoding="utf-8")
    for package in re.findall(r"[\w.]+", "".join(re.findall(r"<!-- needs: (.*?) -->", text))):
        if find_spec(package) is None:
            pytest.skip(f"{page} needs the package {package!r}: pip install {package}")
    monkeypatch.chdir(tmp_path)
    # A module of its own, so that functions of a page can be pickled by name.
    module = types.ModuleType("page_" + re.sub(r"\W", "_", page))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for block in BLOCK.finditer(text):
        run = run_doctest if ">>> " in block[1] else run_script
        run(block[1], vars(module), (page, text.count("\n", 0, block.start(1))))


@pytest.mark.skipif(shutil.which("awk") is None, reason="the example specification runs awk")
def test_commands_of_the_readme_run(tmp_path):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"^\$ dcmaes (.*)$", text, re.MULTILINE)
    assert len(commands) == 5
    for command in commands:
        arguments = [sys.executable, "-m", "dcmaes", *shlex.split(command, comments=True)]
        done = subprocess.run(
            arguments, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False
        )
        assert done.returncode == 0, f"dcmaes {command}\n{done.stdout}\n{done.stderr}"


def test_pages_are_found():
    assert {"README.md", "docs/guides/spaces.md", "docs/guides/ask-and-tell.md"} <= set(PAGES)


@pytest.mark.parametrize("source", [">>> 1 + 1\n3\n", ">>> undefined\n"])
def test_a_wrong_page_would_be_noticed(source):
    with pytest.raises(AssertionError, match="page"):
        run_doctest(source, {}, ("page", 7))
