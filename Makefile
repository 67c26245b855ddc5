# Everything happens inside this checkout: the virtual environment and all caches live in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-cache-dir --quiet
JOBS ?= 2
ROOT := $(shell test $$(id -u) = 0 || echo sudo)

export XDG_CACHE_HOME := $(CURDIR)/$(VENV)/cache
export MPLCONFIGDIR := $(CURDIR)/$(VENV)/cache/matplotlib

.PHONY: help demo test soak check lint types layers docs postgres browser bench-setup bench bench-quick clean

help:
	@echo "make demo         set up and run an optimization to look at"
	@echo "make test         set up and run all tests, but those marked soak"
	@echo "make soak         run the tests that take minutes: a million asks and tells with flat memory"
	@echo "make check        lint, types, layering and the build of the documentation"
	@echo "make docs         build the documentation in docs/_build/html"
	@echo "make postgres     install the database server that some tests start (Debian; asks for root)"
	@echo "make browser      install the browser in which the report is tested (Debian; asks for root)"
	@echo "make bench        make the missing runs of the benchmark (days), and write its report"
	@echo "make bench-quick  run every optimizer of the benchmark briefly: does everything work?"
	@echo "make clean        remove everything that these commands made"

# pip comes last: an environment without it is one whose making was interrupted, and is made again.
$(BIN)/pip:
	$(PYTHON) -m venv --clear $(VENV)

$(VENV)/.runtime: $(BIN)/pip pyproject.toml
	$(PIP) install --editable .
	@touch $@

$(VENV)/.test: $(BIN)/pip pyproject.toml
	$(PIP) install --editable ".[test]"
	@touch $(VENV)/.runtime $@

$(VENV)/.check: $(BIN)/pip pyproject.toml
	$(PIP) install --editable ".[test,lint,docs]"
	@touch $(VENV)/.runtime $(VENV)/.test $@

$(VENV)/.bench: $(BIN)/pip pyproject.toml
	$(PIP) install --editable ".[test,lint,docs,bench]"
	@touch $(VENV)/.runtime $(VENV)/.test $(VENV)/.check $@

demo: $(VENV)/.runtime
	@$(BIN)/python -m dcmaes.demo

test: $(VENV)/.test
	$(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal -m "not soak" -rN -rfE

# A million asks and tells with flat memory, and whatever else takes too long for every day.
soak: $(VENV)/.test
	$(BIN)/python -m pytest -q -m soak

check: lint types layers docs

lint: $(VENV)/.check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.check
	$(BIN)/mypy

layers: $(VENV)/.check
	$(BIN)/lint-imports

docs: $(VENV)/.check
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

# Tests that need a database server start their own from these programs; without them they are skipped.
postgres:
	command -v initdb || ls /usr/lib/postgresql/*/bin/initdb || \
	    { $(ROOT) apt-get update && $(ROOT) apt-get install --yes --no-install-recommends postgresql; }

# The tests of the report open it in Chromium; without it they are skipped.
browser: $(VENV)/.test
	command -v chromium || \
	    { $(ROOT) apt-get update && $(ROOT) apt-get install --yes --no-install-recommends chromium; }
	$(PIP) install --editable ".[browser]"

bench-setup: $(VENV)/.bench

# Days of computing; runs that are in benchmarks/results are not made again. BENCH="run --suite pbo" makes part of them.
BENCH ?= run --report --workers $(JOBS)
bench: $(VENV)/.bench
	$(BIN)/python benchmarks $(BENCH)

bench-quick: $(VENV)/.bench
	rm -rf $(VENV)/bench-quick
	$(BIN)/python benchmarks run --quick --workers $(JOBS) --results $(VENV)/bench-quick

clean:
	rm -rf $(VENV) docs/_build dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
