"""The examples run as a user would run them, without a warning, and do what they say."""

import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(name, folder):
    """Return what an example prints, run in `folder`, which it must leave empty."""
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / name)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert list(folder.iterdir()) == []
    return done.stdout


def number_after(label, text):
    return float(re.search(re.escape(label) + r"\s*(-?[\d.]+)", text).group(1))


def tuning_helps(text):
    return number_after("tuned:", text) < number_after("default:", text) / 4


def features_are_found(text):
    return len({"3", "8", "13", "21", "30", "37"} & set(re.findall(r"\d+", text.split("chosen:")[1]))) >= 5


def run_is_carried_on(text):
    return "saved after 10 experiments, 5 of them pending" in text and number_after("yield", text) > 95


def schedule_is_better(text):
    return number_after("found:", text) < number_after("in turn, by due date:", text) / 2


def pairs_are_known(text):
    is_exact = "61 of 61 known, 0 mistaken" in text
    return is_exact and number_after("found:", text) < number_after("at random:", text) / 4


def van_is_full(text):
    found, best = number_after("found:", text), number_after("best possible:", text)
    return 0.95 * best < found <= best


def layout_is_better(text):
    return number_after("found:", text) > 1.2 * number_after("every second site:", text)


def clinic_is_cheaper(text):
    found = number_after("found:", text)
    is_cheaper = found < 0.7 * number_after("three nurses in every shift:", text)
    return is_cheaper and abs(number_after("estimated during the run:", text) - found) < 0.2 * found


def code_is_smaller(text):
    return number_after("found:", text) < number_after("-Os:", text) < number_after("-O2:", text)


def front_is_better(text):
    simple, found = number_after("per weight:", text), number_after("found:", text)
    return number_after("front:", text) >= 20 and found > 1.05 * simple


CLAIMS = {
    "pack_for_a_trek.py": front_is_better,
    "site_turbines.py": layout_is_better,
    "staff_a_clinic.py": clinic_is_cheaper,
    "tune_compiler.py": code_is_smaller,
    "load_a_van.py": van_is_full,
    "assign_frequencies.py": pairs_are_known,
    "tune_model.py": tuning_helps,
    "select_features.py": features_are_found,
    "own_loop.py": run_is_carried_on,
    "schedule_jobs.py": schedule_is_better,
}


PROGRAMS = {"tune_compiler.py": ["gcc", "size"]}


@pytest.mark.parametrize("name", CLAIMS)
def test_example(name, tmp_path):
    missing = [program for program in PROGRAMS.get(name, []) if shutil.which(program) is None]
    if missing:
        pytest.skip(f"{name} needs the programs {missing}")
    text = run(name, tmp_path)
    assert CLAIMS[name](text), text


def test_every_example_has_a_claim():
    assert {path.name for path in EXAMPLES.glob("*.py")} <= set(CLAIMS)


def test_every_example_of_the_gallery_is_run_and_has_its_picture_and_output():
    gallery = (EXAMPLES.parent / "docs" / "gallery.md").read_text(encoding="utf-8")
    names = re.findall(r"^!\[[^\]]+\]\(gallery/(\w+)\.png\)$", gallery, re.MULTILINE)
    assert len(names) == 6
    for name in names:
        assert f"{name}.py" in CLAIMS
        assert f"`examples/{name}.py` is the whole script" in gallery
        for ending in ("png", "txt"):
            assert (EXAMPLES.parent / "docs" / "gallery" / f"{name}.{ending}").is_file()


def test_subcommands_are_tuned_with_their_own_options(tmp_path):
    shutil.copytree(EXAMPLES / "tune-subcommands", tmp_path, dirs_exist_ok=True)
    programs = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    arguments = {"cwd": tmp_path, "env": {**os.environ, **programs}, "capture_output": True, "text": True}

    def dcmaes(*command):
        return subprocess.run([sys.executable, "-m", "dcmaes", *command], check=True, **arguments).stdout

    dcmaes("minimize", "tune.toml", "--quiet")
    found = json.loads(dcmaes("best", "tune.db"))
    greedy = subprocess.run([sys.executable, "tour.py", "greedy"], check=True, **arguments).stdout
    assert found["value"] < 0.92 * number_after("length", greedy)
    options = {"anneal": {"heat", "cooling", "moves", "reheat"}, "climb": {"kick"}}
    point = found["point"]
    assert set(point) - {"every"} == {"method", *options[point["method"]]}
    rows = list(csv.DictReader(io.StringIO(dcmaes("export", "tune.db", "--csv", "-"))))
    assert {row["status"] for row in rows} == {"ok"}
    assert all((row["kick"] != "") == (row["method"] == "climb") for row in rows)
