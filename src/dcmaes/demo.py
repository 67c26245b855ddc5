"""A real optimization as a demonstration: ``python -m dcmaes.demo``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

import dcmaes as dc
from dcmaes.problems import heat_exchanger

__all__ = ["demo"]

BUDGET = 300
SEED = 0

_N_LINES = 10
_N_PAIRS = 5
_BAR = 20
_UNITS = {"diameter": " mm", "length": " m"}
_INTRODUCTION = """\
A shell-and-tube heat exchanger must move 600 kW. Wanted: the design that costs least per year.
Seven variables of five kinds: the tube material (categorical), the number of tubes and of baffles
(integers), tube diameter and passes (ordinals, as shops sell them), fins or none (binary), and the
tube length (continuous)."""


def demo(*, budget: int = BUDGET, seed: int = SEED, stream: TextIO | None = None) -> dc.Result:
    """Minimize the yearly cost of a heat exchanger, and print a report.

    Parameters
    ----------
    budget : int
        The maximum number of designs to evaluate.
    seed : int
        Seed of the search.
    stream : text stream or None
        Where to write; None is standard output.

    Returns
    -------
    Result
        What was found.

    Examples
    --------
    >>> import io
    >>> page = io.StringIO()
    >>> result = demo(budget=30, stream=page)
    >>> result.nfev, "known optimum" in page.getvalue()
    (30, True)
    """
    page = _Page(stream or sys.stdout)
    problem = heat_exchanger()
    variables: Any = problem.variables
    space = dc.Space.from_dict(variables)
    page.heading("The problem")
    page.write(_INTRODUCTION)
    page.heading(f"Searching: {budget} designs may be tried, seed {seed}")
    progress = _Progress(page, budget)
    result = dc.minimize(problem, space, budget=budget, seed=seed, callbacks=progress)
    by_chance = dc.minimize(problem, space, budget=result.nfev, seed=seed, strategy="random")
    _write_best(page, result, problem.optimum, by_chance.fun)
    _write_interactions(page, result)
    _write_distribution(page, result, space)
    page.heading("Why it stopped")
    page.write(f"{result.message[0].upper()}{result.message[1:]}.")
    own, other = 1000 * result.optimizer_time / result.nfev, 1000 * result.objective_time / result.nfev
    page.write(f"Per evaluation: {own:.2f} ms choosing the design, {other:.2f} ms computing its cost.")
    return result


class _Page:
    """Lines of text; headings are bold on a terminal."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        is_bold = stream.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
        self._bold, self._plain = ("\033[1m", "\033[0m") if is_bold else ("", "")

    def heading(self, text: str) -> None:
        """Start a section."""
        print(f"\n{self._bold}{text}{self._plain}", file=self._stream)

    def write(self, text: str = "") -> None:
        """Write lines, indented."""
        for line in text.splitlines() or [""]:
            print(f"  {line}".rstrip(), file=self._stream, flush=True)


class _Progress:
    """A callback that writes a line at every tenth of the budget."""

    def __init__(self, page: _Page, budget: int) -> None:
        self._page = page
        self._budget = budget
        self._n_lines = 0
        page.write("designs   lowest cost   of")

    def __call__(self, optimizer: dc.Optimizer) -> None:
        n, best = optimizer.n_evaluations, optimizer.best
        if n * _N_LINES // self._budget > self._n_lines and best is not None:
            self._n_lines = n * _N_LINES // self._budget
            self._page.write(f"{n:>7}   {best.value:>11,.2f}   {_in_words(best.point)}")


def _in_words(point: Mapping[str, Any]) -> str:
    fins = "with fins" if point["fins"] else "no fins"
    tubes = f"{point['tubes']} tubes of {point['diameter']:g} mm and {point['length']:.2f} m"
    return f"{point['material']}, {tubes}, {point['passes']} passes, {point['baffles']} baffles, {fins}"


def _write_best(page: _Page, result: dc.Result, optimum: float | None, by_chance: float) -> None:
    page.heading("The best design")
    for name, value in result.x.items():
        page.write(f"{name:<10}{_with_unit(name, value)}")
    page.write()
    at = 1 + [record.value for record in result.history].index(result.fun)
    page.write(f"cost per year  {result.fun:>9,.2f}   found at evaluation {at}")
    if optimum is not None:
        page.write(
            f"known optimum  {optimum:>9,.2f}   by exhaustive search; "
            f"the best design is {result.fun / optimum - 1:.2%} above it"
        )
    page.write(f"random search  {by_chance:>9,.2f}   the best of {result.nfev} random designs")


def _write_interactions(page: _Page, result: dc.Result) -> None:
    page.heading("What interacts with what, strongest first")
    strongest = result.interactions()[:_N_PAIRS]
    if not strongest:
        page.write("nothing was learned in so few evaluations")
    for pair in strongest:
        bar = "#" * max(1, round(_BAR * pair.strength / strongest[0].strength))
        doubt = "" if pair.is_certain else "  (not beyond doubt)"
        page.write(f"{f'{pair.first} and {pair.second}':<24}{pair.strength:5.2f}  {bar}{doubt}")


def _write_distribution(page: _Page, result: dc.Result, space: dc.Space) -> None:
    page.heading("Where the search was looking at the end")
    distribution = result.distribution
    for name, variable in zip(space.names, space.variables, strict=True):
        page.write(f"{name:<10}{_describe_site(str(name), variable, distribution)}")


def _describe_site(name: str, variable: Any, distribution: Any) -> str:
    """Return where a variable is: its likeliest values if they are known, or its middle and deviation."""
    if name in distribution.marginals:
        likely = sorted(distribution.marginals[name], key=lambda pair: -pair[1])
        return ", ".join(f"{_with_unit(name, value)} {p:.0%}" for value, p in likely[:4])
    deviation = distribution.deviations[name]
    scale = variable.scale
    if scale is not None:
        deviation *= scale.high - scale.low
        digits = 1 if scale.step else 3
        return f"{distribution.means[name]:.{digits}f} +/- {deviation:.{digits}f}{_UNITS.get(name, '')}"
    if variable.listed:
        steps = deviation * (len(variable.listed) - 1)
        return f"around {_with_unit(name, distribution.center[name])}, +/- {steps:.1f} places in the list"
    return f"yes {distribution.means[name]:.0%}, no {1 - distribution.means[name]:.0%}"


def _with_unit(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return text + _UNITS.get(name, "")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo with `arguments` (those of the process by default) and return its exit code.

    >>> main(["--budget", "ten"])
    Traceback (most recent call last):
    SystemExit: 2
    """
    parser = argparse.ArgumentParser(prog="python -m dcmaes.demo", description=__doc__)
    parser.add_argument("--budget", type=int, default=BUDGET, help="how many designs to evaluate")
    parser.add_argument("--seed", type=int, default=SEED, help="another number gives another search")
    options = parser.parse_args(arguments)
    demo(budget=options.budget, seed=options.seed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
