"""What the guide says about compiled loops is what the benchmark measured."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
MEASURED = (ROOT / "benchmarks" / "results" / "fast.txt").read_text()
GUIDE = " ".join((ROOT / "docs" / "guides" / "how-the-search-works.md").read_text().split())


def savings(pattern):
    """Return what rows whose name matches save, in percent."""
    ratios = re.findall(rf"^\| {pattern} \|.*\| (\d\.\d\d) \|$", MEASURED, flags=re.MULTILINE)
    return sorted(round(100 * (1 - float(ratio))) for ratio in ratios)


def test_savings_are_the_measured_ones():
    loaded = r"`{}`, .* (?:600|1,000|1,500) evaluations"
    ising, auto = savings(loaded.format("ising")), savings(loaded.format("auto"))
    draws = savings("`Ising`, .* points")
    assert (len(ising), len(auto), len(draws)) == (5, 5, 3)
    assert f"`ising` computes {ising[0]} to {ising[-1]} percent less" in GUIDE
    assert f"`auto` {auto[0]} to {auto[-1]} percent" in GUIDE
    assert f"take {draws[0]} to {draws[-1]} percent less" in GUIDE


def test_runs_from_start_to_end_and_costs_are_the_measured_ones():
    (bits,), (integers,) = (
        savings(f"`ising`, {name}, 3,000 evaluations") for name in ("64 bits", "20 integers")
    )
    assert f"computed {bits} (64 bits) and {integers} percent (20 integers) less" in GUIDE
    chance = max(abs(saving) for saving in savings("`ising`, .*, 500 evaluations"))
    assert f"up to {chance} percent is chance" in GUIDE
    compiling, loading = re.findall(r"^\| to .* \| (\d\.\d) \|$", MEASURED, flags=re.MULTILINE)
    assert f"Loading takes {loading} seconds" in GUIDE
    assert f"compiles for {compiling} seconds" in GUIDE
