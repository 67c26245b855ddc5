"""A schedule: assign 16 jobs to three machines, and order them, so that as little as possible is late.

Each job has a machine (categorical, since machines differ) and a priority (integer: a machine processes its
jobs by priority). Changing tools between families of jobs takes time, so it often pays to keep a family
together.
"""

import numpy as np

import dcmaes as dc

N_JOBS, MACHINES = 16, ["old mill", "new mill", "lathe"]
rng = np.random.default_rng(5)
FAMILY = rng.integers(3, size=N_JOBS)
HOURS = rng.integers(2, 9, size=N_JOBS)
DUE = rng.integers(8, 30, size=N_JOBS)
SPEED = {"old mill": 0.8, "new mill": 1.2, "lathe": 1.0}
CHANGE_OF_TOOLS = 2.0


def timetable(point):
    """Yield (machine, job, start, end) for every job."""
    for machine in MACHINES:
        jobs = [job for job in range(N_JOBS) if point[f"machine {job}"] == machine]
        clock, tool = 0.0, None
        for job in sorted(jobs, key=lambda job: point[f"priority {job}"]):
            clock += CHANGE_OF_TOOLS * (tool is not None and tool != FAMILY[job])
            start, clock, tool = clock, clock + HOURS[job] / SPEED[machine], FAMILY[job]
            yield machine, job, start, clock


def lateness(point):
    """Return the total lateness in hours, plus a small cost for late completion in general."""
    return sum(max(0.0, end - DUE[job]) + 0.01 * end for _, job, _, end in timetable(point))


space = dc.Space(
    {f"machine {job}": dc.Categorical(MACHINES) for job in range(N_JOBS)}
    | {f"priority {job}": dc.Integer(0, 15) for job in range(N_JOBS)}
)
BY_DUE_DATE = {f"machine {job}": MACHINES[job % 3] for job in range(N_JOBS)}
BY_DUE_DATE |= {f"priority {job}": int(np.argsort(np.argsort(DUE))[job]) for job in range(N_JOBS)}


def search():
    return dc.minimize(lateness, space, budget=1500, seed=0, x0=BY_DUE_DATE)


def describe(result):
    print(f"in turn, by due date: {lateness(BY_DUE_DATE):6.2f}")
    print(f"found:                {result.fun:6.2f}")
    for machine in MACHINES:
        jobs = [(job, end) for name, job, _, end in timetable(result.x) if name == machine]
        text = ", ".join(f"{job}{'abc'[FAMILY[job]]} until {end:.0f} h" for job, end in jobs)
        print(f"  {machine:<9}", text)


if __name__ == "__main__":
    describe(search())
