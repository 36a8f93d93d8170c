import click
import pytest
from called import ran
from command_line import SEARCH

from gigamind import __version__
from gigamind.cli import main


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_tells_the_exit_codes_and_the_commands(option):
    ended = ran(option)
    text = " ".join(ended.stdout.split())
    assert (
        "0 success, 1 invalid input, 2 notes or index not accessible, 3 evaluation failed" in text
    )
    assert "130 interrupted" in text
    assert "eval Evaluate search, answers and links" in text


def test_the_version_is_the_packages(gigamind):
    assert gigamind("--version").stdout == f"gigamind, version {__version__}\n"


def test_a_terminal_without_unicode_still_gets_its_figures(case):
    assert case.is_dir()
    ended = ran(*SEARCH, "--speed-passes", "0", "--out", "out", encoding="ascii")
    assert r"0.342 \u2013 1.000" in ended.stdout


def test_a_bug_ends_with_its_traceback_and_code_3_not_1(gigamind, monkeypatch):
    # Python's own code for it, 1, would say that the input was wrong.
    def broken():
        raise ZeroDivisionError("bug")

    monkeypatch.setattr(main, "broken", click.Command("break", callback=broken), raising=False)
    monkeypatch.setitem(main._COMMANDS, "break", ("main:broken", ""))
    ended = gigamind("break")
    assert ended.code == 3
    assert "ZeroDivisionError: bug" in ended.stderr
