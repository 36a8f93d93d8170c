"""Models for judges in reports.  Offsets: UTF-16 units, half-open, in the note's file.  An unknown cost is null."""

from collections import Counter
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from gigamind.errors import Outcome
from gigamind.metrics.spec import Metric, Text
from gigamind.prompting.replies import Confidence, ReportedConfidence

Finite = Annotated[float, Field(allow_inf_nan=False)]
Share = Annotated[Finite, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0)]
AnswerOutcome = Literal["judged", "abstained", "no_claims"]
ReportedVerdict = Literal["supported", "contradicted", "not_found"]
ClaimVerdict = Literal["supported", "contradicted", "not_found", "unverified"]
_Aside = Literal["abstention", "courtesy", "lead_in", "question", "heading", "source"]
FLAGGED = "flagged"  # status of a quote from text that looks like a prompt injection


class Report(BaseModel):
    """A part of a file that gigamind writes and reads back; immutable, without unknown fields."""

    # An alias is the key in files; docstrings name fields by it, as they are also in schemas/.
    model_config = ConfigDict(
        frozen=True, extra="forbid", validate_by_name=True, serialize_by_alias=True
    )

    @classmethod
    def like(cls, source: object, /, **own: object) -> Self:
        """Build the report from equally named attributes of `source` and the given fields."""
        names = (name for name in cls.model_fields if name not in own and hasattr(source, name))
        return cls.model_validate({name: getattr(source, name) for name in names} | own)


class MetricReport(Report):
    """A metric of a user-supplied judge, as pages, comparisons and gates need it."""

    name: str
    en: str
    ko: str
    about_en: str = ""
    about_ko: str = ""
    lower_is_better: bool = False

    @classmethod
    def of(cls, metric: Metric) -> Self:
        """Describe a metric."""
        en, ko = metric.about if isinstance(metric.about, Text) else ("", "")
        lower = metric.use.lower
        return cls.like(
            metric.label, name=metric.name, about_en=en, about_ko=ko, lower_is_better=lower
        )

    def metric(self) -> Metric:
        """Return the metric for the table."""
        about = Text(self.about_en, self.about_ko) if self.about_en else None
        label = Text(self.en, self.ko)
        return Metric.of_judge(self.name, label, about=about, lower=self.lower_is_better)


def _is_empty(value: object) -> bool:
    return not value


class WeakJudge(Report):
    """Errors of a free judge, of which one is beyond its bound: 50 % accepted wrongly, 20 % refused wrongly.

    Attributes:
        accepts, refuses: Shares of the run's queries; with fewer than 20 of a kind, the forecast's; null if unknown.
    """

    accepts: Share | None
    refuses: Share | None


class JudgeReport(Report):
    """The judge of a run, in run.json.

    Attributes:
        file: the judge file; "judges/..." for one that comes with gigamind.
        fingerprint: changes with anything that may change a verdict on the same input, the model included.
        setting: score threshold below which an item fails; null for a judge without one.
        model: null for a judge without a model; a second model, of second checks, follows a comma.
        languages: of its prompts; empty without prompts.
        scales, metrics: of a user-supplied judge: what it can be certified on, and its metrics.
        weak: of a free judge of search whose errors are beyond a bound, so that gates only report its verdicts.
        learned_from: labelled items that `gigamind judge tune` learned from, which cannot certify it.
    """

    kind: str
    file: str
    fingerprint: str
    setting: Annotated[float, Field(allow_inf_nan=False)] | None = None
    model: str | None = None
    languages: tuple[str, ...] = ()
    scales: dict[str, Literal["binary", "graded"]] = Field(default={}, exclude_if=_is_empty)
    metrics: tuple[MetricReport, ...] = Field(default=(), exclude_if=_is_empty)
    weak: WeakJudge | None = Field(default=None, exclude_if=_is_empty)
    learned_from: tuple[str, ...] = Field(default=(), exclude_if=_is_empty)

    @property
    def asks_a_model(self) -> bool:
        """Return whether its verdicts may differ between equal runs."""
        return self.model is not None

    @property
    def needs_card(self) -> bool:
        """Return whether a model gives its verdicts, an LLM or a local one, so that gates ask for a judge report."""
        return self.asks_a_model or self.kind == "nli"

    def describe(self) -> str:
        """Return one line for readers; runs with the same line can be compared."""
        model = f" asking {self.model}" if self.model else ""
        return f"{self.file}{model} (fingerprint {self.fingerprint[:12]})"


class QuoteReport(Report):
    """A quote that a model gave as evidence, and its place.

    Attributes:
        note: path of the note that the model named; null if there is no such note.
        found: `exact`, `normalized`, `fuzzy`, `flagged` (text that looks like a prompt injection), or why not.
        trusted: found, without a changed number or negation, and not flagged.
    """

    text: str
    note: str | None
    match: Annotated[str, Field(alias="found")]
    trusted: bool
    utf16_start: Count | None = None
    utf16_end: Count | None = None


Conflict = Literal["unproven", "quoted"]
"""A verdict that contradicts its quotes: "answerable" without evidence, or "unanswerable" despite a proving quote."""


class JudgementReport(Report):
    """A model's verdict on whether notes answer a question, in per_item.jsonl.

    Attributes:
        outcome: `scored`, or why there is no verdict; `code` is that of errors.jsonl.
        unanswerable: by the rule of the judge file; null without a verdict.
        told_unanswerable: verdict of the model; null without one.
        verified: whether it says "answerable" and a quote found in its note proves it.
        confidence: of the model; null if unreadable.
        conflict: contradiction between the verdict and its quotes; null if there is none.
        flagged: notes that a person should check before trusting the verdict, and why.
        flipped: whether a repeated judgement differs; null if none was requested.
        unread: unreadable fields of the replies; absent if all could be read.
    """

    outcome: Outcome
    code: str = ""
    unanswerable: bool | None = None
    reported_unanswerable: Annotated[bool | None, Field(alias="told_unanswerable")] = None
    verified: bool = False
    answer: str = ""
    confidence: ReportedConfidence | None = None
    conflict: Conflict | None = None
    quotes: tuple[QuoteReport, ...] = ()
    flagged: dict[str, tuple[str, ...]] = {}
    flipped: bool | None = None
    unread: dict[str, Count] = Field(default={}, exclude_if=_is_empty)


class UsageReport(Report):
    """Totals over the rows of attempts.jsonl.

    Attributes:
        calls: HTTP requests, including failed ones; `cache_hits` are stored replies, which cost nothing.
        usd: reported and reserved cost; null if a paid call has no price.
        reserved_usd: the part for requests whose usage the server did not report plausibly, or whose end is unknown;
            null if a paid call has no price, or in records of earlier versions.
        usd_source: `table`, `estimated` if a part is reserved, or `unpriced`.
        repaired: replies whose JSON had to be repaired.
        answered_by: names that servers reported for the models; stored replies have none.
    """

    calls: Count
    cache_hits: Count
    prompt_tokens: Count
    completion_tokens: Count
    cached_tokens: Count
    usd: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None
    usd_source: Literal["table", "estimated", "unpriced"]
    reserved_usd: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    repaired: Count = 0
    answered_by: tuple[str, ...] = ()


class FlipReport(Report):
    """How often a repeated judgement differed from the first; `low`, `high`: 95 % Wilson interval."""

    judged_again: Count
    flipped: Count
    rate: Share | None
    low: Share | None
    high: Share | None


class CoverageReport(Report):
    """How the questions of one kind ended; see `LlmReport` for the run's questions."""

    outcomes: dict[Outcome, Count]
    items: Count
    coverage: Share | None
    flips: FlipReport | None = None
    unread: dict[str, Count] = Field(default={}, exclude_if=_is_empty)


class LlmReport(UsageReport):
    """The `llm` block of summary.json.

    Attributes:
        by_role: the same totals by "role: model".
        outcomes: items by outcome: scored, unscored, refused, error, skipped_budget.
        items: items to judge; `coverage` is the share of them with a verdict.
        flips: null unless a share was judged a second time (`--fresh-fraction`).
        rates: metrics under other rules than the judge file's, by rule and name.
        flagged: items whose notes a person should check before trusting the verdict.
        flagged_quotes: quotes found in text that looks like a prompt injection, which prove nothing.
        checks: of the checklist, which the figures of items exclude; null without one.
        conflicts: items whose verdict contradicts its quotes, `unproven` or `quoted`.
        unread: unreadable optional fields of replies, by name; absent if all could be read.
    """

    by_role: dict[str, UsageReport]
    outcomes: dict[Outcome, Count]
    items: Count
    coverage: Share | None
    flips: FlipReport | None = None
    rates: dict[str, dict[str, Share | None]] = {}
    flagged: Count = 0
    flagged_quotes: Count = 0
    checks: CoverageReport | None = None
    conflicts: dict[Conflict, Count] = {}
    unread: dict[str, Count] = Field(default={}, exclude_if=_is_empty)

    @property
    def all_unread(self) -> Counter[str]:
        """Return the unreadable fields of all replies, including checks."""
        return Counter(self.unread) + Counter(self.checks.unread if self.checks else {})

    @property
    def models(self) -> dict[str, tuple[str, ...]]:
        """Return names that servers reported for the models, by role and model, if any."""
        return {role: part.answered_by for role, part in self.by_role.items() if part.answered_by}


class ProofReport(Report):
    """A quote of a note (numbered from 1) or of the answer (0), and whether it proves the claim."""

    note: Count
    quote: str
    proven: bool


class VerdictReport(Report):
    """A user-supplied judge's verdict on an answer.

    Attributes:
        scores: by scale; null if there is nothing to score. `told` is the model's own verdict, if any.
        flagged: what a person should check: in the answer (0), or in notes by number.
    """

    scores: dict[str, Share | None]
    told: dict[str, Share | None] = {}
    proof: tuple[ProofReport, ...] = ()
    text: str = ""
    flagged: dict[int, tuple[str, ...]] = {}


class SecondLookReport(Report, extra="ignore"):  # earlier versions have more fields
    """How far to believe a model that checks claims a second time.

    Attributes:
        canaries: false statements that code made of the notes judged, and how many it accepted.
        canary_interval: 95 % Wilson interval of the share accepted; null without canaries.
        believed: whether it refused enough canaries for its checks to count.
    """

    model: str
    language: str
    canaries: tuple[Count, Count] = (0, 0)
    canary_interval: tuple[Share, Share] | None = None
    believed: bool


class QualityItemReport(Report):
    """One item of the checklist.

    Attributes:
        text: The question, in the language of the request.
        yes: The result by the rule of the judge file.
        `told`: The model's reply; null if no model was called.
        quote: The model's proof; empty without one.
        trusted: Whether the required text contains the quote, with no number or negation changed.
        source: Source of the quote: 0 is the answer, 1 and above a note; null if none contains it.
        flipped: Whether a second check differs; null without one.
    """

    id: str
    text: str
    yes: bool
    reported_yes: Annotated[bool | None, Field(alias="told")]
    quote: str
    trusted: bool
    source: Count | None
    flipped: bool | None = None


class QualityReport(Report):
    """Whether an answer passes its checklist.

    Attributes:
        ratio: Share of items with a yes.
        flipped: Whether a second check has another result; null without one.
    """

    passed: bool
    ratio: Share
    items: tuple[QualityItemReport, ...]
    flipped: bool | None = None


class SourceCoverage(Report):
    """Use of a note (spec 004); `relevant` and `marked` are additions.

    Attributes:
        relevant_claim: Words of the answer that use it, supported or proven; empty if none.
        relevant: To the question, by the model; null if it does not say.
        marked: Whether the answer names it, as in `[노트 1]`.
    """

    note_index: int
    note_title: str
    cited: bool
    relevant_claim: str
    relevant: bool | None
    marked: bool


class _AnswerSentence(Report):
    """One sentence with its number; offsets are half-open ranges of the answer.

    Attributes:
        start, end: In code points.
        utf16_start, utf16_end: In UTF-16 code units.
    """

    id: int
    text: str
    offset_unit: Literal["code_point"] = "code_point"
    start: int
    end: int
    utf16_start: int
    utf16_end: int


class EvaluatedAside(_AnswerSentence):
    """A sentence that is not a claim."""

    role: _Aside


class EvaluatedOmission(Report):
    """An omission that the model reported.

    Attributes:
        note: The note that states it; null if it does not count.
        doubt: Why it does not count: no proof, `given` in the answer, or `repeated`; null if it counts.
        evidence: As in `EvaluatedClaim`.
    """

    what: str
    note: int | None
    doubt: str | None
    evidence: dict[str, Any]


class SourceSentence(Report):
    """The sentence that contains a quote."""

    heading: str
    text: str


class EvaluatedClaim(_AnswerSentence):
    """One claim.

    Attributes:
        cited: Numbers of the notes that the answer cites for it.
        `told`: The model's verdict; null without a model.
        source: The sentence around a proven quote, with its heading; the claim was compared with it.
        share: Share of the claim's words that the source carries, in [0, 1]; the score without an entailment model.
        score: How well its best passage supports it, in [0, 1]; absent without an entailment model.
        refused: Whether the guard refuses the claim, whatever its score; null if it was compared with no source.
        said: Whether a second check confirmed that the source states the claim; null without a second check.
        evidence: Range of its quote, as `AlignedRecord`, or why there is none, as `FailedRecord`.
        reported_role: The model's role for the sentence.
        veto: Why the sentence is a claim although the model gave another role.
        untold: Whether it also says that the notes have no answer.
    """

    cited: tuple[int, ...]
    reported_verdict: Annotated[ReportedVerdict | None, Field(alias="told")]
    verdict: ClaimVerdict
    note: int | None
    doubt: str | None
    new_numbers: tuple[str, ...]
    evidence: dict[str, Any] | None
    source: SourceSentence | None = None
    contradictions: tuple[str, ...] = ()
    share: Share | None = None
    score: Share | None = Field(None, exclude_if=lambda score: score is None)
    refused: bool | None = None
    confirmed: Annotated[bool | None, Field(alias="said")] = None
    reported_role: Annotated[_Aside | Literal["claim"], Field(alias="reported_role")] = "claim"
    veto: str | None = None
    untold: bool = False

    @property
    def strength(self) -> float | None:
        """How well its source supports it, in [0, 1]: the score of an entailment model, else the share of words."""
        return self.share if self.score is None else self.score


class SearchQAEvaluation(Report):
    """The evaluation of an answer: six fields of the seed, then additions.

    Attributes:
        correctness: In [0, 1]; None without claims, where the specification always has a number.
        confidence: None without claims, as for `correctness`.
        utility: In [0, 1]; None without a model.
        completeness: In [0, 1], from proven omissions; None if there was nothing to state.
        asides: The sentences that are not claims.
        answers_question: Share of the question's words that the supported claims and their sentences have, in [0, 1],
            relative to the best sentence of the notes; null if unknown. Below 0.5, confidence is at most medium.
        answers: The supported claims have enough words of the question, or one has the proven quote that the model
            gives as the answer. If not, utility is at most 0.4.
        notices: Reasons why the evaluation is less reliable: other_language, other_question, question_not_compared or
            no_question.
        grounding_issues: One sentence for each unsupported claim, in the language of the item.
        second_look: The model of the second check of doubtful claims; null without one.
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
    reported_answerable: Annotated[bool | None, Field(alias="reported_answerable")]
    reported_correctness: float | None
    reported_utility: float | None
    utility_reason: str
    reported_issues: tuple[str, ...]
    flagged: dict[int, tuple[str, ...]]
    answers_question: Share | None = None
    answers: bool = True
    notices: tuple[str, ...] = ()
    second_look: SecondLookReport | None = None


NOT_EVALUATED = SearchQAEvaluation(
    correctness=None,
    utility=None,
    confidence=None,
    source_coverage=(),
    grounding_issues=(),
    summary="",
    outcome="no_claims",
    claims=(),
    abstains=False,
    answerable=False,
    reported_answerable=None,
    reported_correctness=None,
    reported_utility=None,
    utility_reason="",
    reported_issues=(),
    flagged={},
)
"""An evaluation without claims and scores."""
