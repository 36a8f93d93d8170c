"""Asks a model, or a panel of them, whether notes answer a question; "answerable" counts only with a quote from them.

A model tells what it saw; the rule is here.  Spans are computed, never taken from the model (seed 4.1, `llm`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from gigamind.choices import PromptLanguage
from gigamind.errors import LlmError
from gigamind.evidence.align import align_all
from gigamind.evidence.result import Aligned, Alignment, Quote
from gigamind.judges.asking import Asking, PanelMember, PlannedCall, counted
from gigamind.judges.panel import (
    Ballot,
    PanelJudgeFile,
    PanelVerdict,
    Vote,
    collect_votes,
    decide_binary,
)
from gigamind.judges.protocol import PanelJudge, Proof, QuestionCase, Scale, Verdict
from gigamind.judges.quotes import Weakness, strongest
from gigamind.judges.spec import LANGUAGES, LlmJudge, fingerprint_of, load_llm_judge
from gigamind.llm.client import Message
from gigamind.llm.fences import Flag, Source, fence, flags
from gigamind.llm.prompts import as_json
from gigamind.llm.replies import Auxiliary, Confidence, ModelReply, Most, Quotation, ReportedConfidence
from gigamind.records.judged import Conflict
from gigamind.wording import Language

# Part of the fingerprint.  Raise it whenever the code gives the same reply another verdict.
# 2: quotes with changed words, too short ones, and those cut off a word or a negation prove nothing.
# 3: any word changed but by the closed set of evidence/proof.py refuses: tenses and endings, too.
# 4: a model says whether the notes answer; what it need not say is read leniently; a quote against it is no proof.
RULES = 4
_GIVEN = ("nonce", "notes", "question")  # the variables that its prompts may use


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
    """Whether a question is unanswerable over some notes, with the proof.

    Attributes:
        unanswerable: by the rule of the judge file.
        told: what the model said; None when there were no notes to ask about.
        verified: an "answerable" with at least one quote that proves something; see `proves`.
        confidence: as the model told it; None where it told none, or nothing that can be read.
        evidence: where each quote stands, or why it does not, in the order of the reply.
        flagged: what a person should look at in the notes, by their number from 1.
        weak: why a quote that stands in its note proves nothing, by its place in `evidence`, from 0.
    """

    unanswerable: bool
    told: bool | None
    verified: bool
    answer: str
    confidence: Confidence | None
    evidence: tuple[Alignment, ...]
    flagged: dict[int, tuple[Flag, ...]]
    weak: Mapping[int, Weakness] = field(default_factory=dict[int, Weakness])

    def proves(self, place: int) -> bool:
        """Whether that quote, from 0, stands in its note and proves something; see `strongest`."""
        return isinstance(self.evidence[place], Aligned) and place not in self.weak

    @property
    def conflict(self) -> Conflict | None:
        """Whether what the model said stands against its quotes; the judge's rule decides all the same."""
        if self.told is None:
            return None
        if not self.told:
            return None if self.verified else "unproven"
        return "quoted" if any(map(self.proves, range(len(self.evidence)))) else None


def load_unanswerable_judge(
    path: Path, language: Language, *, prompts: Path | None = None
) -> LlmJudge[UnanswerableJudgeFile]:
    """The judge of a file, with its prompt in one language.

    Raises:
        InputError: see `load_llm_judge`.
    """
    judge = load_llm_judge(
        path, language, UnanswerableJudgeFile, UnanswerableReply, _GIVEN, prompts=prompts
    )
    return replace(
        judge, fingerprint=fingerprint_of(judge.file, judge.fingerprint, f"rules {RULES}")
    )


async def judge_by_model(
    judge: LlmJudge[UnanswerableJudgeFile], case: QuestionCase, asking: Asking, member: PanelMember
) -> LlmVerdict:
    """The verdict of one seat; without notes, unanswerable without asking.

    Raises:
        LlmError: the model gave no usable reply: the item is unscored, not answerable and not unanswerable.
    """
    if not case.notes:
        return LlmVerdict(True, None, False, "", None, (), {})  # noqa: FBT003
    messages = _messages(judge, case, asking.fence_key)
    mark = judge.fingerprint
    reply = await asking.ask(messages, UnanswerableReply, fingerprint=mark, member=member)
    return verdict_of(reply, case.notes, judge)


def _messages(
    judge: LlmJudge[UnanswerableJudgeFile], case: QuestionCase, key: bytes
) -> list[Message]:
    fenced = fence(case.notes, key)
    return judge.prompt.render(
        nonce=fenced.nonce, notes=fenced.text, question=as_json(case.question)
    )


def verdict_of(
    reply: UnanswerableReply, notes: Sequence[Source], judge: LlmJudge[UnanswerableJudgeFile]
) -> LlmVerdict:
    """The verdict that a reply amounts to."""
    quotes = [Quote(cited.quote, source_index=cited.note - 1) for cited in reply.sources]
    texts = [note.text for note in notes]
    proofs = [
        _proof(alignment, texts, judge.file) for alignment in align_all(quotes, texts).outcomes
    ]
    evidence = tuple(alignment for alignment, _ in proofs)
    weak: dict[int, Weakness] = {
        place: why for place, (_, why) in enumerate(proofs) if why is not None
    }
    verdict = LlmVerdict(
        unanswerable=not reply.answered,
        told=not reply.answered,
        verified=False,
        answer=reply.answer,
        confidence=reply.confidence,
        evidence=evidence,
        flagged={
            number: signs
            for number, note in enumerate(notes, start=1)
            if (signs := flags(note.text))
        },
        weak=weak,
    )
    verified = reply.answered and any(map(verdict.proves, range(len(evidence))))
    doubted = judge.file.unverified == "unanswerable" and not verified
    return replace(verdict, verified=verified, unanswerable=not reply.answered or doubted)


def _proof(
    place: Alignment, texts: Sequence[str], file: UnanswerableJudgeFile
) -> tuple[Alignment, Weakness | None]:
    """The quote where it proves most, and why it proves nothing even there."""
    if not isinstance(place, Aligned):
        return place, None
    return strongest(place, texts[place.quote.source_index], file.min_quote_chars)


Judge = LlmJudge[UnanswerableJudgeFile]


@dataclass(frozen=True, slots=True)
class PanelJudgement:
    """What the seats said about one question, and what that amounts to.

    Attributes:
        verdict: as if one model had given it; None when the panel gave none.  Answer and quotes are those of the first
            seat that voted as the panel decided, a proven one if there is; a panel states no confidence.
        panel: None when one model alone was asked, or nobody.
        by_member: what each seat that voted said.
        errors: why a seat did not vote.
    """

    verdict: LlmVerdict | None
    panel: PanelVerdict[bool] | None
    by_member: Mapping[PanelMember, LlmVerdict]
    errors: Mapping[PanelMember, LlmError]

    @property
    def why(self) -> str:
        """Why there is no verdict, in a sentence; "" when there is one."""
        if self.panel is None or self.panel.code is None:
            return ""
        if self.panel.code == "panel_tied":
            return "the votes of the panel are split in halves, and its judge file decides nothing then (tie)"
        member, error = next(iter(self.errors.items()))
        asked = len(self.by_member) + len(self.errors)
        return f"{len(self.errors)} of {asked} seats of the panel gave no vote: {member.model}: {error} ({error.code})"


async def judge_by_panel(judge: Judge, case: QuestionCase, asking: Asking) -> PanelJudgement:
    """The judgement of all seats of the judge file; without notes, unanswerable without asking.

    Raises:
        LlmError: the one model of a judge without a panel gave no usable reply, or the budget is used up.
    """
    said: dict[PanelMember, LlmVerdict] = {}

    async def ask(member: PanelMember) -> Vote[bool]:
        verdict = said[member] = await judge_by_model(judge, case, asking, member)
        return Vote(verdict.unanswerable, proven=verdict.conflict is None)

    first = asking.first
    if not case.notes or not judge.file.is_panel:
        await ask(first)
        return PanelJudgement(said[first], None, {}, {})
    ballot = await collect_votes(judge.file, first.model, ask)
    panel = decide_binary(ballot.votes, ballot.members, judge.file)
    by_member = {member: said[member] for member in ballot.members if member in ballot.votes}
    return PanelJudgement(
        _verdict(panel, by_member, ballot, judge), panel, by_member, ballot.errors
    )


def _verdict(
    panel: PanelVerdict[bool],
    by_member: Mapping[PanelMember, LlmVerdict],
    ballot: Ballot[bool],
    judge: Judge,
) -> LlmVerdict | None:
    if panel.value is None:
        return None
    agreeing = [verdict for verdict in by_member.values() if verdict.unanswerable == panel.value]
    speaker = max(agreeing, key=lambda verdict: verdict.verified)  # the first of equals
    told_votes = {member: Vote(verdict.told is not False) for member, verdict in by_member.items()}
    return LlmVerdict(
        unanswerable=panel.value,
        told=decide_binary(told_votes, ballot.members, judge.file).value,
        verified=2 * sum(verdict.verified for verdict in by_member.values()) > len(by_member),
        answer=speaker.answer,
        confidence=None,
        evidence=speaker.evidence,
        flagged=speaker.flagged,
        weak=speaker.weak,
    )


_LEAST_REPLY = 60  # tokens: a verdict, one quote


class ModelJudge(PanelJudge[QuestionCase, PanelJudgement, LlmJudge[UnanswerableJudgeFile]]):
    """The judge of kind `llm`."""

    kind = "llm"
    scales: ClassVar[Mapping[str, Scale]] = {"unanswerable": "binary"}

    def planned(self, case: QuestionCase) -> Iterator[PlannedCall]:
        if case.notes:
            messages = _messages(self.judge_in(case.language), case, b"")
            request = counted(messages, UnanswerableReply.model_json_schema())
            yield PlannedCall(request, _LEAST_REPLY, self.file.max_tokens)

    async def judge(self, case: QuestionCase, asking: Asking) -> Verdict[PanelJudgement]:
        """Without notes, unanswerable without asking."""
        panel = await judge_by_panel(self.judge_in(case.language), case, asking)
        verdict, errors = panel.verdict, tuple(panel.errors.values())
        if verdict is None:
            code = panel.panel.code if panel.panel else None
            return Verdict({}, panel, errors=errors, code=code or "", why=panel.why)
        return Verdict(
            {"unanswerable": float(verdict.unanswerable)},
            panel,
            told={"unanswerable": None if verdict.told is None else float(verdict.told)},
            proof=tuple(
                Proof.of(place.quote.source_index + 1, place, proven=verdict.proves(number))
                for number, place in enumerate(verdict.evidence)
            ),
            text=verdict.answer,
            flags=verdict.flagged,
            errors=errors,
        )


def load_model_judge(path: Path, language: PromptLanguage = "auto") -> ModelJudge:
    """The judge of a file of kind `llm`.

    Raises:
        InputError: the file or a prompt cannot be read, or says something unknown.
    """
    return ModelJudge({name: load_unanswerable_judge(path, name) for name in LANGUAGES[language]})
