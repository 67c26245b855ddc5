"""A simulation with noise: how many nurses in each shift, and whom do they see first?

One evaluation simulates five days, and no two days are alike: patients arrive at random, most of them in the
morning, and their treatments take a random time. The cost is wages plus waiting, which counts ten times as
much for urgent patients.
`duplicates="reevaluate"` lets the search try good settings again and recommends by the estimated mean.
"""

import heapq

import numpy as np

import dcmaes as dc

SHIFTS = ["night", "early", "morning", "noon", "afternoon", "evening"]  # four hours each, from midnight on
ARRIVALS = np.repeat([1.0, 3.0, 9.0, 7.0, 6.0, 3.0], 4)  # patients per hour, for each hour of the day
WAGE, MINUTES = 120.0, 20.0  # of a nurse per shift; of a treatment, on average

space = dc.Space(
    {shift: dc.Integer(1, 6) for shift in SHIFTS} | {"first": dc.Categorical(["urgent", "longest waiting"])}
)


def draw_day(rng):
    """Return arrival times in hours, treatment times in hours, and who is urgent."""
    counts = rng.poisson(ARRIVALS)
    arrival = np.sort(np.repeat(np.arange(24), counts) + rng.random(counts.sum()))
    return arrival, rng.exponential(MINUTES / 60, len(arrival)), rng.random(len(arrival)) < 0.2


def waiting_cost(point, day):
    """Return the cost of waiting on a simulated day: 30 for each hour of a patient, 300 if urgent."""
    arrival, treatment, is_urgent = day
    staff = [point[shift] for shift in SHIFTS]
    queue, busy, cost, clock, n = [], [], 0.0, 0.0, 0
    while n < len(arrival) or queue:
        while n < len(arrival) and arrival[n] <= clock:
            late = 0 if is_urgent[n] and point["first"] == "urgent" else 1
            heapq.heappush(queue, (late, arrival[n], n))
            n += 1
        while busy and busy[0] <= clock:
            heapq.heappop(busy)
        while queue and len(busy) < staff[min(int(clock // 4), 5)]:
            _, since, patient = heapq.heappop(queue)
            cost += (clock - since) * (300 if is_urgent[patient] else 30)
            heapq.heappush(busy, clock + treatment[patient])
        events = [4 * (clock // 4 + 1), *arrival[n : n + 1], *busy[:1]]
        clock = min(time for time in events if time > clock)
    return cost


def mean_cost(point, rng, n_days=5):
    """Return the cost of a day, wages and waiting, averaged over simulated days."""
    wages = WAGE * sum(point[shift] for shift in SHIFTS)
    return wages + float(np.mean([waiting_cost(point, draw_day(rng)) for _ in range(n_days)]))


EVEN = dict.fromkeys(SHIFTS, 3) | {"first": "longest waiting"}


def search():
    rng = np.random.default_rng(0)
    return dc.minimize(
        lambda point: mean_cost(point, rng), space, budget=300, seed=0, x0=EVEN, duplicates="reevaluate"
    )


def describe(result):
    truth = np.random.default_rng(1)
    print(f"three nurses in every shift: {mean_cost(EVEN, truth, 300):.0f} a day")
    print(f"found:                       {mean_cost(result.x, truth, 300):.0f} a day")
    print(f"estimated during the run:    {result.fun:.0f} a day")
    for shift in SHIFTS:
        print(f"  {shift:<10}{result.x[shift]}")
    print(f"  first     {result.x['first']}")


if __name__ == "__main__":
    describe(search())
