"""Detect the language of a text: Korean by its letters; English, German and Spanish by function words."""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

from gigamind.vault.marks import ADDRESS, marks, mask_comments
from gigamind.vault.notes import Note

_HANGUL = re.compile("[ㄱ-ㅎㅏ-ㅣ가-힣]")
_LATIN = re.compile("[A-Za-z]")
_WORD = re.compile(r"[^\W\d_]+")
_NO_PROSE = {"CodeBlock", "HtmlBlock"}

KnownLanguage = Literal["ko", "en", "de", "es"]
# Without the last set, French, Italian, Portuguese and Dutch would be taken for Spanish or German.
_WORDS: dict[KnownLanguage | None, str] = {
    "en": "the a an of in on at to for with by from as and or but if than then that this these those it its is are"
    " was were be been has have had do does did not no can could will would should may might must what which who"
    " whom whose when where why how much many there their they them he him his she her we our you your my",
    "de": "der die das den dem des ein eine einen einem einer eines und oder aber wenn als dass mit von vom zu zum"
    " zur für bei nach aus auf im ins am über unter durch gegen ohne ist sind war waren sein wird werden wurde"
    " wurden hat haben hatte nicht kein keine kann können soll muss was welche welcher welches welchen wer wen wem"
    " wessen wann wo warum wieso wie viele sich sie ihr ihre ihren er wir unser ich mein",
    "es": "el la los las un una unos unas lo de del al y o u pero si que con por para desde hasta entre sobre sin"
    " es son era eran fue fueron ser está están ha han había hay puede pueden no se su sus qué cuál cuáles quién"
    " quiénes cuándo dónde cómo cuánto cuánta cuántos cuántas como más este esta estos estas cuando donde nos mi",
    None: "le la les l un une des du de et est sont dans que qui quel quelle pour avec sur pas ne ce cette il elle où"
    " comment combien il lo gli di del della che è sono per con non una nel quale come quando o os as do da dos das"
    " em um uma não com foi quem onde het een en van te dat op zijn niet voor welke wie wat waar hoe hoeveel",
}
_LANGUAGES: dict[frozenset[str], KnownLanguage | None] = {
    frozenset(words.split()): language for language, words in _WORDS.items()
}


def note_language(note: Note) -> str:
    """Return `lang` of the frontmatter without its region ("ko-KR" is "ko"), otherwise the language of the prose."""
    declared = re.split("[-_]", note.language.strip().lower())[0]
    return declared or _language_of_note(note.text, note.document.body_start)


@lru_cache(maxsize=1024)  # called for each suggestion of a note, and for the notes of each query
def _language_of_note(text: str, body_start: int) -> str:
    body = text[body_start:]
    if _HANGUL.search(unicodedata.normalize("NFC", body)) is None:
        return "en"
    prose = re.sub(ADDRESS, " ", " ".join(_prose(body)))
    return text_language(prose if _WORD.search(prose) else body)


def _prose(body: str) -> Iterator[str]:
    closed = 0
    for mark in marks(mask_comments(body)):
        if mark.phase == "leaf":
            if mark.name == "Text" and not closed:
                yield mark.text
            continue
        wikilink = mark.name == "Link" and body.startswith("[[", mark.start)
        if mark.name in _NO_PROSE or (wikilink and "|" not in body[mark.start : mark.end]):
            closed += 1 if mark.phase == "enter" else -1


def text_language(text: str) -> str:
    """Return `ko` or `en`, the language of prompts; English for every language other than Korean."""
    return "ko" if _is_korean(unicodedata.normalize("NFC", text)) else "en"


def question_language(question: str) -> str:
    """Return `ko` or `en`, the language in which a question is answered; short Korean ones may be mostly English terms.

    "OAuth refresh token 만료 시간은?" is Korean: a third of its words, or the last one, are Hangul.
    "What is 휴가?" is English, because it has more English function words than Korean words.
    """
    words = [word for word in unicodedata.normalize("NFC", question).split() if _WORD.search(word)]
    hangul = [word for word in words if _HANGUL.search(word)]
    english = _WORDS["en"].split()
    spoken = sum(word.lower().strip("?!.,") in english for word in words)
    korean = 3 * len(hangul) >= len(words) or words[-1] in hangul
    return "ko" if len(hangul) > spoken and korean else text_language(question)


def known_language(text: str) -> KnownLanguage | None:
    """Return the language, or None if undecidable: names only, a tie of two languages, or another language."""
    composed = unicodedata.normalize("NFC", text)
    if _is_korean(composed):
        return "ko"
    words = _WORD.findall(composed.lower())
    counts = {own: sum(word in own for word in words) for own in _LANGUAGES}
    second, first = sorted(counts, key=counts.__getitem__)[-2:]
    return _LANGUAGES[first] if counts[first] > counts[second] else None


def _is_korean(composed: str) -> bool:
    """Return whether at least a third of the letters are Hangul, as Korean notes are full of English terms."""
    hangul, latin = len(_HANGUL.findall(composed)), len(_LATIN.findall(composed))
    return 2 * hangul >= max(1, latin)
