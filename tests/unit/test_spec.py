"""Specification files: what they mean, and that every mistake names its key and line."""

import re
from pathlib import Path

import pytest

import dcmaes as dc
from dcmaes.cli._errors import SpecError
from dcmaes.cli._program import JsonKey, LastMatch, LastNumber
from dcmaes.cli._spec import parse_spec, read_spec
from dcmaes.cli._toml import key_lines

GOOD = """\
command = ["prog", "--lr", "{lr}", "--layers={layers}", "{norm?--norm}"]
budget = 200

[space]
lr     = { type = "float", low = 1e-5, high = 1e-1, log = true }
layers = { type = "integer", low = 1, high = 8 }
act    = { type = "categorical", choices = ["relu", "gelu"] }
norm   = { type = "binary" }
"""


def parse(text, folder=Path()):
    return parse_spec(text, folder / "tune.toml")


def with_line(line):
    return GOOD.replace("budget = 200\n", f"budget = 200\n{line}\n")


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


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "high = 8 }",
            "high = 8, default = 9 }",
            "tune.toml:6: space.layers: 'layers': Integer: default must",
        ),
        ("high = 8 }", "high = 8, prior = [1] }", "tune.toml:6: space.layers.*'prior' is not a key of type"),
        (
            '"gelu"] }',
            '"gelu"], prior = [1, 0] }',
            "tune.toml:7: space.act: 'act': Categorical: prior must have",
        ),
    ],
)
def test_mistakes_in_what_is_known(old, new, message):
    with pytest.raises(SpecError, match=message):
        parse(GOOD.replace(old, new))


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


MISTAKES = [
    ("nonsense = 1", "tune.toml:3: nonsense", "is not a key"),
    ("bugdet = 1", "tune.toml:3", "did you mean 'budget'?"),
    ("budget = 0\nseed", "tune.toml", "no valid TOML"),
    ("workers = 0", "tune.toml:3: workers must be at least 1, got 0", ""),
    ("seed = -1", "tune.toml:3: seed must be at least 0", ""),
    ("seed = true", "tune.toml:3: seed must be an integer", ""),
    ('strategy = "cmaa"', "tune.toml:3: strategy must be one of", ""),
    ('direction = "up"', "tune.toml:3: direction must be one of", ""),
    ('time_limit = "soon"', "tune.toml:3: time_limit must be a number of seconds", ""),
    ("retries = 1.5", "tune.toml:3: retries must be an integer", ""),
    ('value = "first"', "tune.toml:3: value must be", "last-number"),
    ("value = { regex = '(' }", "tune.toml:3: value.regex: '(' is no regular expression", ""),
    ("value = { regex = 'a', json = 'b' }", "tune.toml:3: value must be", ""),
    ("value = { json = 'b', keys = 'c' }", "tune.toml:3: value.keys", "known: json, key"),
    ("keep = 'some'", "tune.toml:3: keep must be one of", ""),
    ("folder = 'not/there'", "tune.toml:3: folder must be a folder that exists", ""),
    ("environment = { 'A B' = 'x' }", "tune.toml:3: environment.A B", "is no name"),
    ("environment = { A = '{lrr}' }", "tune.toml:3: environment.A: {lrr} is not a variable", "'lr'"),
    ("constraints = ['lr + x <= 3']", "tune.toml:3: constraints[0]", "unknown name 'x'"),
    (
        "constraints = [\n'lr <= 1',\n'__import__(\"os\") <= 1']",
        "tune.toml:5: constraints[1]",
        "may call abs",
    ),
    ("constraints = 'lr <= 1'", "tune.toml:3: constraints must be a list", ""),
    ("constraints = ['nowhere_to_be_found:f']", "tune.toml:3: constraints[0]", "importing"),
    ("x0 = [{ lr = 0.01 }]", "tune.toml:3: x0[0]", "layers"),
    ("evaluation_timeout = -1", "tune.toml:3: evaluation_timeout must be between 0", ""),
    ("success_codes = ['a']", "tune.toml:3: success_codes must be an integer", ""),
    ("objective = 'a:b'", "tune.toml:3: objective: say either", "not both"),
    ("store = 3", "tune.toml:3: store must be text", ""),
]


@pytest.mark.parametrize(("line", "place", "words"), MISTAKES)
def test_mistakes_name_key_and_line(line, place, words):
    with pytest.raises(SpecError) as error:
        parse(with_line(line))
    assert str(error.value).startswith(place), str(error.value)
    assert words in str(error.value)


SPACE_MISTAKES = [
    ("low = 1, high = 8", "low = 9, high = 8", "tune.toml:6: space.layers", "low must be at most high"),
    ('type = "binary"', 'type = "bin"', "tune.toml:8: space.norm", "type must be one of"),
    ("act  ", '"a ct"', "tune.toml:7: space.a ct", "names of variables"),
    ("norm   =", "trial =", "tune.toml:8: space.trial", "choose another name"),
    ("{layers}", "{layer}", "tune.toml:1: command[3]", "did you mean 'layers'?"),
    ("{layers}", "{layers", "tune.toml:1: command[3]", "write '{{' for a brace"),
    ("{layers}", "{lay ers}", "tune.toml:1: command[3]", "is no placeholder"),
    ("{layers}", "{act:d}", "tune.toml:1: command[3]", "cannot show the value 'relu'"),
    ("{layers}", "{act?--x}", "tune.toml:1: command[3]", "needs a binary variable"),
    ('"prog"', "3", "tune.toml:1: command[0]", "must be text"),
    ('["relu", "gelu"]', '["re\\u0000lu"]', "tune.toml:7: space.act", "NUL"),
]


@pytest.mark.parametrize(("old", "new", "place", "words"), SPACE_MISTAKES)
def test_mistakes_in_space_and_command(old, new, place, words):
    assert old in GOOD
    with pytest.raises(SpecError) as error:
        parse(GOOD.replace(old, new))
    assert str(error.value).startswith(place), str(error.value)
    assert words in str(error.value)


def test_syntax_errors_have_a_line():
    with pytest.raises(SpecError, match=r"tune\.toml:2: no valid TOML: "):
        parse("budget = 3\nworkers = = 4\n")


@pytest.mark.parametrize("text", ["cat x | wc", "prog {lr} > out", "a && b", "a; b", "prog 2>&1", "a|b"])
def test_text_that_needs_a_shell(text):
    with pytest.raises(SpecError, match=r"tune\.toml:1: command: there is no shell"):
        parse(f"command = '{text}'\n{GOOD.partition(chr(10))[2]}")


@pytest.mark.parametrize("text", ["prog '|' {lr}", 'prog "a;b" {lr}', "prog # {lr}", "prog a\\;b {lr}"])
def test_quoted_operators_are_arguments(text):
    spec = parse(f"command = '''{text}'''\n{GOOD.partition(chr(10))[2]}")
    assert len(spec.command.arguments) == 3


def test_one_of_command_and_objective_is_needed():
    with pytest.raises(SpecError, match="say either command"):
        parse("budget = 3\n[space]\na = {type = 'binary'}")
    with pytest.raises(SpecError, match=r"tune\.toml:1: comand: .* did you mean 'command'"):
        parse("comand = 'x'\n[space]\na = {type = 'binary'}")


def test_command_keys_need_a_command():
    with pytest.raises(SpecError, match=r"tune\.toml:2: retries: 'retries' goes with command"):
        parse("objective = 'a:b'\nretries = 3\n[space]\na = {type = 'binary'}")


def test_workers_must_not_share_a_json_file():
    line = "value = { json = 'out.json', key = 'loss' }\nworkers = 2"
    with pytest.raises(SpecError, match=r"tune\.toml:3: value: 2 workers would write one file"):
        parse(with_line(line))
    parse(with_line(line + "\nown_folder = true"))
    parse(with_line(line.replace("out.json", "out-{trial}.json")))


def test_names_that_are_one_in_the_environment():
    with pytest.raises(SpecError, match="same in the environment"):
        parse("command='x'\n[space]\na-b = {type = 'binary'}\na_b = {type = 'binary'}")


def test_positional_spaces_are_for_functions():
    space = "[[space.array]]\ntype = 'binary'\nrepeat = 3\n"
    assert parse(f"objective = 'm:f'\n{space}").space == dc.Space.binary(3)
    with pytest.raises(SpecError, match="needs variables with names"):
        parse(f"command = 'm'\n{space}")


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(SpecError, match="cannot be read"):
        read_spec(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(SpecError, match="UTF-8"):
        read_spec(tmp_path / "bad.toml")


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
    from dcmaes.cli._command_spec import COMMAND_KEYS
    from dcmaes.cli._spec import GENERAL_KEYS

    described = set(re.findall(r"^\| `(\w+)`", guide.read_text(encoding="utf-8"), re.MULTILINE))
    assert {*GENERAL_KEYS, *COMMAND_KEYS} <= described


def test_old_names_of_keys_work_with_a_warning():
    points = '[{ lr = 1e-3, layers = 2, act = "relu", norm = true }]'
    spec = parse(with_line(f'start = {points}\ntimeout = "2m"'))
    assert len(spec.settings["x0"]) == 1
    assert spec.timeout == 120.0
    assert spec.warnings[:2] == (
        "tune.toml:3: start is now called x0; the old name will stop working",
        "tune.toml:4: timeout is now called evaluation_timeout; the old name will stop working",
    )
    with pytest.raises(SpecError, match=r"tune.toml:3: x0\[0\]: point must have a value for every variable"):
        parse(with_line("start = [{}]"))
    with pytest.raises(SpecError, match=r"tune.toml:4: timeout.* is an old name of .*evaluation_timeout"):
        parse(with_line("evaluation_timeout = 2\ntimeout = 3"))


def test_variables_that_a_command_does_not_use_are_a_warning():
    (warning,) = parse(GOOD).warnings
    assert warning.startswith("the command does not use act: ")
    assert "DCMAES_VAR_act" in warning
    assert parse(with_line('environment = { ACT = "{act}" }')).warnings == ()
    assert parse(with_line('value = { json = "{act}.json" }')).warnings == ()
    function = 'objective = "m:f"\nbudget = 3\n[space]\na = { type = "binary" }'
    assert parse(function).warnings == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"budget = {'9' * 5000}", "tune.toml: a number in it has more digits than can be read"),
        (f"x = {'[' * 5000}{']' * 5000}", "tune.toml: is nested too deeply"),
        (f"x = {'{a=' * 5000}1{'}' * 5000}", "tune.toml: is nested too deeply"),
        (
            'objective = "m:f"\n[[space.array]]\ntype = "binary"\nrepeat = 1_000_000_000_000',
            r"tune.toml:2: space.array\[0\]: array\[0\]: repeat must be at most",
        ),
    ],
    ids=["digits", "arrays", "tables", "repeat"],
)
def test_huge_and_deep_files_are_refused_in_a_line(text, message):
    with pytest.raises(SpecError, match=message) as caught:
        parse(text)
    assert len(str(caught.value)) < 300


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
