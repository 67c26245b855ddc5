"""Rows of tables that others have published: each with its definition, their figure, and a goal.

They are run and shown by `benchmarks/published.py`, and are no suite of the benchmark: budgets and measures
are those of the publications.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dcmaes import problems
from dcmaes.problems import Problem
from dcmaes_bench._rows import Row

NAME = "published"


def negated(value: float) -> float:
    """Turn a value that is minimised into one that the publication maximises.

    >>> negated(-0.5)
    0.5
    """
    return -value


def merit_factor(energy: float) -> float:
    """Return the merit factor of a sequence of 50 elements from its energy.

    >>> round(merit_factor(153.0), 2)
    8.17
    """
    return 50**2 / (2 * energy)


@dataclass(frozen=True)
class Entry:
    """One row of the page.

    Attributes
    ----------
    label : str
        Names the row; with the budget it identifies its runs.
    make : callable
        ``make(instance=i)`` returns the problem that seed i is run on.
    budget : int
        Evaluations at which a run ends.
    published : str
        What others reached.
    goal : float or None
        What is to be reached: evaluations to the optimum, or a value where `shown` is given. None: to be
        better than any other optimizer that was run on the row.
    share : float
        Share of the seeds that must reach the goal; a half: the median.
    slowest : float
        What no seed may exceed.
    shown : callable or None
        For rows that are judged by the value at the budget: how the value is written. None: judged by the
        evaluations to the optimum.
    file : str or None
        Public data that the problem is made of, and that has to be there.
    """

    label: str
    make: Callable[..., Problem]
    budget: int
    published: str
    goal: float | None
    share: float = 0.5
    slowest: float = math.inf
    shown: Callable[[float], float] | None = None
    file: str | None = None

    def row(self, data: Path) -> Row:
        """Return what the runner takes; `data` is the folder of public data."""
        make = self.make if self.file is None else partial(self.make, data / self.file)
        return Row(NAME, self.label, make, self.budget)

    @property
    def is_maximised(self) -> bool:
        """Whether larger figures are better."""
        return self.shown is not None and self.shown(2.0) < self.shown(1.0)


@dataclass(frozen=True)
class Group:
    """Rows of one kind: their definition, and where the figures of others come from."""

    title: str
    definition: str
    source: str
    entries: tuple[Entry, ...]


def same(factory: Callable[..., Problem], *, instance: int) -> Problem:
    """Return the one instance that was published, whatever the seed.

    >>> same(problems.labs, instance=3).instance
    0
    """
    return factory(instance=0)


def quadratic(path: Path, *, instance: int) -> Problem:
    """Return one of the ten problems of a file of OR-Library."""
    return problems.bqp(data=path.read_text(encoding="utf-8"), instance=instance % 10)


def clauses(path: Path, *, reference: float, instance: int) -> Problem:
    """Return a formula of the MaxSAT Evaluation with hidden variables flipped, other ones with every seed."""
    text = path.read_text(encoding="utf-8")
    return problems.weighted_max_sat(text, reference=reference, instance=instance + 1)


P3 = (
    "Medians of 100 runs of P3 and LTGA, from `complete.csv` in the repository of Goldman & Punch, "
    "“Parameter-less population pyramid” (GECCO 2014), "
    "github.com/brianwgoldman/Parameter-less_Population_Pyramid."
)
FORMULAS = {28: "maxcut-johnson8-2-4.clq.wcnf", 43: "maxcut-hamming8-2.clq.wcnf", 60: "frb-frb10-6-4.wcnf"}
BEST_CLAUSES = {28: -38.162, 43: -92.740, 60: -195.653}


def _hiff() -> Group:
    figures = {64: (3_742, 8_323, 3_000), 128: (11_698, 25_724, 9_000), 256: (34_082, 78_537, 25_000)}
    return Group(
        "Hierarchical if-and-only-if",
        "`hiff`: blocks of 2, 4, 8 .. n bits score if all their bits are equal. Neighbours are hidden by a "
        "permutation and values by a mask, both drawn per seed. Evaluations to the optimum; no seed may "
        "need more than twice the goal.",
        P3 + " Their bits are neither permuted nor masked.",
        tuple(
            Entry(
                f"HIFF, {n} bits",
                partial(problems.hiff, n),
                3 * p3,
                f"P3 {p3:,}, LTGA {ltga:,}",
                goal,
                slowest=2 * goal,
            )
            for n, (p3, ltga, goal) in figures.items()
        ),
    )


def _p3() -> Group:
    def entry(label: str, make: Callable[..., Problem], p3: int, ltga: int) -> Entry:
        return Entry(label, make, 3 * p3, f"P3 {p3:,}, LTGA {ltga:,}", p3 // 2)

    return Group(
        "The generators of the population pyramid",
        "`max_sat(n, 4.27, balanced=True)`: planted 3-SAT whose signs do not point to the solution. "
        "`nk_landscape(n, 5)`: nearest-neighbour NK with the exact optimum. `trap(n, 7, step=2)`: "
        "deceptive traps with plateaus, permuted and masked. `ising_torus(n, disorder=True)`: the ±J spin "
        "glass on a torus with the exact ground state. Instances are drawn per seed from the published "
        "distributions. Evaluations to the optimum; the goal is half of what P3 needs.",
        P3,
        (
            *(
                entry(f"MAXSAT, {n} variables", partial(problems.max_sat, n, 4.27, balanced=True), *figures)
                for n, figures in {50: (11_413, 1_580_860), 60: (22_420, 20_893_191)}.items()
            ),
            *(
                entry(f"NK, {n} bits", partial(problems.nk_landscape, n, 5), *figures)
                for n, figures in {25: (14_560, 29_134), 30: (21_549, 55_523)}.items()
            ),
            *(
                entry(f"step trap, {n} bits", partial(problems.trap, n, 7, step=2), *figures)
                for n, figures in {14: (22_580, 12_946), 21: (49_243, 32_927)}.items()
            ),
            *(
                entry(f"±J torus, {n} spins", partial(problems.ising_torus, n, disorder=True), *figures)
                for n, figures in {
                    100: (12_062, 28_003),
                    144: (25_442, 79_384),
                    256: (75_360, 360_516),
                }.items()
            ),
        ),
    )


def _trap() -> Group:
    return Group(
        "Deceptive traps with targets of their own",
        "`trap(301, 7, own_targets=True)`: blocks of seven bits, permuted. Each has a target, drawn by "
        "chance, and another string that pulls, so that the complement of a point that was led astray is "
        "not the optimum.",
        P3 + " Theirs are pulled to the complement of the target, and are neither permuted nor masked.",
        (
            Entry(
                "trap of size 7, 301 bits, own targets",
                partial(problems.trap, 301, 7, own_targets=True),
                60_000,
                "P3 181,071",
                18_107,
            ),
        ),
    )


def _ackley() -> Group:
    others = "0.15 (GP), BODi 0.21, Casmopolitan 0.24"
    zero = partial(problems.mixed_ackley, is_moved=False)
    return Group(
        "Ackley of 50 bits and 3 numbers",
        "`mixed_ackley(50, 3)`: with its optimum at zero as published, and with hidden bits flipped and "
        "the numbers moved. Value after 200 evaluations.",
        "Read off the figures of Dreczkowski, Grosnit & Bou Ammar, “Framework and benchmarks for "
        "combinatorial and mixed-variable Bayesian optimization” (MCBO, NeurIPS 2023), and Deshwal et al., "
        "“Bayesian optimization over high-dimensional combinatorial spaces via dictionary-based "
        "embeddings” (BODi, AISTATS 2023).",
        (
            Entry("Ackley 50+3, optimum at zero", partial(same, zero), 200, others, 0.10, shown=float),
            Entry("Ackley 50+3, moved", problems.mixed_ackley, 200, others, 0.10, shown=float),
        ),
    )


def _clauses() -> Group:
    def entry(n: int, budget: int, others: str, goal: float, share: float) -> Entry:
        make = partial(clauses, reference=BEST_CLAUSES[n])
        return Entry(
            f"weighted MaxSAT, {n} variables",
            make,
            budget,
            f"{others}; best known {BEST_CLAUSES[n]:.3f}",
            goal,
            share,
            shown=float,
            file=FORMULAS[n],
        )

    return Group(
        "Weighted MaxSAT",
        "`weighted_max_sat`: minus the standardised weights of satisfied clauses, of three formulas of the "
        f"MaxSAT Evaluation 2018 ({', '.join(f'`{name}`' for name in FORMULAS.values())}), with hidden "
        "variables flipped per seed. Value at the budget.",
        "COMBO: Oh, Tomczak, Gavves & Welling, “Combinatorial Bayesian optimization using the graph "
        "Cartesian product” (NeurIPS 2019), about what it has after 270 evaluations, without flips; its "
        "repository QUVA-Lab/COMBO has the formulas.",
        (
            entry(28, 270, "COMBO -37.8", -38.162, 1.0),
            entry(43, 270, "COMBO -85.0", -90.0, 0.5),
            entry(43, 1_000, "none", -92.740, 0.8),
            entry(60, 270, "COMBO -195.65", -195.653, 1.0),
        ),
    )


def _pests() -> Group:
    make = partial(same, partial(problems.pest_control, is_frozen=True))
    return Group(
        "Pest control",
        "`pest_control(25, is_frozen=True)`: one of four pesticides or none in each of 25 stages, with the "
        "draws of the published code. Value at the budget.",
        "The code of BODi and MCBO with seed 0; 12.0316 is the best of twelve long annealings, which end "
        "there or at 12.07.",
        (
            Entry("pest control, 25 x 5", make, 200, "best known 12.0316", 12.0316, 0.9, shown=float),
            Entry("pest control, 25 x 5", make, 1_000, "best known 12.0316", 12.0316, 0.9, shown=float),
        ),
    )


def _nominal() -> Group:
    return Group(
        "Ackley of 20 nominal variables",
        "`categorical_ackley(20, 11)`: 20 numbers out of 11 each, whose order is not known. Value after 200 "
        "evaluations.",
        "The problem is one of MCBO; random search has about 20.",
        (
            Entry(
                "Ackley, 20 x 11 choices",
                problems.categorical_ackley,
                200,
                "random about 20",
                8.0,
                shown=float,
            ),
        ),
    )


def _labs() -> Group:
    def entry(budget: int) -> Entry:
        return Entry(
            "LABS, 50 elements", partial(problems.labs, 50), budget, "optimum 8.17", None, shown=merit_factor
        )

    return Group(
        "Low autocorrelation binary sequences",
        "`labs(50)`, as the merit factor n² / (2 energy): larger is better. To be ahead of every other "
        "optimizer.",
        "The optimum: Packebusch & Mertens, “Low autocorrelation binary sequences”, J. Phys. A 49 (2016).",
        (entry(500), entry(5_000)),
    )


def _ehrlich() -> Group:
    def entry(shape: tuple[int, ...], budget: int, others: str, goal: float) -> Entry:
        length, n_motifs, size, n_letters = shape
        label = f"Ehrlich, length {length}, {n_motifs} x {size}, {n_letters} letters"
        return Entry(label, partial(problems.ehrlich, *shape), budget, others, goal, shown=negated)

    return Group(
        "Ehrlich functions",
        "`ehrlich`: strings with hidden motifs under a hidden grammar, larger is better. A string that "
        "breaks the grammar is a failed evaluation. Ten strings that obey it come with the problem and "
        "count. Value at the budget.",
        "Best averages of the benchmark *hdbo_benchmark* (González-Duque et al., “A survey and benchmark "
        "of high-dimensional Bayesian optimization of discrete sequences”, 2024). The instances here are "
        "drawn anew from the definition of Stanton et al. (2024).",
        (
            entry((15, 2, 5, 20), 310, "Turbo 0.480", 0.6),
            entry((25, 1, 25, 5), 310, "Bounce 1.000", 1.0),
            entry((64, 4, 10, 20), 1_300, "Turbo 0.124", 0.2),
        ),
    )


def _quadratic() -> Group:
    def entry(n: int, budget: int, goal: int) -> Entry:
        return Entry(f"bqp{n}", quadratic, budget, "optima known", goal, slowest=budget, file=f"bqp{n}.txt")

    return Group(
        "Quadratic programs of OR-Library",
        "`bqp`: the ten instances of each of Beasley's files `bqp50` and `bqp100` as black boxes; seed i "
        "has the instance at place i. Evaluations to the optimum; all have to be solved.",
        "Beasley, “Heuristic algorithms for the unconstrained binary quadratic programming problem” "
        "(1998). The optima found by integer programming are those of the literature (Biq Mac library).",
        (entry(50, 5_000, 500), entry(100, 30_000, 3_000)),
    )


def _planted() -> Group:
    return Group(
        "Planted satisfiability and colouring",
        "`max_sat(50)` with 4.2 clauses per variable and all seven sign patterns, and `graph_colouring(40, "
        "3)` with a mean degree of 4. Evaluations to the optimum.",
        "No figure of others: goals for the strategy.",
        (
            Entry("planted 3-SAT, 50 variables", partial(problems.max_sat, 50), 5_000, "none", 1_000),
            Entry("3-colouring, 40 vertices", partial(problems.graph_colouring, 40, 3), 5_000, "none", 600),
        ),
    )


def groups() -> tuple[Group, ...]:
    """Return all rows by kind.

    >>> groups()[0].entries[0].label
    'HIFF, 64 bits'
    """
    return (
        *(_hiff(), _p3(), _trap(), _ackley(), _clauses(), _pests()),
        *(_nominal(), _labs(), _ehrlich(), _quadratic(), _planted()),
    )
