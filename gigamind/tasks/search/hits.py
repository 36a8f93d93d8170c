"""Adds the passage and the evidence of each note to a ranking, as in per_item.jsonl.

A hit of another system gets the passage that it returned, if the note contains it; else the chunk of the note with the
most query words; without a vault, none. A returned text that is not in the note is compared as evidence by its words.
"""

import contextlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gigamind.evidence.again import find_again
from gigamind.interop.ranking import Oddity, RankedNote, Ranking
from gigamind.metrics.spans import Evidence, Unplaced
from gigamind.records.schema import PassageReport
from gigamind.retrieval.hit import Hit
from gigamind.retrieval.index import Chunk
from gigamind.retrieval.passages import highlights
from gigamind.retrieval.retriever import Retriever as Engine
from gigamind.spans import Passage, Span
from gigamind.systems.protocol import settle
from gigamind.tasks.search.prepare import Prepared
from gigamind.tasks.search.schema import HitReport
from gigamind.text import tokens
from gigamind.vault.identity import Found, Names
from gigamind.vault.notes import Note


@dataclass(frozen=True, slots=True)
class ShownRanking:
    """A ranking, ready to be judged and measured."""

    # The engine's `Hit`s, or the normalised `RankedNote`s of another system.
    hits: Sequence[Hit] | Sequence[RankedNote]
    reports: tuple[HitReport, ...]
    # Evidence of each hit; None if the text of its note is unknown.
    evidence: tuple[Evidence | None, ...]
    oddities: dict[Oddity, int]


def read_engine(
    prepared: Prepared, engine: Engine, query: str, ranking: Ranking[Hit]
) -> ShownRanking:
    """Return a ranking of gigamind's own engine with its passages."""
    evidence = engine.evidence(query, ranking.hits)
    reports = (
        HitReport.like(hit, **_passages(prepared, hit.passage, shown, hit.words))
        for hit, shown in zip(ranking.hits, evidence, strict=True)
    )
    return ShownRanking(ranking.hits, tuple(reports), tuple(evidence), {})


@dataclass(frozen=True, slots=True)
class ForeignHits:
    """Reads rankings of any other system."""

    prepared: Prepared
    engine: Engine | None  # keyword index of the vault; None without a vault
    labelled: Names  # the notes that labels name

    def read(self, query: str, ranking: Ranking[RankedNote]) -> ShownRanking:
        """Return a ranking with its passages."""
        settled = settle(ranking, self.prepared.options.topk, self._identify)
        oddities: Counter[Oddity] = Counter(settled.oddities)
        chunks, unplaced = self._chunks(query, settled.hits, oddities)
        passages = self.engine.evidence_in(query, chunks.values()) if self.engine else []
        evidence: dict[str, Evidence] = {**dict(zip(chunks, passages, strict=True)), **unplaced}
        words = frozenset(tokens(query))
        reports = (
            self._report(hit, chunks.get(hit.note), evidence.get(hit.note), words)
            for hit in settled.hits
        )
        return ShownRanking(
            settled.hits,
            tuple(reports),
            tuple(evidence.get(hit.note) for hit in settled.hits),
            {name: count for name, count in oddities.items() if count},
        )

    def _identify(self, name: str) -> Found | None:
        if self.engine is None:
            return self.labelled.find(name) or Found(name)
        return self.prepared.identities.find(name)

    def _chunks(
        self, query: str, hits: Sequence[RankedNote], oddities: Counter[Oddity]
    ) -> tuple[dict[str, Chunk], dict[str, Unplaced]]:
        """Return a chunk, or a text that is not in the note, by note; neither for notes outside the vault."""
        if self.engine is None:
            return {}, {}
        chunks = self.engine.chunks_of(query, [hit.note for hit in hits])
        unplaced: dict[str, Unplaced] = {}
        for hit in hits:
            note = self.prepared.vault.note(hit.note)
            text = hit.text.strip()
            if note is None or not (hit.place or text):
                continue
            place = self._place(hit, note)
            oddities["unplaced_texts"] += place is None
            if place is not None:
                passage = Passage(note.path, place.slice(note.text), place)
                chunks[note.path] = Chunk(passage, note.title)
            elif text:
                unplaced[note.path] = Unplaced(note.path, text)
                del chunks[note.path]
        return chunks, unplaced

    def _place(self, hit: RankedNote, note: Note) -> Span | None:
        if hit.place:
            with contextlib.suppress(ValueError):  # beyond the file, or within a surrogate pair
                return self.prepared.units(note.path).span_to_code_points(*hit.place) or None
        text = hit.text.strip()
        return find_again(text, note.text) if text else None

    def _report(
        self, hit: RankedNote, chunk: Chunk | None, shown: Evidence | None, words: frozenset[str]
    ) -> HitReport:
        note = self.prepared.vault.note(hit.note)
        passages = (
            _passages(self.prepared, chunk.passage, shown, words)
            if chunk and isinstance(shown, Passage)
            else {"chunk": None, "evidence": None}
        )
        return HitReport.like(
            hit,
            text=shown.text if isinstance(shown, Unplaced) else "" if note else hit.text,
            final_score=hit.base_score,
            semantic_score=None,
            keyword_score=None,
            title=note.title if note else "",
            **passages,
        )


def passage_report(prepared: Prepared, passage: Passage) -> PassageReport:
    """Return a passage with offsets in UTF-16 code units of its file."""
    start, end = prepared.units(passage.note).span_from_code_points(passage.span)
    return PassageReport(note=passage.note, utf16_start=start, utf16_end=end, text=passage.text)


def _passages(
    prepared: Prepared, chunk: Passage, shown: Passage, words: frozenset[str]
) -> dict[str, Any]:
    units = prepared.units(shown.note)
    return {
        "chunk": passage_report(prepared, chunk),
        "evidence": passage_report(prepared, shown),
        "highlights": tuple(units.span_from_code_points(span) for span in highlights(shown, words)),
    }
