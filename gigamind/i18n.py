"""Messages: an English id with named values, rendered in the reader's language where they are shown.

`_` and `n_` make a Message, which knows no language.  A Translator renders it and the messages among its values.
A plain `str` is third-party text (a file name, a provider's reply): it is shown unchanged.  English reads no catalogue.
Catalogues are locales/<language>/LC_MESSAGES/gigamind.po; `make catalogue` updates and compiles them.
"""

import json
import os
import re
import unicodedata
from collections.abc import Container, Iterable, Mapping, Sequence
from functools import cache
from gettext import GNUTranslations
from io import BytesIO
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Annotated, Any, Literal, LiteralString, Self, cast, get_args

LOCALES = Path(__file__).parent / "locales"
LANGUAGES = ("en", *sorted(path.parts[-3] for path in LOCALES.glob("*/LC_MESSAGES/*.mo")))
"""English, and every language that has a compiled catalogue."""
Language = str  # one of LANGUAGES
if TYPE_CHECKING:
    LanguageChoice = str
else:
    LanguageChoice = Literal[("auto", *LANGUAGES)]


def language_of(choice: LanguageChoice = "auto") -> Language:
    """Return a language; "auto" takes the first of LC_ALL, LC_MESSAGES and LANG that is set, else English."""
    if choice != "auto":
        return choice
    names = (os.environ.get(name) for name in ("LC_ALL", "LC_MESSAGES", "LANG"))
    return or_english(next(filter(None, names), "")[:2].lower())


def or_english(language: str, known: Container[str] = LANGUAGES) -> Language:
    """Return a language if it is a known one, by default one with a catalogue; else English."""
    return language if language in known else "en"


class Message(str):
    """A sentence: the English text as a `str`, and what it was made of."""

    __slots__ = ("id", "plural", "restored", "values")
    id: str  # the English template, key of the catalogues; "" for texts that `joined` put together
    values: Mapping[str, object]  # fill its places; messages among them are translated, too
    plural: str  # the English template for other counts than 1; "" if the text counts nothing
    restored: bool  # read from a file, so that its id is never used as a template

    def __new__(
        cls,
        message: str,
        values: Mapping[str, object] | None = None,
        plural: str = "",
        text: str | None = None,
    ) -> Self:
        """Return the message; `text` is its English from a file, by default the filled template."""
        values = values or {}
        many = plural and values.get("n") != 1
        english = _fill(plural if many else message, values, str) if text is None else text
        new = super().__new__(cls, english)
        new.id, new.values, new.plural, new.restored = message, values, plural, text is not None
        return new

    def __reduce__(self) -> tuple[Any, ...]:
        text = str(self) if self.restored else None
        return Message, (self.id, dict(self.values), self.plural, text)

    def as_json(self) -> dict[str, Any]:
        """Return what a JSON file keeps; `text` is the English for readers without a catalogue."""
        values = {name: _as_json(value) for name, value in self.values.items()}
        parts = {"id": self.id, "plural": self.plural, "values": values}
        return {"text": str(self)} | {name: part for name, part in parts.items() if part}


class _KeepsMessages:
    """Makes pydantic keep a Message, which it would turn into a plain `str`; JSON has the English."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:  # noqa: ANN401  pydantic's hook
        from pydantic_core import core_schema

        def keep(value: Any, validate: Any) -> Any:  # noqa: ANN401  whatever a caller gives
            return value if isinstance(value, Message) else validate(value)

        return core_schema.no_info_wrap_validator_function(keep, handler(source))


Text = Annotated[str, _KeepsMessages()]
"""A Message, or third-party text, which is never translated."""


def _(message: LiteralString, /, **values: object) -> Message:
    """Return a message: `_("{file}: no such note", file=path)`."""
    return Message(message, values)


def n_(singular: LiteralString, plural: LiteralString, /, *, n: int, **values: object) -> Message:
    """Return a message that counts `n`: `n_("{n} note", "{n:,} notes", n=len(notes))`."""
    return Message(singular, {"n": n, **values}, plural=plural)


def joined(parts: Iterable[str], separator: str = "; ") -> Message:
    """Return several texts as one message."""
    return Message("", {"parts": list(parts), "separator": separator})


_CUSTOM: dict[str, Mapping[str, str]] = {}


def add_translations(english: str, by_language: Mapping[str, str]) -> None:
    """Add the translations of a third-party text, such as the label of a custom metric."""
    _CUSTOM[english] = by_language


def _as_json(value: object) -> object:
    if isinstance(value, Message):
        return value.as_json()
    if isinstance(value, str | int | float) or value is None:
        return value
    if isinstance(value, Sequence):
        return [_as_json(part) for part in cast("Sequence[object]", value)]
    return str(value)


def from_json(data: object) -> Any:  # noqa: ANN401  a message, or a value of one
    """Return the message of a JSON file; a plain text or number stays what it is."""
    if isinstance(data, list):
        return [from_json(part) for part in cast("list[object]", data)]
    if not isinstance(data, dict):
        return data
    stored = cast("dict[str, Any]", data)
    text = str(stored.get("text", ""))
    kept = stored.get("values")
    if not isinstance(kept, dict):
        if "id" not in stored:
            return text
        kept = {}
    values = {name: from_json(value) for name, value in cast("dict[str, object]", kept).items()}
    return Message(str(stored.get("id", "")), values, str(stored.get("plural", "")), text)


def _fill(template: str, values: Mapping[str, object], render: Any, *, join: Any = None) -> str:  # noqa: ANN401  functions
    """Return a template with its places filled; an empty one joins `parts`.  No full stop follows an ended sentence.

    Args:
        render: turns a text among the values into what is shown.
        join: puts what precedes a place and the template's next words together; by default with `+`.

    Raises:
        KeyError, ValueError, TypeError: the values do not fit the template.
    """

    def shown(value: object) -> Any:  # noqa: ANN401  a number keeps its type for the format
        if isinstance(value, str):
            return render(value)
        if isinstance(value, int | float):
            return value
        if isinstance(value, Sequence):
            return ", ".join(str(shown(part)) for part in cast("Sequence[object]", value))
        return "–" if value is None else str(value)

    if not template:
        parts = [str(shown(part)) for part in cast("Sequence[object]", values.get("parts", ()))]
        separator = str(values.get("separator", ""))
        if separator.startswith("."):
            parts = [*(part.removesuffix(".") for part in parts[:-1]), *parts[-1:]]
        return separator.join(parts)
    text, is_ended = "", False
    for literal, name, form, conversion in Formatter().parse(template):
        words = literal.removeprefix(".") if is_ended else literal
        text = join(words, text) if join else text + words
        if name is not None:
            value = shown(values[name])
            text += format(repr(value) if conversion == "r" else value, form or "")
            is_ended = isinstance(values[name], Message) and text.endswith((".", "?", "!"))
    return text


class Translator:
    """Renders messages in one language; a message without translation is shown in English."""

    def __init__(self, language: str) -> None:
        self.language = language
        path = LOCALES / language / "LC_MESSAGES" / "gigamind.mo"
        known = language != "en" and path.is_file()
        self._catalogue = GNUTranslations(BytesIO(path.read_bytes())) if known else None
        self._join: Any = _with_particles if language == "ko" else None

    def __call__(self, text: str) -> str:
        """Return the text in this language."""
        if not isinstance(text, Message) or self.language == "en":
            return str(text)
        english, template = self._templates(text)
        if text.restored and text.id and template is english:
            return str(text)
        try:
            return _fill(template, text.values, self, join=self._join)
        except (KeyError, ValueError, TypeError):
            return str(text)  # a wrong translation must not cost the reader the message

    def plain(self, text: str) -> str:
        """Return a text without places, such as help with braces in its examples; it is not filled."""
        return self._catalogue.gettext(text) if self._catalogue and text else text

    def gettext(self, message: str, /, **values: object) -> str:
        """Render `_` of templates."""
        return self(Message(message, values))

    def ngettext(self, singular: str, plural: str, /, *, n: int, **values: object) -> str:
        """Render `n_` of templates."""
        return self(Message(singular, {"n": n, **values}, plural=plural))

    def _templates(self, message: Message) -> tuple[str, str]:
        """Return the English template and that of this language; without one, the same object twice."""
        known, singular, plural = self._catalogue, message.id, message.plural
        n = message.values.get("n")
        count = n if isinstance(n, int) else 0
        english = plural if plural and count != 1 else singular
        if singular in _CUSTOM:
            return english, _CUSTOM[singular].get(self.language, english)
        if known is None or not singular:  # "" is the header of a catalogue
            return english, english
        if plural:
            return english, known.ngettext(singular, plural, count)
        return english, known.gettext(singular)


@cache
def translator(language: str) -> Translator:
    """Return the translator of a language."""
    return Translator(language)


@cache
def script_messages(language: str) -> dict[str, Any]:
    """Return the table of the pages' scripts: English id -> text, or its plural forms; empty for English."""
    path = LOCALES / language / "LC_MESSAGES" / "scripts.json"
    return json.loads(path.read_text("utf-8")) if path.is_file() else {}


# Korean particles (은/는, 이/가, 을/를) follow the last sound of the word before them. The sound is known for Hangul,
# digits and Latin abbreviations, and guessed for Latin words from their spelling. Where it is unknown: 이(가).
_Pair = Literal["이/가", "은/는", "을/를", "과/와", "이었/였", "이라/라", "으로/로"]
_PAIRS: dict[str, _Pair] = {
    "{}({})".format(*pair.split("/")): pair for pair in cast("tuple[_Pair, ...]", get_args(_Pair))
}
_PAIR = "|".join(map(re.escape, _PAIRS))

# A particle agrees with the word before the bracket.
_ASIDE = r"(?:(?<!\s)\s++)?[(（\[][^()（）\[\]]*[)）\]]\s*$"
_SIGNS = r"[\s\"'”’」』》>)\]*_~`.,:;!?…]"
_SILENT = rf"(?<!{_SIGNS}){_SIGNS}+$"
FIRST_SYLLABLE, LAST_SYLLABLE = 0xAC00, 0xD7A3
_FINAL_CONSONANTS = 28  # a syllable's index modulo 28 is its final consonant
_CLOSED_DIGITS = set("013678")  # 영 일 삼 육 칠 팔
_CLOSED_LETTERS = set("LMNR")  # 엘 엠 엔 알
_ENDS_IN_L = r"[178LR\u11af]$|[a-z]le?$"  # 일 칠 팔 엘 알, ㄹ as a jamo, 메일, 파일
_OPEN_SIGNS = set("%+℃")  # 퍼센트, 플러스
_LATIN = r"(?<![A-Za-z])[A-Za-z]+$"
_CLOSED_WORD = r"""(?x)
      [lmn]e?$                              # 이메일, 파일, 타임, 파이프라인
    | ng$                                   # 미팅
    | (?<![aeiou])[aeiou](?:[bcpt]|ck|k|pp)$  # 웹, 메트릭, 맵, 봇, 피드백, 앱
    | ook$                                  # 북
    """


def with_particle(word: str, pair: _Pair) -> str:
    """Return the word with the form of the particle that fits its last sound."""
    closed, opened = pair.split("/")
    ends = ends_in_consonant(word)
    if ends is None:
        return f"{word}{closed}({opened})"
    if pair == "으로/로" and ends_in_l(word):  # 서울로
        return word + opened
    return word + (closed if ends else opened)


def _with_particles(literal: str, before: str = "") -> str:
    """Return `before` and `literal` as one text, with the fitting form of each pair such as "은(는)" in the literal.

    Pairs inside `before` stay, as they are part of somebody's text.
    """
    text, start = before, 0
    for match in re.finditer(_PAIR, literal):
        text = with_particle(text + literal[start : match.start()], _PAIRS[match[0]])
        start = match.end()
    return text + literal[start:]


def ends_in_l(word: str) -> bool:
    """Return whether the last sound of a word is ㄹ."""
    return re.search(_ENDS_IN_L, unicodedata.normalize("NFD", _spoken_part(word))) is not None


def _spoken_part(word: str) -> str:
    """Return the word without signs and brackets at its end, which are not read aloud."""
    return re.sub(_SILENT, "", re.sub(_ASIDE, "", word)) or re.sub(_SILENT, "", word)


def ends_in_consonant(word: str) -> bool | None:
    """Return whether the last sound of a word is a consonant in Korean; None if its script does not show it."""
    spoken = _spoken_part(word)
    last = spoken[-1:]
    if not last:
        return None
    if FIRST_SYLLABLE <= ord(last) <= LAST_SYLLABLE:
        return (ord(last) - FIRST_SYLLABLE) % _FINAL_CONSONANTS != 0
    if last.isascii() and last.isdigit():
        return last in _CLOSED_DIGITS
    if last in _OPEN_SIGNS:
        return False
    latin = re.search(_LATIN, spoken)
    return None if latin is None else _latin_ends_in_consonant(latin[0])


def _latin_ends_in_consonant(word: str) -> bool:
    if word.isupper():  # read letter by letter
        return word[-1] in _CLOSED_LETTERS
    return re.search(_CLOSED_WORD, word.lower()) is not None
