"""What defaults and weights of choices are worth: good ones, and wrong ones.

    python benchmarks/prior_knowledge.py > benchmarks/results/prior_knowledge.txt

Six rows of the suite `small` that have choices, the default strategy, ten seeds, 50 evaluations. What a user
might know is made from a good point, the best one of a run of 200 evaluations with another seed:

- good default: that point with every number off by a normal error of a tenth of its range, and one choice in
  four replaced by another one;
- wrong default: the worst of twenty points at random;
- good prior: the choices of that point have four times the weight of all others;
- wrong prior: choices drawn from the others have it.

Choices are categories, and numbers of two values. The figures are areas under the curve of targets, as in the
benchmark, and their change in percent. The targets of an instance lead from the first value to the best one
of that run of 200 evaluations and the run without knowledge.
"""

from __future__ import annotations

import argparse
from collections import defaultdict

import numpy as np

import dcmaes as dc
from dcmaes_bench import _measures as measures
from dcmaes_bench import _rows
from dcmaes_bench._domain import Domain
from dcmaes_bench._peers._dcmaes import point_of, space_of, vector_of
from dcmaes_bench._recorder import Recorder, RunEnded
from dcmaes_bench._results import RunRecord

ROWS = (
    *("compiled loop", "heat exchanger", "phased solver", "pest control n=25", "contamination n=21"),
    "chosen functions 3x5",
)
N_SEEDS, BUDGET, LONG = 10, 50, 200
OTHER_SEED = 1000
ERROR, RIGHT, WEIGHT, N_BAD = 0.1, 0.75, 4.0, 20


def recorded(problem, space, seed, budget):
    """Return what was recorded of a run in a space with or without knowledge."""
    recorder, domain = Recorder(problem, budget), Domain.of(problem)
    opt = dc.Optimizer(space, budget=budget, seed=seed)
    try:
        while opt.should_stop() is None:
            trials = opt.ask()
            opt.tell(trials, [recorder(vector_of(domain, trial.point)) for trial in trials])
    except RunEnded:
        pass
    return recorder


def has_choices(domain):
    """Tell which variables have values without near and far, shape (d,)."""
    return (domain.kind == 1) | (domain.n_states == 2)


def others(domain, x, rng):
    """Return a point with another state of every choice, shape (d,)."""
    n_states = np.maximum(domain.n_states, 2)
    return domain.low + (x - domain.low + rng.integers(1, n_states)) % n_states


def near(domain, x, rng):
    """Return the good point as a user might remember it, shape (d,)."""
    low, high = (
        np.where(domain.log, np.log(np.maximum(end, 1e-300)), end) for end in (domain.low, domain.high)
    )
    at = np.where(domain.log, np.log(np.maximum(x, 1e-300)), x)
    at = np.clip(at + ERROR * (high - low) * rng.standard_normal(len(x)), low, high)
    moved = domain.nearest(np.where(domain.log, np.exp(at), at))
    chosen = np.where(rng.random(len(x)) < RIGHT, x, others(domain, x, rng))
    return np.where(has_choices(domain), chosen, moved)


def knowledge(problem, instance, best):
    """Return the spaces of one instance by what is known there, made from a good point."""
    domain, rng = Domain.of(problem), np.random.default_rng(OTHER_SEED + instance)
    bad = max((domain.sample(rng) for _ in range(N_BAD)), key=problem)
    wrong = others(domain, best, rng)

    def with_default(x):
        named = point_of(domain, x, is_named=True)
        return space_of(domain, options={i: {"default": named[f"x{i}"]} for i in range(domain.dimension)})

    def with_prior(x):
        places = np.flatnonzero(has_choices(domain))
        states = {i: np.arange(domain.n_states[i]) + domain.low[i] for i in places.tolist()}
        options = {i: {"prior": np.where(s == x[i], WEIGHT, 1.0).tolist()} for i, s in states.items()}
        return space_of(domain, options=options)

    return {
        "nothing": space_of(domain),
        "good default": with_default(near(domain, best, rng)),
        "wrong default": with_default(bad),
        "good prior": with_prior(best),
        "wrong prior": with_prior(wrong),
    }


def as_record(problem, instance, made):
    """Return what was recorded of a run as the benchmark keeps it."""
    return RunRecord(
        optimizer="",
        problem=problem.name,
        instance=instance,
        dimension=problem.dimension,
        budget=made.budget,
        optimum=problem.optimum if problem.optimum is not None else problem.reference,
        tolerance=problem.tolerance,
        n_evaluations=made.n_evaluations,
        n_distinct=made.n_distinct,
        best=made.best,
        solved_at=None,
        stop="",
        own_time=0.0,
        trace=made.trace,
    )


def areas(row, n_seeds):
    """Return the mean area by what is known."""
    found = defaultdict(list)
    for instance in range(n_seeds):
        problem = row.problem(instance)
        long = recorded(problem, space_of(Domain.of(problem)), OTHER_SEED + instance, LONG)
        spaces = knowledge(problem, instance, long.best_x)
        made = {name: recorded(problem, space, instance, BUDGET) for name, space in spaces.items()}
        judges = [as_record(problem, instance, one) for one in (long, made["nothing"])]
        (scale,) = measures.scales(judges).values()
        for name, one in made.items():
            found[name].append(measures.area(one.trace, scale, BUDGET))
    return {name: float(np.mean(values)) for name, values in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", nargs="*", default=ROWS)
    parser.add_argument("--seeds", type=int, default=N_SEEDS)
    given = parser.parse_args()
    rows = {row.label: row for row in _rows.suite("small")}
    table = {label: areas(rows[label], given.seeds) for label in given.rows}
    names = list(table[given.rows[0]])
    print(f"| {' | '.join(['row', *names])} |")
    print("|---" * (len(names) + 1) + "|")
    table["mean area"] = {name: float(np.mean([found[name] for found in table.values()])) for name in names}
    for label, found in table.items():
        print(line(label, found))


def line(label, found):
    """Return a line of the table: areas, and by how much they are larger than without knowledge."""
    plain = found["nothing"]
    cells = [
        f"{area:.3f}" + ("" if name == "nothing" else f" ({100 * (area / plain - 1):+.0f} %)")
        for name, area in found.items()
    ]
    return f"| {' | '.join([label, *cells])} |"


if __name__ == "__main__":
    main()
