"""Several workers on one study: threads and processes, in every storage that workers can share."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

optuna = pytest.importorskip("optuna", reason="needs the extra optuna")

from dcmaes.integrations.optuna import DcmaesSampler  # noqa: E402

# What every worker runs; a parameter that falls to the independent sampler ends the worker with an error.
WORKER = """
import sys
import optuna
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from sqlalchemy.pool import NullPool
from dcmaes.integrations.optuna import DcmaesSampler

optuna.logging.set_verbosity(optuna.logging.ERROR)
SPACE = {
    "n": IntDistribution(0, 40),
    "width": IntDistribution(1, 512, log=True),
    "rate": FloatDistribution(0.0, 1.0, step=0.05),
    "kind": CategoricalDistribution(["x", None, 3]),
}


class Refusing(optuna.samplers.RandomSampler):
    def sample_independent(self, study, trial, param_name, param_distribution):
        raise AssertionError(param_name)


def open_storage(url):
    if url.startswith("journal:"):
        from optuna.storages import JournalStorage
        from optuna.storages.journal import JournalFileBackend

        return JournalStorage(JournalFileBackend(url.removeprefix("journal:")))
    # No pool: a connection left in one is closed when nobody looks, with a warning.
    return optuna.storages.RDBStorage(url, engine_kwargs={"poolclass": NullPool})


def objective(trial):
    n, width = trial.suggest_int("n", 0, 40), trial.suggest_int("width", 1, 512, log=True)
    rate = trial.suggest_float("rate", 0.0, 1.0, step=0.05)
    kind = trial.suggest_categorical("kind", ["x", None, 3])
    loss = abs(n - 20) + abs(width - 64) / 64 + rate + (kind is not None)
    return loss if len(trial.study.directions) == 1 else (loss, n + width)


def make_sampler(seed):
    return DcmaesSampler(search_space=SPACE, seed=seed, independent_sampler=Refusing())


if __name__ == "__main__":
    url, name, n_trials, seed = sys.argv[1:]
    sampler = make_sampler(None if seed == "none" else int(seed))
    optuna.load_study(study_name=name, storage=open_storage(url), sampler=sampler).optimize(
        objective, n_trials=int(n_trials)
    )
"""
PARTS: dict = {"__name__": "worker"}
exec(WORKER, PARTS)  # noqa: S102 the same definitions here as in the workers


@pytest.fixture(autouse=True)
def _quiet():
    optuna.logging.set_verbosity(optuna.logging.ERROR)


@pytest.fixture(scope="module")
def postgres():
    """Start a PostgreSQL server of our own on a free port, and return its URL."""
    pytest.importorskip("psycopg", reason="needs the Python package psycopg")
    programs = _postgres_programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed here; `make postgres` installs Debian's")
    # The server refuses to run as root, so root lends it another name.
    owner = next((pwd.getpwnam(n) for n in ("postgres", "nobody") if _has_user(n)), None)
    identity = {} if os.getuid() else {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}
    # A short path: the socket's name has a limit.
    home = Path(tempfile.mkdtemp(prefix="pg"))
    if identity:
        os.chown(home, owner.pw_uid, owner.pw_gid)
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": home}
    data, port = home / "data", _free_port()
    initdb = [programs / "initdb", "-D", data, "-U", "optuna", "-A", "trust", "--no-sync", "--locale=C"]
    subprocess.run([*initdb, "-E", "UTF8"], check=True, **identity, **quiet)
    command = [programs / "postgres", "-D", data, "-p", str(port), "-h", "127.0.0.1", "-k", home, "-F"]
    server = subprocess.Popen(command, **identity, **quiet)
    try:
        _wait_for(port, server)
        yield f"postgresql+psycopg://optuna@127.0.0.1:{port}/postgres"
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(timeout=300)
        shutil.rmtree(home, ignore_errors=True)


def _postgres_programs():
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    found = shutil.which("initdb") or (installed[-1] if installed else None)
    return None if found is None else Path(found).resolve().parent


def _has_user(name):
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _wait_for(port, server):
    import psycopg

    for _ in range(1200):
        if server.poll() is not None:
            pytest.fail(f"the PostgreSQL server ended with status {server.returncode}")
        try:
            psycopg.connect(host="127.0.0.1", port=port, user="optuna", dbname="postgres").close()
        except psycopg.OperationalError:
            time.sleep(0.1)
        else:
            return
    pytest.fail("the PostgreSQL server did not answer within two minutes")


@pytest.fixture(params=["sqlite", "journal", "postgresql"])
def url(request, tmp_path):
    if request.param == "postgresql":
        return request.getfixturevalue("postgres")
    return f"sqlite:///{tmp_path}/study.db" if request.param == "sqlite" else f"journal:{tmp_path}/journal"


def run_workers(url, seeds, n_trials, name="shared", directions=("minimize",)):
    optuna.create_study(study_name=name, storage=PARTS["open_storage"](url), directions=directions)
    command = [sys.executable, "-c", WORKER, url, name, str(n_trials)]
    workers = [subprocess.Popen([*command, seed], stderr=subprocess.PIPE, text=True) for seed in seeds]
    for worker in workers:
        _, errors = worker.communicate(timeout=600)
        assert worker.returncode == 0, errors


def check_shared(study, n_trials):
    trials = study.get_trials(deepcopy=False)
    assert len(trials) == n_trials
    assert all(trial.state == optuna.trial.TrialState.COMPLETE for trial in trials)
    # Two workers may draw at the same moment, when neither's point is stored; that is rare.
    assert len({tuple(sorted(trial.params.items(), key=str)) for trial in trials}) >= 0.9 * n_trials
    # A worker that comes later learns from all trials.
    sampler = study.sampler
    sampler.sample_relative(study, study.ask()._get_latest_trial(), PARTS["SPACE"])
    (known,) = sampler._studies.values()
    assert known.follower.current(seed=0).n_evaluations == n_trials


@pytest.mark.slow
def test_processes_share_a_study(url):
    # Workers with the same seed share their draws, and must take different ones.
    run_workers(url, ("7", "7") if url.startswith("journal") else ("none", "none"), 20)
    study = optuna.load_study(
        study_name="shared", storage=PARTS["open_storage"](url), sampler=PARTS["make_sampler"](0)
    )
    check_shared(study, 40)


@pytest.mark.slow
def test_processes_share_a_study_of_several_objectives(url):
    run_workers(url, ("7", "7"), 12, "several", directions=("minimize", "maximize"))
    study = optuna.load_study(
        study_name="several", storage=PARTS["open_storage"](url), sampler=PARTS["make_sampler"](0)
    )
    check_shared(study, 24)


@pytest.mark.slow
def test_threads_share_a_study(url):
    storage = PARTS["open_storage"](url)
    study = optuna.create_study(study_name="threads", storage=storage, sampler=PARTS["make_sampler"](0))
    study.optimize(PARTS["objective"], n_trials=30, n_jobs=3)
    check_shared(study, 30)


def test_threads_share_a_study_in_memory():
    study = optuna.create_study(sampler=PARTS["make_sampler"](0))
    study.optimize(PARTS["objective"], n_trials=120, n_jobs=4)
    check_shared(study, 120)
    assert study.best_value < 6


def test_a_worker_that_died_leaves_a_point_that_is_not_proposed_again(tmp_path):
    space = {"a": optuna.distributions.IntDistribution(0, 9)}
    storage = f"sqlite:///{tmp_path}/study.db"
    died = optuna.create_study(
        study_name="s", storage=storage, sampler=DcmaesSampler(seed=0, search_space=space)
    )
    left = died.ask(space).params["a"]
    study = optuna.load_study(
        study_name="s", storage=storage, sampler=DcmaesSampler(seed=0, search_space=space)
    )
    study.optimize(lambda trial: trial.suggest_int("a", 0, 9), n_trials=9)
    assert sorted(trial.params["a"] for trial in study.trials[1:]) == [a for a in range(10) if a != left]
