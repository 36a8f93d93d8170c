"""Judges with a model whether notes answer a question; "answerable" counts only with a quote.

The model reports observations; the rule is code. Spans are computed, never taken from the model (spec 4.1, `llm`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from gigamind.choices import PromptLanguage
from gigamind.evidence.align import align_all
from gigamind.evidence.result import Aligned, Alignment, Quote
from gigamind.judges.protocol import (
    Asking,
    LocalisedJudge,
    PlannedCall,
    Proof,
    QuestionCase,
    Verdict,
)
from gigamind.judges.quotes import Weakness, strongest
from gigamind.judges.spec import LANGUAGES, NO_PANEL, LlmJudge, LlmJudgeFile, load_llm_judge
from gigamind.llm.client import Message
from gigamind.prompting.fences import Flag, Source, flags
from gigamind.prompting.prompts import as_json
from gigamind.prompting.replies import (
    Auxiliary,
    Confidence,
    ModelReply,
    Most,
    Quotation,
    ReportedConfidence,
)
from gigamind.records.judged import Conflict

# Part of the fingerprint. Increment it whenever the code gives the same reply another verdict.
_RULES = 4
_GIVEN = ("nonce", "notes", "question")  # variables of the prompts


class _UnanswerableJudgeFile(LlmJudgeFile):
    """A judge file of kind `llm`."""

    also_hashed = NO_PANEL

    kind: Literal["llm"]
    unverified: Literal["unanswerable", "as_told"] = "unanswerable"
    min_quote_chars: Annotated[int, Field(ge=1, le=100)] = 4


class CitedSource(ModelReply, frozen=True):
    """A note that the model says it used."""

    note: int = Field(ge=1, description="number of the note, from its index")
    quote: Quotation = Field(description="a sentence of that note, copied word for word")


class UnanswerableReply(ModelReply, frozen=True):
    """What the model observes."""

    answered: bool = Field(description="true if the notes answer the question, else false")
    answer: Annotated[str, Auxiliary(""), Most(1_500)] = Field(
        description="the answer from the notes alone; empty if there is none"
    )
    sources: Annotated[tuple[CitedSource, ...], Auxiliary(()), Most(12)] = Field(
        description="the notes used; empty if not answered"
    )
    confidence: Annotated[ReportedConfidence | SkipJsonSchema[None], Auxiliary()] = Field(
        description="how sure you are of answered"
    )


@dataclass(frozen=True, slots=True)
class LlmVerdict:
    """Whether a question is unanswerable over some notes, by the rule of the judge file, with the proof."""

    unanswerable: bool
    reported_unanswerable: bool | None  # by the model's statement; None without notes to judge
    verified: bool  # answerable, with at least one quote that proves something; see `proves`
    answer: str
    confidence: Confidence | None  # of the model; None if it reported none that can be read
    evidence: tuple[Alignment, ...]  # where each quote of the reply is, or why it was not found
    flagged: dict[int, tuple[Flag, ...]]
    # place in `evidence`, from 0 -> why a quote that is in its note proves nothing
    weak: Mapping[int, Weakness] = field(default_factory=dict[int, Weakness])

    def proves(self, place: int) -> bool:
        """Return whether the quote at this place, from 0, is in its note and proves something; see `strongest`."""
        return isinstance(self.evidence[place], Aligned) and place not in self.weak

    @property
    def conflict(self) -> Conflict | None:
        """Whether the model's statement contradicts its quotes; the judge's rule decides regardless."""
        if self.reported_unanswerable is None:
            return None
        if not self.reported_unanswerable:
            return None if self.verified else "unproven"
        return "quoted" if any(map(self.proves, range(len(self.evidence)))) else None


def _verdict_of(
    reply: UnanswerableReply, notes: Sequence[Source], file: _UnanswerableJudgeFile
) -> LlmVerdict:
    """Return the verdict for a reply."""
    quotes = [Quote(cited.quote, source_index=cited.note - 1) for cited in reply.sources]
    texts = [note.text for note in notes]
    proofs = [
        strongest(place, texts[place.quote.source_index], file.min_quote_chars)
        if isinstance(place, Aligned)
        else (place, None)
        for place in align_all(quotes, texts).outcomes
    ]
    evidence = tuple(alignment for alignment, _ in proofs)
    weak: dict[int, Weakness] = {n: why for n, (_, why) in enumerate(proofs) if why is not None}
    proven = any(isinstance(place, Aligned) and why is None for place, why in proofs)
    believed = proven or file.unverified == "as_told"
    return LlmVerdict(
        unanswerable=not (reply.answered and believed),
        reported_unanswerable=not reply.answered,
        verified=reply.answered and proven,
        answer=reply.answer,
        confidence=reply.confidence,
        evidence=evidence,
        flagged={n: signs for n, note in enumerate(notes, 1) if (signs := flags(note.text))},
        weak=weak,
    )


_LEAST_REPLY = 60  # tokens of a verdict with one quote


class ModelJudge(LocalisedJudge[QuestionCase, LlmVerdict, LlmJudge[_UnanswerableJudgeFile]]):
    """The judge of kind `llm`."""

    kind = "llm"
    scales: ClassVar = {"unanswerable": "binary"}

    def planned(self, case: QuestionCase) -> Iterator[PlannedCall]:
        if case.notes:
            messages, most = self._messages(case, b""), self.file.max_tokens
            yield PlannedCall.of(messages, UnanswerableReply, _LEAST_REPLY, most)

    async def judge(self, case: QuestionCase, asking: Asking) -> Verdict[LlmVerdict]:
        """Judge a question; without notes, it is unanswerable without a request."""
        verdict = LlmVerdict(True, None, False, "", None, (), {})  # noqa: FBT003
        if case.notes:
            messages, judge = self._messages(case, asking.fence_key), self.judge_in(case.language)
            reply = await asking.ask(messages, UnanswerableReply, fingerprint=judge.fingerprint)
            verdict = _verdict_of(reply, case.notes, judge.file)
        reported = verdict.reported_unanswerable
        return Verdict(
            {"unanswerable": float(verdict.unanswerable)},
            verdict,
            told={"unanswerable": None if reported is None else float(reported)},
            proof=tuple(
                Proof.of(place.quote.source_index + 1, place, proven=verdict.proves(number))
                for number, place in enumerate(verdict.evidence)
            ),
            text=verdict.answer,
            flags=verdict.flagged,
        )

    def _messages(self, case: QuestionCase, key: bytes) -> list[Message]:
        prompt = self.judge_in(case.language).prompt
        return prompt.about(case.notes, key, question=as_json(case.question))

    @classmethod
    def load(cls, path: Path, language: PromptLanguage = "auto") -> Self:
        """Return the judge of a file of kind `llm`; raises as `load_llm_judge`."""
        parts = _UnanswerableJudgeFile, UnanswerableReply, _GIVEN, f"rules {_RULES}"
        return cls({name: load_llm_judge(path, name, *parts) for name in LANGUAGES[language]})
