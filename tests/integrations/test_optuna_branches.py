"""Define-by-run studies: when each parameter is asked for is inferred from the trials, and made use of."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

optuna = pytest.importorskip("optuna", reason="needs the extra optuna")

from optuna.distributions import (  # noqa: E402
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import TrialState, create_trial  # noqa: E402

from dcmaes.integrations.optuna import DcmaesSampler  # noqa: E402
from dcmaes.integrations.optuna._parameters import Allowed, Branches, ParameterSpace, nearest  # noqa: E402

FOLDER = Path(__file__).parent
KINDS = {
    "kind": CategoricalDistribution(["a", "b", "c"]),
    "flag": CategoricalDistribution([False, True]),
    "n": IntDistribution(1, 8),
    "wide": IntDistribution(0, 10**6),
    "f": FloatDistribution(0.0, 1.0),
    "x": FloatDistribution(0.0, 1.0),
    "y": FloatDistribution(0.0, 1.0),
}


class OnlyUnseen(optuna.samplers.RandomSampler):
    """An independent sampler that may be asked only for what no trial had that could be seen at the start.

    A trial of another process may be stored late, after its time of completion.
    """

    def __init__(self, seed):
        super().__init__(seed)
        self.n_asked = 0
        self.seen = {}

    def before_trial(self, study, trial):
        super().before_trial(study, trial)
        finished = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE, TrialState.PRUNED))
        self.seen[trial.number] = {name for other in finished for name in other.params}

    def sample_independent(self, study, trial, param_name, param_distribution):
        self.n_asked += 1
        assert param_name not in self.seen[trial.number], f"{param_name} of trial {trial.number}"
        return super().sample_independent(study, trial, param_name, param_distribution)


@pytest.fixture(autouse=True)
def _quiet():
    optuna.logging.set_verbosity(optuna.logging.ERROR)


def nested(trial, step=0):
    """Two branches, one of them with two of its own, and as many weights as an integer says."""
    loss = sum(trial.suggest_float(f"w{i}", 0, 1) for i in range(trial.suggest_int("n", 0, 3)))
    if trial.suggest_categorical("kind", ["tree", "net"]) == "tree":
        return 2 + loss + trial.suggest_int("depth", 1, 9) / 9
    if trial.suggest_categorical("solver", ["sgd", "adam", None]) == "sgd":
        return 1 + loss + trial.suggest_float("momentum", 0, 1)
    return loss + abs(trial.suggest_float("rate", 1e-4, 1, log=True) - 0.01)


def prunable(trial):
    loss = nested(trial)
    for step in range(4):
        trial.report(loss + 1 / (step + 1), step)
        if trial.should_prune():
            raise optuna.TrialPruned
    return loss


def seen(*rows, state=TrialState.COMPLETE):
    return [
        create_trial(
            state=state,
            value=0.0 if state == TrialState.COMPLETE else None,
            params=row,
            distributions={name: KINDS[name] for name in row},
        )
        for row in rows
    ]


def conditions(trials):
    branches = Branches()
    branches.learn(trials)
    return branches.conditions


def listed(*values):
    return Allowed(frozenset(map(float, values)))


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        # A choice that was not tried yet may have it.
        ([{"kind": "a", "x": 0.5}, {"kind": "b"}], {"x": {"kind": listed(0, 2)}}),
        ([{"flag": True, "x": 0.5}, {"flag": False}], {"x": {"flag": listed(1)}}),
        ([{"n": 2}, {"n": 5, "x": 0.5}, {"n": 7, "x": 0.1}], {"x": {"n": Allowed(None, 3.0)}}),
        ([{"wide": 10, "x": 0.5}, {"wide": 20}], {"x": {"wide": Allowed(None, 0.0, 19.0)}}),
        ([{"n": 1, "x": 0.5}, {"n": 2}, {"n": 3, "x": 0.5}], {"x": {"n": listed(1, 3, 4, 5, 6, 7, 8)}}),
        ([{"f": 0.1}, {"f": 0.5, "x": 0.5}], {"x": {"f": Allowed(None, 0.3)}}),
        # Categories explain more often than integers, which explain more often than floats.
        (
            [{"f": 0.1, "n": 1, "kind": "a"}, {"f": 0.5, "n": 2, "kind": "b", "x": 0.5}],
            {"x": {"kind": listed(1, 2)}},
        ),
        ([{"f": 0.1, "n": 1}, {"n": 2, "f": 0.5, "x": 0.5}], {"x": {"n": Allowed(None, 2.0)}}),
        # A chain.
        (
            [{"kind": "a"}, {"kind": "b", "flag": True, "x": 0.5}, {"kind": "b", "flag": False}],
            {"flag": {"kind": listed(1, 2)}, "x": {"flag": listed(1)}},
        ),
        # Only together do two parameters tell.
        (
            [
                {"kind": "a", "flag": True},
                {"kind": "b", "flag": False},
                {"kind": "a", "flag": False},
                {"kind": "b", "flag": True, "x": 0.5},
            ],
            {"x": {"kind": listed(1, 2), "flag": listed(1)}},
        ),
        # Two branches: neither parameter depends on the other.
        (
            [{"kind": "a", "x": 0.5}, {"kind": "b", "y": 0.5}],
            {"x": {"kind": listed(0, 2)}, "y": {"kind": listed(1, 2)}},
        ),
        # Nothing tells.
        ([{"kind": "a", "x": 0.5}, {"kind": "a"}], {}),
        ([{"x": 0.5}, {"y": 0.5}], {}),
        ([{"kind": "a", "x": 0.5}, {"kind": "b", "x": 0.5}], {}),
    ],
)
def test_conditions(rows, expected):
    assert conditions(seen(*rows)) == expected


def test_a_pruned_trial_may_have_been_broken_off_before_it_asked():
    complete, pruned = seen({"kind": "a", "x": 0.5}), seen({"kind": "b"}, state=TrialState.PRUNED)
    assert conditions([*complete, *pruned]) == {}
    # But what it has asked for is there.
    pruned = seen({"kind": "b", "y": 0.5}, state=TrialState.PRUNED)
    assert conditions([*complete, *pruned]) == {"y": {"kind": listed(1, 2)}}


def test_a_wrong_guess_is_corrected():
    rows = [{"kind": "a", "flag": True, "x": 0.5}, {"kind": "b", "flag": False}]
    assert conditions(seen(*rows)) == {"x": {"flag": listed(1)}}
    rows.append({"kind": "a", "flag": False, "x": 0.5})
    assert conditions(seen(*rows)) == {"x": {"kind": listed(0, 2)}}


def test_ranges_that_differ_are_joined():
    def trial(distribution):
        return create_trial(value=0.0, params={"p": distribution.low}, distributions={"p": distribution})

    for first, second, expected in [
        (IntDistribution(0, 5), IntDistribution(3, 9), IntDistribution(0, 9)),
        (IntDistribution(0, 6, step=2), IntDistribution(2, 10, step=2), IntDistribution(0, 10, step=2)),
        (IntDistribution(0, 6, step=2), IntDistribution(1, 7, step=2), IntDistribution(0, 7)),
        (FloatDistribution(0, 1, step=0.5), FloatDistribution(0, 1), FloatDistribution(0, 1)),
        (
            FloatDistribution(1, 2, log=True),
            FloatDistribution(0.5, 1, log=True),
            FloatDistribution(0.5, 2, log=True),
        ),
    ]:
        branches = Branches()
        branches.learn([trial(first), trial(second)])
        assert branches.distributions == {"p": expected}


@pytest.mark.parametrize(
    ("distribution", "value", "expected"),
    [
        (IntDistribution(0, 5), 9, 5),
        (IntDistribution(1, 7, step=3), 6, 7),
        (FloatDistribution(0, 1), -2.0, 0.0),
        (FloatDistribution(0, 1, step=0.1), 0.3000001, 0.3),
        (CategoricalDistribution(["a", "b"]), "b", "b"),
    ],
)
def test_the_nearest_value_of_a_distribution(distribution, value, expected):
    assert nearest(distribution, value) == expected


@st.composite
def trees(draw):
    """Return a list of parameters, each with its parent and the parent's values that it is asked for at."""
    tree = []
    for _ in range(draw(st.integers(1, 7))):
        kind = draw(st.sampled_from(["choice", "int", "float"]))
        distribution = {
            "choice": CategoricalDistribution(list("abc")[: draw(st.integers(2, 3))]),
            "int": IntDistribution(0, 4),
            "float": FloatDistribution(0, 1),
        }[kind]
        possible = [(j, d) for j, (d, _, _) in enumerate(tree) if not isinstance(d, FloatDistribution)]
        parent, wanted = None, ()
        if possible and draw(st.booleans()):
            parent, one = draw(st.sampled_from(possible))
            if isinstance(one, IntDistribution):
                wanted = tuple(range(draw(st.integers(1, 4)), 5))
            else:
                wanted = draw(
                    st.sets(st.sampled_from(one.choices), min_size=1, max_size=len(one.choices) - 1)
                )
        tree.append((distribution, parent, wanted))
    return tree


def drawn(tree, rng):
    params = {}
    for i, (distribution, parent, wanted) in enumerate(tree):
        if parent is None or params.get(f"p{parent}") in wanted:
            if isinstance(distribution, CategoricalDistribution):
                params[f"p{i}"] = distribution.choices[rng.integers(len(distribution.choices))]
            else:
                is_int = isinstance(distribution, IntDistribution)
                params[f"p{i}"] = int(rng.integers(5)) if is_int else float(rng.random())
    return params


@given(trees(), st.integers(0, 2**32 - 1), st.integers(1, 40))
@settings(max_examples=150)
def test_trees_of_conditions_are_explained_by_spaces_that_contain_all_trials(tree, seed, n_trials):
    rng = np.random.default_rng(seed)
    rows = [drawn(tree, rng) for _ in range(n_trials)]
    branches = Branches()
    branches.learn(
        create_trial(value=0.0, params=row, distributions={name: tree[int(name[1:])][0] for name in row})
        for row in rows
    )
    space = ParameterSpace(branches.distributions, branches.conditions)
    for row in rows:
        assert space.params(space.point(row)) == row


@pytest.mark.parametrize("objective", [nested, prunable])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_what_was_seen_is_never_sampled_independently(objective, n_jobs):
    independent = OnlyUnseen(seed=0)
    study = optuna.create_study(
        sampler=DcmaesSampler(seed=0, independent_sampler=independent),
        pruner=optuna.pruners.MedianPruner(n_startup_trials=4),
    )
    study.optimize(objective, n_trials=60, n_jobs=n_jobs)
    assert {trial.state for trial in study.trials} <= {TrialState.COMPLETE, TrialState.PRUNED}
    names = {name for trial in study.trials for name in trial.params}
    assert {"n", "w0", "kind", "depth", "solver", "momentum", "rate"} <= names
    assert len(names) <= independent.n_asked <= n_jobs * len(names)


@pytest.mark.parametrize("seed", range(3))
def test_the_best_branch_is_found(seed):
    study = optuna.create_study(sampler=DcmaesSampler(seed=seed))
    study.optimize(nested, n_trials=80)
    assert study.best_value < 0.05  # outside of the best branch at least 1
    assert sum("rate" in trial.params for trial in study.trials) > 40


def test_a_loaded_study_goes_on_as_if_it_had_not_been_stopped(tmp_path):
    whole = optuna.create_study(sampler=DcmaesSampler(seed=1))
    whole.optimize(nested, n_trials=45)
    storage = f"sqlite:///{tmp_path}/study.db"
    for n_trials in (6, 17, 22):
        study = optuna.create_study(
            storage=storage, study_name="s", sampler=DcmaesSampler(seed=1), load_if_exists=True
        )
        study.optimize(nested, n_trials=n_trials)
    assert [trial.params for trial in study.trials] == [trial.params for trial in whole.trials]


def test_conditions_are_learned_in_a_given_space_as_well():
    space = {
        "kind": CategoricalDistribution(["x", "y"]),
        "x": FloatDistribution(0, 1),
        "y": FloatDistribution(0, 1),
    }

    def objective(trial):
        return trial.suggest_float(trial.suggest_categorical("kind", ["x", "y"]), 0, 1)

    sampler = DcmaesSampler(seed=0, search_space=space, independent_sampler=OnlyUnseen(seed=0))
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=30)
    assert sampler._independent_sampler.n_asked == 0
    (known,) = sampler._studies.values()
    assert known.branches.conditions == {"x": {"kind": listed(0)}, "y": {"kind": listed(1)}}


def test_what_was_not_explained_may_be_later():
    rows = [{"kind": "a", "flag": True, "x": 0.5}, {"kind": "a"}]
    assert conditions(seen(*rows)) == {}
    rows.append({"kind": "a", "flag": False})
    assert conditions(seen(*rows)) == {"x": {"flag": listed(1)}}


def test_a_trial_with_a_value_outside_its_distribution_says_nothing():
    trials = seen({"n": 2}, {"n": 5, "x": 0.5}, {"n": 7})
    trials[2].params["n"] = 70
    assert conditions(trials) == {"x": {"n": Allowed(None, 3.0)}}
    # As in a given space that is smaller than the one that the objective asks for.
    branches = Branches({"n": IntDistribution(1, 4), "x": KINDS["x"]})
    branches.learn(seen({"n": 2}, {"n": 6}, {"n": 3, "x": 0.5}, {"n": 8, "x": 0.5}))
    assert branches.conditions == {"x": {"n": Allowed(None, 3.0)}}


def test_trials_whose_branch_nothing_explains_are_learned_from():
    def objective(trial):
        a, b = trial.suggest_int("a", 0, 9), trial.suggest_int("b", 0, 9)
        return abs(a - 4) + b + (trial.suggest_float("c", 0, 1) if (a + b) % 2 else 0.0)

    study = optuna.create_study(sampler=DcmaesSampler(seed=0))
    study.optimize(objective, n_trials=60)
    (known,) = study.sampler._studies.values()
    # At the last trial 59 were finished.
    assert known.follower.current(seed=0).n_evaluations == 59
    assert study.best_value == 0


WORKER = """
import sys
import optuna
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
sys.path.insert(0, sys.argv[3])
from test_optuna_branches import OnlyUnseen, prunable
from dcmaes.integrations.optuna import DcmaesSampler

optuna.logging.set_verbosity(optuna.logging.ERROR)
sampler = DcmaesSampler(seed=int(sys.argv[2]), independent_sampler=OnlyUnseen(seed=0))
storage = JournalStorage(JournalFileBackend(sys.argv[1]))
optuna.load_study(study_name="s", storage=storage, sampler=sampler).optimize(prunable, n_trials=25)
"""


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [("1", "1"), ("1", "2")])
def test_processes_share_a_study_with_branches(tmp_path, seeds):
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    path = str(tmp_path / "journal")
    storage = JournalStorage(JournalFileBackend(path))
    study = optuna.create_study(study_name="s", storage=storage, sampler=DcmaesSampler(seed=0))
    command = [sys.executable, "-c", WORKER, path]
    workers = [
        subprocess.Popen([*command, seed, str(FOLDER)], stderr=subprocess.PIPE, text=True) for seed in seeds
    ]
    for worker in workers:
        _, errors = worker.communicate(timeout=600)
        assert worker.returncode == 0, errors
    study.optimize(prunable, n_trials=1)
    (view,) = study.sampler._studies.values()
    assert view.follower.current(seed=0).n_evaluations == 50
    assert "kind" in view.branches.conditions["depth"]
