"""The package for OptunaHub has the layout and front matter that the registry asks for; its example runs."""

import re
import runpy
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

optuna = pytest.importorskip("optuna", reason="needs the extra optuna")

PACKAGE = Path(__file__).parents[2] / "package" / "samplers" / "dcmaes"


@pytest.fixture
def loaded():
    """Load the package from its folder, as the registry does."""
    spec = spec_from_file_location(
        "hub_dcmaes", PACKAGE / "__init__.py", submodule_search_locations=[str(PACKAGE)]
    )
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_it_gives_the_sampler(loaded):
    from dcmaes.integrations.optuna import DcmaesSampler

    assert loaded.DcmaesSampler is DcmaesSampler


def test_the_front_matter_is_complete():
    front = re.match(r"---\n(.*?)\n---\n", (PACKAGE / "README.md").read_text(), re.DOTALL)[1]
    fields = dict(line.split(": ", 1) for line in front.splitlines())
    assert set(fields) == {"author", "title", "description", "tags", "optuna_versions", "license"}
    assert fields["license"] == "MIT License"
    assert fields["tags"].startswith("[sampler,")


def test_all_files_are_there():
    files = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*")
        if path.suffix in (".md", ".py", ".txt", "")
    }
    wanted = {
        "README.md",
        "LICENSE",
        "__init__.py",
        "example.py",
        "requirements.txt",
        "tests/test_sampler.py",
    }
    assert wanted <= files


@pytest.mark.parametrize("source", ["example.py", "README.md"])
def test_the_example_runs(source, loaded, monkeypatch, tmp_path, capsys):
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    # In place of the package that fetches from the registry, one that gives what is here.
    hub = type(sys)("optunahub")
    hub.load_module = {"samplers/dcmaes": loaded}.__getitem__
    monkeypatch.setitem(sys.modules, "optunahub", hub)
    text = (PACKAGE / source).read_text()
    if source == "README.md":
        text = re.search(r"```python\n(.*?)```", text, re.DOTALL)[1]
    script = tmp_path / "example.py"
    script.write_text(text)
    runpy.run_path(str(script), run_name="__main__")
    assert "'layers': 3" in capsys.readouterr().out
