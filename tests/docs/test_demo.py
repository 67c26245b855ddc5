"""The demo says what it promises, and writes plain text where it is not read on a terminal."""

import io

import pytest

from dcmaes.demo import demo, main


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_it_shows_what_was_found():
    page = io.StringIO()
    result = demo(stream=page)
    text = page.getvalue()
    assert result.nfev == 300
    assert f"{result.fun:,.2f}" in text
    assert "known optimum   1,901.64" in text
    assert "Budget of 300 evaluations used." in text
    first, second, _ = result.interactions()[0]
    assert f"{first} and {second}" in text
    assert sum(line.startswith("  ") and " tubes of " in line for line in text.splitlines()) == 10
    assert "\033" not in text
    assert max(len(line) for line in text.splitlines()) <= 110


def test_it_finds_good_designs():
    # The optimum is 1,901.64; the median of the best of 300 random designs is above 2,400.
    costs = [demo(seed=seed, stream=io.StringIO()).fun for seed in range(5)]
    assert sorted(costs)[2] < 2050


def test_headings_are_bold_on_a_terminal_unless_it_is_asked_not_to_be(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\033[1mThe best design\033[0m" in _text_on(Terminal())
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\033" not in _text_on(Terminal())


def _text_on(stream):
    demo(budget=10, stream=stream)
    return stream.getvalue()


def test_a_single_evaluation_is_enough_for_a_page():
    assert "found at evaluation 1" in _text_of_budget(1)


def _text_of_budget(budget):
    page = io.StringIO()
    demo(budget=budget, stream=page)
    return page.getvalue()


def test_command_line(capsys):
    assert main(["--budget", "20", "--seed", "3"]) == 0
    assert "20 designs may be tried, seed 3" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["--budgets"])
