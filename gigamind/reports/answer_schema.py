"""The files of the out folder of an evaluation of answers as models.

Offsets are UTF-16 code units, half-open.  A figure that could not be measured is null, never 0.
"""

from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from gigamind.reports.judged import LlmReport
from gigamind.reports.quality_schema import QualityReport, QualitySummaryReport
from gigamind.reports.schema import (
    SCHEMA_VERSION,
    Count,
    IntervalReport,
    Milliseconds,
    Record,
    Share,
)
from gigamind.reports.search_qa import SearchQAEvaluation
from gigamind.runs.store import Outcome

LabelledVerdict = Literal["supported", "contradicted", "not_found"]


class _Report(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class NoteReport(_Report):
    """A note of the context, as the judge read it; `path` is null for one that the dataset itself holds."""

    title: str
    path: str | None
    text: str


class LabelledClaimReport(_Report):
    """A person's verdict on a claim.

    Attributes:
        claim: id of the judge's claim of the same text; null when there is none.
    """

    text: str
    verdict: LabelledVerdict
    note: int | None
    claim: int | None


class LabelsReport(_Report):
    """What people say of an answer."""

    correctness: Share | None
    utility: Share | None
    abstains: bool | None
    claims: tuple[LabelledClaimReport, ...]


class AnswerVoteReport(_Report):
    """What one seat of a panel said of an answer.

    Attributes:
        repeat: number of the repetition, from 0, where one model votes several times.
        code: why it did not vote; empty when it did.
        verdicts: on the claims, in their order.
    """

    model: str
    repeat: Count = 0
    code: str = ""
    correctness: Share | None = None
    utility: Share | None = None
    verdicts: tuple[str, ...] = ()


class AnswerItemReport(_Report):
    """One line of per_item.jsonl.

    Attributes:
        answer: null when the model that was to answer gave none.
        outcome: `scored`, or why there is no evaluation; `not_run` when an interrupted run did not come to it.
        code: of errors.jsonl; empty when scored.
        evaluation: null without one, also when there was no context note to judge by.
        metrics: by name, as in the summary; empty without an evaluation, null where undefined.
        flipped: whether a fresh judgment differs in correctness or utility; null where none was asked for.
        quality: of the checklist; null where none was asked for, or where it could not be had.
        votes: of the seats of a panel; empty without one.
        quality_code: why it could not, as in errors.jsonl; empty otherwise.
    """

    id: str
    question: str
    answer: str | None
    language: str
    tags: tuple[str, ...]
    notes: tuple[NoteReport, ...]
    outcome: Outcome | Literal["not_run"]
    code: str
    evaluation: SearchQAEvaluation | None
    metrics: dict[str, float | None]
    labels: LabelsReport | None
    flipped: bool | None
    quality: QualityReport | None = None
    quality_code: str = ""
    votes: tuple[AnswerVoteReport, ...] = ()
    latency_ms: Milliseconds


class AnswerSliceReport(_Report):
    """The figures of some answers: means over those that have them, intervals by "answers.<metric>"."""

    items: Count
    answers: dict[str, float | None]
    intervals: dict[str, IntervalReport]


class AnswerCounts(_Report):
    """What became of the dataset's rows.

    Attributes:
        answers_total: answers that were to be judged.
        answers_evaluated: those with an evaluation.
        without_context: those without a note to judge by.
        unjudged: those that the judge failed on, or that the budget left out (errors.jsonl).
        abstained: evaluated ones that say that the notes do not tell.
        without_claims: evaluated ones that state nothing and do not say so either.
        claims: claims of all evaluated answers.
    """

    answers_total: Count
    answers_evaluated: Count
    without_context: Count
    unjudged: Count
    not_run: Count
    abstained: Count
    without_claims: Count
    claims: Count
    rows_rejected: Count
    rows_not_sampled: Count
    notes: Count


class CorrelationReport(_Report):
    """Whether correctness and utility tell answers apart in different ways.

    Attributes:
        r: Pearson's, over the answers that have both; null with fewer than 3, or when one never changes.
        separate: whether r is at most 0.9; null without r.
    """

    r: Annotated[float, Field(ge=-1, le=1, allow_inf_nan=False)] | None
    n: Count
    separate: bool | None


class AgreementReport(_Report):
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


class QuoteQualityReport(_Report):
    """How the judge's quotes align: shares of all quotes; exact, normalized, fuzzy and failed add up to 1."""

    quotes: Count
    exact: Share
    normalized: Share
    fuzzy: Share
    failed: Share
    near_miss: Share
    ambiguous: Share
    critical: Share


class AnswerPerformance(_Report):
    """Times in milliseconds: of checking, and of searching where answers are made; of all questions to models."""

    preparing_ms: Milliseconds
    eval_runtime_ms: Milliseconds


class AnswerSummaryReport(_Report):
    """summary.json of an evaluation of answers.

    Attributes:
        confidence: answers by grade; `none` are those without claims.
        verdicts: claims by verdict; `doubts` counts why the unverified ones are.
        cuts: claims by how they were cut: whole sentences, parts of one, or `uncut` when a model's parts did not fit.
        flagged: answers whose text or notes a person should look at.
        quality: the checklist quality gate; null without it.
        llm: its outcomes are of evaluations, those of its `checks` of the checklist.
    """

    schema_version: Literal["1.0"] = SCHEMA_VERSION
    task: Literal["answers"] = "answers"
    status: Literal["complete", "interrupted"]
    counts: AnswerCounts
    overall: AnswerSliceReport
    by_language: dict[str, AnswerSliceReport]
    by_tag: dict[str, AnswerSliceReport]
    confidence: dict[str, Count]
    verdicts: dict[str, Count]
    doubts: dict[str, Count]
    cuts: dict[str, Count] = Field(default_factory=dict[str, int])
    quotes: QuoteQualityReport | None
    correlation: CorrelationReport
    agreement: AgreementReport | None
    flagged: Count
    performance: AnswerPerformance
    quality: QualitySummaryReport | None = None
    llm: LlmReport | None = None


AnswerRunRecord: TypeAlias = Record[AnswerSummaryReport, AnswerItemReport]
