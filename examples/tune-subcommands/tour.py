"""Look for a short round trip through 60 towns, in one of three ways, each with options of its own.

    python tour.py greedy --start 12
    python tour.py anneal --heat 0.5 --cooling 0.999 --moves reverse --reheat --every 4000
    python tour.py climb --kick 4

It prints the length of the trip.
"""

import argparse
import math
import random

N_STEPS = 20_000


def towns():
    """Return where the towns are: in a square of side 1, always the same."""
    luck = random.Random(1)
    return [(luck.random(), luck.random()) for _ in range(60)]


def length(trip, places):
    """Return the length of a round trip."""
    return sum(math.dist(places[a], places[b]) for a, b in zip(trip, trip[1:] + trip[:1], strict=True))


def greedy(places, start):
    """Go to the nearest town that is left."""
    trip, left = [start], set(range(len(places))) - {start}
    while left:
        trip.append(min(left, key=lambda town: math.dist(places[trip[-1]], places[town])))
        left.remove(trip[-1])
    return trip


def gain(trip, places, i, j):
    """Return how much shorter the trip is with the part from i to j turned round."""
    a, b, c, d = (places[trip[k % len(trip)]] for k in (i - 1, i, j, j + 1))
    return math.dist(a, b) + math.dist(c, d) - math.dist(a, c) - math.dist(b, d)


def anneal(places, luck, heat, cooling, moves, every):
    """Accept longer trips too, ever less often; start hot again after some steps, if asked to."""
    trip, temperature = greedy(places, 0), heat
    best, now = trip, length(trip, places)
    least = now
    for step in range(N_STEPS):
        i, j = sorted(luck.sample(range(1, len(trip)), 2))
        other = trip[:i] + trip[i : j + 1][::-1] + trip[j + 1 :]
        if moves == "swap":
            other = trip[:]
            other[i], other[j] = other[j], other[i]
        change = -gain(trip, places, i, j) if moves == "reverse" else length(other, places) - now
        if change < 0 or luck.random() < math.exp(-change / max(temperature, 1e-9)):
            trip, now = other, now + change
        if now < least:
            best, least = trip, now
        temperature *= cooling
        if every and step % every == every - 1:
            temperature = heat
    return best


def climb(places, luck, kick):
    """Turn parts round while that helps; then exchange some towns at random, and keep what is not worse."""
    trip = greedy(places, 0)
    best, steps = trip, 0
    while steps < N_STEPS:
        improved = True
        while improved and steps < N_STEPS:
            improved = False
            for i in range(1, len(trip) - 1):
                for j in range(i + 1, len(trip)):
                    steps += 1
                    if gain(trip, places, i, j) > 1e-9:
                        trip = trip[:i] + trip[i : j + 1][::-1] + trip[j + 1 :]
                        improved = True
        if length(trip, places) <= length(best, places):
            best = trip
        trip = best[:]
        for _ in range(kick):
            i, j = luck.sample(range(1, len(trip)), 2)
            trip[i], trip[j] = trip[j], trip[i]
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    commands = parser.add_subparsers(dest="method", required=True)
    option = commands.add_parser("greedy").add_argument
    option("--start", type=int, default=0)
    option = commands.add_parser("anneal").add_argument
    option("--heat", type=float, default=1.0)
    option("--cooling", type=float, default=0.99)
    option("--moves", choices=["swap", "reverse"], default="swap")
    option("--reheat", action="store_true")
    option("--every", type=int, default=1000)
    option = commands.add_parser("climb").add_argument
    option("--kick", type=int, default=20)
    options = parser.parse_args()
    places, luck = towns(), random.Random(0)
    if options.method == "greedy":
        trip = greedy(places, options.start)
    elif options.method == "climb":
        trip = climb(places, luck, options.kick)
    else:
        every = options.every if options.reheat else 0
        trip = anneal(places, luck, options.heat, options.cooling, options.moves, every)
    print(f"length {length(trip, places):.4f}")


if __name__ == "__main__":
    main()
