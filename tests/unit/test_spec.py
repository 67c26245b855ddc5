"""Specification files: what they mean, and that every mistake names its key and line."""

import re
from pathlib import Path

import pytest
from specifications import GOOD, parse, with_line

import dcmaes as dc
from dcmaes.cli._program import JsonKey, LastMatch, LastNumber
from dcmaes.cli._spec import read_spec
from dcmaes.cli._toml import SpecError, key_lines


def test_the_space_is_that_of_the_library():
    expected = dc.Space(
        {
            "lr": dc.Float(1e-5, 1e-1, log=True),
            "layers": dc.Integer(1, 8),
            "act": dc.Categorical(["relu", "gelu"]),
            "norm": dc.Binary(),
        }
    )
    assert parse(GOOD).space == expected


def test_what_is_known_of_variables():
    text = GOOD.replace("high = 8 }", "high = 8, default = 3 }")
    text = text.replace('["relu", "gelu"] }', '["relu", "gelu"], default = "gelu", prior = [1, 3] }')
    space = parse(text).space
    assert space.default == {"lr": pytest.approx(1e-3), "layers": 3, "act": "gelu", "norm": False}
    assert space.variables[2].prior == (0.25, 0.75)


def test_defaults(tmp_path):
    spec = parse(GOOD, tmp_path)
    assert (spec.direction, spec.workers, spec.store) == ("minimize", 1, tmp_path / "tune.db")
    assert spec.settings["budget"] == 200
    assert spec.settings["seed"] is None
    assert isinstance(spec.command.value, LastNumber)
    assert spec.command.success_codes == (0,)


def test_all_settings(tmp_path):
    (tmp_path / "work").mkdir()
    text = """
command = "prog '{lr} {lr:.2f}' {{x}}"
value = { regex = "loss=(.*)", stream = "stderr" }
violation = { json = "out-{trial}.json", key = "a.0.b" }
direction = "maximize"
workers = 4
time_limit = "1h30m"
evaluation_timeout = 20
target = 3
seed = 7
strategy = "random"
duplicates = "reevaluate"
on_error = "raise"
batch_size = 8
store = "runs/x.db"
folder = "work"
own_folder = true
retries = 2
success_codes = [0, 3]
infeasible_codes = 4
keep = "failed"
output_limit = 5000
environment = { RATE = "{lr}" }
constraints = ["lr + 1 <= 3", "math:fsum"]
x0 = [{ lr = 0.5 }]
[space.lr]
type = "float"
low = 0
high = 1
"""
    spec = parse(text, tmp_path)
    command = spec.command
    assert command.fill({"lr": 0.25}) == ["prog", "0.25 0.25", "{x}"]
    assert isinstance(command.value, LastMatch)
    assert command.value.stream == "stderr"
    assert isinstance(command.violation, JsonKey)
    assert command.violation.key == ("a", "0", "b")
    assert (spec.settings["time_limit"], spec.timeout, command.timeout) == (5400.0, 20.0, 20.0)
    assert spec.settings["x0"] == [{"lr": 0.5}]
    assert [round(c({"lr": 3.0}), 6) for c in spec.settings["constraints"][:1]] == [1.0]
    assert command.folder == (tmp_path / "work").resolve()
    assert (command.success_codes, command.infeasible_codes) == ((0, 3), (4,))
    assert command.environment["RATE"].fill({"lr": 0.5}) == "0.5"
    assert spec.store == tmp_path / "runs/x.db"


@pytest.mark.parametrize("text", ["prog '|' {lr}", 'prog "a;b" {lr}', "prog # {lr}", "prog a\\;b {lr}"])
def test_quoted_operators_are_arguments(text):
    spec = parse(f"command = '''{text}'''\n{GOOD.partition(chr(10))[2]}")
    assert len(spec.command.arguments) == 3


def test_positional_spaces_are_for_functions():
    space = "[[space.array]]\ntype = 'binary'\nrepeat = 3\n"
    assert parse(f"objective = 'm:f'\n{space}").space == dc.Space.binary(3)
    with pytest.raises(SpecError, match="needs variables with names"):
        parse(f"command = 'm'\n{space}")


def test_windows_line_ends(tmp_path):
    (tmp_path / "tune.toml").write_bytes(with_line("workers = 0").replace("\n", "\r\n").encode())
    with pytest.raises(SpecError, match=r"tune\.toml:3: workers"):
        read_spec(tmp_path / "tune.toml")


def test_functions_are_found_beside_the_file(tmp_path):
    (tmp_path / "my_objective_module.py").write_text("def f(point):\n    return point['a'] * 2\n\nx = 3\n")
    text = "objective = 'my_objective_module:{}'\n[space]\na = {{type = 'binary'}}"
    assert parse(text.format("f"), tmp_path).load_objective()({"a": 2}) == 4
    with pytest.raises(SpecError, match="'g' is not in"):
        parse(text.format("g"), tmp_path).load_objective()
    with pytest.raises(SpecError, match="is not a function"):
        parse(text.format("x"), tmp_path).load_objective()


LINES = '''\
a = 1 # [x]
"b c" = """
d = 5
""\\"
""" # e
f.g = 'h # i'
j = [ # k = 3
  1, "]",
  { l = 2,
    m = [3] },
]
[n.o]
p = {q = "}", r = 4}
[[s]]
t = 1
[[s]]
t = 2
[s.u]
v = \'\'\'w\'\'\'
'''


def test_lines_of_keys():
    lines = key_lines(LINES)
    expected = {
        ("a",): 1,
        ("b c",): 2,
        ("f", "g"): 6,
        ("j",): 7,
        ("j", 0): 8,
        ("j", 1): 8,
        ("j", 2): 9,
        ("j", 2, "l"): 9,
        ("j", 2, "m", 0): 10,
        ("n", "o"): 12,
        ("n", "o", "p", "r"): 13,
        ("s",): 14,
        ("s", 0, "t"): 15,
        ("s", 1): 16,
        ("s", 1, "t"): 17,
        ("s", 1, "u"): 18,
        ("s", 1, "u", "v"): 19,
    }
    assert {key: lines.get(key) for key in expected} == expected
    assert ("d",) not in lines
    assert not any("k" in key or "e" in key for key in lines)


def test_every_key_of_the_error_table_is_in_the_guide():
    guide = Path(__file__).parents[2] / "docs" / "guides" / "command-line.md"
    if not guide.exists():
        pytest.skip("the guide is not part of this installation")
    from dcmaes.cli._objective_spec import COMMAND_KEYS
    from dcmaes.cli._spec import GENERAL_KEYS

    described = set(re.findall(r"^\| `(\w+)`", guide.read_text(encoding="utf-8"), re.MULTILINE))
    assert {*GENERAL_KEYS, *COMMAND_KEYS} <= described


def test_a_file_of_many_lines_is_read_in_one_pass():
    points = "\n".join("  { a = 1 }," for _ in range(20_000))
    space = '[space]\na = { type = "integer", low = 0, high = 3 }'
    text = f'objective = "m:f"\nx0 = [\n{points}\n  {{ a = 7 }},\n]\n{space}'
    with pytest.raises(SpecError, match=r"tune.toml:20003: x0\[20000\]"):
        parse(text)


CONDITIONAL = """\
command = ["prog", "{kernel}", "--gamma", "{gamma}"]
budget = 200

[space]
kernel = { type = "categorical", choices = ["linear", "rbf", "poly"] }
gamma = { type = "float", low = 1e-5, high = 1.0, log = true, when = { kernel = ["rbf", "poly"] } }
degree = { type = "integer", low = 2, high = 5, when = { kernel = "poly", gamma = { low = 0.1 } } }
"""


class TestConditions:
    def test_the_space_is_that_of_the_library(self):
        expected = dc.Space(
            {
                "kernel": dc.Categorical(["linear", "rbf", "poly"]),
                "gamma": dc.Float(1e-5, 1, log=True, when={"kernel": ["rbf", "poly"]}),
                "degree": dc.Integer(2, 5, when={"kernel": "poly", "gamma": {"low": 0.1}}),
            }
        )
        assert parse(CONDITIONAL).space == expected

    def test_arguments_of_inactive_variables_are_left_out(self):
        command = parse(CONDITIONAL).command
        assert command.fill({"kernel": "linear"}) == ["prog", "linear"]
        assert command.fill({"kernel": "rbf", "gamma": 0.5}) == ["prog", "rbf", "--gamma", "0.5"]

    @pytest.mark.parametrize(
        ("old", "new", "line", "message"),
        [
            ('["rbf", "poly"] }', '["rbf", "polly"] }', 6, "space.gamma.when: 'gamma' can never be active"),
            ("when = { kernel = [", "when = { kernle = [", 6, "did you mean 'kernel'?"),
            ("gamma = { low = 0.1 }", "gamma = { low = 2.0 }", 7, "space.degree.when"),
            ("gamma = { low = 0.1 }", "degree = 3", 7, "'degree' depends on 'degree'"),
            ("gamma = { low = 0.1 }", "gamma = { from = 0.1 }", 7, "space.degree: 'degree'"),
            ('["prog", "{kernel}"', '["{gamma}", "{kernel}"', 1, "has a value only if kernel is 'rbf' or"),
        ],
    )
    def test_mistakes_name_key_and_line(self, old, new, line, message):
        assert old in CONDITIONAL
        with pytest.raises(SpecError) as caught:
            parse(CONDITIONAL.replace(old, new, 1))
        assert f"tune.toml:{line}: " in str(caught.value)
        assert message in str(caught.value)

    def test_files_with_values_have_names_that_are_always_known(self):
        text = CONDITIONAL.replace("budget", 'value = { json = "{gamma}.json" }\nbudget')
        with pytest.raises(SpecError, match=r"tune.toml:2: value.json: .* is needed here always"):
            parse(text)
