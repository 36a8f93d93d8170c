"""The input of an answer run: its cases, its judge, and the answers of a system once there are any.

Contexts of a system become notes in their order, because answers cite numbers. A context with only a name is judged by
that note of the vault; an unknown note becomes empty, which proves nothing.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from gigamind.datasets.check import GivenNote
from gigamind.datasets.schema import AnswerLabels
from gigamind.evaluation.inputs import PreparedInput
from gigamind.evidence.again import find_again
from gigamind.evidence.align import align_all
from gigamind.evidence.result import Aligned, Quote
from gigamind.i18n import Language, or_english
from gigamind.interop.ranking import Oddity, RankedNote
from gigamind.judges.protocol import AnswerCase, Judge
from gigamind.judges.quality_gate import QualityGate
from gigamind.judges.quotes import best_proof
from gigamind.judges.spec import Chosen
from gigamind.prompting.fences import Source
from gigamind.runs.store import ItemKey, ItemResult
from gigamind.spans import Utf16
from gigamind.tasks.options import AnswerEvalOptions
from gigamind.vault.identity import Identities
from gigamind.vault.notes import Note

Gate = Chosen[QualityGate]
AnswerJudge = Chosen[Judge[AnswerCase, Any]]
_TYPICAL_CONTEXT = Source("context", "words of it " * 500)  # 6 000 characters
_TYPICAL_ANSWER = "\n".join(f"- claim {number} of an answer" for number in range(1, 7))
SYSTEM_ROLE = "system"
GATE_ROLE = "quality_gate"
"""The parts of an item's results that hold the answer of a system, and the checklist results."""


@dataclass(frozen=True, slots=True)
class _SystemAnswer:
    """Details of a system's answer."""

    # One for each note of the case, as the system returned them; if its text is unknown, the note is empty.
    contexts: tuple[RankedNote, ...]
    oddities: Mapping[Oddity, int]  # data-quality problems, with counts
    latency_ms: float | None  # wall time of the request; None for a run file


@dataclass(frozen=True, slots=True)
class EvalCase:
    """An answer, or a question without an answer yet, with its context."""

    id: str
    question: str
    notes: tuple[GivenNote, ...]
    answer: str | None  # None until a model or a system has answered
    language: str  # from the dataset, else the language of the question
    tags: tuple[str, ...]
    labels: AnswerLabels | None = None
    # Numbers of the notes that answer the question, from 1; None if the dataset has no such label.
    relevant: frozenset[int] | None = None
    # Paths of the notes that answer the question; None if the dataset has no such label.
    expected: frozenset[str] | None = None
    # Texts that contain the labelled facts, if a system chooses the context.
    references: tuple[str, ...] = ()
    response: _SystemAnswer | None = None  # details of a system's answer; None without one
    repeat: int = 1  # number of the answer to its question; from 2, `id` ends with it
    unanswerable: bool = False  # whether the dataset labels the question as unanswerable

    @property
    def prompt_language(self) -> Language:
        """The language of prompts: English if there is no catalogue of the case's own."""
        return or_english(self.language.lower()[:2])

    @property
    def sources(self) -> tuple[Source, ...]:
        return tuple(Source(note.title, note.text) for note in self.notes)

    def given(self, notes: tuple[GivenNote, ...]) -> "EvalCase":
        """Return the case with these notes as its context."""
        numbered, expected = enumerate(notes, start=1), self.expected
        relevant = frozenset(number for number, note in numbered if note.path in (expected or ()))
        return replace(self, notes=notes, relevant=None if expected is None else relevant)

    def answered(self, answer: str) -> AnswerCase:
        return AnswerCase(self.question, answer, self.sources, self.prompt_language)

    def typical(self, *, by_system: bool) -> AnswerCase:
        """Return the judge's input for estimates. A missing answer gets six claims and a context of typical length."""
        if self.answer is not None:
            return self.answered(self.answer)
        case = self.answered(_TYPICAL_ANSWER)
        return replace(case, notes=(_TYPICAL_CONTEXT,)) if by_system else case


@dataclass(frozen=True, slots=True)
class ContextReader:
    """Reads contexts over one vault, which may have no notes."""

    identities: Identities
    has_vault: bool  # without a vault, an unknown note is a problem only if its text is missing

    def read(
        self, contexts: Sequence[RankedNote]
    ) -> tuple[tuple[GivenNote, ...], dict[Oddity, int]]:
        """Return a note for each context, and data-quality problems with counts."""
        oddities: Counter[Oddity] = Counter()
        notes: list[GivenNote] = []
        for number, context in enumerate(contexts, start=1):
            note = self._note(context, number, oddities)
            oddities["repeated_notes"] += bool(note.text) and note in notes
            notes.append(note)
        oddities["no_contexts"] += not contexts
        return tuple(notes), {name: count for name, count in oddities.items() if count}

    def _note(self, context: RankedNote, number: int, oddities: Counter[Oddity]) -> GivenNote:
        name = context.note or context.text
        resolution = self.identities.resolve(name)
        known = resolution.note if resolution else None
        if known is None:
            own_text = context.text if context.note or not _is_name(context.text) else ""
            oddities["unknown_notes"] += (bool(context.note) and self.has_vault) or not own_text
            return GivenNote(None, name if name != own_text else f"context {number}", own_text)
        text = context.text if context.note else ""
        is_unplaced = bool(text.strip()) and find_again(text.strip(), known.text) is None
        oddities["unplaced_texts"] += is_unplaced
        return GivenNote(known.path, known.title, text or _part(known, context.place))


def _part(note: Note, place: tuple[int, int] | None) -> str:
    """Return the text of a range of a note; the whole note without a range, or if it exceeds the note."""
    if place is None:
        return note.text
    try:
        return Utf16(note.text).span_to_code_points(*place).slice(note.text) or note.text
    except ValueError:
        return note.text


def _is_name(text: str) -> bool:
    """Return whether a string names a note: a line that ends in .md, or one ASCII word (Chinese has no spaces)."""
    line = text.strip()
    is_word = line.isascii() and len(line.split()) == 1
    return "\n" not in line and (line.endswith(".md") or is_word)


@dataclass(frozen=True, slots=True)
class PreparedAnswers(PreparedInput):
    """Valid input of one run."""

    options: AnswerEvalOptions
    judge: AnswerJudge
    cases: Mapping[str, EvalCase]  # by id, in dataset order
    notes: int  # number of notes in the vault; 0 without a vault
    gate: Gate | None = None  # quality gate of the checklist; None without `--checklist`
    # Reads the contexts that the system returns with its answers.
    contexts: ContextReader | None = None

    def with_answers(self, results: Mapping[ItemKey, ItemResult]) -> "PreparedAnswers":
        """Add the answers of a system, if there is one, from the results of a run."""
        reader = self.contexts
        if reader is None:
            return self
        cases = {
            name: _answered(case, answer, reader)
            if (answer := results.get(ItemKey(name, SYSTEM_ROLE))) and answer.value
            else case
            for name, case in self.cases.items()
        }
        return replace(self, cases=cases)


def _answered(case: EvalCase, result: ItemResult, reader: ContextReader) -> EvalCase:
    contexts = tuple(
        RankedNote(**context | {"place": context["place"] and tuple(context["place"])})
        for context in result.value["contexts"]
    )
    notes, oddities = reader.read(contexts)
    answer, odd = result.value["answer"], result.value["oddities"] | oddities
    details = _SystemAnswer(contexts, odd, result.latency_ms or None)
    return replace(case.given(notes), answer=answer, response=details)


_MIN_CHARS = 8  # letters and digits of a fact, as for a quote


@lru_cache(maxsize=4_096)  # each fact is looked for before the run, and again for its report
def backing(fact: str, notes: tuple[str, ...]) -> Sequence[Aligned]:
    """Return the places in the notes that contain a fact."""
    quotes = [Quote(fact, source_index=index) for index in range(len(notes))]
    outcomes = align_all(quotes, notes).outcomes
    places = (best_proof(outcome, notes, _MIN_CHARS) for outcome in outcomes)
    return [place for place, proves in places if proves and isinstance(place, Aligned)]
