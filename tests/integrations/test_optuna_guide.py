"""The tables in the guide are those that the benchmark wrote, and say what the text claims."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["optuna_own_time", "optuna_branches"])
def test_the_tables_are_the_measured_ones(name):
    measured = (ROOT / "benchmarks" / "results" / f"{name}.txt").read_text()
    assert f"\n\n{measured}" in (ROOT / "docs" / "guides" / "optuna.md").read_text()


def test_a_trial_costs_less_than_with_tpe():
    measured = (ROOT / "benchmarks" / "results" / "optuna_own_time.txt").read_text()
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in measured.splitlines()
        if "Sampler" in line
    ]
    spent = {(row[0], row[1]): float(row[3]) for row in rows if len(row) == 5}
    for d in ("10", "50", "100"):
        assert spent["DcmaesSampler", d] < spent["TPESampler(multivariate=True)", d]
