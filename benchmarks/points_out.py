"""What it costs to have several points out at any time, as parallel workers do: by row, in percent of area.

    python benchmarks/points_out.py > benchmarks/results/points_out.txt

Eight rows of the suite `small`, the default strategy, five seeds, 100 evaluations. A point is asked for
whenever fewer than k are out; of those that are out, one drawn at random is told next, as if evaluations took
varying times. No processes are involved, and evaluations are counted when they are told. The area under the
curve of targets is that of the benchmark, with the same targets for every k, from all runs of the instance.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from dataclasses import replace

import numpy as np

import dcmaes as dc
from dcmaes_bench import _measures as measures
from dcmaes_bench import _results, _rows
from dcmaes_bench._domain import Domain
from dcmaes_bench._peers._dcmaes import point_of, space_of, vector_of
from dcmaes_bench._recorder import Recorder, RunEnded
from dcmaes_bench._results import RunRecord

ROWS = (
    *("compiled loop", "staffing", "mixed ackley 50+3", "phased solver", "pest control n=25", "3sat n=28"),
    *("chosen functions 3x5", "pressure vessel, violations told"),
)
POINTS_OUT = (1, 2, 4, 8)
N_SEEDS, BUDGET = 5, 100


def run(problem, n_out, seed, budget):
    """Return what was recorded of a run with so many points out at any time."""
    recorder, domain = Recorder(problem, budget), Domain.of(problem)
    space = space_of(domain)
    starts = problem.starts
    x0 = None if starts is None else [point_of(domain, x, space.is_named) for x in starts]
    opt = dc.Optimizer(space, budget=budget, seed=seed, x0=x0)
    luck, out = np.random.default_rng(seed), []
    try:
        while True:
            while len(out) < n_out and (trials := opt.ask(1)):
                out += trials
            if not out:
                break
            trial = out.pop(int(luck.integers(len(out))))
            value, violation = recorder.outcome(vector_of(domain, trial.point))
            opt.tell(trial, dc.Outcome(value, violation))
    except RunEnded:
        pass
    return recorder


def as_record(row, instance, name, budget, made):
    """Return what was recorded of a run as the benchmark keeps it."""
    problem = made.problem
    return RunRecord(
        optimizer=name,
        problem=row.label,
        instance=instance,
        dimension=problem.dimension,
        budget=budget,
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


def areas(row, committed, n_seeds, budget, points_out):
    """Return the area of every seed with so many points out, arrays of shape (n_seeds,) by that number."""
    found = defaultdict(list)
    for instance in range(n_seeds):
        problem = row.problem(instance)
        made = {
            k: as_record(row, instance, f"{k} out", budget, run(problem, k, instance, budget))
            for k in points_out
        }
        peers = [r for r in committed if (r.problem, r.instance) == (row.label, instance)]
        # Optima that were computed anew differ in the last digit.
        optimum = made[points_out[0]].optimum
        group = [*(replace(peer, optimum=optimum) for peer in peers), *made.values()]
        (scale,) = measures.scales(group).values()
        for k, one in made.items():
            found[k].append(measures.area(one.trace, scale, budget))
    return {k: np.array(values) for k, values in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", nargs="*", default=ROWS)
    parser.add_argument("--seeds", type=int, default=N_SEEDS)
    parser.add_argument("--budget", type=int, default=BUDGET)
    given = parser.parse_args()
    committed = _results.read(_results.RESULTS, "small")
    rows = {row.label: row for row in _rows.suite("small")}
    head = [f"loss with {k}" for k in POINTS_OUT[1:]]
    print(f"| {' | '.join(['row', 'area with 1 out', *head])} |")
    print("|---" * (len(head) + 2) + "|")
    means = []
    for label in given.rows:
        found = areas(rows[label], committed, given.seeds, given.budget, POINTS_OUT)
        means.append([found[k].mean() for k in POINTS_OUT])
        print(f"| {label} | {means[-1][0]:.3f} | {' | '.join(losses(means[-1]))} |", flush=True)
    mean = np.mean(means, axis=0)
    print(f"| mean area | {mean[0]:.3f} | {' | '.join(losses(mean))} |")
    shares = 100 * (1 - np.array(means)[:, 1:] / np.array(means)[:, :1])
    print(f"| mean of the rows | | {' | '.join(f'{share:.1f} %' for share in shares.mean(axis=0))} |")


def losses(mean):
    """Return by how much of the first area the others are smaller, in percent."""
    return [f"{100 * (1 - value / mean[0]):.1f} %" for value in mean[1:]]


if __name__ == "__main__":
    main()
