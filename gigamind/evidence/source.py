"""A text in which quotes are located; normalised at most once for all quotes."""

from functools import cached_property
from hashlib import sha256
from typing import Literal

from gigamind.errors import InputError
from gigamind.evidence.normalize import (
    Folding,
    spaceless,
    spaceless_text,
    unglossed,
    unmarked,
    visible,
)
from gigamind.evidence.result import DEFAULT
from gigamind.i18n import _

NormalLevel = Literal["N1", "N2", "N3"]


def text_hash(text: str) -> str:
    """Return the SHA-256 of the UTF-8 text in hexadecimal. A lone surrogate counts as its three bytes."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Source:
    """One message or one note. A match never spans two sources. Raises InputError if the text exceeds the limit."""

    def __init__(self, text: str, *, max_chars: int = DEFAULT.max_source_chars) -> None:
        if len(text) > max_chars:
            message = _(
                "The source text has {n:,} characters; the limit (max_source_chars) is {limit:,}. Split the text.",
                n=len(text),
                limit=max_chars,
            )
            raise InputError(message)
        self.text = text

    @cached_property
    def sha256(self) -> str:
        """The hash of the text, as `text_hash`; the offsets of a result are valid for this text only."""
        return text_hash(self.text)

    @cached_property
    def unglossed(self) -> Folding:
        """N2 without the contents of brackets; N2 itself if there are none."""
        return unglossed(self._n2)

    def level(self, name: NormalLevel) -> Folding:
        if name == "N1":
            return self._n1
        return self._n2 if name == "N2" else self._n3

    @cached_property
    def _n1(self) -> Folding:
        return visible(self.text)

    @cached_property
    def _n2(self) -> Folding:
        return unmarked(self.text, self._n1, is_quote=False)

    @cached_property
    def spaceless(self) -> str:
        """The text of N3."""
        return spaceless_text(self._n2.text)

    @cached_property
    def _n3(self) -> Folding:
        return spaceless(self._n2)
