"""The language of a note, where its frontmatter does not say: Korean or English, told by the letters."""

import re
import unicodedata

from gigamind.vault.notes import Note

_HANGUL = re.compile("[ㄱ-ㅎㅏ-ㅣ가-힣]")
_LATIN = re.compile("[A-Za-z]")


def note_language(note: Note) -> str:
    """The `lang` of the frontmatter without its region ("ko-KR" is "ko"), else the language of the text."""
    declared = re.split("[-_]", note.language.strip().lower())[0]
    return declared or text_language(note.text[note.document.body_start :])


def text_language(text: str) -> str:
    """`ko` when a third of the letters or more are Hangul, for Korean notes are full of English terms; else `en`."""
    composed = unicodedata.normalize("NFC", text)
    hangul, latin = len(_HANGUL.findall(composed)), len(_LATIN.findall(composed))
    return "ko" if 2 * hangul >= max(1, latin) else "en"
