"""The specification that ``dcmaes init`` writes."""

EXAMPLE = """\
# What dcmaes should tune. Check it with `dcmaes check {name}`, run it with `dcmaes minimize {name}`.
# Paths are relative to this file.

# The program to run: a list of arguments. There is no shell; {{variable}} is replaced by its value, inside
# its argument. Write {{{{ and }}}} for braces. {{flag?--text}} is added if the binary variable flag is true.
# This one runs anywhere: awk calculates something to minimize. Put your own program here.
command = [
    "awk",
    "-v", "x={{x}}",
    "-v", "n={{n}}",
    "-v", "mode={{mode}}",
    "-v", "extra={{extra}}",
    "BEGIN {{{{ print (x - 0.3)^2 + (n - 7)^2 / 50 + (mode != \\"fast\\") + extra }}}}",
]
# ... or a Python function that takes a dict and returns a number, in a module next to this file:
# objective = "my_module:my_function"

# Where the value is: the last number on standard output, a regular expression, or a file.
value = "last-number"
# value = {{ regex = "loss=(.*)" }}
# value = {{ json = "out.json", key = "loss" }}       # with several workers: own_folder = true

direction = "minimize"        # or "maximize"; for several objectives see [objectives] below
budget = 100                  # how many times the program may be run
workers = 2                   # how many at the same time
store = "{stem}.db"           # every evaluation is kept here; `dcmaes resume {stem}.db` continues a run
# time_limit = "8h"           # stop after this time: seconds, or "90s", "30m", "1h30m"
# target = 0.001              # stop when a value is this good
# patience = 50               # stop after this many runs without improvement
# seed = 0                    # the same seed gives the same points
# strategy = "auto"

# How the program is run.
# evaluation_timeout = "10m"  # give up an evaluation after this time
# retries = 1                 # how often to try again after a failure
# success_codes = [0]         # exit codes that come with a value; any other is a failure
# infeasible_codes = []       # exit codes that mean that the point is infeasible
# folder = "."                # where it runs
# own_folder = false          # true: each evaluation runs in a new folder
# keep = "all"                # of which evaluations the output is kept: "all", "failed" or "none"
# environment = {{ OMP_NUM_THREADS = "1" }}

# What must hold: comparisons of the variables, or "module:function" (a positive value is a violation).
# constraints = ["n + 10*x <= 12", "mode == 'fast' or n < 5"]

# Points to start with, for example the settings in use.
# x0 = [{{ x = 0.5, n = 3, mode = "safe", extra = false }}]
# x0 = "earlier.csv"          # or evaluations to learn from: a CSV file, or the store of another run

[space]
x = {{ type = "float", low = 0.0, high = 1.0 }}                  # log = true: distances between logarithms
n = {{ type = "integer", low = 1, high = 20 }}                   # periodic = true: 20 is next to 1
mode = {{ type = "categorical", choices = ["safe", "fast", "exact"] }}
extra = {{ type = "binary" }}
# size = {{ type = "ordinal", values = [16, 32, 64, 128] }}
# depth = {{ type = "integer", low = 1, high = 9, when = {{ mode = "fast" }} }}  # only if mode is fast
# What you know: default = 5 is tried first, and prior = [1, 3, 1] are weights of the choices, in their order.
# extra = {{ type = "binary", default = false }}
# mode = {{ type = "categorical", choices = ["safe", "fast", "exact"], prior = [1, 3, 1] }}

# Several objectives, in the place of value and direction above; reference is the worst value of interest.
# [objectives]
# loss = {{ value = {{ regex = "loss=(.*)" }}, direction = "minimize" }}
# speed = {{ value = {{ regex = "speed=(.*)" }}, direction = "maximize" }}
"""


def example(name: str, stem: str) -> str:
    """Return the example for a file of that name.

    >>> "dcmaes check tune.toml" in example("tune.toml", "tune")
    True
    """
    return EXAMPLE.format(name=name, stem=stem)
