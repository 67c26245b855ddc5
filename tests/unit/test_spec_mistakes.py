"""Mistakes in specification files: each message names the key, the line and what would be right."""

import pytest
from specifications import GOOD, parse, with_line

from dcmaes.cli._spec import read_spec
from dcmaes.cli._toml import SpecError


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
    ('store = "/"', "tune.toml:3: store must be a file, got the folder '/'", ""),
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


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(SpecError, match="cannot be read"):
        read_spec(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(SpecError, match="UTF-8"):
        read_spec(tmp_path / "bad.toml")


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
