"""The constants of the strategy beside those of `ising`; `benchmarks/objectives.py` measures it."""

# Evaluations before the first regression.
OPENING = 8
# Evaluations in a regression, whose time grows with the cube.
WINDOW = 300
# Steps of each refit of the variances.
N_STEPS = 3
# Evaluations this far from the centre in value, in units of the front, count half as much in a root.
VALUE_RANGE = 1.0
# Widths between which a numeric site is looked at, as a fraction of its range, and in steps from the centre
# to the points of the front next to it.
SMALLEST_WIDTH, LARGEST_WIDTH, WIDTH_FACTOR = 1e-6, 0.3, 1.0
# How many neighbours on the front say how far to look.
N_NEIGHBOURS = 6
# How many choices the searches of a batch may change in turn, in units of the reach, and how many widths
# numbers may go.
CHANGE_LIMITS = (0.5, 1.0, 2.0, 4.0)
RADII = (1.0, 2.0, 4.0, 8.0)
# Functions drawn for each proposal.
N_DRAWS = 2
# Where the hypervolume of proposals counts from, in units of the front beyond its worst values.
MARGIN = 1.0
# The same where the user says what is of interest, within these: a reference may be far off.
LIMITS = (0.05, 2.0)
# How much worse, in units of the front, a point counts that is expected to violate constraints.
BEHIND = 10.0
# Points from which gains of more than two objectives are estimated.
N_SPREAD = 1000
# Improvements and evaluations that count beside those that there were, for the regressions, the processes and
# the population.
EXPECTED = ((2.0, 32.0), (2.0, 4.0), (2.0, 64.0))
# Children of the population: the probability that two points are crossed, the mean number of sites that are
# changed then and otherwise.
CROSSED, CHANGES = 0.7, 1.0
# How often children are made until they are new.
N_TRIES = 10
# Scales of the processes are refitted whenever the number of evaluations has grown by this share, by so many
# steps.
PROCESS_REFIT_SHARE, N_FIT_STEPS = 0.1, 10
# Where expected gains are sought: at points anywhere and at changes of points of the front, then by walkers
# from the most promising of them, which try so many changes in each of their steps.
N_ANYWHERE, N_NEAR = 200, 200
N_WALKERS, N_CHANGES = 8, 8
# Points from which those of a batch are chosen.
N_POOL = 200
# Expected gains of more than two objectives are estimated from so many points, which reach beyond the best
# values by this, in units of the front.
N_EXPECTED, BEYOND = 600, 0.25
