"""Several objectives: hypervolume relative to the best known front, here and with other packages.

    python benchmarks/objectives.py run [--seeds 3] [--optimizers NAME ...] [--problems NAME ...]
    python benchmarks/objectives.py table
    python benchmarks/objectives.py fronts [--problems NAME ...]

`run` adds the runs that are missing to benchmarks/results/multi. Each has 50 evaluations for each variable,
but at least 500, unless `--budget` says otherwise; slow optimizers have fewer. `table` prints all rows; the
page of benchmarks has the same (`python benchmarks report`). `fronts` finds the best known fronts anew.
"""

import argparse
from pathlib import Path

from dcmaes_bench._multi_peers import multi_optimizers
from dcmaes_bench._multi_report import row_table
from dcmaes_bench._multi_runs import append_run, budget_of, make_run, read_runs
from dcmaes_bench._results import RESULTS
from dcmaes_bench._suite_multi import problems, store_fronts


def run(results, seeds, optimizers, names, budget, again):
    done = {(one.optimizer, one.problem, one.seed) for one in read_runs(results)}
    for problem in problems():
        if names and problem.name not in names:
            continue
        for seed in seeds:
            for name, optimizer in multi_optimizers().items():
                is_wanted = name in optimizers if optimizers else optimizer.is_installed
                if not is_wanted or ((name, problem.name, seed) in done and not again):
                    continue
                made = make_run(problem, name, optimizer, seed, budget or budget_of(problem, optimizer))
                append_run(results, made)
                print(problem.name, name, seed, made.seconds, made.volumes[-1], flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=["run", "table", "fronts"])
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--optimizers", nargs="*", default=[], choices=list(multi_optimizers()))
    parser.add_argument("--problems", nargs="*", default=[])
    parser.add_argument("--budget", type=int)
    parser.add_argument(
        "--again", action="store_true", help="make runs again that are there; the new ones count"
    )
    given = parser.parse_args()
    if given.what == "run":
        seeds = range(given.first_seed, given.first_seed + given.seeds)
        run(given.results, seeds, given.optimizers, given.problems, given.budget, given.again)
    elif given.what == "table":
        print(row_table(read_runs(given.results)))
    else:
        store_fronts(given.problems)
