"""Models of the files in an answer run's out folder, and their comparison; names of evaluations follow spec 004.

Checklist results are compared only if both runs used the same checklist and model ("2-1").
"""

from collections.abc import Sequence
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from gigamind.errors import Outcome
from gigamind.evidence.quality import AlignmentQuality
from gigamind.i18n import Text, _, joined
from gigamind.interop.ranking import Oddity
from gigamind.metrics.table import label_text, use_of
from gigamind.records import judged
from gigamind.records.schema import IntervalReport, Milliseconds, Record, TaskSummary
from gigamind.release import model
from gigamind.release.model import SnapshotCheck
from gigamind.stats.intervals import averaged, sliced
from gigamind.systems.dialect import SystemHealth


class QualityItemRate(judged.Report):
    """Share of answers that meet one item.

    Attributes:
        ko, en: The question in Korean and in English.
        low, high: 95 % Wilson interval of the rate.
        unproven: Answers for which the model replied yes without a valid quote.
    """

    id: str
    ko: str
    en: str
    yes: judged.Count
    rate: judged.Share | None
    low: judged.Share | None
    high: judged.Share | None
    unproven: judged.Count


class QualitySliceReport(judged.Report):
    """Checklist results of a set of answers; `low` and `high` are the 95 % Wilson interval of the pass rate."""

    checked: judged.Count
    passed: judged.Count
    pass_rate: judged.Share | None
    low: judged.Share | None
    high: judged.Share | None
    items: tuple[QualityItemRate, ...]


class QualitySummaryReport(judged.Report):
    """The `quality` block of summary.json.

    Attributes:
        not_run: Answers that an interrupted run did not check.
    """

    judge: judged.JudgeReport
    feature: str
    min_pass_ratio: judged.Share
    unchecked: judged.Count
    not_run: judged.Count = 0
    overall: QualitySliceReport
    by_language: dict[str, QualitySliceReport]


class NoteReport(judged.Report):
    """A note of the context, as the judge read it; `path` is null for a note in the dataset."""

    title: str
    path: str | None
    text: str


class ContextReport(judged.Report):
    """A context that the system returned; the judge read the note at the same index of `notes`.

    Attributes:
        note: The system's name for it; empty if it returned only a text.
        score: On the system's scale; null if it returned none.
        known: Whether its text is known, from the system or from the vault.
    """

    note: str
    score: Annotated[float, Field(allow_inf_nan=False)] | None
    known: bool


class LabelledClaimReport(judged.Report):
    """A human verdict on a claim.

    Attributes:
        claim: Id of the judge's claim with the same text; null if there is none.
    """

    text: str
    verdict: judged.ReportedVerdict
    note: int | None
    claim: int | None
    correct: bool | None = Field(default=None, exclude_if=lambda correct: correct is None)


class LabelledFactReport(judged.Report):
    """A fact that the answer must state, according to human labels.

    Attributes:
        note: Number of the note that contains it, from 1; null if none does. It then counts only if `missed`.
        claim: Id of a supported claim that states it; null if none does.
        missed: Whether the dataset has a note with it, but the system's contexts do not.
    """

    text: str
    vital: bool
    note: int | None
    claim: int | None
    missed: bool = Field(default=False, exclude_if=lambda missed: not missed)

    @property
    def counts(self) -> bool:
        """Whether a complete answer must state it."""
        return self.note is not None or self.missed


class LabelsReport(judged.Report):
    """Human labels of an answer."""

    correctness: judged.Share | None
    utility: judged.Share | None
    abstains: bool | None
    claims: tuple[LabelledClaimReport, ...]
    facts: tuple[LabelledFactReport, ...] = ()


def question_id(answer_id: str, repeat: int) -> str:
    """Return the id of the question of an answer, which all answers to it share: "q1" of "q1@2"."""
    return answer_id.removesuffix(f"@{repeat}") if repeat > 1 else answer_id


class AnswerItemReport(judged.Report):
    """One line of per_item.jsonl.

    Attributes:
        answer: Null if the answering model gave none.
        outcome: `scored`, or why there is no evaluation: `without_context` without a note to compare with,
            `unanswered` if the system gave no answer, `not_run` if an interrupted run did not reach it.
        code: Code in errors.jsonl; empty if scored or without context.
        evaluation: Null without one.
        metrics: By name, as in the summary; empty without an evaluation, null if undefined.
        flipped: Whether a second judgement has other scores; null without one.
        quality: Checklist result; null without a checklist, or if the check failed.
        quality_code: Why the check failed, as in errors.jsonl; empty otherwise.
        verdict: Verdict of a custom judge, instead of an evaluation.
        unread: Optional fields of replies that could not be read; absent if all could.
        contexts: The system's context for each of `notes`; absent without a system.
        oddities: Data-quality problems of the contexts, with counts.
        system_latency_ms: Wall time of the system's answer; absent without a request.
        unanswerable: Whether the dataset labels the question as unanswerable; absent if not.
        repeat: Number of the answer to its question; absent for the first.
    """

    id: str
    question: str
    answer: str | None
    language: str
    tags: tuple[str, ...]
    notes: tuple[NoteReport, ...]
    outcome: Outcome | Literal["without_context", "unanswered", "not_run"]
    code: str
    evaluation: judged.SearchQAEvaluation | None
    metrics: dict[str, float | None]
    labels: LabelsReport | None
    flipped: bool | None
    quality: judged.QualityReport | None = None
    quality_code: str = ""
    verdict: judged.VerdictReport | None = Field(None, exclude_if=lambda own: own is None)
    unread: dict[str, judged.Count] = Field(default={}, exclude_if=lambda unread: not unread)
    latency_ms: Milliseconds
    contexts: tuple[ContextReport, ...] | None = Field(None, exclude_if=lambda own: own is None)
    oddities: dict[Oddity, judged.Count] = Field(default={}, exclude_if=lambda odd: not odd)
    system_latency_ms: Milliseconds | None = Field(default=None, exclude_if=lambda ms: ms is None)
    unanswerable: bool = Field(default=False, exclude_if=lambda is_so: not is_so)
    repeat: int = Field(default=1, exclude_if=lambda repeat: repeat == 1)

    @property
    def question_id(self) -> str:
        """Id of the question, which all answers to it share."""
        return question_id(self.id, self.repeat)

    @property
    def left_out(self) -> tuple[str, ...]:
        """What the answer omits: labelled facts that count; without labels, omissions that the model proved."""
        facts = [fact for fact in (self.labels.facts if self.labels else ()) if fact.counts]
        if facts:
            return tuple(fact.text for fact in facts if fact.claim is None)
        shown = self.evaluation.omissions if self.evaluation else ()
        return tuple(omission.what for omission in shown if omission.doubt is None)

    @property
    def is_judged(self) -> bool:
        """Whether a judge has evaluated the answer."""
        return self.evaluation is not None or self.verdict is not None


class AnswerSliceReport(judged.Report):
    """Figures of `items` answers, and intervals by "answers.<metric>".

    Figures are means over the questions that have a value; that of a question is the mean over its answers.
    """

    items: judged.Count
    answers: dict[str, float | None]
    intervals: dict[str, IntervalReport]


class AnswerCounts(judged.Report):
    """Counts of answers and dataset rows.

    Attributes:
        answers_total: Answers to judge.
        unanswered: Questions without an answer of the system.
        without_context: Answers without a note to compare with.
        unjudged: Answers for which the judge failed or the budget was used up (errors.jsonl).
        abstained: Evaluated answers that say that the notes have no answer.
        without_claims: Evaluated answers without a claim that do not abstain either.
    """

    answers_total: judged.Count
    answers_evaluated: judged.Count
    unanswered: judged.Count = Field(default=0, exclude_if=lambda count: not count)
    without_context: judged.Count
    unjudged: judged.Count
    not_run: judged.Count
    abstained: judged.Count
    without_claims: judged.Count
    claims: judged.Count
    rows_rejected: judged.Count
    rows_not_sampled: judged.Count
    notes: judged.Count


class CorrelationReport(judged.Report):
    """Correlation of correctness and utility: whether they measure different things.

    Attributes:
        r: Pearson's r over the answers that have both; null with fewer than 3, or if one is constant.
        separate: Whether r is at most 0.9; null without r.
    """

    r: Annotated[float, Field(ge=-1, le=1, allow_inf_nan=False)] | None
    n: judged.Count
    separate: bool | None


class AgreementReport(judged.Report):
    """Agreement of the run with human labels, over the items that have both.

    Attributes:
        correctness_error, utility_error: Mean absolute difference.
        claims: Labelled claims that the judge also has; `claims_unmatched` counts the others.
        claim_accuracy: Share of these claims with the same verdict; `unverified` counts as `not_found`.
        abstentions: Answers with an abstention label; `abstention_accuracy` is the share with the same verdict.
    """

    correctness_error: judged.Share | None
    correctness_n: judged.Count
    utility_error: judged.Share | None
    utility_n: judged.Count
    claim_accuracy: judged.Share | None
    claims: judged.Count
    claims_unmatched: judged.Count
    abstention_accuracy: judged.Share | None
    abstentions: judged.Count


class SystemLatency(judged.Report):
    """Wall time of a system's answers in milliseconds: percentiles over `n` answers."""

    p50_ms: Milliseconds
    p95_ms: Milliseconds
    p99_ms: Milliseconds
    n: judged.Count


class AnswerPerformance(judged.Report):
    """Times in milliseconds: checks and searches (`preparing_ms`), and all model calls (`eval_runtime_ms`).

    Attributes:
        system: Latency of a system's answers; null without a system.
    """

    preparing_ms: Milliseconds
    eval_runtime_ms: Milliseconds
    system: SystemLatency | None = Field(default=None, exclude_if=lambda latency: latency is None)


class VarianceReport(judged.Report):
    """Variance components of a metric over repeated answers; see `stats.agreement`.

    Attributes:
        item: Between questions.
        system: Between answers to one question; includes that of the judge if `judge` is null.
        judge: Between verdicts on equal answers; null if no two answers to a question were equal.
        items, scores: Number of questions and of answers with a value.
        more_repeats: Share by which twice the repeats narrow the 95 % interval of the mean.
    """

    item: judged.Finite
    system: judged.Finite
    judge: judged.Finite | None
    items: judged.Count
    scores: judged.Count
    more_repeats: judged.Share


class AnswerSummaryReport(TaskSummary[AnswerCounts, AnswerSliceReport]):
    """summary.json of an evaluation of answers.

    Attributes:
        confidence: Answers by confidence grade; `none` counts those without claims.
        vetoes: Claims by the reason why the model's other role was rejected.
        omissions: Reported omissions: `proven`, or by the reason why they do not count.
        facts_unbacked: Labelled facts that no note contains; they do not count.
        notices: Answers by the reason why their evaluation is less reliable.
        `told`: Claims by the model's verdict.
        not_believed: Claims that the model calls supported and gigamind does not, by reason.
        loose: Supported claims, of a judge without a model, with a word that the passage, its heading, the title and
            the question lack.
        second_looks: The models of the second check, by language; `looked_at` counts the claims.
        llm: Model calls. Its outcomes are of evaluations; its `checks` has the outcomes of the checklist.
        system: Health of the system that answered; null without one.
        variance: By metric; absent without --repeats.
    """

    task: Literal["answers"] = "answers"  # pyright: ignore[reportIncompatibleVariableOverride]  frozen
    by_tag: dict[str, AnswerSliceReport]
    confidence: dict[str, judged.Count]
    verdicts: dict[str, judged.Count]
    doubts: dict[str, judged.Count]
    roles: dict[str, judged.Count] = Field(default_factory=dict[str, int])
    vetoes: dict[str, judged.Count] = Field(default_factory=dict[str, int])
    omissions: dict[str, judged.Count] = Field(default_factory=dict[str, int])
    facts_unbacked: judged.Count = 0
    notices: dict[str, judged.Count] = Field(default_factory=dict[str, int])
    reported_verdicts: Annotated[dict[str, judged.Count], Field(alias="told")] = Field(
        default_factory=dict[str, int]
    )
    not_believed: dict[str, judged.Count] = Field(default_factory=dict[str, int])
    second_looks: tuple[judged.SecondLookReport, ...] = ()
    looked_at: judged.Count = 0
    loose: judged.Count = Field(default=0, exclude_if=lambda count: not count)
    quotes: AlignmentQuality | None
    correlation: CorrelationReport
    agreement: AgreementReport | None
    flagged: judged.Count
    performance: AnswerPerformance
    quality: QualitySummaryReport | None = None
    llm: judged.LlmReport | None = None
    system: SystemHealth | None = Field(default=None, exclude_if=lambda health: health is None)
    variance: dict[str, VarianceReport] = Field(default={}, exclude_if=lambda found: not found)


AnswerRunRecord: TypeAlias = Record[AnswerSummaryReport, AnswerItemReport]


_CORRECTNESS = "correctness"
_LEADING = (_CORRECTNESS, "completeness", "utility")


class AnswerItem(model.SnapshotItem):
    """One answer.

    Attributes:
        metrics: As in per_item.jsonl; of several answers to a question, the means.
        check: Checklist result; null without one.
        answered_share: Share of several answers that make a claim; absent with one answer.
        unanswerable: Whether the dataset labels the question as unanswerable, so that a refusal is correct.
    """

    question: str
    evaluated: bool
    metrics: dict[str, judged.Finite | None]
    unsupported: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    check: model.SnapshotCheck | None = None
    unanswerable: bool = Field(default=False, exclude_if=lambda is_so: not is_so)
    answered_share: judged.Share | None = Field(
        default=None, exclude_if=lambda share: share is None
    )

    @property
    def answered(self) -> float | None:
        """1 if it makes a claim, 0 if it refuses; None without an evaluation or claims of a custom judge."""
        if self.answered_share is not None:
            return self.answered_share
        if not self.evaluated or _CORRECTNESS not in self.metrics:
            return None
        return float(self.metrics[_CORRECTNESS] is not None)


AnswerSnapshot = model.EvalSnapshot[AnswerSummaryReport, AnswerItem]


class AnswerComparison(model.ComparedTask[AnswerSummaryReport, AnswerItemReport, AnswerItem]):
    """Compares the answer evaluations of two runs."""

    settings = (
        *("answer_model", "answer_max_tokens", "context_notes", "context_chars"),
        *("mode", "fusion"),
    )

    def item(self, line: AnswerItemReport) -> AnswerItem:
        claims = line.evaluation.claims if line.evaluation else ()
        yes: dict[str, bool | float] = {
            check.id: check.yes for check in (line.quality.items if line.quality else ())
        }
        return AnswerItem.like(
            line,
            id=line.question_id,
            evaluated=line.is_judged,
            unsupported=tuple(claim.text for claim in claims if claim.verdict != "supported"),
            check=line.quality and model.SnapshotCheck(passed=line.quality.passed, yes=yes),
        )

    def take_snapshot(self, record: AnswerRunRecord) -> AnswerSnapshot:
        snapshot = super().take_snapshot(record)
        answers = sliced(snapshot.items, lambda item: [item.id])
        names = dict.fromkeys(item.id for item in snapshot.items)
        return snapshot.model_copy(update={"items": tuple(_joint(answers[x]) for x in names)})

    def shown(self, item: AnswerItem) -> model.Shown:
        return model.Shown(item.question, (), None)

    def has_verdict(self, item: AnswerItem) -> bool:
        return item.evaluated

    def is_recorded(self, snapshot: AnswerSnapshot) -> bool:
        return snapshot.environment.system is None and not snapshot.config.get("answer_model")

    def checklist(self, snapshot: AnswerSnapshot) -> str:
        quality = snapshot.metrics.quality
        return quality.judge.fingerprint if quality else ""

    def is_checked(self, item: AnswerItem) -> bool:
        return item.check is not None

    def without_checks(self, item: AnswerItem) -> AnswerItem:
        return item.model_copy(update={"check": None})

    def values(self, pairs: model.Pairs[AnswerItem]) -> model.Values:
        """Return the paired values of every metric that both runs measured; the checklist comes last."""
        names = dict.fromkeys(name for pair in pairs for item in pair for name in item.metrics)
        values = model.paired_values("answers", names, [(a.metrics, b.metrics) for a, b in pairs])
        answerable = [pair for pair in pairs if not pair[1].unanswerable]
        answered = [({"answered": a.answered}, {"answered": b.answered}) for a, b in answerable]
        values |= model.paired_values("answers", ("answered",), answered)
        return values | SnapshotCheck.values([(a.check, b.check) for a, b in pairs])

    def change(self, before: AnswerItem, after: AnswerItem) -> model.Change | None:
        """Compare by correctness, then completeness, utility, the effect of a refusal, and the checklist.

        A metric that either run lacks is skipped. A custom judge's metrics are compared in their order.
        """
        refusal, gain = _refusal_gain(before, after), 0.0
        parts: list[Text] = []
        if refusal and before.answered is not None and after.answered is not None:
            ways = _("claims in the answer: some → none"), _("claims in the answer: none → some")
            whole = {before.answered, after.answered} == {0.0, 1.0}
            moved = _moved("answered", before.answered, after.answered)
            parts.append(ways[after.answered > 0] if whole else moved)
        leading = _LEADING if _CORRECTNESS in before.metrics else tuple(before.metrics)
        for name in leading:
            old, new = before.metrics.get(name), after.metrics.get(name)
            if old is not None and new is not None and old != new:
                gain = gain or (old - new if use_of(f"answers.{name}").lower else new - old)
                parts.append(_moved(name, old, new))
        gain = gain or refusal
        if gain < 0:
            lost = [text for text in after.unsupported if text not in before.unsupported]
            parts += [_("unsupported claim: {claim}", claim=text) for text in lost[:1]]
            missing = [text for text in after.left_out if text not in before.left_out]
            parts += [_("missing from the answer: {what}", what=text) for text in missing[:1]]
        checked, difference = SnapshotCheck.change(before.check, after.check)
        parts += [difference] if difference else []
        gain = gain or checked
        return model.Change(gain, joined(parts)) if gain else None


def _moved(name: str, before: float, after: float) -> Text:
    metric = label_text(f"answers.{name}")
    return _("{metric} {before:.2f} → {after:.2f}", metric=metric, before=before, after=after)


def _joint(answers: Sequence[AnswerItem]) -> AnswerItem:
    """Return one item for all answers to a question, with their means."""
    if len(answers) == 1:
        return answers[0]
    check = None
    if checks := [answer.check for answer in answers if answer.check]:
        passed = averaged([{"all": own.passed} for own in checks])["all"]
        means = {"passed": passed, "yes": averaged([own.yes for own in checks])}
        check = model.SnapshotCheck.model_validate(means)
    rates = averaged([{"answered": answer.answered} for answer in answers])
    return answers[0].model_copy(
        update={
            "evaluated": any(answer.evaluated for answer in answers),
            "metrics": averaged([answer.metrics for answer in answers]),
            "unsupported": tuple(dict.fromkeys(x for one in answers for x in one.unsupported)),
            "left_out": tuple(dict.fromkeys(x for one in answers for x in one.left_out)),
            "answered_share": rates["answered"],
            "check": check,
        }
    )


def _refusal_gain(before: AnswerItem, after: AnswerItem) -> float:
    """Return the correctness gained by no longer refusing; without supported claims, refusing loses none."""
    if before.answered is None or after.answered is None or before.answered == after.answered:
        return 0.0
    if after.unanswerable:
        return before.answered - after.answered
    return (after.metrics[_CORRECTNESS] or 0.0) - (before.metrics[_CORRECTNESS] or 0.0)
