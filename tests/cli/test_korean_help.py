"""Pages of help in Korean: each text of a page has its Korean."""

import re
from collections.abc import Iterable, Iterator
from typing import Literal, get_args, get_origin
from unicodedata import east_asian_width

import click
import pytest
from korean import HANGUL, english
from typed import COMMANDS

from gigamind.cli.command import _CLICK_WORDS, _Context, help_in, row_in, usage_in
from gigamind.cli.main import cli
from gigamind.cli.options import _ModelOption
from gigamind.cli.output import CallLanguage
from gigamind.i18n import translator

SAME = {"Prefect"}  # in every language
# A name of another tool, or a list of values.
NOT_TOLD = re.compile(r"(?:[\w.]+|\[[\w|]+\])?$")


class English(click.HelpFormatter):
    """A page of help as what is written to it: texts, and rows of names with their texts."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.rows: list[tuple[str, str]] = []
        self.usage = ""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        del prog, prefix
        self.usage = args

    def write_heading(self, heading: str) -> None:
        self.texts.append(heading)

    write_text = write_heading

    def write_dl(
        self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2
    ) -> None:
        del col_max, col_spacing
        self.rows += rows


def groups(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Group]]:
    yield " ".join(path), group
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from groups(command, (*path, name))


PAGES: dict[str, click.Command] = {**dict(groups(cli)), **COMMANDS}


@pytest.fixture(scope="module")
def pages() -> dict[str, English]:
    """Each page in English, with all options."""
    written = dict[str, English]()
    for name, command in PAGES.items():
        written[name] = English()
        context = _Context(command, info_name="gigamind", obj=CallLanguage(["--lang", "en"]))
        context.meta["gigamind.help_all"] = True
        command.format_help(context, written[name])
    return written


def test_each_text_of_a_page_of_help_has_its_korean(pages: dict[str, English]) -> None:
    missing, say = set[str](), translator("ko")
    for page in pages.values():
        shown = (part for text in page.texts for part in text.split("\n\n"))
        missing |= {part for part in shown if part and not HANGUL.search(help_in(say, part))}
        for row in page.rows:
            names, text = row_in(say, row)
            told, _bracket, extras = text.partition("  [")
            if not (HANGUL.search(told) or NOT_TOLD.match(told)):
                missing.add(text)
            value = row[1].partition("  [")[2].rpartition("default: ")[2]
            if "[default: " in row[1] and not extras.endswith(value):
                missing.add(value)
            if re.search(r" [A-Z]{2,}(?: RANGE)?$", names):
                missing.add(names)
        if re.search("OPTIONS|ARGS", usage_in(say, page.usage)):
            missing.add(page.usage)
    assert missing == SAME


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_an_option_that_takes_several_values_of_a_list_names_them(lang: str) -> None:
    told = {
        option.opts[0]: [help_in(translator(lang), option.help or ""), *get_args(kind)]
        for option in (param for command in COMMANDS.values() for param in command.params)
        if isinstance(option, _ModelOption) and option.multiple
        for kind in get_args(option._field.annotation)[:1]
        if get_origin(kind) is Literal
    }
    assert {"--changed", "--modes", "--fusions"} <= told.keys()
    assert [text for text, *values in told.values() if any(v not in text for v in values)] == []


def test_the_words_of_click_are_on_pages_of_help(pages: dict[str, English]) -> None:
    said = "\n".join(
        " ".join(text.split())
        for page in pages.values()
        for text in (page.usage, *page.texts, *(f"{names}\n{text}" for names, text in page.rows))
    )
    gone = {word for word in _CLICK_WORDS if word not in said}
    assert gone == {"Usage:", "Commands", "Options", "Examples"} & gone


@pytest.mark.each("name", list(PAGES))
def test_a_page_of_help_in_korean_has_no_english_sentence_and_fits_the_terminal(name: str) -> None:
    call = _Context(PAGES[name], info_name=f"gigamind {name}", obj=CallLanguage(["--lang", "ko"]))
    call.meta["gigamind.help_all"] = True
    page = PAGES[name].get_help(call)
    usage, *lines = page.splitlines()
    assert usage.startswith("사용법: gigamind")
    told = [line for line in lines if not line.startswith("  gigamind ")]  # no examples
    assert english("\n".join(told)) == []
    for line in told:
        assert sum(2 if east_asian_width(c) in "WF" else 1 for c in line) <= 80, line
