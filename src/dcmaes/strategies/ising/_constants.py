"""The constants of the strategy in one place; `benchmarks/ising_ablation.py` measures what each is worth."""

# Points proposed for each refit: few, because every one may teach the next.
BATCH = 4
# Variances of the components before anything is known, in the order of `dcmaes.models.COMPONENTS`.
FIRST_VARIANCES = (1.0, 0.2, 0.2, 0.2, 0.2, 0.1, 0.01)
# The constant is never ruled out: values are standardized only approximately.
SMALLEST_CONSTANT = 0.1
# Width of numeric sites at the start of a run, as a fraction of the range.
FIRST_WIDTH = 0.2
# Widths between which a numeric site is looked at.
SMALLEST_WIDTH, LARGEST_WIDTH = 1e-12, 0.5
# Widths follow this multiple of the root mean square step of the proposals, with this decay by evaluation.
WIDTH_FACTOR, WIDTH_KEEP = 1.5, 0.9
# A lattice is never looked at more closely than this fraction of its spacing.
WIDTH_IN_GAPS = 0.4
# How many widths from the centre numeric sites may go in one proposal.
RADIUS = 2.0
# Decay by evaluation, and least value, of the number of choices that proposals change.
REACH_KEEP, SMALLEST_REACH = 0.95, 3.0
# The share of the rises above the best value that count as low (Q8).
LOW_SHARE = 0.3
# The multiple of a low rise beyond which differences between bad values are bent to a logarithm (Q8).
LARGE_RISE = 1e3
# Weights below this are not told apart from it.
SMALLEST_WEIGHT = 1e-9
# Evaluations in a regression: its time grows with the cube.
WINDOW = 300
# Beyond this many features no couplings are drawn: the time grows with the square.
LARGEST_PAIRS = 400
# Evaluations that are remembered, most of them the recent ones.
MEMORY = 4000
# Variances are refitted whenever the number of evaluations has grown by this share.
REFIT_SHARE = 0.08
# A run is over after PATIENCE + PATIENCE_BY_FEATURE * features evaluations without improvement.
PATIENCE, PATIENCE_BY_FEATURE = 40, 3
# What share of the best point each restart in turn changes.
RESTART_SHARES = (0.1, 0.2, 0.5, 1.0)
