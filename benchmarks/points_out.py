"""What it costs to have several points out at any time, as parallel workers do: by row, in percent of area.

    python benchmarks/points_out.py > benchmarks/results/points_out.txt

Eight rows of the suite `small`, the default strategy, five seeds, 100 evaluations. A point is asked for
whenever fewer than k are out. Of those that are out, the oldest is told next, as if all evaluations took the
same time, or one drawn at random, as if times varied widely. No processes are involved, and evaluations are
counted when they are told. Areas under the curve of targets are those of the benchmark, with its targets.

The line "only delayed" is of the runs with one point out, as if all that they found after the first point had
been found k - 1 evaluations later: what is lost if the other points that are out tell nothing.
"""

from __future__ import annotations

import argparse
from functools import cache

import numpy as np

import dcmaes as dc
from dcmaes_bench import _measures as measures
from dcmaes_bench import _results, _rows
from dcmaes_bench._domain import Domain
from dcmaes_bench._peers._dcmaes import point_of, space_of, vector_of
from dcmaes_bench._recorder import Recorder, RunEnded
from dcmaes_bench._references import read_references

ROWS = (
    *("compiled loop", "staffing", "mixed ackley 50+3", "phased solver", "pest control n=25", "3sat n=28"),
    *("chosen functions 3x5", "pressure vessel, violations told"),
)
POINTS_OUT = (1, 2, 4, 8)
ORDERS = ("oldest", "at random")
BUDGET = 100


@cache
def trace(row, n_out, order, seed):
    """Return the improvements of a run, which is made once."""
    return run(row.problem(seed), n_out, order, seed, BUDGET).trace


def run(problem, n_out, order, seed, budget):
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
            trial = out.pop(0 if order == "oldest" else int(luck.integers(len(out))))
            value, violation = recorder.outcome(vector_of(domain, trial.point))
            opt.tell(trial, dc.Outcome(value, violation))
    except RunEnded:
        pass
    return recorder


def scales(label):
    """Return the targets of the benchmark for each instance of a row."""
    committed = [run for run in _results.read(_results.RESULTS, "small") if run.problem == label]
    found = measures.scales(committed, read_references(_results.RESULTS))
    return {instance: scale for (_, instance), scale in found.items()}


def areas(row, order):
    """Return mean areas by how many points were out, and those of the first runs delayed, shape (2, 4)."""
    found = []
    for seed, scale in sorted(scales(row.label).items()):
        traces = [trace(row, k, order if k > 1 else ORDERS[0], seed) for k in POINTS_OUT]
        traces += [delayed(traces[0], k - 1) for k in POINTS_OUT]
        found.append([measures.area(one, scale, BUDGET) for one in traces])
    return np.mean(found, axis=0).reshape(2, len(POINTS_OUT))


def delayed(trace, n):
    """Return a trace in which all but the first point came so many evaluations later."""
    return [(at if at == 1 else at + n, value) for at, value in trace]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", nargs="*", default=ROWS)
    parser.add_argument("--orders", nargs="*", default=ORDERS)
    given = parser.parse_args()
    rows = {row.label: row for row in _rows.suite("small")}
    head = [f"loss with {k}" for k in POINTS_OUT[1:]]
    print(f"| {' | '.join(['told', 'row', 'area with 1 out', *head])} |")
    print("|---" * (len(head) + 3) + "|")
    for order in given.orders:
        means = []
        for label in given.rows:
            means.append(areas(rows[label], order))
            print(line(order, label, means[-1][0]), flush=True)
        mean, late = np.mean(means, axis=0)
        print(line(order, "**mean**", mean), flush=True)
    print(line("", "only delayed, mean", late))


def line(order, label, mean):
    """Return a line of the table: the first area, and by how much of it the others are smaller."""
    losses = [f"{100 * (1 - value / mean[0]):.1f} %" for value in mean[1:]]
    return f"| {' | '.join([order, label, f'{mean[0]:.3f}', *losses])} |"


if __name__ == "__main__":
    main()
