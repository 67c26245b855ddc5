"""The sampler in studies of several objectives."""

import math
import pickle
import warnings
from datetime import datetime, timedelta

import numpy as np
import pytest

from dcmaes.pareto import hypervolume

optuna = pytest.importorskip("optuna", reason="needs the extra optuna")

from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution  # noqa: E402
from optuna.trial import TrialState, create_trial  # noqa: E402

from dcmaes.integrations.optuna import DcmaesSampler  # noqa: E402
from dcmaes.integrations.optuna._study import spread_out  # noqa: E402

SPACE = {
    "a": IntDistribution(0, 9),
    "b": IntDistribution(0, 9),
    "c": CategoricalDistribution(["x", "y", "z"]),
}
BOTH = ["minimize", "maximize"]


class Refusing(optuna.samplers.RandomSampler):
    """An independent sampler that must not be asked."""

    def sample_independent(self, study, trial, param_name, param_distribution):
        raise AssertionError(f"{param_name} of trial {trial.number} was sampled independently")


@pytest.fixture(autouse=True)
def _quiet():
    optuna.logging.set_verbosity(optuna.logging.ERROR)


def cost_and_gain(trial):
    """Ten points are on the front: b = 0, c = "y" and any a."""
    a, b = trial.suggest_int("a", 0, 9), trial.suggest_int("b", 0, 9)
    c = trial.suggest_categorical("c", ["x", "y", "z"])
    return a + b + (c != "y"), 3.0 * a - b


def three(trial):
    """Minimized, maximized and minimized; the third wants b high, against the others."""
    cost, gain = cost_and_gain(trial)
    return cost, gain, 9 - trial.params["b"]


def branched(trial):
    """Two branches with parameters of their own, each good for one objective."""
    n = trial.suggest_int("n", 0, 20)
    if trial.suggest_categorical("kind", ["small", "large"]) == "small":
        x = trial.suggest_float("x", 0, 1, step=0.1)
        return n + x, 40 - n - x
    y = trial.suggest_int("y", 0, 9)
    return 10 + n + y, 5 - 0.2 * n + y


def params(study):
    return [trial.params for trial in study.get_trials(deepcopy=False)]


def new_study(directions=BOTH, storage=None, study_name=None, **arguments):
    sampler = DcmaesSampler(**{"seed": 0, **arguments})
    return optuna.create_study(directions=directions, sampler=sampler, storage=storage, study_name=study_name)


def told(values=None, state=TrialState.COMPLETE, after=0, **kwargs):
    trial = create_trial(values=values, state=state, **kwargs)
    trial.datetime_complete = datetime(2024, 1, 1) + timedelta(seconds=after)
    return trial


def observed(study):
    """Return values and violations of what the optimizer behind the sampler was told."""
    sampler, trial = study.sampler, study.ask()
    sampler.sample_relative(study, trial, sampler.infer_relative_search_space(study, trial))
    (known,) = sampler._studies.values()
    return [(record.value, record.violation) for record in known.follower.current(seed=0).history]


def front_of(study):
    return {tuple(trial.values) for trial in study.best_trials}


def test_the_front_of_two_objectives_in_different_directions_is_found():
    # Fixed seeds; of seeds 0 to 9 all succeed, with 100 of 300 points.
    for seed in range(3):
        study = new_study(seed=seed)
        study.optimize(cost_and_gain, n_trials=100)
        assert front_of(study) == {(float(a), 3.0 * a) for a in range(10)}


def test_three_objectives_have_a_larger_hypervolume_than_at_random():
    targets = np.array([[2] * 6, [4] * 6, [2, 6] * 3])

    def distances(trial):
        point = [trial.suggest_int(f"x{i}", 0, 9) for i in range(6)]
        near, far, other = np.abs(point - targets).sum(axis=1).tolist()
        return near, -far, other

    def volume(sampler):
        study = optuna.create_study(directions=[*BOTH, "minimize"], sampler=sampler)
        study.optimize(distances, n_trials=80)
        values = np.array([trial.values for trial in study.best_trials]) * [1, -1, 1]
        return hypervolume(values, [30, 30, 30])

    # Fixed seeds; for seeds 0 to 9 the ratio is 1.46 to 1.88.
    for seed in range(2):
        found, random = volume(DcmaesSampler(seed=seed)), volume(optuna.samplers.RandomSampler(seed=seed))
        assert found > 1.3 * random


def test_maximizing_is_minimizing_the_negative():
    both = new_study(seed=3)
    both.optimize(cost_and_gain, n_trials=40)
    turned = new_study(["maximize", "minimize"], seed=3)
    turned.optimize(lambda trial: tuple(-value for value in cost_and_gain(trial)), n_trials=40)
    assert params(both) == params(turned)


def test_nothing_is_sampled_independently_in_a_given_space():
    study = new_study(search_space=SPACE, independent_sampler=Refusing())
    study.optimize(cost_and_gain, n_trials=60)
    assert len({tuple(point.items()) for point in params(study)}) == 60


@pytest.mark.parametrize("objective", [three, branched])
def test_a_loaded_study_goes_on_as_if_it_had_not_been_stopped(objective, tmp_path):
    directions = ["minimize", "maximize", "minimize"][: 3 if objective is three else 2]
    arguments = {
        "directions": directions,
        "seed": 1,
        "n_startup_trials": 3,
        "constraints_func": lambda trial: [sum(v for v in trial.params.values() if type(v) is int) - 20],
    }
    whole = new_study(**arguments)
    whole.optimize(objective, n_trials=36)
    storage = f"sqlite:///{tmp_path}/study.db"
    first = new_study(storage=storage, study_name="s", **arguments)
    first.optimize(objective, n_trials=13)
    sampler = DcmaesSampler(**{k: v for k, v in arguments.items() if k != "directions"})
    second = optuna.load_study(storage=storage, study_name="s", sampler=sampler)
    second.optimize(objective, n_trials=14)
    second.sampler = pickle.loads(pickle.dumps(DcmaesSampler(seed=1)))  # noqa: S301
    second.sampler._constraints_func, second.sampler._n_startup_trials = arguments["constraints_func"], 3
    second.optimize(objective, n_trials=9)
    assert params(second) == params(whole)


def test_conditional_parameters_are_inferred_and_only_asked_for_where_needed():
    class OnlyUnseen(optuna.samplers.RandomSampler):
        def sample_independent(self, study, trial, param_name, param_distribution):
            seen = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
            assert not any(param_name in other.params for other in seen)
            return super().sample_independent(study, trial, param_name, param_distribution)

    study = new_study(["minimize", "minimize"], independent_sampler=OnlyUnseen(seed=0))
    study.optimize(branched, n_trials=80)
    (view,) = study.sampler._studies.values()
    assert set(view.branches.conditions) == {"x", "y"}
    # Both branches have a part of the front.
    assert {trial.params["kind"] for trial in study.best_trials} == {"small", "large"}
    assert (0.0, 40.0) in front_of(study)


def test_constraints_are_stored_where_optuna_looks_for_them_and_obeyed():
    study = new_study(constraints_func=lambda trial: (trial.params["a"] - 6.0, -1.0))
    study.optimize(cost_and_gain, n_trials=100)
    first = study.trials[0]
    assert tuple(first.system_attrs["constraints"]) == (first.params["a"] - 6.0, -1.0)
    # Optuna leaves infeasible trials out of the best ones, too.
    assert front_of(study) == {(float(a), 3.0 * a) for a in range(7)}
    late = [trial.params["a"] for trial in study.trials[50:]]
    assert np.mean(np.array(late) <= 6) > 0.7  # the share of a uniform draw


def test_constraints_set_by_the_objective_are_obeyed():
    if not hasattr(optuna.trial.Trial, "set_constraint"):
        pytest.skip("this version of Optuna has no Trial.set_constraint")

    def objective(trial):
        a = trial.suggest_int("a", 0, 9)
        trial.set_constraint("small", a - 5)
        return a, a

    study = new_study()
    study.optimize(objective, n_trials=10)
    assert sorted(observed(study)) == sorted(((float(a), float(a)), max(a - 5.0, 0.0)) for a in range(10))


def test_failed_and_pruned_trials_say_nothing_and_infinite_values_rank_last_or_first():
    space = {"a": IntDistribution(0, 9)}
    study = new_study()
    study.add_trials(
        [
            told([1.0, 2.0], after=0, params={"a": 1}, distributions=space),
            told(None, TrialState.PRUNED, 1, params={"a": 2}, distributions=space),
            told(None, TrialState.FAIL, 2, params={"a": 3}, distributions=space),
            told([1.0, -math.inf], after=3, params={"a": 4}, distributions=space),
            told([-math.inf, 5.0], after=4, params={"a": 5}, distributions=space),
        ]
    )
    one, worst, best = observed(study)
    assert one == ((1.0, 2.0), 0.0)
    assert worst[1] == math.inf
    assert np.isnan(worst[0]).all()
    assert best == ((-1e300, 5.0), 0.0)


def test_a_study_goes_on_after_failures_and_wrong_numbers_of_values():
    def objective(trial):
        cost, gain = cost_and_gain(trial)
        if trial.number % 5 == 1:
            raise RuntimeError("odd")
        if trial.number % 5 == 2:
            raise optuna.TrialPruned
        if trial.number % 5 == 3:
            return cost, gain, 1.0
        return (math.nan, gain) if trial.number % 10 == 4 else (cost, gain)

    study = new_study()
    study.optimize(objective, n_trials=100, catch=RuntimeError)
    states = [trial.state for trial in study.trials]
    assert (states.count(TrialState.COMPLETE), states.count(TrialState.PRUNED)) == (30, 20)
    assert len(observed(study)) == 30
    # A point that told nothing is not tried again at once.
    points = [tuple(point.items()) for point in params(study)]
    assert all(point not in points[max(0, i - 3) : i] for i, point in enumerate(points))


def test_startup_trials_are_uniform():
    space = {"a": IntDistribution(0, 3), "b": IntDistribution(0, 3)}
    study = new_study(search_space=space, n_startup_trials=400, independent_sampler=Refusing())
    study.optimize(lambda t: (t.suggest_int("a", 0, 3), t.suggest_int("b", 0, 3)), n_trials=320)
    counts = np.bincount([4 * point["a"] + point["b"] for point in params(study)], minlength=16)
    # Chi-square with 15 degrees of freedom: above 44.3 with probability 1e-4 (fixed seed).
    assert ((counts - 20) ** 2 / 20).sum() < 44.3


def test_running_trials_are_not_proposed_again():
    space = {"a": IntDistribution(0, 9)}
    study = new_study(search_space=space)
    assert sorted(study.ask(space).params["a"] for _ in range(10)) == list(range(10))


def test_threads_share_a_study():
    study = new_study(search_space=SPACE)
    study.optimize(cost_and_gain, n_trials=100, n_jobs=4)
    assert len(observed(study)) == 100
    assert len(front_of(study) & {(float(a), 3.0 * a) for a in range(10)}) >= 8


def test_earlier_studies_give_points_along_their_front_first():
    earlier = new_study()
    earlier.optimize(cost_and_gain, n_trials=100)
    study = new_study(seed=1, search_space=SPACE, warm_start=earlier)
    study.optimize(cost_and_gain, n_trials=8)
    first = params(study)[:5]
    assert all(point["b"] == 0 and point["c"] == "y" for point in first)
    assert {0, 9} <= {point["a"] for point in first}
    assert len({point["a"] for point in first}) == 5


def test_studies_of_one_objective_and_of_several_warm_each_other():
    one = optuna.create_study()
    one.add_trial(told([3.0], params={"a": 3, "b": 1, "c": "z"}, distributions=SPACE))
    several = new_study()
    several.add_trial(told([3.0, 1.0], params={"a": 7, "b": 2, "c": "x"}, distributions=SPACE))
    for study in (
        new_study(search_space=SPACE, warm_start=[one, several]),
        optuna.create_study(sampler=DcmaesSampler(seed=0, search_space=SPACE, warm_start=[one, several])),
    ):
        n_values = len(study.directions)
        study.optimize(lambda trial, n=n_values: cost_and_gain(trial)[:n], n_trials=2)
        assert [point["a"] for point in params(study)] == [3, 7]


def test_infeasible_and_infinite_trials_come_last_in_a_warm_start():
    trials = [
        told([9.0, 9.0], params={"a": 0, "b": 0, "c": "x"}, distributions=SPACE),
        told(
            [0.0, 0.0],
            params={"a": 1, "b": 0, "c": "x"},
            distributions=SPACE,
            system_attrs={"constraints": [2.0]},
        ),
        told([0.0, math.inf], params={"a": 2, "b": 0, "c": "x"}, distributions=SPACE),
        told([1.0, 1.0], params={"a": 3, "b": 0, "c": "x"}, distributions=SPACE),
        told(None, TrialState.FAIL, params={"a": 4, "b": 0, "c": "x"}, distributions=SPACE),
    ]
    study = new_study(["minimize", "minimize"], search_space=SPACE, warm_start=trials)
    study.optimize(cost_and_gain, n_trials=4)
    assert [point["a"] for point in params(study)] == [3, 0, 2, 1]


def test_points_of_a_front_are_chosen_by_what_they_add():
    """By hand: in units of the front, up to 2 in each, point 2 dominates most; then the ends add most."""
    front = np.array([[0.0, 10.0], [1.0, 9.0], [2.0, 2.0], [10.0, 0.0]])
    assert spread_out(front, 3).tolist() == [2, 0, 3]
    assert spread_out(np.vstack([front, [20.0, 20.0]]), 9).tolist()[-2:] == [1, 4]
    assert spread_out(np.empty((0, 2)), 3).tolist() == []


def test_warm_starts_from_different_studies_in_one_list_of_trials_are_refused():
    trials = [told([1.0]), told([1.0, 2.0])]
    with pytest.raises(ValueError, match=r"warm_start must be .* trials of one study, got .*\[1, 2\] values"):
        DcmaesSampler(warm_start=trials)


@pytest.mark.parametrize("strategy", ["cma", "ising", "mixing", "paper"])
def test_strategies_for_one_objective_are_refused_before_anything_is_evaluated(strategy):
    study = new_study(strategy=strategy)
    with pytest.raises(ValueError, match=f"strategy must be 'auto', .*'{strategy}' searches for one"):
        study.optimize(cost_and_gain, n_trials=1)
    assert params(study) == [{}]


def test_strategies_by_name_and_object():
    from dcmaes.strategies import RandomSearch

    auto, front = new_study(), new_study(strategy="front")
    for study in (auto, front, new_study(strategy=RandomSearch())):
        study.optimize(cost_and_gain, n_trials=30)
        assert {trial.state for trial in study.trials} == {TrialState.COMPLETE}
    assert params(auto) == params(front)


def test_more_than_four_objectives_are_warned_of_once():
    study = new_study(["minimize"] * 5)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        study.optimize(lambda t: [t.suggest_float(f"x{i}", 0, 1) for i in range(5)], n_trials=12)
    assert ["5 objectives" in str(warning.message) for warning in caught] == [True]


def test_one_sampler_serves_studies_of_one_objective_and_of_several():
    sampler = DcmaesSampler(seed=0)
    several, single = (
        optuna.create_study(directions=BOTH, sampler=sampler),
        optuna.create_study(sampler=sampler),
    )
    for _ in range(20):
        several.optimize(cost_and_gain, n_trials=1)
        single.optimize(lambda trial: cost_and_gain(trial)[0], n_trials=1)
    alone = new_study()
    alone.optimize(cost_and_gain, n_trials=20)
    one = optuna.create_study(sampler=DcmaesSampler(seed=0))
    one.optimize(lambda trial: cost_and_gain(trial)[0], n_trials=20)
    assert (params(several), params(single)) == (params(alone), params(one))


def test_floats_with_a_step_stay_on_their_grid():
    space = {"x": FloatDistribution(-10.2, 10.2, step=0.1), "y": FloatDistribution(1e-5, 1, log=True)}
    study = new_study(search_space=space, independent_sampler=Refusing())
    study.optimize(
        lambda t: (t.suggest_float("x", -10.2, 10.2, step=0.1) ** 2, t.suggest_float("y", 1e-5, 1, log=True)),
        n_trials=40,
    )
    assert all(point["x"] == round(point["x"], 1) for point in params(study))
