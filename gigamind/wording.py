"""The words of report.html and its figures, from translations/<language>.toml, and how numbers and times are told.

What report.html says of an answer as the service's page does is said in the words of locales/<language>.json.
"""

import functools
import json
import re
import tomllib
from dataclasses import dataclass
from importlib import resources
from typing import Protocol

from gigamind.i18n import Language, LanguageChoice, Message, language_of, translator
from gigamind.particles import with_particles

__all__ = ["Language", "LanguageChoice", "language_of"]


@dataclass(frozen=True, slots=True)
class Words:
    """Phrases of one language by table and key."""

    language: Language
    tables: dict[str, dict[str, str]]

    def __call__(self, name: str, **values: object) -> str:
        """The phrase "table.key" with its placeholders filled, and Korean particles that fit what fills them.

        Raises:
            KeyError: no such phrase, or a placeholder without its value.
        """
        if isinstance(name, Message):
            return translator(self.language)(name)
        table, _, key = name.partition(".")
        if key not in self.tables.get(table, {}) and not values:
            return name
        phrase = self.tables[table][key].format(**values)
        return with_particles(phrase) if self.language == "ko" else phrase

    def gettext(self, message: str, /, **values: object) -> str:
        """Render `_` of templates."""
        return translator(self.language).gettext(message, **values)

    def ngettext(self, one: str, many: str, /, *, n: int, **values: object) -> str:
        """Render `n_` of templates."""
        return translator(self.language).ngettext(one, many, n=n, **values)

    def knows(self, name: str) -> bool:
        """Whether there is a phrase "table.key"."""
        table, _, key = name.partition(".")
        return key in self.tables.get(table, {})

    def script(self, *tables: str) -> dict[str, str]:
        """The phrases of a list of items: its own, and those of the tables, which go before them."""
        return {
            key: phrase for name in ("script", *tables) for key, phrase in self.tables[name].items()
        }


_PLACE = re.compile(r"\\{(\w+)\\}")  # a placeholder, once its braces are escaped


_OF_THE_SERVICE = {
    "correctness": "qaCorrectness",
    "utility": "qaUtility",
    "high": "qaConfidenceHigh",
    "medium": "qaConfidenceMedium",
    "low": "qaConfidenceLow",
    "issues": "qaGroundingIssues",
    "no_issues": "qaNoIssues",
    "cited": "qaSourceCited",
    "not_cited": "qaSourceNotCited",
    "marked_only": "qaSourceMarkedOnly",
}


@functools.cache
def words(language: Language) -> Words:
    """The phrases of one language."""
    package = resources.files("gigamind")
    language = language if language == "ko" else "en"
    file = package / "reports" / "page" / "translations" / f"{language}.toml"
    tables = tomllib.loads(file.read_text(encoding="utf-8"))
    shared = json.loads((package / "locales" / f"{language}.json").read_text(encoding="utf-8"))
    tables["answer_script"] |= {key: shared["ai"][name] for key, name in _OF_THE_SERVICE.items()}
    return Words(language, tables)


def warning(key: str, **values: object) -> str:
    """A warning of a run, as run.json has it.

    Raises:
        KeyError: no such warning, or a placeholder without its value.
    """
    return words("en")(f"warning.{key}", **values)


def warning_in(language: Language, text: str) -> str:
    """A warning of a run in a language; as it is where it is none of the translated ones."""
    return _translated("warning", language, text)


def latency_method_in(language: Language, method: str) -> str:
    """What a latency is, as summary.json says it, in a language."""
    return _translated("latency_method", language, method)


def counted(count: int, singular: str, many: str, say: Words) -> str:
    """A number of things by the phrase of the table "count" for one or for many; grouped by thousands."""
    return say(f"count.{singular if count == 1 else many}", count=f"{count:,}")


def change_in(language: Language, change: str) -> str:
    """What changed of an item, in a language; a part that is none of the translated ones as it is."""
    if isinstance(change, Message):
        return translator(language)(change)
    parts = [
        _translated("change", language, part) for part in re.split("; |, (?=verdict )", change)
    ]
    return "; ".join(parts)


def _translated(table: str, language: Language, text: str) -> str:
    if isinstance(text, Message):
        return translator(language)(text)
    for key, form in _forms(table).items():
        if language != "en" and (match := form.fullmatch(text)):
            return words(language)(f"{table}.{key}", **match.groupdict())
    return text


@functools.cache
def _forms(table: str) -> dict[str, re.Pattern[str]]:
    forms = words("en").tables[table].items()
    return {key: re.compile(_PLACE.sub(r"(?P<\1>.*)", re.escape(form))) for key, form in forms}


def share(value: float | None) -> str:
    """With three decimals, as in summary.md; a dash where it was not measured."""
    return "–" if value is None else f"{value:z.3f}"


class Ends(Protocol):
    """Whatever has an interval."""

    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...


def between(interval: Ends) -> str:
    """A 95 % interval as text; a dash where there is none."""
    return "–" if interval.low is None else f"{share(interval.low)} – {share(interval.high)}"


def signed(value: float | None) -> str:
    """A difference with its sign, a typographic minus; a dash where there is none."""
    return "–" if value is None else f"{value:+.3f}".replace("-", "−")


def moment(created_at: str) -> str:
    """An ISO time to the minute: "2026-11-21 22:59 UTC"."""
    date, _, time = created_at.partition("T")
    zone = "UTC" if time[8:] in {"+00:00", "Z"} else time[8:]
    return f"{date} {time[:5]} {zone}".strip()
