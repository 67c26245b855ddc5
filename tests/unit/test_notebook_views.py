"""What notebooks show of spaces, histories and results, and how an optimizer introduces itself."""

from __future__ import annotations

from html.parser import HTMLParser

import dcmaes as dc

SPACE = dc.Space(
    {
        "act": dc.Categorical(["<script>alert(1)</script>", "b & c"]),
        "n": dc.Integer(0, 90, step=10),
        "lr": dc.Float(1e-5, 1e-1, log=True),
        "hour": dc.Integer(0, 23, periodic=True),
        "norm": dc.Binary(),
    }
)


class Cells(HTMLParser):
    """The cells of all rows, and whether every tag that was opened is closed."""

    def __init__(self, page):
        super().__init__()
        self.rows, self.captions, self.open = [], [], []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        assert tag in ("table", "caption", "tr", "th", "td")
        assert not attributes
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("th", "td"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1] == "caption":
            self.captions.append(data)
        else:
            self.rows[-1][-1] += data


def test_a_space_is_a_table_of_its_variables():
    shown = Cells(SPACE._repr_html_())
    assert shown.captions == ["Space of 5 variables, infinitely many points"]
    assert shown.rows == [
        ["name", "type", "values"],
        ["act", "Categorical", "'<script>alert(1)</script>', 'b & c'"],
        ["n", "Integer", "0 to 90 in steps of 10"],
        ["lr", "Float", "1e-05 to 0.1, log"],
        ["hour", "Integer", "0 to 23, periodic"],
        ["norm", "Binary", "False, True"],
    ]


def test_a_large_space_is_cut_short():
    shown = Cells(dc.Space.binary(100)._repr_html_())
    assert shown.captions == ["Space of 100 variables, 1.26765e+30 points"]
    assert shown.rows[-2:] == [["59", "Binary", "False, True"], ["…", "", "40 more"]]


def test_a_history_shows_its_first_and_last_evaluations():
    opt = dc.Optimizer(SPACE, budget=30, seed=0, strategy="random")
    opt.tell(trials := opt.ask(30), [float(trial.id) for trial in trials])
    shown = Cells(opt.history._repr_html_())
    assert shown.captions == ["30 evaluations"]
    assert shown.rows[0] == ["id", "act", "n", "lr", "hour", "norm", "value", "violation", "status"]
    assert [row[0] for row in shown.rows[1:]] == ["0", "1", "2", "3", "4", "…", "25", "26", "27", "28", "29"]
    assert shown.rows[-1][-3:] == ["29", "0", "ok"]
    assert {row[1] for row in shown.rows[1:]} <= {*SPACE.variables[0].choices, "…"}


def test_histories_short_wide_and_empty():
    opt = dc.Optimizer(dc.Space.binary(20), budget=3, seed=0)
    assert Cells(opt.history._repr_html_()).captions == ["0 evaluations"]
    opt.tell(opt.ask(3), [1.0, 2.0, 3.0])
    rows = Cells(opt.history._repr_html_()).rows
    assert [row[0] for row in rows] == ["id", "0", "1", "2"]
    assert rows[0][12:14] == ["x11", "…"]
    assert rows[1][13] == "8 more"


def test_a_result_shows_what_its_repr_says_and_the_best_point():
    result = dc.minimize(lambda p: p["n"] + p["lr"], SPACE, budget=20, seed=0, strategy="random")
    shown = Cells(result._repr_html_())
    assert shown.captions == ["Result", "Best point"]
    texts = dict(row for row in shown.rows if len(row) == 2)
    assert texts["fun"] == f"{result.fun:.10g}"
    assert texts["message"] == "budget of 20 evaluations used"
    assert texts["n"] == str(result.x["n"])
    assert texts["act"] == result.x["act"]
    assert "       fun: " in repr(result)


def test_a_result_without_a_point():
    result = dc.Optimizer(SPACE, budget=20).result()
    assert Cells(result._repr_html_()).captions == ["Result"]


def test_an_optimizer_says_how_far_it_is():
    opt = dc.Optimizer(SPACE, budget=3, seed=0, strategy="random")
    search = "<Optimizer of 5 variables by random"
    assert repr(opt) == f"{search}: 0 of 3 evaluations told, 0 out, nothing found yet>"
    trials = opt.ask(3)
    opt.tell(trials[0], 0.25)
    assert repr(opt) == f"{search}: 1 of 3 evaluations told, 2 out, best value 0.25>"
    opt.tell(trials[1:], [1.0, 2.0])
    told = "3 of 3 evaluations told, 0 out, best value 0.25"
    assert repr(opt) == f"{search}: {told}; over: budget of 3 evaluations used>"
