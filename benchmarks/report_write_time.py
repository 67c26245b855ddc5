"""CPU time to write a report, with its two costly parts, by the number of variables and evaluations.

    python benchmarks/report_write_time.py

CPU time hardly depends on what else the machine does. Writes benchmarks/results/report_write_time.txt.
"""

import tempfile
import time
from pathlib import Path

from dcmaes.report import write_html
from dcmaes.report._run import read_run
from report_open_time import run

OUT = Path(__file__).parent / "results" / "report_write_time.txt"
SIZES = ((10, 1_000), (50, 1_000), (200, 1_000), (10, 10_000), (50, 10_000), (200, 10_000))


def seconds(act):
    begun = time.process_time()
    act()
    return time.process_time() - begun


def main():
    lines = [
        "| variables | evaluations | report (CPU s) | importance (CPU s) | interactions (CPU s) |",
        "|---|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as folder:
        for dimension, n_evaluations in SIZES:
            result = run(dimension, n_evaluations)
            parts = read_run(result)
            times = (
                seconds(lambda result=result: write_html(result, Path(folder) / "report.html")),
                seconds(lambda parts=parts: parts.importance),
                seconds(lambda parts=parts: parts.interactions),
            )
            lines.append(f"| {dimension} | {n_evaluations:,} | {' | '.join(f'{t:.1f}' for t in times)} |")
            print(lines[-1], flush=True)
    OUT.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
