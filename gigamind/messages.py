"""Errors and what commands tell, in Korean: English messages, found again by the templates that made them.

The code says in English what is wrong, with an f-string, and knows of no language.  translations/messages.ko.toml has
each of these templates with its Korean, in which `{0}` is the first value.  A place for a value is `{}`, for a number
`{#}`, for a word that is translated itself `{w}`.  Of 은(는) and its like, the form stays that the last sound before it
asks for.  What no template makes stays as it is: names of files, and what others wrote.
"""

import functools
import re
import tomllib
from dataclasses import dataclass
from importlib import resources
from typing import cast

from gigamind.i18n import Message, translator
from gigamind.particles import with_particles
from gigamind.wording import Language
from gigamind.wording import warning_in as worded_in

PLACE = re.compile(r"(\{[#w]?\})")
_KINDS = {"{}": "(.*?)", "{#}": r"(\d[\d,]*(?:\.\d+)?)", "{w}": "([A-Za-z-]+)"}
_VALUE = re.compile(r"\{(\d+)\}")
_JOINT = re.compile(r"\. |; |: |, or |, ")
_KOREAN_JOINTS = {", or ": ", 또는 ", "; ": ". "}
_LONGEST = 3000  # characters; what is longer, others wrote
_NEXT_SENTENCE = re.compile(r"\. [A-Z]")


@dataclass(frozen=True, slots=True)
class Template:
    """An English message with places for values, and its Korean."""

    english: str
    korean: str

    def __call__(self, message: str) -> str | None:
        """The message in Korean; None where this did not make it."""
        parts = PLACE.split(self.english)
        if not (message.startswith(parts[0]) and all(part in message for part in parts[::2])):
            return None
        match = re.fullmatch(
            "".join(_KINDS.get(part) or re.escape(part) for part in parts), message
        )
        if match is None:
            return None
        values = [
            _value(kind, text, within=before.endswith((": ", ". ")) or after.startswith(";"))
            for kind, text, before, after in zip(
                parts[1::2], match.groups(), parts[:-1:2], parts[2::2], strict=True
            )
        ]
        if None in values:
            return None
        return with_particles(_VALUE.sub(lambda place: values[int(place[1])] or "", self.korean))


def _value(kind: str, text: str, *, within: bool) -> str | None:
    """A value in Korean, if it is more than a name; None where it cannot be one of this place.

    Args:
        within: the place is for a message; elsewhere, what holds the end of a sentence is no value.
    """
    if kind == "{w}":
        return words_alone().get(text)
    if not within and _NEXT_SENTENCE.search(text):
        return None
    return _translated(text) if " " in text else text


@functools.cache
def words_alone() -> dict[str, str]:
    """The messages of one word, which may be names of a user elsewhere."""
    return {
        template.english: template.korean
        for template in templates()
        if re.fullmatch("[A-Za-z-]+", template.english)
    }


def message_in(language: Language, message: str) -> str:
    """An error, or a line that a command tells, in a language; a part that no template made as it is."""
    if language == "en" or isinstance(message, Message):
        return translator(language)(message)
    return "\n".join(map(_translated, message.split("\n")))


def warning_in(language: Language, text: str) -> str:
    """A warning of a run in a language: one that is worded for it, else as any message."""
    if isinstance(text, Message):
        return translator(language)(text)
    told = worded_in(language, text)
    return message_in(language, text) if told == text else told


def heading_in(language: Language, text: str) -> str:
    """A heading, or another text without values, in a language; one word, too, which is no name of a user there."""
    if language == "en" or isinstance(text, Message):
        return translator(language)(text)
    return next((template.korean for template in templates() if template.english == text), text)


@functools.cache
def templates() -> tuple[Template, ...]:
    """All templates, those with the most words of their own first."""
    file = resources.files("gigamind") / "translations" / "messages.ko.toml"
    tables = tomllib.loads(file.read_text(encoding="utf-8"))
    made = (
        Template(english, korean)
        for table in tables.values()
        for english, korean in cast("dict[str, str]", table).items()
    )
    return tuple(sorted(made, key=lambda template: -len(PLACE.sub("", template.english))))


@functools.lru_cache(maxsize=4096)
def _translated(message: str) -> str:
    """One line: as a whole, else by its parts, else as it is."""
    if len(message) > _LONGEST or not re.search("[A-Za-z]{2}", message):
        return message
    if whole := _whole(message):
        return whole
    if (sentence := message.strip().rstrip(". ")) != message:
        before, _, after = message.partition(sentence)
        return f"{before}{_translated(sentence)}{after}"
    return _joined(message) or message


def _whole(message: str) -> str | None:
    """What one template makes of it; None where it is a word alone, or none made it."""
    if " " not in message:
        return None
    return next(
        (korean for template in templates() if (korean := template(message)) is not None), None
    )


def _joined(message: str) -> str | None:
    """The message by its parts: behind a place, or one that a template made; None where it begins otherwise."""
    for joint in _JOINT.finditer(message):
        before, after = message[: joint.start()], message[joint.end() :]
        first = _whole(before) or (words_alone().get(before) if joint[0] == ". " else None)
        if first:
            return f"{first}{_KOREAN_JOINTS.get(joint[0], joint[0])}{_translated(after)}"
        if _is_place(before) and (second := _translated(after)) != after:
            return f"{before}{joint[0]}{second}"
    return None


def _is_place(text: str) -> bool:
    """Whether a text names a file, a line, a field, or an option with its value, and says nothing."""
    *_, last = ("", *text.split())
    one_option = text.startswith("--") and text.count(" ") <= 1
    path = "/" in last or "." in last[:-1]
    return " " not in text or one_option or path or " = " in text
