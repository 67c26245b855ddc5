"""Several objectives on the command line."""

import csv
import io
import json
from pathlib import Path

import pytest
from command_line import run

from dcmaes.cli._spec import parse_spec
from dcmaes.cli._toml import SpecError

SPACE = """
[space]
n = { type = "integer", low = 0, high = 20 }
flag = { type = "binary" }
"""
SPEC = (
    """
command = ["sh", "-c", 'echo "cost=$1 gain=$(( ($1 - 10) * ($1 - 10) )) fine=$2"', "sh", "{n}", "{flag?1}"]
budget = 30
seed = 3
[objectives]
cost = { value = { regex = 'cost=(\\d+)' } }
gain = { value = { regex = 'gain=(\\d+)' }, direction = "minimize" }
"""
    + SPACE
)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("tune.toml").write_text(SPEC)
    return tmp_path


def test_a_program_with_two_values():
    printed = run("minimize", "tune.toml", "-q").stdout
    assert "front       11 points, the knee marked with *" in printed
    front = json.loads(run("best", "tune.db", "--front").stdout)
    assert [entry["value"] for entry in front] == [
        {"cost": float(n), "gain": float((n - 10) ** 2)} for n in range(11)
    ]
    best = json.loads(run("best", "tune.db").stdout)
    assert best["value"]["gain"] == (best["value"]["cost"] - 10) ** 2
    assert "points on the front" in run("status", "tune.db", "--once").stdout
    rows = list(csv.DictReader(io.StringIO(run("export", "tune.db", "--csv", "-").stdout)))
    assert {float(row["gain"]) for row in rows} == {(float(row["cost"]) - 10) ** 2 for row in rows}
    assert "value" not in rows[0]
    data = json.loads(run("export", "tune.db", "--json", "-").stdout)
    assert data[0]["value"] == {name: float(rows[0][name]) for name in ("cost", "gain")}


def test_a_run_goes_on_with_its_objectives():
    run("minimize", "tune.toml", "-q", "--budget", 8)
    found = json.loads(run("resume", "tune.db", "-q", "--json", "--budget", 30).stdout)
    assert found["n_evaluations"] == 30
    assert len(found["front"]) == 11


def test_a_function_returns_a_dict(folder):
    (folder / "own.py").write_text("def both(point):\n    return {'a': point['n'], 'b': -point['n']}\n")
    text = 'objective = "own:both"\nbudget = 42\n[objectives]\na = "minimize"\nb = "maximize"\n' + SPACE
    Path("own.toml").write_text(text)
    found = json.loads(run("minimize", "own.toml", "-q", "--json").stdout)
    assert [entry["point"]["n"] for entry in found["front"]] == [0]
    assert "own:both" in run("check", "own.toml").stdout


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (
            'direction = "minimize" }',
            'direction = "down" }',
            "direction must be one of",
        ),
        ("budget = 30", 'budget = 30\ndirection = "minimize"', "direction is for one objective"),
        ("budget = 30", 'budget = 30\nvalue = "last-number"', "value is for one objective"),
        ("cost = { value = { regex = 'cost=(\\d+)' } }\n", "", "at least 2 objectives; for one, .* got 1"),
        ("cost = { value = { regex = 'cost=(\\d+)' } }", 'cost = "minimize"', "say where its value is"),
        ("cost = {", "value = {", "'value' is a column of the history"),
        ("'cost=(\\d+)' }", "'cost=(\\d+)' }, unit = 3", "'unit' is not a key here"),
        ("'cost=(\\d+)' }", "'cost=(\\d+)' }, reference = 9", "reference must be there for all"),
        ("'cost=(\\d+)'", "'cost=('", "is no regular expression"),
        ("[objectives]", 'strategy = "cma"\n[objectives]', "toml:5: .*'cma' searches for one"),
        ("[objectives]", "target = 3\n[objectives]", "toml:5: target is a hypervolume .* there is none"),
    ],
)
def test_mistakes_name_their_key(before, after, message):
    assert SPEC.count(before) == 1
    with pytest.raises(SpecError, match=message):
        parse_spec(SPEC.replace(before, after), Path("tune.toml"))


def test_a_strategy_for_one_objective_is_refused_as_an_option():
    assert "'cma' searches for one" in run("minimize", "tune.toml", "-q", "--strategy", "cma", code=2).output


def test_noisy_values_are_averaged():
    text = SPEC.replace(
        'echo "cost=$1',
        'n=$(cat count 2>/dev/null || echo 0); echo $((n + 1)) > count; echo "cost=$(( $1 + n % 3 ))',
    )
    Path("tune.toml").write_text(text.replace("budget = 30", 'budget = 60\nduplicates = "reevaluate"'))
    front = json.loads(run("minimize", "tune.toml", "-q", "--json").stdout)["front"]
    rows = list(csv.DictReader(io.StringIO(run("export", "tune.db", "--csv", "-").stdout)))
    n_repeated = 0
    for entry in front:
        told = [
            float(row["cost"])
            for row in rows
            if (int(row["n"]), row["flag"] == "True") == (entry["point"]["n"], entry["point"]["flag"])
        ]
        assert entry["value"]["cost"] == pytest.approx(sum(told) / len(told))
        n_repeated += len(set(told)) > 1
    assert n_repeated > 0


def test_target_and_reference():
    text = SPEC.replace("budget = 30", "budget = 30\ntarget = 500")
    text = text.replace("(\\d+)' } }", "(\\d+)' }, reference = 20 }")
    text = text.replace('direction = "minimize" }', 'direction = "minimize", reference = 100 }')
    Path("tune.toml").write_text(text)
    found = json.loads(run("minimize", "tune.toml", "-q", "--json").stdout)
    assert found["stop_reason"] == "target"
    assert found["message"].startswith("target hypervolume 500 reached")
