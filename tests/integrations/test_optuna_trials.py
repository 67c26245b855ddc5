"""The sampler seen from a study: what is made of each kind of trial."""

import math
from datetime import datetime, timedelta

import numpy as np
import pytest

optuna = pytest.importorskip("optuna", reason="needs the extra optuna")

from optuna.distributions import (  # noqa: E402
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import TrialState, create_trial  # noqa: E402

from dcmaes.integrations.optuna import DcmaesSampler  # noqa: E402

SPACE_A = {"a": IntDistribution(0, 9)}


@pytest.fixture(autouse=True)
def _quiet():
    optuna.logging.set_verbosity(optuna.logging.ERROR)


def squares(trial):
    return trial.suggest_int("a", -20, 20) ** 2 + trial.suggest_int("b", -20, 20) ** 2


def params(study):
    return [trial.params for trial in study.get_trials(deepcopy=False)]


def told(value=None, state=TrialState.COMPLETE, after=0, **kwargs):
    trial = create_trial(value=value, state=state, **kwargs)
    trial.datetime_complete = datetime(2024, 1, 1) + timedelta(seconds=after)
    return trial


def follower_of(study):
    """Return what follows a study for its sampler, brought up to date."""
    sampler, trial = study.sampler, study.ask()
    space = sampler.infer_relative_search_space(study, trial)
    sampler.sample_relative(study, trial, space)
    (known,) = sampler._studies.values()
    return known.follower


def observed(study):
    history = follower_of(study).current(seed=0).history
    return [(record.value, record.violation) for record in history]


def some_trials(n, seed=0):
    rng = np.random.default_rng(seed)
    space = {"a": IntDistribution(-20, 20), "b": FloatDistribution(0.0, 1.0)}
    points = [{"a": int(rng.integers(-20, 21)), "b": float(rng.random())} for _ in range(n)]
    return [
        told(point["a"] ** 2 + point["b"], after=i, params=point, distributions=space)
        for i, point in enumerate(points)
    ]


def test_what_is_learned_depends_on_the_order_of_completion_and_not_on_that_of_reading():
    trials = some_trials(100)
    straight = optuna.create_study(sampler=DcmaesSampler(seed=0))
    straight.add_trials(trials)
    expected = follower_of(straight)
    # Most trials turn up in blocks, some of them late, one of them after everything else.
    late = optuna.create_study(sampler=DcmaesSampler(seed=0))
    for block in (range(30, 60), range(60, 95), range(3, 30), range(95, 100), range(1, 3), range(1)):
        late.add_trials([trials[i] for i in block])
        found = follower_of(late)
    found, expected = found.optimizer, expected.optimizer
    assert [record.point for record in found.history] == [record.point for record in expected.history]
    assert len(found.history) == 100
    asked, wanted = ([trial.point for trial in one.fork(seed=1).ask(8)] for one in (found, expected))
    assert asked == wanted


def test_what_was_read_is_not_read_again():
    study = optuna.create_study(sampler=DcmaesSampler(seed=0))
    study.add_trials(some_trials(100))
    first = follower_of(study).optimizer
    study.add_trials(
        [
            told(1.0, after=1000 + i, params=t.params, distributions=t.distributions)
            for i, t in enumerate(some_trials(4))
        ]
    )
    assert follower_of(study).optimizer is first
    assert first.n_evaluations == 104


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
    one, worst, best = observed(study)
    assert one == (1.0, 0.0)
    assert math.isnan(worst[0])
    assert worst[1] == math.inf
    assert best == (1e300, 0.0)


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


def test_a_range_that_changes_is_learned_whole_and_obeyed():
    class OnlyNew(optuna.samplers.RandomSampler):
        def sample_independent(self, study, trial, param_name, param_distribution):
            assert trial.number == 0
            return super().sample_independent(study, trial, param_name, param_distribution)

    def objective(trial, high):
        return trial.suggest_int("a", 0, 9) + abs(trial.suggest_int("b", 0, high, step=3) - 3)

    study = optuna.create_study(sampler=DcmaesSampler(seed=0, independent_sampler=OnlyNew(seed=0)))
    study.optimize(lambda trial: objective(trial, 9), n_trials=10)
    study.optimize(lambda trial: objective(trial, 6), n_trials=10)
    study.optimize(lambda trial: objective(trial, 21), n_trials=10)
    assert study.sampler.infer_relative_search_space(study, study.trials[-1]) == {
        "a": IntDistribution(0, 9),
        "b": IntDistribution(0, 21, step=3),
    }
    assert len(observed(study)) == 30
    assert all(trial.params["b"] in (0, 3, 6) for trial in study.trials[10:20])


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
    study.optimize(lambda trial: objective(trial, 710), n_trials=2)
    assert study.trials[0].params == earlier.best_params
    assert study.trials[1].params == {"a": 123, "b": 4}
    cold = optuna.create_study(sampler=DcmaesSampler(seed=1, search_space=space))
    cold.optimize(lambda trial: objective(trial, 710), n_trials=10)
    assert study.trials[0].value < np.median([trial.value for trial in cold.trials])


def test_a_search_that_has_converged_for_good_begins_anew_with_what_is_known():
    from dcmaes.strategies import IsingSearch

    def objective(trial):
        return abs(trial.suggest_int("a", 0, 1000) - 70) + abs(trial.suggest_int("b", 0, 1000) - 70)

    study = optuna.create_study(sampler=DcmaesSampler(seed=0, strategy=IsingSearch(max_restarts=0)))
    study.optimize(objective, n_trials=200)  # the search alone converges after some hundred
    optimizer = follower_of(study).optimizer
    assert optimizer.n_evaluations < len(optimizer.history) == 200
    assert optimizer.result().fun == study.best_value
    assert list(optimizer.result().x.values()) == list(study.best_params.values())
