"""Values stay inside their argument, whatever they are."""

import subprocess
import sys

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from dcmaes._validation import check_duration
from dcmaes.cli._template import Template, fill_arguments

NASTY = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30)


@settings(max_examples=200)
@given(value=NASTY)
def test_a_value_is_one_argument(value):
    templates = [Template.parse(text) for text in ("prog", "--name", "{name}", "-x{name}y")]
    assert fill_arguments(templates, {"name": value}) == ["prog", "--name", value, f"-x{value}y"]


@settings(max_examples=15)
@given(value=NASTY)
def test_a_program_receives_the_value_itself(value):
    script = "import sys; sys.stdout.buffer.write(sys.argv[1].encode('utf-8', 'surrogateescape'))"
    arguments = fill_arguments(
        [Template((part,)) for part in (sys.executable, "-c", script)] + [Template.parse("{name}")],
        {"name": value},
    )
    assert subprocess.run(arguments, capture_output=True, check=True).stdout == value.encode()


def test_placeholders_in_values_are_not_filled_again():
    assert Template.parse("{a}{b}").fill({"a": "{b}", "b": "{{a}}"}) == "{b}{{a}}"


@pytest.mark.parametrize("value", [0.1, 1e-300, 1 / 3, 1e22, 123456789.123456789])
def test_floats_read_back(value):
    assert float(Template.parse("{x}").fill({"x": value})) == value


def test_flags():
    flag, either = Template.parse("{x?--fast}"), Template.parse("--mode={x?fast:slow}")
    assert fill_arguments([flag, either], {"x": True}) == ["--fast", "--mode=fast"]
    assert fill_arguments([flag, either], {"x": False}) == ["--mode=slow"]


def test_empty_text_is_an_argument():
    assert fill_arguments([Template.parse("{x}"), Template.parse("")], {"x": ""}) == ["", ""]


@pytest.mark.parametrize(
    "text", ["{", "}", "{a", "a}", "{}", "{0}", "{a.b}", "{a[0]}", "{a!r}", "{a b}", "{-a}"]
)
def test_what_is_no_template(text):
    with pytest.raises(ValueError, match=r"placeholder|single"):
        Template.parse(text)


@pytest.mark.parametrize(
    ("value", "seconds"), [(3, 3.0), ("3", 3.0), ("2.5m", 150.0), ("1h 30m", 5400.0), ("1d", 86400.0)]
)
def test_durations(value, seconds):
    assert check_duration("timeout", value) == seconds


@pytest.mark.parametrize("value", ["", "m", "3x", "-3", "inf", "1h-3m", True, [3], "nan"])
def test_what_is_no_duration(value):
    with pytest.raises((TypeError, ValueError), match="timeout must be"):
        check_duration("timeout", value)


class TestInactiveVariables:
    @pytest.mark.parametrize(
        ("texts", "filled"),
        [
            (["prog", "--gamma", "{gamma}", "--c", "{c}"], ["prog", "--c", "2"]),
            (["prog", "--c", "{c}", "-g", "{gamma}"], ["prog", "--c", "2"]),
            (["prog", "--fast", "--gamma={gamma}"], ["prog", "--fast"]),
            (["prog", "--c={c}", "{gamma}"], ["prog", "--c=2"]),
            (["prog", "--", "{gamma}", "x"], ["prog", "--", "x"]),
            (["prog", "-1", "{gamma}"], ["prog", "-1"]),
            (["prog", "--range", "{c}:{gamma}"], ["prog"]),
            (["prog", "--out", "files/{gamma}", "end"], ["prog", "end"]),
            (["prog", "{gamma?--gamma}", "{gamma?a:b}"], ["prog"]),
        ],
    )
    def test_arguments_are_left_out(self, texts, filled):
        assert fill_arguments([Template.parse(text) for text in texts], {"c": 2}) == filled
