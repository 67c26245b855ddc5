"""What the commands say of a stored run: its best point, its status, tables and reports."""

import csv
import io
import json
import sys
from pathlib import Path

import pytest
from command_line import run


def test_best(stored):
    result = stored.result()
    assert json.loads(run("best", "tune.db").stdout)["point"] == result.x
    assert float(run("best", "tune.db", "--value").stdout) == result.fun
    assert json.loads(run("best", "tune.db", "--point").stdout) == result.x
    command = run("best", "tune.db", "--command").stdout
    assert command.startswith("sh -c ")
    assert str(result.x["n"]) in command


def test_status_as_json(stored):
    data = json.loads(run("status", "tune.db", "--json").stdout)
    assert (data["is_running"], data["n_told"], data["budget"]) == (False, 24, 24)
    assert data["best"]["value"] == stored.result().fun
    values = [record.value for record in stored.history]
    assert data["best_number"] == values.index(stored.result().fun) + 1
    assert data["pending"] == []


def test_export(stored):
    run("export", "tune.db", "--csv", "all.csv", "--json", "all.json")
    rows = list(csv.DictReader(Path("all.csv").read_text().splitlines()))
    assert [int(row["id"]) for row in rows] == stored.history.ids.tolist()
    assert [row["mode"] for row in rows] == [point["mode"] for point in stored.history.points]
    assert [row["status"] for row in rows] == stored.history.statuses.tolist()
    records = json.loads(Path("all.json").read_text())
    assert [record["point"] for record in records] == stored.history.points
    assert [record["value"] is None for record in records] == [row["value"] == "nan" for row in rows]
    assert run("export", "tune.db", "--csv", "-").stdout == Path("all.csv").read_text()
    assert "cannot be written" in run("export", "tune.db", "--csv", "no/such/file", code=2).stderr


def test_export_to_parquet(stored):
    pytest.importorskip("pyarrow")
    run("export", "tune.db", "--parquet", "all.parquet")
    import pandas

    assert pandas.read_parquet("all.parquet")["value"].notna().any()


def test_export_to_parquet_without_its_package(stored, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "fastparquet", None)
    assert "dcmaes[parquet]" in run("export", "tune.db", "--parquet", "all.parquet", code=2).stderr


def test_report_has_the_output_of_failures(stored):
    run("report", "tune.db", "--html", "out.html", "--title", "A <b> title")
    text = Path("out.html").read_text()
    assert "A &lt;b&gt; title" in text
    assert "value 81" in text or "value 0" in text
    seed = stored.settings["seed"]
    assert f"dcmaes minimize tune.toml --seed {seed} --budget 24 --strategy auto --no-store" in text
    Path("tune.toml").rename("elsewhere.txt")
    run("report", "tune.db", "--html", "out.html")
    assert "dc.minimize(objective, space, budget=24" in Path("out.html").read_text()
    assert "cannot be written" in run("report", "tune.db", "--html", "no/such/file.html", code=2).stderr


def test_no_time_at_all(stored):
    result = run("resume", "tune.db", "--budget", 50, "--time-limit", 0, "--quiet", "--json")
    assert json.loads(result.stdout)["n_evaluations"] == 24


def test_csv_is_written_as_it_is_read(stored):
    from dcmaes.cli._answers import write_csv

    file = io.StringIO()
    write_csv(stored.history, file)
    nasty = [row["mode"] for row in csv.DictReader(io.StringIO(file.getvalue()))]
    assert 'it\'s $(touch pwned); `x` "q"' in nasty
