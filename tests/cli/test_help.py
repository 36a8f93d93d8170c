"""Pages of help: the few options first, all with `--help-all`, and examples that can be typed."""

import re

import click
import pytest
from typed import COMMANDS, command_of, parsed, words_of

from gigamind.cli.command import Command
from gigamind.i18n import LOCALES

LONG = ("eval search", "eval links", "eval answers")


@pytest.mark.parametrize("name", LONG)
def test_help_shows_the_few_that_matter_and_help_all_every_one_by_group(gigamind, name):
    short, long = (gigamind(*name.split(), flag).stdout for flag in ("--help", "--help-all"))
    options = [param for param in COMMANDS[name].params if isinstance(param, click.Option)]
    shown = [param for param in options if f"  {param.opts[0]}" in short]
    assert len(shown) <= 22
    assert all(f"  {param.opts[0]}" in long for param in options)
    assert {"--dataset", "--notes", "--out", "--json"} <= {param.opts[0] for param in shown}
    headings = [line for line in long.splitlines() if line.endswith(":") and line[0] != " "]
    own = {"search": "Search:", "links": "Links:", "answers": "Answers:"}[
        name.removeprefix("eval ")
    ]
    order = ["Options:", "Input:", own, "Output:", "Gate:", "Prefect:", "General:", "Examples:"]
    assert [heading for heading in headings if heading in order] == order
    assert "--task" not in long
    assert "--help-all also shows " in short
    assert "--help-all also shows" not in long


def test_a_short_command_shows_all_its_options_at_once(gigamind):
    shown = gigamind("compare", "--help").stdout
    assert "--fail-on-regression" in shown
    assert "--help-all" not in shown
    assert gigamind("compare", "--help-all").stdout == shown


def test_every_command_has_examples_that_its_options_take():
    for name, command in COMMANDS.items():
        assert isinstance(command, Command), name
        assert command.examples, name
        for example in command.examples:
            words = words_of(example)
            assert words, example
            assert " ".join(words).startswith(name), example
            assert parsed(words).params, example


def test_every_command_in_a_message_takes_the_options_that_it_has_there():
    files = (file.read_text("utf-8") for file in LOCALES.parent.rglob("*.py"))
    text = re.sub(r'"\s*f?"| and .*', "", "\n".join(files))
    lines = set(
        re.findall(rf"gigamind ((?:{'|'.join(COMMANDS)}) [^`'\",;:.()&]* --[^`'\",;:.()]+)", text)
    )
    assert len(lines) > 20
    for words in map(str.split, lines):
        options = {word for word in words if word.startswith("--")} - {"--help"}
        assert options <= {name for param in command_of(words)[1].params for name in param.opts}


def test_quiet_leaves_results_and_errors_alone(search):
    loud, quiet = search(), search("--out", "quiet", "--quiet")
    assert (loud.code, quiet.code, quiet.stderr) == (0, 0, "")
    assert quiet.stdout.replace("quiet/", "out/").splitlines()[0] == loud.stdout.splitlines()[0]


def test_quiet_asks_nobody(case, gigamind):
    assert case.is_dir()
    ended = gigamind("suggest-links", "--all", "--notes", "vault", "--in-place", "--quiet")
    assert (ended.code, ended.stdout) == (1, "")
    assert "--quiet" in ended.stderr
    assert "--yes" in ended.stderr


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("gigamind e", {"eval", "export"}),
        ("gigamind eval search --mo", {"--mode", "--model", "--model-timeout-s"}),
        ("gigamind eval search --mode ", {"semantic", "hybrid", "keyword"}),
    ],
)
def test_commands_options_and_values_are_completed(gigamind, monkeypatch, typed, expected):
    words = len(typed.split()) - (0 if typed.endswith(" ") else 1)
    monkeypatch.setenv("_GIGAMIND_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", typed)
    monkeypatch.setenv("COMP_CWORD", str(words))
    assert set(gigamind().stdout.replace("plain,", "").split()) == expected
