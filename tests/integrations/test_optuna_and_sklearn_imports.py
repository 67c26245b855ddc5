"""Host libraries are loaded when they are asked for, and missed in words."""

import subprocess
import sys

import pytest

HOSTS = {"optuna": "Optuna", "sklearn": "scikit-learn"}


def run(program):
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)


def test_the_library_loads_no_host():
    done = run("import sys, dcmaes; print(sorted({'optuna', 'sklearn', 'joblib'} & set(sys.modules)))")
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


@pytest.mark.parametrize("host", HOSTS)
def test_a_missing_host_is_named_with_its_extra(host):
    done = run(f"import sys; sys.modules[{host!r}] = None; import dcmaes.integrations.{host}")
    assert f"needs {HOSTS[host]}: pip install 'dcmaes[{host}]'" in done.stderr


@pytest.mark.parametrize(("host", "version"), [("optuna", "3.6.1"), ("sklearn", "1.5.2")])
def test_a_host_that_is_too_old_is_named_with_its_version(host, version):
    pytest.importorskip(host, reason=f"needs the extra {host}")
    done = run(f"import {host}; {host}.__version__ = {version!r}; import dcmaes.integrations.{host}")
    assert f"or later, found {version}" in done.stderr


def test_a_script_for_optuna_becomes_ours_by_changing_one_line():
    pytest.importorskip("optuna", reason="needs the extra optuna")
    script = """
import optuna
from optuna.samplers import TPESampler

optuna.logging.set_verbosity(optuna.logging.WARNING)

def objective(trial):
    x = trial.suggest_float("x", -10, 10, step=0.5)
    n = trial.suggest_int("n", 1, 100, log=True)
    return (x - 2) ** 2 + (n - 10) ** 2 + (trial.suggest_categorical("c", ["a", "b", "c"]) != "b")

study = optuna.create_study(sampler=TPESampler(seed=0))
study.optimize(objective, n_trials=150)
print(type(study.sampler).__name__, study.best_params)
"""
    before, after = (
        "optuna.samplers import TPESampler",
        "dcmaes.integrations.optuna import DcmaesSampler as TPESampler",
    )
    assert script.count(before) == 1
    done = run(script.replace(before, after))
    assert done.stdout == "DcmaesSampler {'x': 2.0, 'n': 10, 'c': 'b'}\n", done.stderr


def test_missing_configspace_is_named_with_its_extra():
    reader = "from dcmaes.integrations.configspace import from_configspace"
    done = run(f"import sys; sys.modules['ConfigSpace'] = None; {reader}; from_configspace(None)")
    assert "needs ConfigSpace: pip install 'dcmaes[configspace]'" in done.stderr
