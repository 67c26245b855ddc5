"""The constants of the strategy; `benchmarks/ablation.py` measures what its parts are worth."""

# Points proposed for each refit: few, because every one may teach the next.
BATCH = 4
# Variances of the components before anything is known, in the order of `dcmaes.models.Component`.
FIRST_VARIANCES = (1.0, 0.2, 0.2, 0.2, 0.2, 0.1, 0.01)
# The same for the regression on violations, which has to show first that it explains them.
FIRST_BARRIER_VARIANCES = (*FIRST_VARIANCES[:-1], 0.3)
# The constant is never ruled out: values are standardized only approximately.
SMALLEST_CONSTANT = 0.1
# Choices may always differ from each other by so much of what they all have in common (the radial variance):
# a state that was never tried is not ruled out because others were bad.
SMALLEST_CHOICES = 0.05
# Width of numeric sites at the start of a run, as a fraction of the range.
FIRST_WIDTH = 0.2
# Widths between which a numeric site is looked at.
SMALLEST_WIDTH, LARGEST_WIDTH = 1e-12, 0.5
# Widths follow this multiple of the root mean square step of the better proposals, with this decay.
WIDTH_FACTOR, WIDTH_KEEP = 1.5, 0.9
# A lattice is never looked at more closely than this fraction of its spacing.
WIDTH_IN_GAPS = 0.4
# How many widths from the centre numeric sites may go, in the proposals of a batch in turn: what is near may
# be known better, but a minimum of which the model is sure may be further away.
RADII = (0.5, 2.0, 4.0, 8.0)
# How many choices the proposals of a batch may change in turn, in units of the reach: some near, some far.
CHANGE_LIMITS, SMALLEST_LIMIT = (0.5, 1.0, 2.0, 2.0), 4
# Decay by evaluation, and least value, of the number of choices that the better half of the proposals change.
REACH_KEEP, SMALLEST_REACH = 0.95, 3.0
# The shares of the rises above the best value that may count as low, and the first of them (Q8).
LOW_SHARES = (0.1, 0.3, 0.6, 0.9)
FIRST_LOW_SHARE = 1
# The largest share where there are choices: interactions of higher order, which no quadratic has, make values
# that are not low misleading there, and hide cliffs.
LARGEST_CHOICE_SHARE = 1
# Under noise no rise counts as low below this multiple of the deviation of one value (Q15).
LOW_IN_DEVIATIONS = 4.0
# Under noise an improvement of the centre by less than so many standard deviations is chance (Q16), and the
# best point of all is the one whose mean plus so many standard errors is lowest (Q17).
GAIN_IN_DEVIATIONS, DOUBT_IN_ERRORS = 1.0, 2.0
# Evaluations of at least this nearness say which rises are low.
NEAR = 0.3
# Evaluations closer than this, in widths and reaches, are at the centre for all the model can see: a third of
# those used may be such.
CLOSE = 0.05
# Evaluations less near than this are left out if their value is far off.
NEAR_ENOUGH = 0.01
# The multiple of a low rise beyond which values are taken as just that: far away.
LARGE_RISE = 30.0
# How far above the highest value used such a value counts, in standard deviations.
FAR_TARGET = 10.0
# Weights below this are not told apart from it.
SMALLEST_WEIGHT = 1e-9
# Evaluations in a regression: twice the parameters of a quadratic in the numeric sites, within these limits,
# because the time grows with the cube.
SMALLEST_WINDOW, LARGEST_WINDOW = 300, 600
# Beyond this many features no couplings are drawn: the time grows with the square.
LARGEST_PAIRS = 400
# Evaluations that are looked at: all up to this many, then the best quarter of it and the recent half.
MEMORY = 4000
# Variances are refitted whenever the number of evaluations has grown by this share.
REFIT_SHARE = 0.08
# Violations are learned from once there are so many; the largest count as this many times the median.
FEWEST_BEYOND, LARGEST_EXCESS = 4, 5.0
# How often it is decided which feasible points count, at most; those that do until they are predicted to be
# this far below the limit (Q20).
N_CENSORED, SLACK = 5, 0.1
# A value is beyond a cliff if it is this many standard deviations above what was expected, after the widest
# gap (Q22); deviations below this, in those of the low values, are not told apart from it.
FARTHEST_EXPECTED, COARSE = 4.0, 0.25
# So many values, and this share of them, are on either side of a cliff at least.
FEWEST_ON_A_SIDE, SHARE_ON_A_SIDE = 6, 0.1
# How often the sides are found again at most, and steps towards the variances on this side each time, and in
# the end towards those beyond.
N_SPLITS, CLIFF_STEPS, BARRIER_STEPS = 3, 3, 8
# The most points near the centre whose side is misjudged, as a share of those on the side with fewer (Q24).
MISJUDGED = 0.6
# Sides of points that failed are learned once there are so many values for each feature.
SIDES_VALUES = 1.5
# The regression on violations is not used while it takes more than this variance for noise.
LARGEST_BARRIER_NOISE = 0.05
# What it costs a function to be beyond the limit, for each unit of that (Q21).
BARRIER_COST = 100.0
# A run is over after PATIENCE + PATIENCE_BY_FEATURE * features evaluations without improvement.
PATIENCE, PATIENCE_BY_FEATURE = 40, 3
# What share of the best point each restart in turn changes.
RESTART_SHARES = (0.0, 0.1, 0.3, 1.0)
# The part of the range of each number, around its middle, from which the first points of all come.
MIDDLE = 0.5
# What share of the sites the first points after a restart change.
OPENING_SHARE = 0.1
# How many of a batch may be sent across a plateau, and the share of ties at which that many are.
PLATEAU_POINTS, MANY_TIES = 3, 0.3
# The least share of ties at which one is.
SOME_TIES = 0.02
# Decay by evaluation of the share of ties.
TIE_KEEP = 0.95
# Probability of a site to do harm before anything is known (Q12), and of a value to break the rule that worse
# points are those with a harmful change.
HARM_PRIOR, DOUBT = 0.4, 0.02
# How much being cleared still counts after an improvement.
CLEARED_KEEP = 0.5
# Mean risk of a step across a plateau: with 0.7, half of the steps do no harm.
RISK = 0.7
# Worse points that are remembered, and sweeps in which blame is passed around among their sites.
MOST_SUSPICIONS, N_SWEEPS = 300, 8
# Steps towards the variances of the regression that interactions are read from.
WIDE_STEPS = 20
# The trend (Q14): how many recent values it is fitted to, the quantile above which they count as just that,
# and the ridge, in units of one value at either end of the range of a term.
TREND_MEMORY, TREND_QUANTILE, TREND_RIDGE = 1000, 0.9, 0.1
# The share of its patience after which a run asks the trend, and the evaluations between two such points.
TREND_PATIENCE, TREND_PAUSE = 0.5, 32
