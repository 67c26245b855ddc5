"""The sampler seen from a study: what is sampled, from what, and what is made of each kind of trial."""

import math
import pickle
import warnings
from datetime import datetime, timedelta
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
from optuna.trial import TrialState, create_trial  # noqa: E402

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


def test_it_finds_the_optimum_of_a_mixed_objective():
    def objective(trial):
        a, b = trial.suggest_int("a", 0, 50), trial.suggest_float("b", -1, 1, step=0.1)
        c = trial.suggest_categorical("c", ["x", "y", None])
        return abs(a - 37) + abs(b - 0.3) + (c is not None)

    # Fixed seeds; of seeds 0 to 9 all succeed.
    for seed in range(3):
        study = optuna.create_study(sampler=DcmaesSampler(seed=seed))
        study.optimize(objective, n_trials=250)
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


def told(value=None, state=TrialState.COMPLETE, after=0, **kwargs):
    trial = create_trial(value=value, state=state, **kwargs)
    trial.datetime_complete = datetime(2024, 1, 1) + timedelta(seconds=after)
    return trial


def learned(study):
    """Return the state of the strategy of the sampler of a study, as plain data."""
    sampler = study.sampler
    trial = study.ask()
    space = sampler.infer_relative_search_space(study, trial)
    sampler.sample_relative(study, trial, space)
    (memory,) = sampler._memories.values()
    replay = memory.replays[-1][1]
    return sampler._strategy.state_to_dict(replay.state), replay.n_learned


def same(first, second):
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(same(first[key], second[key]) for key in first)
    if isinstance(first, (list, tuple)):
        return len(first) == len(second) and all(map(same, first, second))
    return np.array_equal(first, second, equal_nan=True) if isinstance(first, np.ndarray) else first == second


def some_trials(n, seed=0):
    rng = np.random.default_rng(seed)
    space = {"a": IntDistribution(-20, 20), "b": FloatDistribution(0.0, 1.0)}
    points = [{"a": int(rng.integers(-20, 21)), "b": float(rng.random())} for _ in range(n)]
    return [
        told(point["a"] ** 2 + point["b"], after=i, params=point, distributions=space)
        for i, point in enumerate(points)
    ]


def test_the_state_depends_on_the_order_of_completion_and_not_on_that_of_reading():
    trials = some_trials(100)
    straight = optuna.create_study(sampler=DcmaesSampler(seed=0))
    straight.add_trials(trials)
    expected, n_learned = learned(straight)
    assert n_learned > 80
    # Most trials turn up in blocks, some of them late, one of them after everything else.
    late = optuna.create_study(sampler=DcmaesSampler(seed=0))
    for block in (range(30, 60), range(60, 95), range(3, 30), range(95, 100), range(1, 3), range(1)):
        late.add_trials([trials[i] for i in block])
        learned(late)
    state, n_late = learned(late)
    assert n_late == n_learned
    assert same(state, expected)


def test_what_was_read_is_not_read_again():
    study = optuna.create_study(sampler=DcmaesSampler(seed=0))
    study.add_trials(some_trials(300))
    learned(study)
    (memory,) = study.sampler._memories.values()
    replay = memory.replays[-1][1]
    read = []
    replay._read, original = (
        lambda position, trial: (read.append(position), original(position, trial)),
        replay._read,
    )
    study.add_trials(
        [
            told(1.0, after=1000 + i, params=t.params, distributions=t.distributions)
            for i, t in enumerate(some_trials(5))
        ]
    )
    learned(study)
    assert read == [300, 301, 302, 303, 304]


def observed(study):
    learned(study)
    (memory,) = study.sampler._memories.values()
    return [(row.value, row.violation) for row in memory.replays[-1][1]._rows]


SPACE_A = {"a": IntDistribution(0, 9)}


def test_pruned_trials_are_worth_what_they_reported_last():
    trials = [
        told(1.0, after=0, params={"a": 1}, distributions=SPACE_A),
        told(
            None,
            TrialState.PRUNED,
            1,
            params={"a": 2},
            distributions=SPACE_A,
            intermediate_values={0: 9.0, 5: 4.0},
        ),
        told(None, TrialState.PRUNED, 2, params={"a": 3}, distributions=SPACE_A),
        told(None, TrialState.PRUNED, 3, params={}, distributions={}, intermediate_values={0: 9.0}),
        told(None, TrialState.FAIL, 4, params={"a": 4}, distributions=SPACE_A),
    ]
    study = optuna.create_study(sampler=DcmaesSampler(seed=0))
    study.add_trials(trials)
    assert observed(study) == [(1.0, 0.0), (4.0, 0.0)]
    study = optuna.create_study(sampler=DcmaesSampler(seed=0, consider_pruned_trials=False))
    study.add_trials(trials)
    assert observed(study) == [(1.0, 0.0)]


def test_infinite_values_rank_last_or_first():
    study = optuna.create_study(sampler=DcmaesSampler(seed=0), direction="maximize")
    study.add_trials(
        [
            told(value, after=i, params={"a": i}, distributions=SPACE_A)
            for i, value in enumerate([1.0, -math.inf, math.inf])
        ]
    )
    (one, worst, best) = observed(study)
    assert one == (-1.0, 0.0)
    assert math.isnan(worst[0])
    assert worst[1] == math.inf
    assert best == (-1e300, 0.0)


def test_values_outside_their_distribution_are_not_learned_from():
    study = optuna.create_study(sampler=DcmaesSampler(seed=0))
    study.enqueue_trial({"a": 50, "b": 0})
    with pytest.warns(UserWarning, match="out of range"):
        study.optimize(squares, n_trials=1)
    study.optimize(squares, n_trials=1)
    assert study.trials[0].params["a"] == 50
    assert len(observed(study)) == 1


def test_enqueued_points_are_learned_from():
    study = optuna.create_study(sampler=DcmaesSampler(seed=0))
    study.enqueue_trial({"a": 3, "b": -4})
    study.enqueue_trial({"a": 0})
    study.optimize(squares, n_trials=12)
    assert study.trials[0].params == {"a": 3, "b": -4}
    assert study.trials[1].params["a"] == 0
    assert observed(study)[0] == (25.0, 0.0)


def test_constraints_are_stored_where_optuna_looks_for_them_and_obeyed():
    def objective(trial):
        a, b = trial.suggest_int("a", 0, 20), trial.suggest_int("b", 0, 20)
        return a + b

    sampler = DcmaesSampler(
        seed=0, constraints_func=lambda trial: (17 - trial.params["a"] - trial.params["b"], -1.0)
    )
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=120)
    first = study.trials[0]
    assert tuple(first.system_attrs["constraints"]) == (17 - first.value, -1.0)
    assert study.best_value == 17
    values = [trial.value for trial in study.trials[60:]]
    assert np.mean(np.abs(np.array(values) - 17)) < 8  # drawn to the border from both sides


def test_constraints_set_by_the_objective_are_obeyed():
    if not hasattr(optuna.trial.Trial, "set_constraint"):
        pytest.skip("this version of Optuna has no Trial.set_constraint")

    def objective(trial):
        a = trial.suggest_int("a", 0, 9)
        trial.set_constraint("large", 5 - a)
        return a

    study = optuna.create_study(sampler=DcmaesSampler(seed=0))
    study.optimize(objective, n_trials=10)
    assert study.best_value == 5
    assert sorted(observed(study)) == sorted((float(a), max(5.0 - a, 0.0)) for a in range(10))


def test_a_constraints_func_that_returns_nan_is_refused():
    study = optuna.create_study(sampler=DcmaesSampler(constraints_func=lambda trial: [math.nan]))
    with pytest.raises(ValueError, match="NaN"):
        study.optimize(squares, n_trials=1)


def test_conditional_parameters_go_to_the_independent_sampler_with_a_warning():
    def objective(trial):
        kind = trial.suggest_categorical("kind", ["x", "y"])
        return trial.suggest_float("x", 0, 1) if kind == "x" else trial.suggest_float("y", 0, 1)

    study = optuna.create_study(sampler=DcmaesSampler(seed=0))
    with pytest.warns(UserWarning, match="sampled independently by TPESampler") as caught:
        study.optimize(objective, n_trials=20)
    named = [str(warning.message).split("'")[1] for warning in caught]
    assert sorted(named) == ["x", "y"]  # once each
    quiet = optuna.create_study(sampler=DcmaesSampler(seed=0, warn_independent_sampling=False))
    quiet.optimize(objective, n_trials=20)


def test_a_space_that_shrinks_keeps_what_is_left():
    def objective(trial, high):
        return trial.suggest_int("a", 0, 9) + trial.suggest_int("b", 0, high)

    study = optuna.create_study(sampler=DcmaesSampler(seed=0, warn_independent_sampling=False))
    study.optimize(lambda trial: objective(trial, 9), n_trials=10)
    study.optimize(lambda trial: objective(trial, 5), n_trials=10)
    assert list(study.sampler.infer_relative_search_space(study, study.trials[-1])) == ["a"]
    assert len(observed(study)) == 20


def test_trials_with_other_parameters_are_passed_over_in_a_given_space():
    study = optuna.create_study(sampler=DcmaesSampler(seed=0, search_space=SPACE_A))
    study.add_trials(
        [
            told(1.0, after=0, params={"b": 1}, distributions={"b": IntDistribution(0, 3)}),
            told(2.0, after=1, params={"a": 15}, distributions={"a": IntDistribution(0, 20)}),
            told(
                3.0,
                after=2,
                params={"a": 4, "c": 0.5},
                distributions=SPACE_A | {"c": FloatDistribution(0, 1)},
            ),
        ]
    )
    assert observed(study) == [(3.0, 0.0)]


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
    assert len(study.sampler._memories) == 3
    assert study.best_value == 0


def test_startup_trials_are_uniform_and_do_not_fall_to_the_independent_sampler():
    space = {"a": IntDistribution(0, 3), "b": IntDistribution(0, 3)}
    sampler = DcmaesSampler(seed=0, search_space=space, n_startup_trials=400, independent_sampler=Refusing())
    study = optuna.create_study(sampler=sampler)
    study.optimize(lambda t: t.suggest_int("a", 0, 3) + t.suggest_int("b", 0, 3), n_trials=320)
    counts = np.bincount([4 * point["a"] + point["b"] for point in params(study)], minlength=16)
    # Chi-square with 15 degrees of freedom: above 44.3 with probability 1e-4 (fixed seed).
    assert ((counts - 20) ** 2 / 20).sum() < 44.3


def test_earlier_studies_give_the_first_points():
    def objective(trial, best):
        return 1000 * abs(trial.suggest_int("a", 0, 1000) - best) + trial.suggest_int("b", 0, 9)

    earlier = optuna.create_study(sampler=DcmaesSampler(seed=0))
    earlier.optimize(lambda trial: objective(trial, 700), n_trials=100)
    other = optuna.create_study(direction="maximize")
    other.add_trial(
        told(
            5.0,
            params={"a": 123, "b": 4},
            distributions={"a": IntDistribution(0, 1000), "b": IntDistribution(0, 9)},
        )
    )
    space = {"a": IntDistribution(0, 1000), "b": IntDistribution(0, 9)}
    sampler = DcmaesSampler(seed=1, search_space=space, warm_start=[earlier, other])
    study = optuna.create_study(sampler=sampler)
    study.optimize(lambda trial: objective(trial, 710), n_trials=60)
    assert study.trials[0].params == earlier.best_params
    assert study.trials[1].params == {"a": 123, "b": 4}
    cold = optuna.create_study(sampler=DcmaesSampler(seed=1, search_space=space))
    cold.optimize(lambda trial: objective(trial, 710), n_trials=60)
    assert study.trials[0].value < np.median([trial.value for trial in cold.trials])


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


def test_several_objectives_are_refused_by_name():
    study = optuna.create_study(directions=["minimize", "maximize"], sampler=DcmaesSampler())
    with pytest.raises(ValueError, match="one objective, this one has 2"):
        study.optimize(lambda trial: (trial.suggest_int("a", 0, 3), 1.0), n_trials=1)


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
