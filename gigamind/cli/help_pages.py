"""Pages of help in the language of the call.  English texts are looked up in the catalogue by paragraph."""

import inspect
import re
from collections.abc import Iterable
from unicodedata import east_asian_width

import click

from gigamind.i18n import Translator, _

_EXTRAS = "  ["  # what click puts between a text and its addition: a default, a range, "required"
_DEFAULT = "default: "
_KIND = re.compile(r"\b[A-Z]+(?: RANGE)?$")  # the type of a value, behind the names of an option
_USAGE = re.compile(r"\[(?:-- )?OPTIONS(?: OF EVAL)?\]|COMMAND \[ARGS\]\.\.\.")
_FILLER = "\ue000"  # for the second column of a wide letter while click counts letters
CLICK_WORDS = (
    *(_("Usage:"), _("[OPTIONS]"), _("COMMAND [ARGS]..."), _("[-- OPTIONS OF EVAL]")),
    *(_("Options"), _("Commands"), _("Examples"), _("required"), _("default:")),
    *(_("PATH"), _("TEXT"), _("INTEGER"), _("INTEGER RANGE"), _("FLOAT"), _("FLOAT RANGE")),
    *(_("FILE"), _("FOLDER"), _("COPY"), _("NAME"), _("JUDGE")),
    *(_("Show the version and exit."), _("Show this message and exit.")),
)
"""Texts that click itself puts on a page; looked up like all others."""


def help_in(say: Translator, text: str) -> str:
    """Return a text of a page of help in a language."""
    paragraphs = (" ".join(part.split()) for part in inspect.cleandoc(text).split("\n\n"))
    return "\n\n".join(map(say.plain, paragraphs))


def usage_in(say: Translator, arguments: str) -> str:
    """Return what follows a command in its usage line; names of arguments are not translated."""
    return _USAGE.sub(lambda part: say.plain(part[0]), arguments)


def first_sentence(text: str) -> str:
    """Return the first sentence of a text."""
    paragraph = text.partition("\n\n")[0]
    return paragraph.partition(". ")[0].removesuffix(".") + "."


def row_in(say: Translator, row: tuple[str, str]) -> tuple[str, str]:
    """Return a row of click's help records (an option or a command, and its text) in a language."""
    names, text = row
    names = _KIND.sub(lambda kind: say.plain(kind[0]), names)
    text, bracket, extras = f"{'  ' if text.startswith('[') else ''}{text}".partition(_EXTRAS)
    if not bracket:
        return names, help_in(say, text)
    translation = "; ".join(_extra_in(say, extra) for extra in extras.removesuffix("]").split("; "))
    return names, f"{help_in(say, text)}{_EXTRAS}{translation}]".strip()


def _extra_in(say: Translator, extra: str) -> str:
    _before, default, value = extra.rpartition(_DEFAULT)
    head = f"{say.plain(default.strip())} " if default else ""
    return head + say.plain(value)


class HelpPage(click.HelpFormatter):
    """A page of help in one language, in whose columns a wide letter counts for two."""

    def __init__(self, say: Translator, width: int | None, max_width: int | None) -> None:
        super().__init__(width=width, max_width=max_width)
        self._say = say

    def _translated(self, text: str) -> str:
        return _wide(help_in(self._say, text))

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        usage = _wide(usage_in(self._say, args))
        super().write_usage(prog, usage, f"{self._translated((prefix or 'Usage:').strip())} ")

    def write_heading(self, heading: str) -> None:
        super().write_heading(self._translated(heading))

    def write_text(self, text: str) -> None:
        super().write_text(self._translated(text))

    def write_dl(
        self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2
    ) -> None:
        definitions = (map(_wide, row_in(self._say, row)) for row in rows)
        super().write_dl([(names, text) for names, text in definitions], col_max, col_spacing)

    def getvalue(self) -> str:
        return super().getvalue().replace(_FILLER, "")


def _wide(text: str) -> str:
    return "".join(c + _FILLER if east_asian_width(c) in "WF" else c for c in text)
