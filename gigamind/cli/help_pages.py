"""Pages of help in the language of the call: English texts of the code, with their Korean in translations/help.ko.toml.

A text is looked up by paragraphs, each in one line; what the table lacks stays as it is.
"""

import functools
import inspect
import re
import tomllib
from collections.abc import Iterable, Mapping
from importlib import resources
from typing import cast
from unicodedata import east_asian_width

import click

from gigamind.wording import Language

_EXTRAS = "  ["  # what click puts between a text and what it adds: a default, a range, "required"
_DEFAULT = "default: "
_KIND = re.compile(r"\b[A-Z]+(?: RANGE)?$")  # of a value, behind the names of an option
_USAGE = re.compile(r"\[(?:-- )?OPTIONS(?: OF EVAL)?\]|COMMAND \[ARGS\]\.\.\.")
_FILLER = "\ue000"  # for the second column of a wide letter while click counts letters


@functools.cache
def korean() -> Mapping[str, str]:
    """Each text of the pages of help with its Korean."""
    file = resources.files("gigamind") / "translations" / "help.ko.toml"
    tables = tomllib.loads(file.read_text(encoding="utf-8"))
    return {
        english: translation
        for table in tables.values()
        for english, translation in cast("dict[str, str]", table).items()
    }


def paragraphs(text: str) -> list[str]:
    """The paragraphs of a text, each in one line."""
    return [" ".join(part.split()) for part in inspect.cleandoc(text).split("\n\n")]


def help_in(language: Language, text: str) -> str:
    """A text of a page of help in a language."""
    if language == "en":
        return text
    return "\n\n".join(korean().get(part, part) for part in paragraphs(text))


def usage_in(language: Language, arguments: str) -> str:
    """What stands behind a command in its line of usage, in a language; names of arguments are the same in all."""
    return _USAGE.sub(lambda part: help_in(language, part[0]), arguments)


def first_sentence(text: str) -> str:
    """The first sentence of a text."""
    paragraph = text.partition("\n\n")[0]
    return paragraph.partition(". ")[0].removesuffix(".") + "."


def row_in(language: Language, row: tuple[str, str]) -> tuple[str, str]:
    """An option as `click.Option.get_help_record` tells it, or a command with its summary, in a language."""
    names, text = row
    if language == "en":
        return row
    names = _KIND.sub(lambda kind: help_in(language, kind[0]), names)
    text, bracket, extras = f"{'  ' if text.startswith('[') else ''}{text}".partition(_EXTRAS)
    if not bracket:
        return names, help_in(language, text)
    translation = "; ".join(
        _extra_in(language, extra) for extra in extras.removesuffix("]").split("; ")
    )
    return names, f"{help_in(language, text)}{_EXTRAS}{translation}]".strip()


def _extra_in(language: Language, extra: str) -> str:
    _, default, value = extra.rpartition(_DEFAULT)
    head = f"{help_in(language, default.strip())} " if default else ""
    return head + help_in(language, value)


class HelpPage(click.HelpFormatter):
    """A page of help in one language, in whose columns a wide letter counts for two."""

    def __init__(self, language: Language, width: int | None, max_width: int | None) -> None:
        super().__init__(width=width, max_width=max_width)
        self._language: Language = language

    def _told(self, text: str) -> str:
        return _wide(help_in(self._language, text))

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        usage = usage_in(self._language, args)
        super().write_usage(prog, _wide(usage), f"{self._told((prefix or 'Usage:').strip())} ")

    def write_heading(self, heading: str) -> None:
        super().write_heading(self._told(heading))

    def write_text(self, text: str) -> None:
        super().write_text(self._told(text))

    def write_dl(
        self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2
    ) -> None:
        definitions = (map(_wide, row_in(self._language, row)) for row in rows)
        super().write_dl([(names, text) for names, text in definitions], col_max, col_spacing)

    def getvalue(self) -> str:
        return super().getvalue().replace(_FILLER, "")


def _wide(text: str) -> str:
    return "".join(c + _FILLER if east_asian_width(c) in "WF" else c for c in text)
