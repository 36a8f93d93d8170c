"""The out folder of an answer run: evaluations under the names of the seed (004), and the figures."""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from gigamind.errors import Outcome
from gigamind.evidence.record import AlignmentQuality
from gigamind.interop.ranking import Oddity
from gigamind.judges.search_qa.judged import ClaimVerdict
from gigamind.llm.replies import Confidence
from gigamind.records.judged import (
    AnswerOutcome,
    Count,
    LlmReport,
    Report,
    SeatReport,
    SecondLookReport,
    Share,
    VerdictReport,
)
from gigamind.records.schema import IntervalReport, Milliseconds, Record, TaskSummary
from gigamind.systems.health import SystemHealth
from gigamind.tasks.answers.quality import QualityReport, QualitySummaryReport

Aside = Literal["abstention", "courtesy", "lead_in", "question", "heading", "source"]
Told = Literal["supported", "contradicted", "not_found"]


class SourceCoverage(Report):
    """Which note was used (seed 004); `relevant` and `marked` are ours, see `Coverage` of the judge."""

    note_index: int
    note_title: str
    cited: bool
    relevant_claim: str
    relevant: bool | None
    marked: bool


class AnswerSentence(Report):
    """One sentence, numbered in the answer; offsets are half-open, in it.

    Attributes:
        start: code points; so is `end`.
        utf16_start: UTF-16 code units; so is `utf16_end`.
    """

    id: int
    text: str
    offset_unit: Literal["code_point"] = "code_point"
    start: int
    end: int
    utf16_start: int
    utf16_end: int


class EvaluatedAside(AnswerSentence):
    """A sentence that is no claim."""

    role: Aside


class EvaluatedOmission(Report):
    """What the model says is left out; see `JudgedOmission` of the judge.

    Attributes:
        doubt: why it does not count; null where it does.
        evidence: as in `EvaluatedClaim`.
    """

    what: str
    note: int | None
    doubt: str | None
    evidence: dict[str, Any]


class SourceSentence(Report):
    """What a quote stands in."""

    heading: str
    text: str


class EvaluatedClaim(AnswerSentence):
    """One claim.

    Attributes:
        cited: numbers of the notes that the answer names for it.
        told: what the model said; null where none was asked.
        cut: `part` of a sentence that a model cut; `uncut` when its parts did not stand in the sentence.
        source: the sentence around a proven quote and the heading above it, which the claim was held against.
        contradictions: what in it speaks against the claim; `share`: of the claim's words that it has, in [0, 1].
        said: whether a second look found it to say the claim; null where nobody looked.
        evidence: where its quote stands, as `AlignedRecord`, or why it does not, as `FailedRecord`.
        told_role: what the model said it is; `veto` is why it is a claim all the same.
        untold: it says besides that the notes do not tell.
    """

    cited: tuple[int, ...]
    told: Told | None
    verdict: ClaimVerdict
    note: int | None
    doubt: str | None
    new_numbers: tuple[str, ...]
    evidence: dict[str, Any] | None
    cut: Literal["sentence", "part", "uncut"] = "sentence"
    source: SourceSentence | None = None
    contradictions: tuple[str, ...] = ()
    share: Share | None = None
    said: bool | None = None
    told_role: Aside | Literal["claim"] = "claim"
    veto: str | None = None
    untold: bool = False


class SearchQAEvaluation(Report):
    """The evaluation of an answer: six fields of the seed, then ours, see `Judgement` of the judge.

    Attributes:
        correctness: in [0, 1]; None without claims, where the seed has a number always.  So is `confidence`.
        utility: in [0, 1]; None where no model was asked.
        completeness: in [0, 1]; by what the model shows to be left out.  None where nothing was to be given.
        asides: the sentences that are no claims.
        notices: what makes the evaluation less sure than others.
        grounding_issues: one sentence for each claim that is not supported, in the language of the item.
        second_look: the model that looked at doubtful claims once more; null where none had to.
    """

    correctness: float | None
    completeness: float | None = None
    utility: float | None
    confidence: Confidence | None
    source_coverage: tuple[SourceCoverage, ...]
    grounding_issues: tuple[str, ...]
    summary: str
    outcome: AnswerOutcome
    claims: tuple[EvaluatedClaim, ...]
    asides: tuple[EvaluatedAside, ...] = ()
    omissions: tuple[EvaluatedOmission, ...] = ()
    abstains: bool
    answerable: bool
    told_answerable: bool | None
    reported_correctness: float | None
    reported_utility: float | None
    utility_reason: str
    reported_issues: tuple[str, ...]
    flagged: dict[int, tuple[str, ...]]
    notices: tuple[str, ...] = ()
    second_look: SecondLookReport | None = None


class NoteReport(Report):
    """A note of the context, as the judge read it; `path` is null for one that the dataset itself holds."""

    title: str
    path: str | None
    text: str


class ContextReport(Report):
    """A context as the system that answered told it; the note of its place in `notes` is what the judge read.

    Attributes:
        note: how it calls it; empty where it tells a text alone.
        score: on its own scale; null where it tells none.
        known: whether its text is known: told, or that of a note of the vault.
    """

    note: str
    score: Annotated[float, Field(allow_inf_nan=False)] | None
    known: bool


class LabelledClaimReport(Report):
    """A person's verdict on a claim.

    Attributes:
        claim: id of the judge's claim of the same text; null when there is none.
    """

    text: str
    verdict: Told
    note: int | None
    claim: int | None


class LabelledFactReport(Report):
    """A fact that people say belongs into the answer.

    Attributes:
        note: number of the note that backs it, from 1; null where none does: then it counts nowhere, unless `missed`.
        claim: id of a supported claim that gives it; null when none does.
        missed: the system that answered had no context with it, though the dataset knows one: it is not given.
    """

    text: str
    vital: bool
    note: int | None
    claim: int | None
    missed: bool = Field(default=False, exclude_if=lambda missed: not missed)

    @property
    def counts(self) -> bool:
        """Whether a complete answer has to give it."""
        return self.note is not None or self.missed


class LabelsReport(Report):
    """What people say of an answer."""

    correctness: Share | None
    utility: Share | None
    abstains: bool | None
    claims: tuple[LabelledClaimReport, ...]
    facts: tuple[LabelledFactReport, ...] = ()


class AnswerVoteReport(SeatReport):
    """What one seat of a panel said of an answer.

    Attributes:
        verdicts: on the panel's claims, in their order; `no_claim` of a sentence that states nothing to the seat.
    """

    correctness: Share | None = None
    utility: Share | None = None
    verdicts: tuple[str, ...] = ()


class AnswerItemReport(Report):
    """One line of per_item.jsonl.

    Attributes:
        answer: null when the model that was to answer gave none.
        outcome: `scored`, or why there is no evaluation: `without_context` where there was no note to judge by,
            `unanswered` where a system gave no answer, `not_run` where an interrupted run did not come to it.
        code: of errors.jsonl; empty when scored or without context.
        evaluation: null without one.
        metrics: by name, as in the summary; empty without an evaluation, null where undefined.
        flipped: whether a fresh judgment has other scores; null where none was asked for.
        quality: of the checklist; null where none was asked for, or where it could not be had.
        votes: of the seats of a panel; empty without one.
        quality_code: why it could not, as in errors.jsonl; empty otherwise.
        verdict: of a team's own judge, in the place of an evaluation.
        unread: fields of replies that no verdict needs and that could not be read; absent where all could.
        contexts: one for each of `notes`, as a system told them; absent where none answered.
        oddities: what was odd about them, and how often.
        system_latency_ms: wall time of the answer as it was asked for here; absent where nothing was asked.
        unanswerable: the dataset says that no note answers the question; absent where it does not.
    """

    id: str
    question: str
    answer: str | None
    language: str
    tags: tuple[str, ...]
    notes: tuple[NoteReport, ...]
    outcome: Outcome | Literal["without_context", "unanswered", "not_run"]
    code: str
    evaluation: SearchQAEvaluation | None
    metrics: dict[str, float | None]
    labels: LabelsReport | None
    flipped: bool | None
    quality: QualityReport | None = None
    quality_code: str = ""
    votes: tuple[AnswerVoteReport, ...] = ()
    verdict: VerdictReport | None = Field(default=None, exclude_if=lambda verdict: verdict is None)
    unread: dict[str, Count] = Field(default={}, exclude_if=lambda unread: not unread)
    latency_ms: Milliseconds
    contexts: tuple[ContextReport, ...] | None = Field(
        default=None, exclude_if=lambda contexts: contexts is None
    )
    oddities: dict[Oddity, Count] = Field(default={}, exclude_if=lambda odd: not odd)
    system_latency_ms: Milliseconds | None = Field(default=None, exclude_if=lambda ms: ms is None)
    unanswerable: bool = Field(default=False, exclude_if=lambda is_so: not is_so)

    @property
    def left_out(self) -> tuple[str, ...]:
        """What the answer leaves out: labelled facts that count; without any, what the model proves."""
        facts = [fact for fact in (self.labels.facts if self.labels else ()) if fact.counts]
        if facts:
            return tuple(fact.text for fact in facts if fact.claim is None)
        shown = self.evaluation.omissions if self.evaluation else ()
        return tuple(omission.what for omission in shown if omission.doubt is None)

    @property
    def is_judged(self) -> bool:
        """Whether a judge has said what it is worth."""
        return self.evaluation is not None or self.verdict is not None


class AnswerSliceReport(Report):
    """The figures of some answers: means over those that have them, intervals by "answers.<metric>"."""

    items: Count
    answers: dict[str, float | None]
    intervals: dict[str, IntervalReport]


class AnswerCounts(Report):
    """What became of the dataset's rows.

    Attributes:
        answers_total: answers that were to be judged.
        answers_evaluated: those with an evaluation.
        unanswered: questions that a system gave no answer to.
        without_context: those without a note to judge by.
        unjudged: those that the judge failed on, or that the budget left out (errors.jsonl).
        abstained: evaluated ones that say that the notes do not tell.
        without_claims: evaluated ones that state nothing and do not say so either.
        claims: claims of all evaluated answers.
    """

    answers_total: Count
    answers_evaluated: Count
    unanswered: Count = Field(default=0, exclude_if=lambda count: not count)
    without_context: Count
    unjudged: Count
    not_run: Count
    abstained: Count
    without_claims: Count
    claims: Count
    rows_rejected: Count
    rows_not_sampled: Count
    notes: Count


class CorrelationReport(Report):
    """Whether correctness and utility tell answers apart in different ways.

    Attributes:
        r: Pearson's, over the answers that have both; null with fewer than 3, or when one never changes.
        separate: whether r is at most 0.9; null without r.
    """

    r: Annotated[float, Field(ge=-1, le=1, allow_inf_nan=False)] | None
    n: Count
    separate: bool | None


class AgreementReport(Report):
    """The run held against the labels of people; each figure over what both have.

    Attributes:
        correctness_error: mean absolute difference; so is `utility_error`.
        claims: labelled claims that the judge's segmentation has, too; `claims_unmatched` are the others.
        claim_accuracy: share of them with the same verdict; `unverified` counts as `not_found`.
        abstentions: answers with such a label; `abstention_accuracy` is the share judged alike.
    """

    correctness_error: Share | None
    correctness_n: Count
    utility_error: Share | None
    utility_n: Count
    claim_accuracy: Share | None
    claims: Count
    claims_unmatched: Count
    abstention_accuracy: Share | None
    abstentions: Count


class SystemLatency(Report):
    """Wall time of an answer of a system, as it was asked for here, in milliseconds: percentiles over `n` answers."""

    p50_ms: Milliseconds
    p95_ms: Milliseconds
    p99_ms: Milliseconds
    n: Count


class AnswerPerformance(Report):
    """Times in milliseconds: of checking, and of searching where answers are made; of all questions to models.

    Attributes:
        system: of the answers of a system; null where none was asked.
    """

    preparing_ms: Milliseconds
    eval_runtime_ms: Milliseconds
    system: SystemLatency | None = Field(default=None, exclude_if=lambda latency: latency is None)


class AnswerSummaryReport(TaskSummary[AnswerCounts, AnswerSliceReport]):
    """summary.json of an evaluation of answers.

    Attributes:
        confidence: answers by grade; `none` are those without claims.
        verdicts: claims by verdict; `doubts` counts why the unverified ones are.
        roles: sentences by what they count as; `vetoes` counts why some are claims against the model's word.
        omissions: what the model says is left out, `proven` or by why it does not count.
        facts_unbacked: labelled facts that no note backs; they count nowhere.
        notices: answers by what makes their evaluation less sure.
        cuts: claims by how they were cut: whole sentences, parts of one, or `uncut` when a model's parts did not fit.
        told: claims by what the model says of them; `not_believed` counts those that it calls supported and that are
            not, by why.
        loose: supported claims with a word that their passage, its heading, the title and the question lack, of a judge
            that asked no model.
        second_looks: the models that looked at doubtful claims once more, by language; `looked_at` counts the claims.
        flagged: answers whose text or notes a person should look at.
        quality: the checklist quality gate; null without it.
        llm: its outcomes are of evaluations, those of its `checks` of the checklist.
        system: how the system that answered has fared; null where none did.
    """

    task: Literal["answers"] = "answers"  # pyright: ignore[reportIncompatibleVariableOverride]  frozen
    by_tag: dict[str, AnswerSliceReport]
    confidence: dict[str, Count]
    verdicts: dict[str, Count]
    doubts: dict[str, Count]
    cuts: dict[str, Count] = Field(default_factory=dict[str, int])
    roles: dict[str, Count] = Field(default_factory=dict[str, int])
    vetoes: dict[str, Count] = Field(default_factory=dict[str, int])
    omissions: dict[str, Count] = Field(default_factory=dict[str, int])
    facts_unbacked: Count = 0
    notices: dict[str, Count] = Field(default_factory=dict[str, int])
    told: dict[str, Count] = Field(default_factory=dict[str, int])
    not_believed: dict[str, Count] = Field(default_factory=dict[str, int])
    second_looks: tuple[SecondLookReport, ...] = ()
    looked_at: Count = 0
    loose: Count = Field(default=0, exclude_if=lambda count: not count)
    quotes: AlignmentQuality | None
    correlation: CorrelationReport
    agreement: AgreementReport | None
    flagged: Count
    performance: AnswerPerformance
    quality: QualitySummaryReport | None = None
    llm: LlmReport | None = None
    system: SystemHealth | None = Field(default=None, exclude_if=lambda health: health is None)


AnswerRunRecord: TypeAlias = Record[AnswerSummaryReport, AnswerItemReport]
