"""Questions, and the notes for their answers: given with the question or found by search."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, Field
from pydantic.config import JsonDict

from gigamind.errors import InputError
from gigamind.evaluation.inputs import context_of
from gigamind.i18n import LANGUAGES, Language
from gigamind.prompting.fences import Source
from gigamind.retrieval.hit import Hit
from gigamind.retrieval.prepare import open_retriever
from gigamind.retrieval.retriever import Retriever
from gigamind.service.options import ServiceOptions
from gigamind.spans import Span
from gigamind.vault.identity import Identities
from gigamind.vault.language import question_language
from gigamind.vault.notes import Note, Vault, read_vault

Feature = Literal["search_qa", "insight", "writing", "summary"]
MAX_CHARS = 200_000  # of notes given with a question
_Question = Annotated[str, Field(min_length=1, max_length=4_000, pattern=r"\S")]
if TYPE_CHECKING:
    _Language = str
else:
    _Language = Literal[LANGUAGES]
_Texts = Annotated[tuple[str, ...], Field(max_length=50)]


class AskOptions(BaseModel, extra="ignore", frozen=True):
    """How to answer a question.

    Attributes:
        mode: "search" lets the service find the notes.
        context_notes: texts of the notes to answer from; `note_titles` are their titles in the same order.
        note_id: answer only from this note.
        lang: language of the answer; by default that of the question.
    """

    mode: Literal["search"] | None = None
    context_notes: _Texts = ()
    note_titles: _Texts = ()
    note_id: str | None = None
    lang: _Language | None = None


_EXAMPLE: JsonDict = {
    "feature": "search_qa",
    "content": "연차는 며칠인가요?",
    "options": {"mode": "search"},
}


class Ask(BaseModel, frozen=True, json_schema_extra={"examples": [_EXAMPLE]}):
    """One question."""

    feature: Feature = "search_qa"
    content: _Question
    options: AskOptions = AskOptions()
    quality_gate_enabled: bool = True

    @property
    def language(self) -> Language:
        if self.options.lang:
            return self.options.lang
        return "ko" if question_language(self.content) == "ko" else "en"

    @property
    def searches(self) -> bool:
        """Whether the service searches for notes, which search_qa always does for a question without notes."""
        options = self.options
        if options.note_id or options.context_notes:
            return False
        return options.mode == "search" or self.feature == "search_qa"

    @property
    def is_evaluated(self) -> bool:
        return self.feature == "search_qa" or (
            self.feature == "insight" and self.options.mode == "search"
        )


@dataclass(frozen=True, slots=True)
class Context:
    """The notes shown to a model, kept until its answer is judged."""

    sources: tuple[Source, ...]
    ids: tuple[str | None, ...]  # paths in the vault; None for a note given with the question
    scores: tuple[float | None, ...]
    shifts: tuple[int, ...]  # UTF-16 code units of the note's file before the part that is shown

    def matched(self) -> list[dict[str, object]]:
        return [
            {"note_id": name, "title": source.title, "score": score}
            for source, name, score in zip(self.sources, self.ids, self.scores, strict=True)
        ]


@dataclass
class Desk:
    """The vault and its search, one at a time: parallel searches are not faster and slow the streams."""

    options: ServiceOptions
    vault: Vault
    retriever: Retriever

    def __post_init__(self) -> None:
        self._searching = ThreadPoolExecutor(1, "search")

    async def search(self, query: str) -> list[Hit]:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._searching, self.retriever.search, query)

    async def context(self, ask: Ask) -> Context:
        """Return the notes to show to the model.

        Raises:
            InputError: the note does not exist, or the given notes are too long.
            EmbeddingError, IndexingError: search failed.
        """
        if ask.searches:
            hits = await self.search(ask.content)
            found = [(note, hit) for hit in hits if (note := self.vault.note(hit.note)) is not None]
            return self._shown(
                [(note, hit.passage.span) for note, hit in found],
                [round(hit.base_score, 4) for _note, hit in found],
            )
        if ask.options.note_id is not None:
            note = self.vault.note(ask.options.note_id)
            if note is None:
                raise InputError(
                    "{note}: the vault has no note with this path", note=ask.options.note_id
                )
            return self._shown([(note, Span(0, 0))], [None])
        return _given(ask.options)

    def _shown(self, notes: Sequence[tuple[Note, Span]], scores: Sequence[float | None]) -> Context:
        options = self.options
        context = context_of(notes, options.context_notes, options.context_chars)
        return Context(
            tuple(context_note.source for context_note in context),
            tuple(context_note.path for context_note in context),
            tuple(scores[: len(context)]),
            tuple(
                len(note.text[: part.start].encode("utf-16-le")) // 2
                for (note, _span), part in zip(notes, context, strict=False)
            ),
        )

    def close(self) -> None:
        self._searching.shutdown(cancel_futures=True)
        self.retriever.close()


def _given(options: AskOptions) -> Context:
    texts, titles = options.context_notes, options.note_titles
    if sum(map(len, texts)) > MAX_CHARS:
        raise InputError(
            "options.context_notes: all texts together have more than {limit:,} characters",
            limit=MAX_CHARS,
        )
    named = [titles[place] if place < len(titles) else "" for place in range(len(texts))]
    sources = tuple(Source(title, text) for title, text in zip(named, texts, strict=True))
    none = (None,) * len(texts)
    return Context(sources, none, none, (0,) * len(texts))


def open_desk(options: ServiceOptions) -> Desk:
    """Open the vault of the options for search; NotesError, IndexingError or EmbeddingError if that fails."""
    vault = read_vault(options.notes)
    retriever = open_retriever(
        vault, Identities(vault.notes), options.retrieval, lambda _done, _total: None
    )
    return Desk(options, vault, retriever)
