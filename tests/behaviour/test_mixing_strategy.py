"""What the `mixing` strategy reaches, within how many evaluations, on fixed seeds."""

import numpy as np
import pytest

import dcmaes as dc
from dcmaes import problems
from dcmaes.strategies import Mixing

SEEDS = range(3)


def run(problem, space, budget, seed):
    return dc.minimize(
        problem,
        space,
        budget=budget,
        seed=seed,
        strategy=Mixing(),
        target=problem.optimum + problem.tolerance,
    )


# Means over 20 instances, with other random numbers: 4100, 2700 and 1300 evaluations.
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("make", "n", "budget"),
    [
        (problems.trap, 60, 9_000),
        (problems.max_sat, 50, 7_000),
        (problems.planted_graph, 60, 4_000),
    ],
)
def test_binary_problems(make, n, budget, seed):
    problem = make(n, instance=seed)
    result = run(problem, dc.Space.binary(n), budget, seed)
    assert result.fun <= problem.optimum + problem.tolerance


def test_spin_glasses_on_a_torus():
    """Their times have a long tail: 21 of 24 instances take fewer than 8,000 evaluations, the slowest 11,262.

    If that is the share, fewer than four of six are solved with a probability of 3 %.
    """
    made = [problems.ising_torus(64, disorder=True, instance=seed) for seed in range(6)]
    found = [run(problem, dc.Space.binary(64), 8_000, seed).fun for seed, problem in enumerate(made)]
    assert sum(f <= p.optimum + p.tolerance for f, p in zip(found, made, strict=True)) >= 4


@pytest.mark.parametrize("seed", SEEDS)
def test_blocks_of_choices(seed):
    """Deceptive blocks of three choices: only copying whole blocks gets on."""
    hidden = np.random.default_rng(seed).integers(0, 3, 24)

    def function(point):
        right = (np.array(list(point.values())) == hidden).reshape(8, 3).sum(axis=1)
        return float(np.where(right == 3, 0.0, 1.0 + right).sum())

    space = dc.Space({f"v{i}": dc.Categorical(list(range(3))) for i in range(24)})
    assert dc.minimize(function, space, budget=15_000, seed=seed, strategy=Mixing(), target=0).fun == 0.0


@pytest.mark.parametrize("seed", SEEDS)
def test_workers_that_answer_late_lose_little(seed):
    problem = problems.trap(30, 5, instance=seed)
    optimizer = dc.Optimizer(dc.Space.binary(30), budget=6_000, seed=seed, strategy=Mixing(), target=0.0)
    while optimizer.should_stop() is None:
        trials = optimizer.ask(8 - len(optimizer.pending))
        late = list(optimizer.pending)[len(trials) // 2 :][::-1]
        optimizer.tell(late, [problem(trial.point) for trial in late])
    assert optimizer.best.value == 0.0


def test_a_small_space_is_gone_through_to_its_end():
    result = dc.minimize(lambda x: float(x[0]), dc.Space.binary(8), budget=1000, seed=1, strategy=Mixing())
    assert result.nfev == 256
    assert result.stop_reason is dc.StopReason.SPACE_EXHAUSTED
