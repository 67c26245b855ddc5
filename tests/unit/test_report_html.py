"""The report as a file: what is in it, that nothing of the user's is markup, that it needs nothing else."""

import base64
import hashlib
import json
import math
import re
from html.parser import HTMLParser

import numpy as np
import pytest

import dcmaes as dc
from dcmaes.report import render_html, write_html

EVIL = (
    "</script><script>window.evil=1</script><!--<img src=x onerror=window.evil=1>&amp;\u2028'\"`${x}{{data}}"
)


class Elements(HTMLParser):
    """The start tags of a page, and the text inside its scripts."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.scripts = [], []
        self._is_in_script = False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self._is_in_script = tag == "script"
        if self._is_in_script:
            self.scripts.append("")

    def handle_endtag(self, tag):
        self._is_in_script = False

    def handle_data(self, data):
        if self._is_in_script:
            self.scripts[-1] += data


def data_of(text):
    return json.loads(Elements(text).scripts[0])


def evil_run(**options):
    space = dc.Space({EVIL: dc.Categorical([EVIL, "plain"]), "n": dc.Integer(0, 9)})

    def objective(point):
        if point[EVIL] == EVIL:
            raise ValueError(EVIL)
        return point["n"]

    return dc.minimize(objective, space, budget=20, seed=0, **options)


def test_nothing_of_the_user_is_markup():
    result = evil_run()
    text = render_html(result, title=EVIL, outputs=dict.fromkeys(result.history.ids.tolist(), EVIL))
    plain = render_html(dc.minimize(sum, dc.Space.binary(3), budget=4, seed=0))
    page, harmless = Elements(text), Elements(plain)
    assert [tag for tag, _ in page.tags] == [tag for tag, _ in harmless.tags]
    assert page.scripts[1] == harmless.scripts[1]
    assert "onerror" not in re.sub(r'<script type="application/json".*?</script>', "", text).replace(
        "&lt;img src=x onerror", ""
    )
    assert not set("<>&\u2028") & set(page.scripts[0])
    data = json.loads(page.scripts[0])
    assert data["title"] == EVIL
    assert set(data["table"]["reasons"].values()) == {f"ValueError: {EVIL}"}
    assert data["table"]["outputs"]["0"] == EVIL
    assert data["table"]["variables"][0]["name"] == EVIL


def test_only_the_script_and_the_style_of_the_page_are_allowed():
    text = render_html(evil_run())
    page = Elements(text)
    (policy,) = [a["content"] for _, a in page.tags if a.get("http-equiv") == "Content-Security-Policy"]
    digest = base64.b64encode(hashlib.sha256(page.scripts[1].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy


def test_the_file_needs_nothing_else():
    text = render_html(dc.minimize(sum, dc.Space.binary(3), budget=8, seed=0))
    page = Elements(text)
    for tag, attributes in page.tags:
        assert not {"src", "srcset", "data", "action"} & attributes.keys(), tag
        assert attributes.get("href", "#").startswith("#")
    addresses = set(re.findall(r"https?://[^\s\"'<>]+", text))
    assert addresses == {"http://www.w3.org/2000/svg"}  # a name, not an address
    assert not re.search(r"@import|url\((?!#)|fetch\(|XMLHttpRequest|import\(|innerHTML|eval\(", text)


def test_the_table_has_every_evaluation():
    space = dc.Space(
        {
            "n": dc.Integer(-5, 5),
            "huge": dc.Integer(2**60, 2**60 + 99),
            "f": dc.Float(0, 1),
            "c": dc.Categorical(["b", "a"]),
            "o": dc.Ordinal([16, 32]),
            "b": dc.Binary(),
        }
    )

    def objective(point):
        return dc.Outcome(point["n"], max(0, point["n"])) if point["b"] else math.nan

    result = dc.maximize(objective, space, budget=50, seed=0, strategy="random")
    table = data_of(render_html(result))["table"]
    columns = {column["name"]: column for column in table["variables"]}
    for i, record in enumerate(result.history):
        assert table["status"][i] == ["ok", "infeasible", "failed"].index(record.status)
        assert table["value"][i] == (None if math.isnan(record.value) else record.value)
        assert table["violation"][i] == (None if math.isinf(record.violation) else record.violation)
        assert columns["n"]["number"][i] == record.point["n"]
        assert columns["f"]["number"][i] == float(f"{record.point['f']:.6g}")
        for name in ("huge", "c", "o", "b"):
            assert columns[name]["labels"][columns[name]["which"][i]] == str(record.point[name])
    assert data_of(render_html(result))["summary"]["direction"] == "maximize"


def test_the_best_point_can_be_copied_exactly():
    space = dc.Space({"f": dc.Float(0, 1), "c": dc.Categorical(["a", "b"])})
    result = dc.minimize(lambda p: (p["f"] - 1 / 3) ** 2, space, budget=30, seed=0)
    assert json.loads(data_of(render_html(result))["summary"]["copy"]) == result.x
    array = dc.minimize(sum, dc.Space.integers(3, 0, 9), budget=30, seed=0)
    np.testing.assert_array_equal(json.loads(data_of(render_html(array))["summary"]["copy"]), array.x)


def test_choices_that_are_no_plain_data():
    space = dc.Space({"f": dc.Categorical([len, max, "</script>"])})
    result = dc.minimize(lambda p: p["f"] is len, space, budget=3, seed=0)
    data = data_of(render_html(result))
    assert "<built-in function len>" in data["table"]["variables"][0]["labels"]
    assert data["reproduction"]["space"].startswith("Space(")


def test_failures_are_grouped_by_their_first_line():
    reasons = iter(["a\n1", "b", "a\n2", "", "a\n3"])

    def objective(point):
        raise ValueError(next(reasons))

    result = dc.minimize(objective, dc.Space.integers(2, 0, 9), budget=5, seed=0)
    failures = data_of(render_html(result))["failures"]
    assert [group["evaluations"] for group in failures] == [[0, 2, 4], [1], [3]]
    assert failures[0]["reason"] == "ValueError: a"


def test_long_outputs_keep_their_beginning_and_end():
    result = dc.minimize(sum, dc.Space.binary(3), budget=2, seed=0)
    data = data_of(render_html(result, outputs={0: "begin" + "x" * 10**6 + "end"}))
    output = data["table"]["outputs"]["0"]
    assert len(output) < 21_000
    assert output.startswith("begin")
    assert output.endswith("end")
    assert "980008 characters left out" in output


def test_of_many_values_the_marks_are_thinned_but_not_the_steps():
    result = dc.minimize(sum, dc.Space.integers(5, 0, 99), budget=5000, seed=0, strategy="random")
    chart = data_of(render_html(result))["charts"]["convergence"]
    assert chart["n"] == 5000
    assert len(chart["index"]) + chart["n_left_out"] == 5000
    assert len(chart["index"]) <= 2000 + len(chart["steps"])
    assert chart["best"][-1] == result.fun
    assert set(chart["steps"]) <= set(chart["index"])


def test_a_stored_run_has_workers_times_settings_and_tracebacks(tmp_path):
    def objective(point):
        if point[0] == 3:
            raise ValueError("three")
        return float(point.sum())

    path = tmp_path / "run.db"
    result = dc.minimize(objective, dc.Space.integers(3, 0, 4), budget=40, seed=7, store=path)
    assert result.n_failures > 0
    data = data_of(render_html(dc.store.read(path)))
    assert data["summary"]["value"] == result.fun
    assert data["summary"]["message"] == result.message
    assert len(data["table"]["worker"]["which"]) == 40
    assert len(data["charts"]["timeline"]["lanes"]) == 1
    assert data["charts"]["timeline"]["n_untimed"] == 0
    assert all(seconds >= 0.0 for seconds in data["table"]["seconds"])
    assert data["reproduction"]["settings"]["seed"] == "7"
    assert data["reproduction"]["settings"]["budget"] == "40"
    assert data["reproduction"]["versions"]["dcmaes"] == dc.__version__
    first = data["failures"][0]["evaluations"][0]
    assert "Traceback" in data["table"]["outputs"][str(first)]
    named = data_of(render_html(dc.store.read(path), outputs={first: "printed"}))
    assert named["table"]["outputs"][str(first)].startswith("printed\n\nTraceback")


def test_a_run_that_goes_on_and_one_that_was_broken_off(tmp_path):
    path = tmp_path / "run.db"
    optimizer = dc.Optimizer(dc.Space.integers(3, 0, 9), budget=40, seed=0, store=path)
    trials = optimizer.ask(4)
    optimizer.tell(trials[:1], [1.0])
    summary = data_of(render_html(dc.store.read(path)))["summary"]
    assert (summary["is_running"], summary["n_pending"], summary["stop_reason"]) == (True, 3, None)
    optimizer.close()
    summary = data_of(render_html(dc.store.read(path)))["summary"]
    assert (summary["is_running"], summary["stop_reason"]) == (False, None)


def test_the_space_can_be_read_back():
    space = dc.Space({"lr": dc.Float(1e-5, 1e-1, log=True), "c": dc.Categorical(["a", None, 3])})
    result = dc.minimize(lambda p: p["lr"], space, budget=3, seed=0)
    assert dc.Space.from_dict(json.loads(data_of(render_html(result))["reproduction"]["space"])) == space


def test_the_command_repeats_the_run(tmp_path):
    space = dc.Space({"lr": dc.Float(1e-5, 1e-1, log=True), "c": dc.Categorical(["a", None, 3])})

    def objective(point):
        return point["lr"] + (point["c"] == "a")

    path = tmp_path / "run.db"
    result = dc.maximize(objective, space, budget=12, seed=3, strategy="cma", target=0.9, store=path)
    for source in (result, dc.store.read(path)):
        names = {"objective": objective}
        exec(data_of(render_html(source))["reproduction"]["command"], names)  # noqa: S102 - made here
        np.testing.assert_array_equal(names["result"].history.values, result.history.values)
    assert "target=0.9" in data_of(render_html(dc.store.read(path)))["reproduction"]["command"]
    told = data_of(render_html(result, command="dcmaes minimize spec.toml"))["reproduction"]["command"]
    assert told == "dcmaes minimize spec.toml"
    with pytest.raises(TypeError, match="command must be a string or None, got 3"):
        render_html(result, command=3)


@pytest.mark.parametrize("n_told", [0, 1])
def test_hardly_any_evaluations(n_told):
    optimizer = dc.Optimizer(dc.Space.binary(3), budget=3, seed=0)
    if n_told:
        optimizer.tell(optimizer.ask(1), [1.0])
    summary = data_of(render_html(optimizer.result()))["summary"]
    assert summary["n"] == n_told
    assert summary["stop_reason"] is None
    assert (summary["point"] is None) == (n_told == 0)


def test_a_file_is_replaced(tmp_path):
    result = dc.minimize(sum, dc.Space.binary(3), budget=4, seed=0)
    path = tmp_path / "report.html"
    path.write_text("x" * 10**6)
    assert write_html(result, path, title="a \ud800 title") == path
    assert path.read_text(encoding="utf-8").endswith("</html>\n")
    with pytest.raises(TypeError, match="title must be a string, got 3"):
        write_html(result, path, title=3)
