# Everything happens inside this checkout: the virtual environment lives in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: help setup demo test test-fast lint types layers docs check clean

help:
	@echo "make demo    set up and run the main job"
	@echo "make test    set up and run all tests"
	@echo "make check   lint, types, layering and docs build"
	@echo "make clean   remove everything these commands made"

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.runtime: $(BIN)/python pyproject.toml
	$(PIP) install --editable .
	@touch $@

$(VENV)/.develop: $(BIN)/python pyproject.toml
	$(PIP) install --editable ".[test,lint,docs,plot,bench]"
	@touch $@ $(VENV)/.runtime

setup: $(VENV)/.develop

demo: $(VENV)/.runtime
	$(BIN)/python -m dcmaes.demo

test: $(VENV)/.develop
	$(BIN)/python -m pytest -n 2

lint: $(VENV)/.develop
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.develop
	$(BIN)/mypy

layers: $(VENV)/.develop
	$(BIN)/lint-imports

docs: $(VENV)/.develop
	$(BIN)/python -m sphinx --fail-on-warning --keep-going -b html docs docs/_build/html

check: lint types layers docs

clean:
	rm -rf $(VENV) docs/_build dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
