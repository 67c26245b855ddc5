"""Ask and tell: write the loop yourself, tell results late and in any order, save the run and continue it.

Six slow machines are simulated here; in practice they would be laboratories or cluster jobs.
"""

import heapq
import tempfile
from pathlib import Path

import numpy as np

import dcmaes as dc

space = dc.Space(
    {
        "temperature": dc.Integer(20, 90),
        "stirring": dc.Ordinal(["slow", "medium", "fast"]),
        "solvent": dc.Categorical(["water", "ethanol", "acetone"]),
        "hour": dc.Integer(0, 23, periodic=True),
    }
)


def experiment(point):
    """Return the yield of a reaction that works best in warm ethanol at night."""
    loss = ((point["temperature"] - 62) / 10) ** 2 + {"slow": 2, "medium": 0, "fast": 1}[point["stirring"]]
    loss += {"water": 3, "ethanol": 0, "acetone": 1}[point["solvent"]]
    return 100 - 5 * loss - 2 * min((point["hour"] - 2) % 24, (2 - point["hour"]) % 24)


def run(optimizer, rng, n_machines=6, until=None):
    """Keep all machines busy; tell each result when its machine is done."""
    clock, busy = 0.0, [(rng.uniform(1, 10), trial.id, trial) for trial in optimizer.pending]
    heapq.heapify(busy)
    while optimizer.should_stop() is None and (until is None or optimizer.n_evaluations < until):
        for trial in optimizer.ask(n_machines - len(busy)) if len(busy) < n_machines else []:
            heapq.heappush(busy, (clock + rng.uniform(1, 10), trial.id, trial))
        clock, _, trial = heapq.heappop(busy)
        optimizer.tell(trial, experiment(trial.point))


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    optimizer = dc.Optimizer(space, budget=200, seed=0, direction="maximize", target=99.0)
    run(optimizer, rng, until=10)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "reaction"
        optimizer.save(path)
        print(f"saved after {optimizer.n_evaluations} experiments, {len(optimizer.pending)} of them pending")
        optimizer = dc.Optimizer.load(path)
    run(optimizer, rng)
    result = optimizer.result()
    print(f"yield {result.fun:.1f} with {result.x}")
    print(result.message)
