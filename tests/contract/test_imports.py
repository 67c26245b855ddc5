"""``import dcmaes`` loads numpy and little else; optional packages are loaded by what needs them."""

import subprocess
import sys

import pytest

# Slow to load, or not installed everywhere.
NOT_LOADED = (
    *("scipy.stats", "scipy.optimize", "scipy.sparse", "scipy.spatial", "scipy.interpolate"),
    *("pandas", "matplotlib", "click", "rich", "sklearn", "optuna", "dask", "distributed", "loky"),
    *(
        "concurrent.futures.process",
        "multiprocessing",
        "pytest",
        "asyncio",
        "unittest",
        "dcmaes.demo",
        "dcmaes.problems",
    ),
)
ALLOWED_SCIPY = {"scipy.special", "scipy.linalg"}


def modules_after(statement):
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.fixture(scope="module")
def modules():
    return modules_after("import dcmaes")


@pytest.mark.parametrize("name", NOT_LOADED)
def test_import_leaves_out(name, modules):
    assert name not in modules


def test_import_loads_no_other_part_of_scipy(modules):
    # What scipy.special and scipy.linalg load themselves is theirs.
    allowed = modules_after("import scipy.special, scipy.linalg")
    scipy = {name for name in modules if name.startswith("scipy.")}
    assert {name for name in scipy - allowed if ".".join(name.split(".")[:2]) not in ALLOWED_SCIPY} == set()


def test_the_check_sees_what_is_loaded():
    assert "dcmaes.problems" in modules_after("import dcmaes, dcmaes.problems")


@pytest.mark.parametrize("name", ["scipy.stats", "scipy.sparse.csgraph", "pandas", "matplotlib"])
def test_a_run_leaves_out(name):
    statement = "import dcmaes as dc; dc.minimize(sum, dc.Space.binary(12), budget=50, seed=0).interactions()"
    assert name not in modules_after(statement)
