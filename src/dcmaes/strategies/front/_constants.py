"""The constants of the strategy; `benchmarks/objectives.py` measures it."""

# Points proposed for each update: few, because every one may teach the next.
BATCH = 4
# Evaluations before the first regression.
OPENING = 8
# Variances of the components before anything is known, in the order of `dcmaes.models.COMPONENTS`.
FIRST_VARIANCES = (1.0, 0.2, 0.2, 0.2, 0.2, 0.1, 0.01)
# The same for the regression on violations, which has to show first that it explains them: as soon as no more
# of their variance than this is taken for noise.
FIRST_BARRIER_VARIANCES, VAGUE = (*FIRST_VARIANCES[:-1], 0.3), 0.05
# The constant is never ruled out: values are standardized only approximately.
SMALLEST_CONSTANT = 0.1
# Evaluations that are looked at, and those in a regression, whose time grows with the cube.
MEMORY, WINDOW = 4000, 300
# Beyond this many features no couplings are drawn: the time grows with the square.
LARGEST_PAIRS = 400
# Variances are refitted whenever the number of evaluations has grown by this share, by so many steps.
REFIT_SHARE, N_STEPS = 0.08, 3
# Evaluations this far from the centre in value, in units of the front, count half as much in a root.
VALUE_RANGE = 1.0
# Weights below this are not told apart from it.
SMALLEST_WEIGHT = 1e-9
# Widths between which a numeric site is looked at, as a fraction of its range; in steps from the centre to
# the points of the front next to it; and of the distance between the states of a lattice.
SMALLEST_WIDTH, LARGEST_WIDTH, WIDTH_FACTOR, WIDTH_IN_GAPS = 1e-6, 0.3, 1.0, 0.4
# How many neighbours on the front say how far to look, and the least number of changed choices.
N_NEIGHBOURS, SMALLEST_REACH = 6, 3.0
# How many choices the searches of a batch may change in turn, in units of the reach, and how many widths
# numbers may go.
CHANGE_LIMITS, SMALLEST_LIMIT = (0.5, 1.0, 2.0, 4.0), 4
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
# changed then and otherwise, and the steps of numbers, in powers of ten of the range, but anywhere with this
# probability.
CROSSED, CHANGES = 0.7, 1.0
STEP_EXPONENTS, JUMP = (-2.5, -0.3), 0.2
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
