"""A folder with a specification, and a run of it."""

from pathlib import Path

import pytest
from command_line import SPEC, run

import dcmaes as dc


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("tune.toml").write_text(SPEC)
    return tmp_path


@pytest.fixture
def stored(folder):
    run("minimize", "tune.toml", "--quiet")
    return dc.store.read("tune.db")
