"""Judges with a model, or a panel of them, whether notes answer a question; "answerable" counts only with a quote.

The model reports observations; the rule is code. Spans are computed, never taken from the model (seed 4.1, `llm`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from gigamind.choices import PromptLanguage
from gigamind.evidence.align import align_all
from gigamind.evidence.result import Aligned, Alignment, Quote
from gigamind.judges.asking import Asking, PanelMember, PlannedCall, counted
from gigamind.judges.panel import ByPanel, PanelJudgeFile, Vote, collect_votes, decide_binary
from gigamind.judges.protocol import PanelJudge, Proof, QuestionCase, Scale, Verdict
from gigamind.judges.quotes import Weakness, strongest
from gigamind.judges.spec import LANGUAGES, LlmJudge, load_llm_judge
from gigamind.llm.client import Message
from gigamind.prompting.fences import Flag, Source, flags, with_notes
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

RULES = 4
_GIVEN = ("nonce", "notes", "question")  # variables of the prompts


class UnanswerableJudgeFile(PanelJudgeFile):
    """A judge file of kind `llm`."""

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
    """Whether a question is unanswerable over some notes, by the rule of the judge file, with the proof.

    Attributes:
        reported_unanswerable: by the model's statement; None if there were no notes to judge.
        verified: answerable, with at least one quote that proves something; see `proves`.
        confidence: as the model reported it; None if it reported none or it cannot be read.
        evidence: where each quote is, or why it was not found, in the order of the reply.
        weak: place in `evidence`, from 0 -> why a quote that is in its note proves nothing.
    """

    unanswerable: bool
    reported_unanswerable: bool | None
    verified: bool
    answer: str
    confidence: Confidence | None
    evidence: tuple[Alignment, ...]
    flagged: dict[int, tuple[Flag, ...]]
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


def verdict_of(
    reply: UnanswerableReply, notes: Sequence[Source], file: UnanswerableJudgeFile
) -> LlmVerdict:
    """Return the verdict for a reply."""
    quotes = [Quote(cited.quote, source_index=cited.note - 1) for cited in reply.sources]
    texts = [note.text for note in notes]
    least = file.min_quote_chars
    proofs = [
        strongest(place, texts[place.quote.source_index], least)
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


class PanelJudgement(ByPanel[LlmVerdict, bool]):
    """The verdicts of a panel on one question; the combined one has no confidence.

    Its answer and quotes come from the first member that voted with the panel, preferably a proven one.
    """


_LEAST_REPLY = 60  # tokens of a verdict with one quote


class ModelJudge(PanelJudge[QuestionCase, PanelJudgement, LlmJudge[UnanswerableJudgeFile]]):
    """The judge of kind `llm`."""

    kind = "llm"
    scales: ClassVar[Mapping[str, Scale]] = {"unanswerable": "binary"}

    def planned(self, case: QuestionCase) -> Iterator[PlannedCall]:
        if case.notes:
            request = counted(self._messages(case, b""), UnanswerableReply)
            yield PlannedCall(request, _LEAST_REPLY, self.file.max_tokens)

    async def judge(self, case: QuestionCase, asking: Asking) -> Verdict[PanelJudgement]:
        """Judge a question by all panel members; without notes, it is unanswerable without a request."""
        panel = await self._by_panel(case, asking)
        verdict = panel.judgement
        if verdict is None:
            return Verdict.missing(panel)
        reported = verdict.reported_unanswerable
        return Verdict(
            {"unanswerable": float(verdict.unanswerable)},
            panel,
            told={"unanswerable": None if reported is None else float(reported)},
            proof=tuple(
                Proof.of(place.quote.source_index + 1, place, proven=verdict.proves(number))
                for number, place in enumerate(verdict.evidence)
            ),
            text=verdict.answer,
            flags=verdict.flagged,
            errors=tuple(panel.errors.values()),
        )

    def _messages(self, case: QuestionCase, key: bytes) -> list[Message]:
        prompt = self.judge_in(case.language).prompt
        return with_notes(prompt.render, case.notes, key, question=as_json(case.question))

    async def _by_panel(self, case: QuestionCase, asking: Asking) -> PanelJudgement:
        if not case.notes:
            nothing = LlmVerdict(True, None, False, "", None, (), {})  # noqa: FBT003
            return PanelJudgement(nothing, None)
        verdicts: dict[PanelMember, LlmVerdict] = {}
        messages = self._messages(case, asking.fence_key)
        judge, first = self.judge_in(case.language), asking.first

        async def ask(member: PanelMember) -> Vote[bool]:
            reply = await asking.ask(
                messages, UnanswerableReply, fingerprint=judge.fingerprint, member=member
            )
            verdict = verdicts[member] = verdict_of(reply, case.notes, judge.file)
            return Vote(verdict.unanswerable, proven=verdict.conflict is None)

        if not self.file.is_panel:
            await ask(first)
            return PanelJudgement(verdicts[first], None)
        ballot = await collect_votes(self.file, first.model, ask)
        panel = decide_binary(ballot.votes, ballot.members, self.file)
        by_member = {name: verdicts[name] for name in ballot.members if name in ballot.votes}
        voted = list(by_member.values())
        reported = {
            name: Vote(verdict.reported_unanswerable is not False)
            for name, verdict in by_member.items()
        }
        agreeing = [verdict for verdict in voted if verdict.unanswerable == panel.value]
        whole = panel.value is not None and replace(
            max(agreeing, key=lambda verdict: verdict.verified),
            reported_unanswerable=decide_binary(reported, ballot.members, self.file).value,
            verified=2 * sum(verdict.verified for verdict in voted) > len(voted),
            confidence=None,
        )
        return PanelJudgement(whole or None, panel, by_member, ballot.errors)


def load_model_judge(path: Path, language: PromptLanguage = "auto") -> ModelJudge:
    """Return the judge of a file of kind `llm`; raises as `load_llm_judge`."""
    kind, rules = (UnanswerableJudgeFile, UnanswerableReply, _GIVEN), f"rules {RULES}"
    return ModelJudge(
        {name: load_llm_judge(path, name, *kind, rules) for name in LANGUAGES[language]}
    )
