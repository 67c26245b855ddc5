"""Several objectives: hypervolume relative to the best known front, here and with other packages.

    python benchmarks/objectives.py run OUT.json [--seeds 3] [--optimizers NAME ...] [--problems NAME ...]
    python benchmarks/objectives.py table OUT.json

`run` adds what is missing to OUT.json. Each run has 50 evaluations for each variable, but at least `--least`
and at most `--most`. The area is the mean of the relative hypervolume from 10 to 500 evaluations, on a
logarithmic scale of evaluations.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np

import dcmaes as dc
from dcmaes_bench._suite_multi import problems

SHOWN = (100, 500)
FIRST = 10


def by_dcmaes(strategy):
    def optimize(problem, budget, seed):
        space = dc.Space.from_dict(problem.variables)
        result = dc.minimize(
            problem, space, budget=budget, seed=seed, objectives=2, strategy=strategy, progress=False
        )
        return result.history.values

    return optimize


def by_optuna(make_sampler):
    def optimize(problem, budget, seed):
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        study = optuna.create_study(directions=["minimize"] * 2, sampler=make_sampler(optuna, seed))
        study.optimize(lambda trial: problem(suggested(trial, problem.variables)), n_trials=budget)
        return np.array([trial.values for trial in study.trials])

    return optimize


def suggested(trial, variables):
    if "array" in variables:
        n = sum(entry.get("repeat", 1) for entry in variables["array"])
        return np.array([trial.suggest_int(f"x{i}", 0, 1) for i in range(n)])
    point = {}
    for name, entry in variables.items():
        if entry["type"] == "float":
            point[name] = trial.suggest_float(name, entry["low"], entry["high"], log=entry.get("log", False))
        elif entry["type"] == "integer":
            point[name] = trial.suggest_int(name, entry["low"], entry["high"], log=entry.get("log", False))
        else:
            point[name] = trial.suggest_categorical(name, entry.get("choices") or entry["values"])
    return point


def by_como(problem, budget, seed):
    """COMOCatCMAwM of cmaes: for problems with numbers, integers and choices, as its README uses it."""
    from cmaes import COMOCatCMAwM

    kinds = {"float": [], "integer": [], "categorical": []}
    for name, entry in problem.variables.items():
        kinds[entry["type"]].append((name, entry))
    optimizer = COMOCatCMAwM(
        x_space=[[entry["low"], entry["high"]] for _, entry in kinds["float"]],
        z_space=[range(entry["low"], entry["high"] + 1) for _, entry in kinds["integer"]],
        c_space=[len(entry["choices"]) for _, entry in kinds["categorical"]],
        seed=seed,
    )
    values = []
    while len(values) < budget:
        told = []
        for solution in optimizer.ask_iter():
            point = {name: float(v) for (name, _), v in zip(kinds["float"], solution.x, strict=True)}
            point |= {name: int(v) for (name, _), v in zip(kinds["integer"], solution.z, strict=True)}
            chosen = solution.c.argmax(axis=1)
            pairs = zip(kinds["categorical"], chosen, strict=True)
            point |= {name: entry["choices"][int(i)] for (name, entry), i in pairs}
            values.append(problem(point))
            told.append((solution, list(values[-1])))
        optimizer.tell(told)
    return np.array(values[:budget])


OPTIMIZERS = {
    "dcmaes": by_dcmaes("auto"),
    "random": by_dcmaes("random"),
    "optuna NSGA-II": by_optuna(lambda optuna, seed: optuna.samplers.NSGAIISampler(seed=seed)),
    "optuna TPE": by_optuna(lambda optuna, seed: optuna.samplers.TPESampler(seed=seed)),
    "cmaes COMOCatCMAwM": by_como,
}


def takes(optimizer, problem):
    return optimizer != "cmaes COMOCatCMAwM" or "array" not in problem.variables


def measure(problem, values):
    """Return the relative hypervolume after 10, 11, ... evaluations, about 20 times a factor of ten."""
    n = len(values)
    places = np.unique(np.geomspace(FIRST, n, round(20 * np.log10(n / FIRST)) + 1).round().astype(int))
    places = np.union1d(places, [k for k in SHOWN if k <= n])
    return {int(k): round(problem.relative_volume(values[:k]), 5) for k in places}


def dimension(problem):
    return dc.Space.from_dict(problem.variables).dimension


def run(path, seeds, optimizers, names, least, most):
    found = json.loads(path.read_text()) if path.exists() else []
    done = {(row["problem"], row["optimizer"], row["seed"]) for row in found}
    for problem in problems():
        if names and problem.name not in names:
            continue
        budget = min(max(least, 50 * dimension(problem)), most)
        for seed in range(seeds):
            for optimizer in optimizers:
                key = (problem.name, optimizer, seed)
                if key in done or not takes(optimizer, problem):
                    continue
                begun = time.perf_counter()
                values = OPTIMIZERS[optimizer](problem, budget, seed)
                row = dict(zip(("problem", "optimizer", "seed"), key, strict=True))
                row |= {"budget": budget, "seconds": round(time.perf_counter() - begun, 1)}
                found.append({**row, "volumes": measure(problem, values)})
                text = ",\n".join(map(json.dumps, found))
                path.write_text(f"[\n{text}\n]\n")
                print(*key, found[-1]["seconds"], list(found[-1]["volumes"].values())[-1], flush=True)


def table(path):
    rows = json.loads(path.read_text())
    names = list(dict.fromkeys(row["optimizer"] for row in rows))
    print("| problem | optimizer | seeds | at 100 | at 500 | at the end | area | seconds |")
    print("|---|---|---|---|---|---|---|---|")
    for problem in dict.fromkeys(row["problem"] for row in rows):
        for name in names:
            own = [row for row in rows if (row["problem"], row["optimizer"]) == (problem, name)]
            if not own:
                continue
            shown = [f"{np.mean([row['volumes'][str(k)] for row in own]):.3f}" for k in SHOWN]
            end = f"{np.mean([list(row['volumes'].values())[-1] for row in own]):.3f} ({own[0]['budget']})"
            area = f"{np.mean([area_of(row) for row in own]):.3f}"
            seconds = f"{np.mean([row['seconds'] for row in own]):.0f}"
            print("|", " | ".join([problem, name, str(len(own)), *shown, end, area, seconds]), "|")


def area_of(row):
    pairs = [(int(k), volume) for k, volume in row["volumes"].items() if int(k) <= SHOWN[-1]]
    places, heights = np.log([k for k, _ in pairs]), np.array([volume for _, volume in pairs])
    return float(np.trapezoid(heights, places) / np.ptp(places))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=["run", "table"])
    parser.add_argument("path", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--optimizers", nargs="*", default=list(OPTIMIZERS), choices=list(OPTIMIZERS))
    parser.add_argument("--problems", nargs="*", default=[])
    parser.add_argument("--least", type=int, default=500)
    parser.add_argument("--most", type=int, default=10_000)
    given = parser.parse_args()
    if given.what == "run":
        run(given.path, given.seeds, given.optimizers, given.problems, given.least, given.most)
    else:
        table(given.path)
