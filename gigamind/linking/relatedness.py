"""How near in meaning a paragraph is to a note: the cosine of their vectors, kept in the embedding cache."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gigamind.retrieval.cache import embed_all
from gigamind.retrieval.embed import Embedder
from gigamind.spans import Span
from gigamind.vault.notes import Note, Vault

_AROUND = 200  # code points on either side of an anchor, within its block
_BEGINNING = 400  # code points of a note, behind its title


@dataclass(frozen=True, slots=True)
class Relatedness:
    """Compares places of notes with other notes of one vault.

    Attributes:
        cache: file of the embedding cache; None computes everything anew.
    """

    vault: Vault
    embedder: Embedder
    cache: Path | None

    def cosines(self, note: Note, pairs: Sequence[tuple[Span, str]]) -> list[float]:
        """The cosine of each place of `note` with the note at a path, in [-1, 1].

        Raises:
            EmbeddingError: the model failed.
            IndexingError: the cache cannot be used.
        """
        here = [_paragraph(note, span) for span, _ in pairs]
        there = [self._beginning(path) for _, path in pairs]
        texts = list(dict.fromkeys([*here, *there]))
        if not texts:
            return []
        vectors = embed_all(self.embedder, texts, self.cache, lambda _done, _all: None)
        row = {text: number for number, text in enumerate(texts)}
        return [
            float(vectors[row[left]] @ vectors[row[right]])
            for left, right in zip(here, there, strict=True)
        ]

    def _beginning(self, path: str) -> str:
        note = self.vault.note(path)
        if note is None:
            raise KeyError(path)
        start = note.document.body_start
        return f"{note.title}. {note.text[start : start + _BEGINNING]}"


def _paragraph(note: Note, span: Span) -> str:
    around = (
        block.span
        for block in note.document.blocks
        if block.span.start <= span.start < block.span.end
    )
    block = next(around, Span(note.document.body_start, len(note.text)))
    return note.text[max(block.start, span.start - _AROUND) : min(block.end, span.end + _AROUND)]
