"""The sampler seen from a study: what is sampled, and from what."""

import pickle
import warnings
from itertools import pairwise

import numpy as np
import pytest

import dcmaes as dc

optuna = pytest.importorskip("optuna", reason="needs the extra optuna")

from optuna.distributions import (  # noqa: E402
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from dcmaes.integrations.optuna import DcmaesSampler  # noqa: E402

SPACE = {
    "int": IntDistribution(-7, 9),
    "int_step": IntDistribution(0, 20, step=4),
    "int_log": IntDistribution(1, 1000, log=True),
    "float": FloatDistribution(-1.0, 2.0),
    "float_step": FloatDistribution(-10.2, 10.2, step=0.1),
    "fine_step": FloatDistribution(0.0, 1.0, step=1e-9),
    "float_log": FloatDistribution(1e-5, 1e-1, log=True),
    "flag": CategoricalDistribution([False, True]),
    "mixed": CategoricalDistribution([None, 1, 2.5, "x", True]),
    "long": IntDistribution(0, 2**60),
}


class Refusing(optuna.samplers.RandomSampler):
    """An independent sampler that must not be asked."""

    def sample_independent(self, study, trial, param_name, param_distribution):
        raise AssertionError(f"{param_name} of trial {trial.number} was sampled independently")


class OnlyFirst(optuna.samplers.RandomSampler):
    """An independent sampler that may be asked in the first trial only."""

    def sample_independent(self, study, trial, param_name, param_distribution):
        assert trial.number == 0
        return super().sample_independent(study, trial, param_name, param_distribution)


@pytest.fixture(autouse=True)
def _quiet():
    optuna.logging.set_verbosity(optuna.logging.ERROR)


def suggest(trial, name, distribution):
    if isinstance(distribution, CategoricalDistribution):
        return trial.suggest_categorical(name, distribution.choices)
    method = trial.suggest_int if isinstance(distribution, IntDistribution) else trial.suggest_float
    return method(name, distribution.low, distribution.high, step=distribution.step, log=distribution.log)


def everything(trial):
    point = {name: suggest(trial, name, distribution) for name, distribution in SPACE.items()}
    return (point["float"] - 1) ** 2 + abs(point["float_step"]) + (point["mixed"] is not None)


def squares(trial):
    return trial.suggest_int("a", -20, 20) ** 2 + trial.suggest_int("b", -20, 20) ** 2


def params(study):
    return [trial.params for trial in study.get_trials(deepcopy=False)]


def test_nothing_is_sampled_independently_in_a_given_space():
    sampler = DcmaesSampler(seed=0, search_space=SPACE, independent_sampler=Refusing())
    study = optuna.create_study(sampler=sampler)
    study.optimize(everything, n_trials=150)
    assert len(study.trials) == 150


def test_nothing_is_sampled_independently_in_a_static_space_after_the_first_trial():
    study = optuna.create_study(sampler=DcmaesSampler(seed=0, independent_sampler=OnlyFirst(seed=0)))
    study.optimize(everything, n_trials=150)
    assert len(study.trials) == 150


def test_values_have_the_types_and_the_grid_of_their_distributions():
    study = optuna.create_study(sampler=DcmaesSampler(seed=0, search_space=SPACE))
    study.optimize(everything, n_trials=60)
    for point in params(study):
        assert type(point["int"]) is type(point["int_step"]) is type(point["int_log"]) is int
        assert type(point["float"]) is type(point["float_step"]) is float
        assert point["int_step"] % 4 == 0
        assert point["float_step"] == round(point["float_step"], 1)  # 0.3, not 0.30000000000000004
        assert any(point["mixed"] is choice for choice in SPACE["mixed"].choices)


def stop_at_zero(study, trial):
    if study.best_value < 1e-9:
        study.stop()


def test_it_finds_the_optimum_of_a_mixed_objective():
    def objective(trial):
        a, b = trial.suggest_int("a", 0, 50), trial.suggest_float("b", -1, 1, step=0.1)
        c = trial.suggest_categorical("c", ["x", "y", None])
        return abs(a - 37) + abs(b - 0.3) + (c is not None)

    # Fixed seeds; of seeds 0 to 9 all succeed.
    for seed in range(3):
        study = optuna.create_study(sampler=DcmaesSampler(seed=seed))
        study.optimize(objective, n_trials=250, callbacks=[stop_at_zero])
        assert study.best_params == {"a": 37, "b": 0.3, "c": None}


def test_maximizing_is_minimizing_the_negative():
    low = optuna.create_study(sampler=DcmaesSampler(seed=3))
    low.optimize(squares, n_trials=40)
    high = optuna.create_study(sampler=DcmaesSampler(seed=3), direction="maximize")
    high.optimize(lambda trial: -squares(trial), n_trials=40)
    assert params(low) == params(high)


def test_a_seed_repeats_a_study_and_another_does_not():
    studies = [optuna.create_study(sampler=DcmaesSampler(seed=seed)) for seed in (1, 1, 2)]
    for study in studies:
        study.optimize(squares, n_trials=40)
    assert params(studies[0]) == params(studies[1]) != params(studies[2])


def test_reseeding_leaves_the_seed():
    studies = [optuna.create_study(sampler=DcmaesSampler(seed=1)) for _ in range(2)]
    studies[1].sampler.reseed_rng()
    for study in studies:
        study.optimize(squares, n_trials=20)
    assert params(studies[0]) != params(studies[1])


def test_a_loaded_study_goes_on_as_if_it_had_not_been_stopped(tmp_path):
    whole = optuna.create_study(sampler=DcmaesSampler(seed=1))
    whole.optimize(everything, n_trials=50)
    storage = f"sqlite:///{tmp_path}/study.db"
    first = optuna.create_study(storage=storage, study_name="s", sampler=DcmaesSampler(seed=1))
    first.optimize(everything, n_trials=17)
    second = optuna.load_study(storage=storage, study_name="s", sampler=DcmaesSampler(seed=1))
    second.optimize(everything, n_trials=33)
    assert params(second) == params(whole)


def test_a_pickled_sampler_goes_on():
    study = optuna.create_study(sampler=DcmaesSampler(seed=1))
    study.optimize(squares, n_trials=17)
    study.sampler = pickle.loads(pickle.dumps(study.sampler))  # noqa: S301
    study.optimize(squares, n_trials=23)
    whole = optuna.create_study(sampler=DcmaesSampler(seed=1))
    whole.optimize(squares, n_trials=40)
    assert params(study) == params(whole)


def test_nothing_but_trials_is_stored():
    study = optuna.create_study(sampler=DcmaesSampler(seed=1))
    study.optimize(squares, n_trials=30)
    assert study._storage.get_study_system_attrs(study._study_id) == {}
    assert all(trial.system_attrs == {} for trial in study.trials)


def test_a_finite_space_is_seen_whole_before_anything_is_repeated():
    def objective(trial):
        return trial.suggest_int("a", 0, 4) + trial.suggest_categorical("b", [3, 1, 2])

    study = optuna.create_study(sampler=DcmaesSampler(seed=0))
    study.optimize(objective, n_trials=15)
    assert len({tuple(point.items()) for point in params(study)}) == 15
    study.optimize(objective, n_trials=5)
    assert len(study.trials) == 20


def test_a_point_that_failed_is_not_tried_again_at_once():
    def objective(trial):
        a, b = trial.suggest_int("a", 0, 9), trial.suggest_int("b", 0, 9)
        if a % 2:
            raise RuntimeError("odd")
        return a + b

    study = optuna.create_study(sampler=DcmaesSampler(seed=0))
    study.optimize(objective, n_trials=80, catch=RuntimeError)
    assert study.best_value == 0
    points = [tuple(point.values()) for point in params(study)]
    assert all(first != second for first, second in pairwise(points))


def test_failures_before_all_parameters_are_suggested_do_not_stop_the_search():
    def objective(trial):
        if trial.suggest_categorical("kind", ["good", "bad"]) == "bad":
            raise RuntimeError("bad")
        return trial.suggest_int("a", 0, 9)

    sampler = DcmaesSampler(
        seed=0, search_space={"kind": CategoricalDistribution(["good", "bad"]), "a": IntDistribution(0, 9)}
    )
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=40, catch=RuntimeError)
    assert study.best_value == 0


def test_parameters_outside_a_given_space_go_to_the_independent_sampler_with_a_warning():
    def objective(trial):
        return trial.suggest_int("a", 0, 9) + trial.suggest_float("x", 0, 1) + trial.suggest_float("y", 0, 1)

    def study(**arguments):
        return optuna.create_study(
            sampler=DcmaesSampler(seed=0, search_space={"a": IntDistribution(0, 9)}, **arguments)
        )

    with pytest.warns(UserWarning, match="sampled independently by TPESampler") as caught:
        study().optimize(objective, n_trials=10)
    named = [str(warning.message).split("'")[1] for warning in caught]
    assert sorted(named) == ["x", "y"]  # once each
    study(warn_independent_sampling=False).optimize(objective, n_trials=10)


def test_hyperband_shows_one_bracket_at_a_time():
    def objective(trial):
        a = trial.suggest_int("a", 0, 30)
        for step in range(9):
            trial.report(a + 1.0 / (step + 1), step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return a

    pruner = optuna.pruners.HyperbandPruner(min_resource=1, max_resource=9)
    study = optuna.create_study(
        sampler=DcmaesSampler(seed=0, search_space={"a": IntDistribution(0, 30)}), pruner=pruner
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        study.optimize(objective, n_trials=60)
    assert len(study.sampler._studies) == 3
    assert study.best_value == 0


def test_startup_trials_are_uniform_and_do_not_fall_to_the_independent_sampler():
    space = {"a": IntDistribution(0, 3), "b": IntDistribution(0, 3)}
    sampler = DcmaesSampler(seed=0, search_space=space, n_startup_trials=400, independent_sampler=Refusing())
    study = optuna.create_study(sampler=sampler)
    study.optimize(lambda t: t.suggest_int("a", 0, 3) + t.suggest_int("b", 0, 3), n_trials=320)
    counts = np.bincount([4 * point["a"] + point["b"] for point in params(study)], minlength=16)
    # Chi-square with 15 degrees of freedom: above 44.3 with probability 1e-4 (fixed seed).
    assert ((counts - 20) ** 2 / 20).sum() < 44.3


def test_running_trials_are_not_proposed_again():
    space = {"a": IntDistribution(0, 9)}
    study = optuna.create_study(sampler=DcmaesSampler(seed=0, search_space=space))
    out = [study.ask(space).params["a"] for _ in range(10)]
    assert sorted(out) == list(range(10))


def test_a_strategy_object_and_a_name_can_be_given():
    from dcmaes.strategies import RandomSearch

    for strategy in ("random", RandomSearch(population_size=3)):
        study = optuna.create_study(sampler=DcmaesSampler(seed=0, strategy=strategy))
        study.optimize(squares, n_trials=10)
        states = {trial.state for trial in study.trials}
        assert (len(study.trials), states) == (10, {optuna.trial.TrialState.COMPLETE})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seed": -1}, "seed must be at least 0"),
        ({"search_space": {"a": dc.Integer(0, 3)}}, r"search_space\['a'\] must be a distribution"),
        ({"strategy": "nothing"}, "strategy must be one of"),
        ({"n_startup_trials": 1.5}, "n_startup_trials must be an integer"),
        ({"warm_start": ["study"]}, "warm_start must be studies"),
        ({"budget": 0}, "budget must be at least 1"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        DcmaesSampler(**arguments)


def test_one_sampler_serves_several_studies():
    sampler = DcmaesSampler(seed=0)
    studies = [optuna.create_study(sampler=sampler) for _ in range(2)]
    alone = optuna.create_study(
        sampler=DcmaesSampler(seed=0, independent_sampler=optuna.samplers.RandomSampler(0))
    )
    for study in studies:
        study.enqueue_trial({"a": 10, "b": 10})
    alone.enqueue_trial({"a": 10, "b": 10})
    for _ in range(30):
        for study in studies:
            study.optimize(squares, n_trials=1)
    alone.optimize(squares, n_trials=30)
    assert params(studies[0]) == params(studies[1]) == params(alone)
