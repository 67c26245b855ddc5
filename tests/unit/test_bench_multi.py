"""The problems with two objectives of the benchmark: their fronts against brute force."""

import numpy as np
import pytest

import dcmaes as dc
from dcmaes.pareto import is_nondominated
from dcmaes_bench._multi_peers import MultiOptimizer, multi_optimizers
from dcmaes_bench._multi_report import best_peer, losses, multi_section, row_table
from dcmaes_bench._multi_runs import MultiRun, append_run, budget_of, make_run, read_runs
from dcmaes_bench._report import write
from dcmaes_bench._suite_multi import (
    FRONTS,
    biobjective_mixint,
    ds_int_lftl,
    mnk_landscape,
    neighbour_tuning,
    problems,
    trap_and_inverse,
    tree_tuning,
    two_knapsacks,
    two_qubos,
)


def every_point(n):
    return (np.arange(2**n)[:, None] >> np.arange(n)) & 1


def sorted_rows(values):
    return values[np.lexsort(values.T[::-1])]


@pytest.mark.parametrize(
    "problem",
    [two_qubos(10, seed=3), mnk_landscape(10, 2, seed=3), two_knapsacks(10, seed=3), trap_and_inverse(10, 5)],
)
def test_fronts_of_few_bits_are_those_of_all_points(problem):
    values = np.array([problem(x) for x in every_point(10)], dtype=float)
    np.testing.assert_allclose(sorted_rows(problem.front), sorted_rows(values[is_nondominated(values)]))
    assert problem.relative_volume(values) == pytest.approx(1.0)


def test_nothing_is_beyond_the_front_of_dsintlftl():
    problem = ds_int_lftl()
    space = dc.Space.from_dict(problem.variables)
    points = space.sample(np.random.default_rng(1), 500)
    values = np.array([problem(point) for point in points])
    assert not any((value < problem.front - 1e-9).all(axis=1).any() for value in values)
    best = {f"x{i}": 0.0 for i in range(3)} | {f"z{i}": 0 for i in range(3)} | {f"c{i}": 0 for i in range(3)}
    assert problem(best) == (0.0, 3.0)
    assert 0 < problem.relative_volume(values) < 1


def test_overloaded_knapsacks_lose_more_than_they_gain():
    problem = two_knapsacks(32, seed=1)
    full, empty = problem(np.ones(32, dtype=int)), problem(np.zeros(32, dtype=int))
    assert empty == (0.0, 0.0)
    assert min(full) > 0.0


def test_trees_are_scored_by_loss_and_size():
    pytest.importorskip("sklearn")
    problem = tree_tuning()
    space = dc.Space.from_dict(problem.variables)
    point = space.sample(np.random.default_rng(0), 1)[0]
    loss, size = problem({**point, "depth": 1, "leaves": 2})
    assert 0 < loss < 1
    assert size == 2


def test_neighbours_vote_as_those_of_scikit_learn():
    pytest.importorskip("sklearn")
    from sklearn.datasets import load_wine
    from sklearn.model_selection import LeaveOneOut, cross_val_score
    from sklearn.neighbors import KNeighborsClassifier

    problem = neighbour_tuning()
    inputs, target = load_wine(return_X_y=True)
    inputs = (inputs - inputs.mean(axis=0)) / inputs.std(axis=0)
    point = {f"input{i}": i in (0, 6, 9) for i in range(13)}
    for n, power, is_weighted in ((1, 2, False), (5, 1, True), (7, 2, True)):
        votes = KNeighborsClassifier(n, p=power, weights="distance" if is_weighted else "uniform")
        expected = 1 - cross_val_score(votes, inputs[:, [0, 6, 9]], target, cv=LeaveOneOut()).mean()
        error, size = problem({**point, "neighbours": n, "power": power, "weighted": is_weighted})
        assert error == pytest.approx(expected)
        assert size == 3
    assert problem({**dict.fromkeys(point, False), "neighbours": 1, "power": 1, "weighted": False}) == (
        1.0,
        0.0,
    )


def test_functions_of_coco_count_from_its_nadir():
    pytest.importorskip("cocoex")
    problem = biobjective_mixint(1, 5)
    assert problem.dimension == 5
    assert [problem.variables[f"x{i}"]["type"] for i in (3, 4)] == ["integer", "float"]
    middle = {name: (entry["low"] + entry["high"]) / 2 for name, entry in problem.variables.items()}
    assert all(np.isfinite(problem(middle)))
    assert (problem.front < problem.reference).all()


def test_names_are_different_and_fronts_are_stored():
    listed = problems()
    names = [problem.name for problem in listed]
    assert len(set(names)) == len(names)
    assert FRONTS.exists()
    for problem in listed:
        assert is_nondominated(problem.front).all()
        if problem.family != "tuning":  # whose typical points take long to evaluate
            assert problem.relative_volume(problem.front) == pytest.approx(1.0)


@pytest.mark.parametrize("name", list(multi_optimizers()))
def test_optimizers_use_their_budget(name):
    optimizer = multi_optimizers()[name]
    if not optimizer.is_installed:
        pytest.skip(f"needs the package {optimizer.package!r}")
    for problem in (trap_and_inverse(10, 5), ds_int_lftl(2)):
        values = optimizer.run(problem, 30, 0)
        assert values.shape == (30, 2)
        assert np.isfinite(values).all()
        assert len(np.unique(values, axis=0)) > 3


def test_runs_are_measured_kept_and_read_again(tmp_path):
    problem = trap_and_inverse(10, 5)
    random = multi_optimizers()["random"]
    assert budget_of(problem, random) == 500
    assert budget_of(problem, MultiOptimizer(random.run, most=100)) == 100
    run = make_run(problem, "random", random, 1, 120)
    values = random.run(problem, 120, 1)
    assert run.at(100) == pytest.approx(problem.relative_volume(values[:100]), abs=1e-4)
    assert run.at(500) is run.area(500) is None
    append_run(tmp_path, run)
    append_run(tmp_path, run)
    assert read_runs(tmp_path) == [run]


def a_run(optimizer, volumes, seed=0, problem="p"):
    return MultiRun(optimizer, problem, "f", 2, seed, 500, 1.0, [10, 100, 500], volumes)


def test_reports_name_who_is_ahead_on_the_seeds_that_both_ran():
    runs = [
        a_run("dcmaes", [0.2, 0.5, 0.9]),
        a_run("dcmaes", [0.2, 0.1, 0.9], seed=1),
        a_run("weak", [0.1, 0.3, 0.6], seed=0),
        a_run("strong", [0.3, 0.6, 0.8], seed=0),
    ]
    found = best_peer(runs, "p", lambda run: run.at(100))
    assert found == ("p", "strong", 0.6, 0.5, 1)
    assert "- at 100: 1 of 1 rows: p (strong 0.600, dcmaes 0.500)" in losses(runs)
    assert "- at 500: 0 of 1 rows\n" in losses(runs)
    assert best_peer(runs[:2], "p", lambda run: run.at(100)) is None
    rows = row_table(runs).splitlines()[2:]
    assert [row.split(" | ")[1] for row in rows] == ["strong", "**dcmaes**", "weak"]
    assert multi_section(runs).startswith("## Suite `multi`\n\n1 rows, 3 optimizers")


def test_the_page_of_benchmarks_has_the_section(tmp_path):
    append_run(tmp_path / "results", a_run("dcmaes", [0.2, 0.5, 0.9]))
    page = tmp_path / "docs" / "benchmarks.md"
    write(tmp_path / "results", page, [])
    assert multi_section(read_runs(tmp_path / "results")) in page.read_text()
