"""Run the benchmark from a checkout: ``python benchmarks --help``."""

import sys

from dcmaes_bench._main import main

if __name__ == "__main__":
    sys.exit(main())
